"""Drumline inside this process: asks are answered by an engine on a background event loop.

The loop has a thread of its own, so that blocking callers and async callers on any loop share one engine. The SDK may
not import what is above it; `open_embedded` is the one place where it asks for an engine by name.
"""

import asyncio
import atexit
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from drumline.core.attempt import Progress
from drumline.core.clock import Clock
from drumline.core.errors import Conflict, DrumlineError
from drumline.core.ids import JobId, TaskId
from drumline.core.session import SessionView
from drumline.core.state import State
from drumline.core.task import Submitted, TaskRequest, TaskView
from drumline.sdk.locate import ServerLocation
from drumline.sdk.threads import LoopThread, start_on, wait_on
from drumline.sdk.transport import (
    Ask,
    Cancel,
    Gathered,
    Get,
    JobAsk,
    LimitAsk,
    LiveNames,
    ReadLog,
    RetryTask,
    ScheduleAsk,
    SelfContainedAsk,
    SubmitMany,
    collapsed_id,
    task_info,
)

if TYPE_CHECKING:
    from drumline.sdk.embedded_jobs import HasJobs
    from drumline.sdk.limits import HasFlow
    from drumline.sdk.schedules import HasRegistrar

T = TypeVar("T")

OPENING_SECONDS = 60.0
"""How long the engine may take to open: it may have to wait for another process to migrate the store."""
CLOSING_SECONDS = 10.0
STOPPING_SECONDS = 60.0
"""How long the worker may take to end: its tasks have a grace of their own."""
MOST_TASKS = 5_000
"""What is handed to the engine in one call, well inside its limit."""


class _Submissions(Protocol):
    async def prepare(self) -> None: ...

    async def submit_many(self, requests: Sequence[TaskRequest]) -> list[Submitted | DrumlineError]: ...


class _Queries(Protocol):
    async def wait(self, task: TaskId, *, seconds: float) -> TaskView: ...

    async def progress(self, view: TaskView) -> Progress | None: ...

    async def read_log(self, task: TaskId) -> str: ...


class _Control(Protocol):
    async def cancel(self, task: TaskId, *, force: bool) -> object: ...

    async def retry(self, task: TaskId) -> object: ...


class _Sessions(Protocol):
    async def list(self) -> Sequence[SessionView]: ...


class EngineLike(Protocol):
    """The part of the engine that a client uses."""

    @property
    def clock(self) -> Clock:
        """The engine's clock."""
        ...

    @property
    def submissions(self) -> _Submissions:
        """The way in."""
        ...

    @property
    def queries(self) -> _Queries:
        """Looking."""
        ...

    @property
    def control(self) -> _Control:
        """Cancelling and retrying."""
        ...

    @property
    def sessions(self) -> _Sessions:
        """The registry of workers."""
        ...

    async def close(self) -> None:
        """Finish what is under way."""
        ...


class EngineTransport:
    """Answers asks from an engine that lives on an event loop of this process."""

    def __init__(self, engine: EngineLike, loop: asyncio.AbstractEventLoop, *, home: str = "drumline:") -> None:
        self.engine = engine
        self.loop = loop
        self._home = home

    def send(self, ask: Ask[T]) -> T:
        """Answer, blocking the calling thread."""
        # The ask's type says what the answer is; `_answer` keeps to it case by case.
        return cast("T", wait_on(self.loop, self._answer(ask)))

    async def asend(self, ask: Ask[T]) -> T:
        """Answer, on any event loop."""
        if asyncio.get_running_loop() is self.loop:
            return cast("T", await self._answer(ask))
        return cast("T", await asyncio.wrap_future(start_on(self.loop, self._answer(ask))))

    def url_of(self, task: TaskId) -> str:
        """Return the engine's home with the task's id."""
        return f"{self._home}#{task}"

    def url_of_job(self, job: JobId) -> str:
        """Return the engine's home with the job's id."""
        return f"{self._home}#{job}"

    def close(self) -> None:
        """Do nothing: the engine is closed by the code that opened it."""

    async def _answer(self, ask: Ask[Any]) -> Any:
        match ask:
            case SubmitMany(requests):
                return await self._submit_many(requests)
            case Get(task, wait):
                view = await self.engine.queries.wait(task, seconds=wait)
                progress = await self.engine.queries.progress(view)
                return task_info(view, self.engine.clock.now(), progress)
            case Cancel(task, force):
                await self._cancel(task, force=force)
            case RetryTask(task):
                await self.engine.control.retry(task)
            case ReadLog(task):
                return await self.engine.queries.read_log(task)
            case LiveNames():
                return frozenset(name for view in await self.engine.sessions.list() for name in view.spec.names)
            case JobAsk() | ScheduleAsk() | LimitAsk() | SelfContainedAsk():
                return await self._answer_apart(ask)
            case _:
                raise TypeError(f"cannot answer {ask!r}")
        return None

    async def _answer_apart(self, ask: JobAsk[Any] | ScheduleAsk[Any] | LimitAsk[Any] | SelfContainedAsk[Any]) -> Any:
        """Answer what only some ask, and only they pay for."""
        if isinstance(ask, SelfContainedAsk):
            return await ask.answer(self.engine)
        # The engine has all parts; `EngineLike` names only those that every client uses.
        if isinstance(ask, JobAsk):
            from drumline.sdk.embedded_jobs import answer_job  # noqa: PLC0415

            return await answer_job(cast("HasJobs", self.engine), ask)
        if isinstance(ask, LimitAsk):
            from drumline.sdk.limits import answer_limit  # noqa: PLC0415

            return await answer_limit(cast("HasFlow", self.engine), ask)
        from drumline.sdk.schedules import answer_schedule  # noqa: PLC0415

        return await answer_schedule(cast("HasRegistrar", self.engine), ask)

    async def _submit_many(self, requests: Sequence[TaskRequest]) -> list[TaskId | DrumlineError]:
        gathered = Gathered()
        for start in range(0, len(requests), MOST_TASKS):
            part = requests[start : start + MOST_TASKS]
            try:
                answers = await self.engine.submissions.submit_many(part)
            except DrumlineError as error:
                gathered.fail(error, len(part))
            else:
                gathered.add([_id_of(answer) if isinstance(answer, Submitted) else answer for answer in answers])
        return gathered.answers()

    async def _cancel(self, task: TaskId, *, force: bool) -> None:
        try:
            await self.engine.control.cancel(task, force=force)
        except Conflict:
            view = await self.engine.queries.wait(task, seconds=0)
            if view.state is not State.CANCELLED:
                raise


class EmbeddedTransport(EngineTransport):
    """Answers asks from an engine that it opened itself, on a thread of its own."""

    def __init__(self, engine: EngineLike, thread: LoopThread, *, home: str) -> None:
        super().__init__(engine, thread.loop, home=home)
        self.thread = thread
        # The store needs no farewell: all that was acknowledged is durable. The loop must not run into the
        # interpreter's own end, that is all; by then no thread pool works any more, so a full close would fail.
        atexit.register(thread.stop)

    def close(self) -> None:
        """Close the engine and end its loop."""
        if self.thread.is_stopped:
            return
        atexit.unregister(self.thread.stop)
        try:
            self.thread.wait(self.engine.close(), CLOSING_SECONDS)
        finally:
            self.thread.stop()


def _id_of(stored: Submitted) -> TaskId:
    return stored.id if stored.collapsed is None else collapsed_id(stored.id, stored.collapsed)


def open_embedded(place: ServerLocation) -> EmbeddedTransport:
    """Open the engine on the backends or the data folder of a place, and return the way to ask it."""
    wiring = _wiring()
    thread = LoopThread("drumline-embedded")
    try:
        engine: EngineLike = thread.wait(wiring.embedded_engine(place), OPENING_SECONDS)
    except BaseException:
        thread.stop()
        raise
    return EmbeddedTransport(engine, thread, home=place.data.as_uri())


@asynccontextmanager
async def opened_here(place: ServerLocation) -> AsyncIterator[EngineTransport]:
    """Open the engine on the running event loop, with no thread between; close it at the end of the block.

    When the block begins, all is ready for the first task.
    """
    engine: EngineLike = await _wiring().embedded_engine(place)
    try:
        await engine.submissions.prepare()
        yield EngineTransport(engine, asyncio.get_running_loop(), home=place.data.as_uri())
    finally:
        await engine.close()


def _wiring() -> Any:
    try:
        # Wiring is above the SDK and comes with the server's extra: asked for by name, only when there is no server.
        return import_module("drumline.wiring")
    except ModuleNotFoundError as error:
        raise RuntimeError(
            "no Drumline server was found (DRUMLINE_URL, or a running `drumline dev`), and the embedded engine is not "
            f"installed: {error}; pip install 'drumline[server]'"
        ) from error


@contextmanager
def worker_running(app: Any, transport: EmbeddedTransport, names: frozenset[str]) -> Iterator[None]:
    """Run a worker for `app` on the transport's engine inside the block, which begins when the worker can take tasks.

    Like the engine, the worker is above the SDK and asked for by name.
    """
    processes = import_module("drumline.lifecycle.processes")
    stop = asyncio.Event()
    working = transport.thread.start(processes.run_embedded_worker(app, transport.engine, stop))
    try:
        _await_worker(working, transport, names)
        yield
    finally:
        transport.thread.loop.call_soon_threadsafe(stop.set)
        working.result(STOPPING_SECONDS)


def _await_worker(working: "Future[None]", transport: EmbeddedTransport, names: frozenset[str]) -> None:
    deadline = time.monotonic() + OPENING_SECONDS
    while not names <= transport.send(LiveNames()):
        if working.done() or time.monotonic() > deadline:
            working.result(0)  # raises what kept it from starting
            raise RuntimeError("the worker in this process did not start")
        time.sleep(0.005)
