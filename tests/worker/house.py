"""A real engine on SQLite with a real worker in it, and a line between them that can be cut."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from drumline.core.attempt import ProgressNote
from drumline.core.children import ChildRequests, OutcomePage, StartedIds
from drumline.core.clock import Clock, ManualClock
from drumline.core.codec import decode, encode
from drumline.core.durable import Answered, NewRecord, Record, RecordPage, RestartRequest, WaitRequest
from drumline.core.errors import DrumlineError, Unavailable
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.session import Beat, BeatReply, SessionSpec, Stops
from drumline.core.state import State
from drumline.core.task import ClaimedTask, TaskRequest, TaskView
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.ports.gateway import NOTHING_HELD, Acknowledged, Report
from drumline.ports.store import Artifact, LogChunk
from drumline.sdk.app import Drumline
from drumline.worker.executors.catalogue import BuiltIn, assemble
from drumline.worker.options import WorkerOptions
from drumline.worker.worker import Worker

DEADLINE = 60.0


class Line:
    """The engine's own gateway behind a line that can be cut."""

    def __init__(self, engine: Engine) -> None:
        self._gateway = LocalGateway(engine)
        self.is_cut = False
        self.away: set[TaskId] = set()
        """Tasks whose shard is away."""
        self.settled: list[list[Report]] = []
        self.claimed: list[int] = []
        self.beats: list[Beat] = []
        self.told: list[list[ProgressNote]] = []
        self.waits = self.pages = self.lose_answers = self.leaves = self.drains_told = 0
        self.before_leaving: Callable[[], Awaitable[None]] = _nothing

    def _check(self) -> None:
        if self.is_cut:
            raise Unavailable("the line is cut")

    async def open_session(self, spec: SessionSpec) -> SessionId:
        self._check()
        return await self._gateway.open_session(spec)

    async def claim(
        self,
        session: SessionId,
        *,
        limit: int,
        wait: float,
        held: Mapping[str, int] = NOTHING_HELD,
        queues: tuple[str, ...] | None = None,
    ) -> Sequence[ClaimedTask]:
        self._check()
        tasks = await self._gateway.claim(session, limit=limit, wait=wait, held=held, queues=queues)
        self.claimed.append(len(tasks))
        return tasks

    async def change_session(self, session: SessionId, *, queues: tuple[str, ...], capacity: int) -> None:
        self._check()
        await self._gateway.change_session(session, queues=queues, capacity=capacity)

    async def beat(self, beat: Beat) -> BeatReply:
        self.beats.append(beat)
        self._check()
        reply = await self._gateway.beat(beat)
        self.drains_told += reply.should_drain
        return reply

    async def stops(self, session: SessionId, held: Sequence[Lease], *, wait: float) -> Stops:
        self._check()
        return await self._gateway.stops(session, held, wait=wait)

    async def settle(self, reports: Sequence[Report]) -> Sequence[Acknowledged]:
        self._check()
        self.settled.append(list(reports))
        near = [report for report in reports if report.lease.task not in self.away]
        answers = iter(await self._gateway.settle(near))
        return [next(answers) if report in near else Unavailable("its shard is away") for report in reports]

    async def record(self, records: Sequence[NewRecord]) -> Sequence[Record | DrumlineError]:
        self._check()
        near = [new for new in records if new.lease.task not in self.away]
        answers = iter(await self._gateway.record(near))
        told = [next(answers) if new in near else Unavailable("its shard is away") for new in records]
        self._lose()
        return told

    async def wait(self, request: WaitRequest) -> Answered | State | DrumlineError:
        self._check()
        self.waits += 1
        answer = await self._gateway.wait(request)
        self._lose()
        return answer

    async def restart(self, request: RestartRequest) -> State | DrumlineError:
        self._check()
        answer = await self._gateway.restart(request)
        self._lose()
        return answer

    async def records(self, lease: Lease, *, after: int) -> RecordPage:
        self._check()
        self.pages += 1
        return await self._gateway.records(lease, after=after)

    async def start_children(self, wanted: ChildRequests) -> StartedIds:
        self._check()
        answer = await self._gateway.start_children(wanted)
        self._lose()
        return answer

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int) -> OutcomePage:
        self._check()
        self.pages += 1
        return await self._gateway.outcomes(lease, name, key, first=first)

    def _lose(self) -> None:
        if self.lose_answers:
            self.lose_answers -= 1
            raise Unavailable("the answer was lost")

    async def append_log(self, chunks: Sequence[LogChunk]) -> Sequence[LogChunk]:
        self._check()
        await self._gateway.append_log([chunk for chunk in chunks if chunk.task not in self.away])
        return [chunk for chunk in chunks if chunk.task in self.away]

    async def report_progress(self, notes: Sequence[ProgressNote]) -> None:
        self._check()
        self.told.append(list(notes))
        await self._gateway.report_progress(notes)

    async def put_artifact(self, artifact: Artifact) -> None:
        self._check()
        await self._gateway.put_artifact(artifact)

    async def reveal(self, lease: Lease) -> Mapping[str, str] | None:
        self._check()
        return await self._gateway.reveal(lease)

    async def leave(self, session: SessionId) -> bool:
        self._check()
        await self.before_leaving()
        self.leaves += 1
        return await self._gateway.leave(session)

    async def close_session(self, session: SessionId) -> None:
        self._check()
        await self._gateway.close_session(session)


async def _nothing() -> None:
    """Do nothing before a worker leaves."""


@dataclass
class Shift:
    """A worker at work, and how to end it."""

    worker: Worker
    running: "asyncio.Task[None]"
    stop: asyncio.Event
    hurry: asyncio.Event

    @classmethod
    @asynccontextmanager
    async def of(cls, worker: Worker) -> "AsyncIterator[Shift]":
        """Have a worker at work inside the block."""
        stop, hurry = asyncio.Event(), asyncio.Event()
        shift = cls(worker, asyncio.create_task(worker.run(stop, hurry)), stop, hurry)
        try:
            yield shift
        finally:
            hurry.set()
            await shift.end()

    async def end(self) -> None:
        self.stop.set()
        async with asyncio.timeout(DEADLINE):
            await self.running


@dataclass
class House:
    """The engine, its time, and the line to it."""

    engine: Engine
    clock: ManualClock
    line: Line
    app: Drumline[Any] = field(default_factory=lambda: Drumline("tests"))

    async def submit(self, name: str, payload: Any = None, **fields: Any) -> TaskId:
        request = TaskRequest(name=name, payload=Raw(encode({} if payload is None else payload)), **fields)
        return (await self.engine.submissions.submit(request)).id

    async def get(self, task: TaskId) -> TaskView:
        return await self.engine.queries.get(task)

    async def ended(self, task: TaskId) -> TaskView:
        async with asyncio.timeout(DEADLINE):
            return await self.engine.queries.wait(task, seconds=DEADLINE)

    async def requeued(self, task: TaskId) -> TaskView:
        """Wait until an attempt of the task has ended and it waits for the next."""
        await until(lambda: self._is(task, State.QUEUED))
        return await self.get(task)

    async def running(self, task: TaskId) -> None:
        await until(lambda: self._is(task, State.RUNNING))

    async def log(self, task: TaskId) -> str:
        return await self.engine.queries.read_log(task)

    async def run(self, name: str, payload: Any = None, **fields: Any) -> TaskView:
        """Submit a task and wait for its end."""
        return await self.ended(await self.submit(name, payload, **fields))

    async def try_once(self, name: str, payload: Any = None, **fields: Any) -> TaskView:
        """Submit a task whose attempt fails, and wait for the retry to be planned."""
        task = await self.submit(name, payload, **fields)
        await until(lambda: self._has_failed(task))
        return await self.get(task)

    @asynccontextmanager
    async def worker(
        self, built_in: BuiltIn | None = None, *, clock: Clock | None = None, **settings: Any
    ) -> AsyncIterator[Shift]:
        """Have a worker of the app at work inside the block, by the system's time unless another is handed in."""
        chosen = WorkerOptions(**{"capacity": 8, "stop_grace": 0.5, "grace": 5.0, "log_every": 0.02, **settings})
        executors = assemble(chosen, [self.app], built_in=built_in or BuiltIn(http=False, pdf=False))
        async with Shift.of(Worker(self.line, executors, chosen, clock=clock)) as shift:
            yield shift

    async def _is(self, task: TaskId, state: State) -> bool:
        return (await self.get(task)).state is state

    async def _has_failed(self, task: TaskId) -> bool:
        return (await self.get(task)).failures > 0


async def until(is_so: Callable[[], Any]) -> None:
    """Look again and again until it is so."""
    async with asyncio.timeout(DEADLINE):
        while True:
            answer = is_so()
            if await answer if asyncio.iscoroutine(answer) else answer:
                return
            await asyncio.sleep(0.005)


def result_of(view: TaskView) -> Any:
    assert view.error is None, view.error
    assert view.result is not None
    return decode(view.result, object)
