"""An event loop with a virtual clock, on which simulated processes run side by side and die at any `await`.

When no callback is ready the clock jumps to the next timer, so that minutes pass in milliseconds. Each callback
belongs to the simulated process of the context in which it was scheduled. A process that is killed runs nothing any
more, not even a `finally`: that is what `kill -9` does.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, TypeVar

T = TypeVar("T")

PROCESS: Final[ContextVar["SimulatedProcess | None"]] = ContextVar("simulated_process", default=None)
"""The simulated process that the running code belongs to; None for the simulation itself."""


class Stalled(Exception):
    """Nothing is ready and no timer is set: the simulation would wait for ever."""


class SimulatedProcess:
    """A process: a name, a context that all of its code runs in, and whether it is alive."""

    def __init__(self, name: str, *, clock_offset: float = 0.0) -> None:
        self.name = name
        self.is_alive = True
        self.clock_offset = clock_offset
        """Seconds that its wall clock is ahead."""
        self.clock_drift = 0.0
        """Seconds that its clocks gain in each second; `drift` sets it."""
        self._drifts_since = 0.0
        self._gained = 0.0
        self.context = copy_context()
        self.context.run(PROCESS.set, self)

    def drift(self, rate: float, now: float) -> None:
        """Let its clocks gain so many seconds in each second from now on; what they have gained they keep."""
        self._gained = self.gained(now)
        self._drifts_since = now
        self.clock_drift = rate

    def gained(self, now: float) -> float:
        """Return the seconds that its clocks have gained by running too fast."""
        return self._gained + (now - self._drifts_since) * self.clock_drift if self.clock_drift else self._gained

    def __repr__(self) -> str:
        return f"<process {self.name}{'' if self.is_alive else ', dead'}>"


class SimulatedTask(asyncio.Task[T]):
    """A task whose place in a set does not depend on its address."""

    def __init__(self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], *, number: int, **options: Any) -> None:
        self.number = number  # first: asyncio puts the task into a set when it is made
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self.number


class SimulatedFuture(asyncio.Future[T]):
    """A future whose place in a set does not depend on its address."""

    def __hash__(self) -> int:
        return self.number

    number: int = 0


class _NoSelector:
    """Stands where other loops wait for sockets: waiting moves the virtual clock."""

    def __init__(self, loop: "SimulatedLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        """Let virtual time pass."""
        if timeout is None:
            raise Stalled("nothing is ready, and no timer is set")
        self._loop.advance(timeout)
        return []


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop in virtual time.

    It builds on two lists of `BaseEventLoop` that have no public name: what is ready, and the heap of timers.
    """

    _ready: deque[Any]
    _scheduled: list[Any]

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self._now = start
        self._selector = _NoSelector(self)
        self._clock_resolution = 1e-9
        self._made = 0
        self._kept: list[Any] = []
        """Tasks and callbacks of every process: if they were collected, the `finally` of a dead one would run."""
        self._parked: dict[SimulatedProcess, list[asyncio.Handle]] = {}
        """Callbacks of suspended processes."""

    def time(self) -> float:
        """Return virtual time in seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        if seconds > 0:
            self._now += seconds

    def start(self, process: SimulatedProcess, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run a coroutine as a part of a process."""
        return self.create_task(work, name=name, context=process.context.copy())

    def kill(self, process: SimulatedProcess) -> None:
        """End a process between two of its steps; nothing of it runs any more, not even a `finally`."""
        process.is_alive = False
        self._kept += self._take(process)
        self._kept += self._parked.pop(process, [])

    def suspend(self, process: SimulatedProcess) -> None:
        """Let nothing of a process run until `resume`, as SIGSTOP does."""
        if process.is_alive and process not in self._parked:
            self._parked[process] = self._take(process)

    def resume(self, process: SimulatedProcess) -> None:
        """Let a suspended process go on; what has become due meanwhile runs now."""
        for handle in self._parked.pop(process, []):
            if isinstance(handle, asyncio.TimerHandle):
                heapq.heappush(self._scheduled, handle)
                handle._scheduled = True  # type: ignore[attr-defined]  # as the loop of the standard library does
            else:
                self._ready.append(handle)

    def _take(self, process: SimulatedProcess) -> list[asyncio.Handle]:
        """Take the callbacks of a process away from the loop, and return them."""
        taken: list[asyncio.Handle] = []
        for number, handle in enumerate(self._ready):
            if handle._context.get(PROCESS) is process:
                taken.append(handle)
                # Replaced, not removed: the loop has counted what is ready.
                self._ready[number] = asyncio.Handle(_do_nothing, (), self, copy_context())
        mine = [timer for timer in self._scheduled if timer._context.get(PROCESS) is process]
        if mine:
            self._scheduled[:] = [timer for timer in self._scheduled if timer._context.get(PROCESS) is not process]
            heapq.heapify(self._scheduled)
            for timer in mine:
                timer._scheduled = False
        return taken + mine

    def call_soon(  # type: ignore[override]  # the stubs tie the arguments to the callback
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback in this turn, unless its process is dead."""
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        if (held := self._held_back(context)) is not None:
            held.append(handle)
        else:
            self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]  # likewise
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a time, unless its process is dead then."""
        context = copy_context() if context is None else context
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        if (held := self._held_back(context)) is not None:
            held.append(timer)
        else:
            heapq.heappush(self._scheduled, timer)
            timer._scheduled = True  # type: ignore[attr-defined]  # as the loop of the standard library does
        return timer

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Make a task that is kept until the simulation ends."""
        self._made += 1
        label = f"task {self._made}" if name is None else str(name)
        task: SimulatedTask[T] = SimulatedTask(coro, number=self._made, loop=self, name=label, context=context)
        self._kept.append(task)
        return task

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future."""
        self._made += 1
        future: SimulatedFuture[Any] = SimulatedFuture(loop=self)
        future.number = self._made
        return future

    def run_in_executor(  # type: ignore[override]  # likewise
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Call the function at once: a thread would bring in an order of its own."""
        del executor
        answer: asyncio.Future[T] = self.create_future()
        try:
            answer.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - it belongs to the caller, who awaits the future
            answer.set_exception(error)
        return answer

    def _held_back(self, context: Context) -> list[Any] | None:
        """Return where a callback is kept that must not run: that of a dead or suspended process."""
        process = context.get(PROCESS)
        if process is None:
            return None
        return self._parked.get(process) if process.is_alive else self._kept

    def _process_events(self, event_list: list[Any]) -> None:
        del event_list

    def _write_to_self(self) -> None:
        """Do nothing: there is no other thread that the loop would have to be woken by."""


def _do_nothing() -> None:
    return
