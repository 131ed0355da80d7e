"""How an app reaches the installation inside a world: without a server, and from any kind of code."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol, TypeVar, cast

from msgspec.structs import replace

from drumline.core.clock import Clock
from drumline.core.duration import format_duration
from drumline.core.errors import DrumlineError, Unavailable
from drumline.core.ids import TaskId
from drumline.core.job import JobStatus
from drumline.core.state import Status, is_ended
from drumline.core.task import TaskRequest
from drumline.sdk.client import Client
from drumline.sdk.embedded import EngineTransport
from drumline.sdk.jobs import GetJob, SubmitJob
from drumline.sdk.task_asks import GetEnded
from drumline.sdk.transport import Ask, Get, Pause, SubmitMany
from drumline.testing.faults import WorldFaults
from drumline.testing.installation import Installation
from drumline.testing.loop import Stalled
from drumline.testing.timeline import Timeline

T = TypeVar("T")

UNTAKEN: Final = 86_400.0
"""Seconds after which a task that is due, and that no worker takes, is waited for no longer."""
LONGEST_WAIT: Final = 10 * 366 * 86_400.0
"""Seconds after which waiting without an end is given up, however many schedules fire meanwhile."""
FOREVER: Final = 2 * LONGEST_WAIT
"""Seconds of waiting for a result in one request; one that is no shorter has no end of its own."""
MOST_REPEATS: Final = 5
_ENDED: Final = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})


class TransportHost(Protocol):
    """What a transport needs of its world."""

    installation: Installation
    timeline: Timeline
    faults: WorldFaults

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the world until `work` is done."""
        ...

    def note_ask(self, ask: Ask[Any]) -> None:
        """Remember what the test has asked for."""
        ...

    async def submitted(self, tasks: list[TaskId]) -> None:
        """Let tasks run that were just submitted, if the world is eager."""
        ...


class WorldTransport(EngineTransport):
    """Answers asks from the engine of a world."""

    def __init__(self, host: TransportHost) -> None:
        super().__init__(host.installation.engine, host.installation.loop, home="drumline:simulated")
        self._host = host

    def send(self, ask: Ask[T]) -> T:
        """Answer, running the world meanwhile."""
        self._host.note_ask(ask)
        return cast("T", self._host.drive(self._served(ask)))

    async def asend(self, ask: Ask[T]) -> T:
        """Answer; on an event loop of the test's own, by running the world meanwhile."""
        installation = self._host.installation
        if asyncio.get_running_loop() is not installation.loop:
            return self.send(ask)
        self._host.note_ask(ask)
        # Not in the process of the caller, which may be killed while the request is carried out.
        serving = installation.loop.create_task(self._served(ask), name="request", context=installation.outside.copy())
        return cast("T", await serving)

    async def _served(self, ask: Ask[Any]) -> Any:
        match ask:
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case SubmitMany(requests):
                keyed = all(request.idempotency_key is not None for request in requests)
                answer = await self._once_or_repeated(ask, repeat=keyed)
                await self._host.submitted([each for each in answer if not isinstance(each, DrumlineError)])
                return answer
            case SubmitJob(request):
                answer = await self._once_or_repeated(ask, repeat=request.idempotency_key is not None)
                await self._host.submitted(list(answer.tasks.values()))
                return answer
            case _:
                return await self._waited_for(ask)

    async def _waited_for(self, ask: Ask[Any]) -> Any:
        """Answer what may have to be waited for: not by looking every so often, as an engine does."""
        match ask:
            case Get(task, wait) if wait > 0:
                return await self._once_ended(Get(task), lambda info: is_ended(info.status), wait)
            case GetJob(job, wait) if wait > 0:
                return await self._once_ended(GetJob(job), lambda info: info.status in _ENDED, wait)
            case GetEnded(tasks, wait) if wait > 0:
                return await self._any_ended(tasks, wait)
            case _:
                return await self._answer(ask)

    async def _once_or_repeated(self, ask: Ask[Any], *, repeat: bool) -> Any:
        """Carry out a submission; if its reply is lost, repeat it if it has a key, as the client of a server does."""
        for _ in range(MOST_REPEATS if repeat else 0):
            answer = await self._answer(ask)
            if not self._host.faults.loses_reply():
                return answer
        answer = await self._answer(ask)
        if self._host.faults.loses_reply():
            raise Unavailable("the reply was lost: it is unknown whether the request was carried out")
        return answer

    async def _any_ended(self, tasks: Sequence[TaskId], wait: float) -> Any:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while True:
            ended = await self._answer(GetEnded(tasks))
            left = deadline - loop.time()
            if ended or left <= 0:
                return ended
            await self._host.timeline.changed(left)

    async def _once_ended(self, ask: Ask[Any], has_ended: Callable[[Any], bool], wait: float) -> Any:
        loop = asyncio.get_running_loop()
        began = since = loop.time()
        status: Any = None
        while True:
            info = await self._answer(ask)
            now = loop.time()
            if has_ended(info) or (wait < FOREVER and now >= began + wait):
                return info
            if info.status != status:
                status, since = info.status, now
            elif now > since + (UNTAKEN if status is Status.QUEUED else LONGEST_WAIT):
                raise Stalled(
                    f"{info.name!r} is {status.value}, and no worker of this world takes it: nothing has happened to"
                    f" it for {format_duration(timedelta(seconds=round(now - since)))}"
                )
            await self._host.timeline.changed(None if wait >= FOREVER else began + wait - now)


class WorldClient(Client):
    """A client whose waits are by virtual time, and whose submissions outlive the process that made them."""

    def __init__(self, transport: WorldTransport, clock: Clock) -> None:
        super().__init__(transport, clock=clock, long_poll=FOREVER)

    def joined(self, request: TaskRequest) -> "asyncio.Future[TaskId | DrumlineError]":
        """Store one task, by itself: what others submit at the same time may die with their process."""
        return asyncio.ensure_future(self._alone(request))

    async def _alone(self, request: TaskRequest) -> TaskId | DrumlineError:
        (answer,) = await self.transport.asend(SubmitMany((replace(request),)))
        return answer

    def _send(self, ask: Ask[Any]) -> Any:
        return self.transport.send(ask)

    async def _asend(self, ask: Ask[Any]) -> Any:
        return await self.transport.asend(ask)
