"""Everything behind a `World`: the loop, the installation on it, its timeline and its faults."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, TypeVar

from drumline.core.clock import Instant
from drumline.core.errors import Conflict
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.lifecycle.apps import App
from drumline.lifecycle.schedule_registration import register_schedules
from drumline.sdk.jobs import SubmitJob
from drumline.sdk.sending import SendSignal
from drumline.sdk.transport import Ask, SubmitMany
from drumline.testing.clock import EPOCH
from drumline.testing.effects import ACTIVE, Effects
from drumline.testing.faults import WorldFaults
from drumline.testing.installation import Installation
from drumline.testing.loop import PROCESS
from drumline.testing.surroundings import quiet_logs, virtual_sleep
from drumline.testing.timeline import Timeline
from drumline.testing.transport import WorldClient, WorldTransport
from drumline.testing.world_loop import SimulatedCrash, WorldLoop

T = TypeVar("T")


class Host:
    """Runs the installation of a world, from any kind of code."""

    def __init__(self, apps: Sequence[App], *, start: datetime | None, eager: bool) -> None:
        self.apps = apps
        self.start = start
        self._is_eager = eager
        self.loop = WorldLoop(0.0 if start is None else start.astimezone(UTC).timestamp() - EPOCH)
        self.faults = WorldFaults(self._kill_here)
        self.effects = Effects()
        self.asked: list[tuple[float, Ask[Any]]] = []
        """What the test has submitted, and when."""
        self.installation = Installation(self.loop, apps, faults=self.faults, interruptions=self.faults)
        self.timeline = Timeline(self.installation)
        self._transport = WorldTransport(self)
        self.client = WorldClient(self._transport, self.installation.clock)
        self._restarts: set[asyncio.Task[None]] = set()
        self._later: set[asyncio.Task[None]] = set()
        """Signals that the test sends later."""
        self._exit = ExitStack()

    @property
    def reach(self) -> Callable[[str], None]:
        """Called where a task has an effect."""
        return self.faults.reach

    def open(self) -> None:
        """Start the processes, and let the apps submit to them."""
        with ExitStack() as stack:
            stack.callback(self._let_go)
            stack.enter_context(quiet_logs())
            stack.enter_context(
                virtual_sleep(lambda seconds: self.drive(asyncio.sleep(seconds)), lambda: self.loop.is_running_here)
            )
            for app in self.apps:
                stack.enter_context(app.using(self.client))
            ACTIVE.append(self)
            stack.callback(ACTIVE.remove, self)
            self.drive(self._start())
            self._exit = stack.pop_all()

    def close(self) -> None:
        """Stop the processes, and let the apps go back to where they submitted before."""
        self.faults.schedule = None
        self.loop.when_quiet = _nothing_to_do
        for later in self._later:
            later.cancel()
        try:
            self.drive(self.installation.stop())
        finally:
            self._exit.close()

    def _let_go(self) -> None:
        self.loop.close_dead()
        self.loop.close()
        self.installation.database.connection.close()

    def drive(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the world until `work` is done, and return its result."""
        task = self.loop.create_task(work, name="test", context=self.installation.outside.copy())
        try:
            self.loop.pump(task)
        except BaseException:
            task.cancel()
            raise
        return task.result()

    def kill_worker(self, *, restart: bool) -> None:
        """Kill the worker, and start another one; code of the worker itself does not go on."""
        process = PROCESS.get()
        self.installation.kill_worker()
        if process is None:
            if restart:
                self.drive(self.installation.start_worker())
            return
        if restart:
            self._restart()
        if not process.is_alive:
            raise SimulatedCrash(f"{process.name} was killed")

    async def replay(self, asked: Sequence[tuple[float, Ask[Any]]]) -> None:
        """Submit what was submitted to another world, at the same times."""
        for at, ask in asked:
            await asyncio.sleep(max(at - self.loop.time(), 0))
            await self._transport.asend(ask)

    async def send_later(self, signal: SendSignal, seconds: float) -> None:
        """Send a signal when so much time has passed; to a task that has ended by then it is refused."""
        await asyncio.sleep(seconds)
        try:
            await self._transport.asend(signal)
        except Conflict:
            return

    def send(self, signal: SendSignal, *, after: float | None) -> None:
        """Send a signal, now or after some seconds of virtual time."""
        if after is None:
            self.drive(self._transport.asend(signal))
            return
        later = self.loop.create_task(
            self.send_later(signal, after), name="later signal", context=self.installation.outside.copy()
        )
        self._later.add(later)
        later.add_done_callback(self._later.discard)

    # -- called by the transport

    def note_ask(self, ask: Ask[Any]) -> None:
        """Remember what the test has submitted, and sent by correlation; tasks do so themselves when they run again."""
        is_repeatable = isinstance(ask, SubmitMany | SubmitJob) or (isinstance(ask, SendSignal) and ask.task is None)
        if PROCESS.get() is None and is_repeatable:
            self.asked.append((self.loop.time(), ask))

    async def submitted(self, tasks: list[TaskId]) -> None:
        """Let tasks run that were just submitted, if the world is eager."""
        while self._is_eager:
            views = await self.installation.engine.store.queries.get(tasks)
            now = self.installation.clock.now()
            if not any(
                view is not None
                and (view.state is State.RUNNING or (view.state is State.QUEUED and _is_due(view.due_at, now)))
                for view in views
            ):
                return
            await self.timeline.changed(None)

    async def _start(self) -> None:
        await self.installation.start()
        await register_schedules(self.apps, self._transport)(asyncio.Event())
        self.installation.fire_now.set()

    def _kill_here(self) -> None:
        """Kill the worker from within it."""
        self.installation.kill_worker()
        self._restart()

    def _restart(self) -> None:
        """Start another worker while something runs."""
        context = self.installation.outside.copy()
        restarting = self.loop.create_task(self.installation.start_worker(), name="restart", context=context)
        self._restarts.add(restarting)
        restarting.add_done_callback(self._restarts.discard)


def _is_due(due_at: Instant | None, now: Instant) -> bool:
    """Tell whether a queued task is due; one without a time waits for a signal."""
    return due_at is not None and due_at <= now


def _nothing_to_do() -> bool:
    return False
