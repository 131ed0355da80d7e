"""The event loop of a `World`: it runs from inside blocking calls, too, and skips time in which nothing happens."""

import asyncio
import heapq
import sys
import threading
from asyncio import events, tasks
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context
from typing import Any, TypeVar

from drumline.testing.loop import PROCESS, SimulatedLoop, SimulatedProcess, SimulatedTask, Stalled

T = TypeVar("T")


class SimulatedCrash(BaseException):
    """Raised in code of a simulated process that was killed, where that code cannot simply be left waiting."""


class NoNetwork(RuntimeError):
    """Raised when code in a world opens a connection or starts a program."""

    def __init__(self) -> None:
        super().__init__("a world has no network and starts no programs: let the test replace this by a fake")


class WorldLoop(SimulatedLoop):
    """A simulated loop that a blocking call can run from anywhere, also from one of its own callbacks."""

    _stopping: bool
    _thread_id: int | None
    _timer_cancelled_count: int

    def __init__(self, start: float = 0.0) -> None:
        super().__init__(start)
        self.skipped = 0.0
        """Seconds that were skipped: the processes of the world did not live through them."""
        self.when_quiet: Callable[[], bool] = _nothing_to_do
        """Called when nothing is ready, before time passes; tells whether it has found something to do instead."""

    # -- tasks

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Make a task. It is kept only if its process is killed: a world may live through years.

        One that is given a fresh context belongs to the process that makes it nevertheless.
        """
        self._made += 1
        if context is not None and PROCESS not in context:
            context.run(PROCESS.set, PROCESS.get())
        label = f"task {self._made}" if name is None else str(name)
        return SimulatedTask(coro, number=self._made, loop=self, name=label, context=context)

    def kill(self, process: SimulatedProcess) -> None:
        """End a process between two of its steps; nothing of it runs any more, not even a `finally`."""
        self._kept += asyncio.all_tasks(self)
        super().kill(process)

    def close_dead(self) -> None:
        """Close the coroutines of killed processes, when nothing can come of it any more."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # as asyncio.gather does
            coroutine = task.get_coro()
            try:
                if not isinstance(coroutine, Generator):
                    coroutine.close()
            except (Exception, SimulatedCrash):  # noqa: BLE001, S112 - of user code that was dead already
                continue

    # -- time

    def next_timer(self) -> float | None:
        """Return when the next timer is due that belongs to no process: the test's own."""
        own = [timer._when for timer in self._scheduled if not timer._cancelled and timer._context.get(PROCESS) is None]
        return min(own, default=None)

    def skip(self, until: float) -> None:
        """Let time pass that processes do not notice, as if their machines were suspended: their timers move along."""
        seconds = until - self._now
        if seconds <= 0:
            return
        left = []
        for timer in self._scheduled:
            if timer._cancelled:
                timer._scheduled = False
                continue
            if timer._context.get(PROCESS) is not None:
                timer._when += seconds
            left.append(timer)
        heapq.heapify(left)
        self._scheduled[:] = left
        self._timer_cancelled_count = 0
        self._now = until
        self.skipped += seconds

    # -- what a world does not have

    async def getaddrinfo(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to look up a name."""
        raise NoNetwork

    async def create_connection(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to connect."""
        raise NoNetwork

    async def create_unix_connection(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to connect."""
        raise NoNetwork

    async def create_datagram_endpoint(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to send."""
        raise NoNetwork

    async def create_server(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to listen."""
        raise NoNetwork

    async def subprocess_exec(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to start a program."""
        raise NoNetwork

    async def subprocess_shell(self, *_args: Any, **_options: Any) -> Any:
        """Refuse to start a program."""
        raise NoNetwork

    # -- running

    @property
    def is_running_here(self) -> bool:
        """Whether this thread runs the loop."""
        return self._thread_id == threading.get_ident()

    def pump(self, until: "asyncio.Future[Any]") -> None:
        """Run until a future is done: from blocking code, from another event loop, or from a callback of this one.

        Raises `SimulatedCrash` if the process that waits was killed meanwhile. Threads take turns: one that comes while
        another one runs the loop is refused.
        """
        if self._thread_id not in {None, threading.get_ident()}:
            raise RuntimeError("another thread runs this world at the moment: a world does one thing at a time")
        process = PROCESS.get()
        with self._entered():
            while not until.done():
                self._run_once()
                if process is not None and not process.is_alive:
                    raise SimulatedCrash(f"{process.name} was killed")

    @contextmanager
    def _entered(self) -> Iterator[None]:
        thread, self._thread_id = self._thread_id, threading.get_ident()
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook)
        try:
            with _switched(self):
                yield
        finally:
            sys.set_asyncgen_hooks(*hooks)
            self._thread_id = thread

    def _run_once(self) -> None:
        """Run what is ready; if nothing is, let time pass until the next timer.

        Unlike the loop of the standard library it may be called from one of the callbacks that it runs.
        """
        ready, timers = self._ready, self._scheduled
        self._drop_cancelled(timers)
        if not ready and not self._stopping:
            if self.when_quiet():
                return
            if not timers:
                raise Stalled("nothing is ready, and no timer is set")
            self._now = max(self._now, timers[0]._when)
        while timers and timers[0]._when <= self._now:
            timer = heapq.heappop(timers)
            timer._scheduled = False
            ready.append(timer)
        for _ in range(len(ready)):
            if not ready:  # a callback has run the loop itself
                break
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()

    def _drop_cancelled(self, timers: list[Any]) -> None:
        while timers and timers[0]._cancelled:
            self._timer_cancelled_count -= 1
            heapq.heappop(timers)._scheduled = False

    _asyncgen_firstiter_hook: Any
    _asyncgen_finalizer_hook: Any


@contextmanager
def _switched(loop: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """Make another loop, or none, the running one inside the block; the task that runs here is suspended meanwhile."""
    outer = events._get_running_loop()
    task = None if outer is None else asyncio.current_task(outer)
    if outer is not None and task is not None:
        tasks._leave_task(outer, task)
    events._set_running_loop(loop)
    try:
        yield
    finally:
        events._set_running_loop(outer)
        if outer is not None and task is not None:
            tasks._enter_task(outer, task)


def left_loop() -> AbstractContextManager[None]:
    """Let the code in the block see no running loop, as in a thread of its own."""
    return _switched(None)


def _nothing_to_do() -> bool:
    return False
