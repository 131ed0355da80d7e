"""A worker that does only what a test says."""

from dataclasses import dataclass, field

from msgspec import Raw

from drumline.core.ids import SessionId, TaskId
from drumline.core.outcome import Succeeded
from drumline.core.session import Beat, BeatReply, SessionSpec, TaskType
from drumline.core.task import ClaimedTask, TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import Report


@dataclass
class Worker:
    """A worker under control."""

    gateway: LocalGateway
    session: SessionId
    held: list[ClaimedTask] = field(default_factory=list)

    async def claim(self, limit: int = 10) -> list[ClaimedTask]:
        tasks = list(await self.gateway.claim(self.session, limit=limit, wait=0))
        self.held += tasks
        return tasks

    async def beat(self) -> BeatReply:
        return await self.gateway.beat(Beat(session=self.session, held=tuple(task.lease for task in self.held)))

    async def complete(self) -> None:
        await self.gateway.settle([Report(task.lease, Succeeded(Raw(b"1"))) for task in self.held])
        self.held.clear()


async def open_worker(engine: Engine, host: str = "ada") -> Worker:
    gateway = LocalGateway(engine)
    spec = SessionSpec(host=host, pid=1, version="0", queues=(), types=(TaskType(name="add"),), capacity=10)
    return Worker(gateway, await gateway.open_session(spec))


async def submit(engine: Engine, count: int = 1) -> list[TaskId]:
    return [(await engine.submissions.submit(TaskRequest(name="add"))).id for _ in range(count)]
