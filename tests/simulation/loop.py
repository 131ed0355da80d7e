"""The simulated loop, made cheap for thousands of seeds: most of the processor time of a seed is spent turning it."""

import asyncio
import heapq
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from drumline.testing.loop import PROCESS, SimulatedLoop, SimulatedProcess, Stalled


class LeanHandle(asyncio.Handle):
    """A callback of a loop that is never in debug mode: the one of the standard library asks the loop each time."""

    __slots__ = ()

    def __init__(self, callback: Callable[..., object], args: Any, loop: "LeanLoop", context: Context) -> None:
        self._context = context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None

    def cancel(self) -> None:
        """Do not run it."""
        self._cancelled = True
        self._callback = _do_nothing
        self._args = ()


class LeanTimer(asyncio.TimerHandle):
    """The same with a time."""

    __slots__ = ()

    def __init__(
        self, when: float, callback: Callable[..., object], args: Any, loop: "LeanLoop", context: Context
    ) -> None:
        self._when = when
        self._scheduled = False
        self._context = context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None

    def cancel(self) -> None:
        """Do not run it."""
        self._cancelled = True
        self._callback = _do_nothing
        self._args = ()


class LeanLoop(SimulatedLoop):
    """A `SimulatedLoop` whose timers are compared as tuples, and which runs callbacks without steps in between.

    Timers of the same time run in the order in which they were set.
    """

    _stopping: bool

    def __init__(self) -> None:
        super().__init__()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._set = 0

    def call_at(  # type: ignore[override]  # as in `SimulatedLoop`
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a time, unless its process is dead then."""
        if context is None:
            context = copy_context()
        timer = LeanTimer(when, callback, args, self, context)
        if (held := self._held_back(context)) is None:
            self._set += 1
            heapq.heappush(self._timers, (when, self._set, timer))
        else:
            held.append(timer)
        return timer

    def call_later(  # type: ignore[override]  # likewise
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback after a time."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_soon(  # type: ignore[override]  # likewise
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback in this turn, unless its process is dead."""
        if context is None:
            context = copy_context()
        handle = LeanHandle(callback, args, self, context)
        held = self._held_back(context)
        (self._ready if held is None else held).append(handle)
        return handle

    def resume(self, process: SimulatedProcess) -> None:
        """Let a suspended process go on; what has become due meanwhile runs now."""
        for handle in self._parked.pop(process, []):
            if isinstance(handle, LeanTimer):
                self._set += 1
                heapq.heappush(self._timers, (handle.when(), self._set, handle))
            else:
                self._ready.append(handle)

    def get_debug(self) -> bool:
        """Say no: each callback asks."""
        return False

    def _take(self, process: SimulatedProcess) -> list[asyncio.Handle]:
        taken = super()._take(process)
        mine = sorted(each for each in self._timers if _process_of(each[2]) is process)
        if mine:
            self._timers = [each for each in self._timers if _process_of(each[2]) is not process]
            heapq.heapify(self._timers)
        return taken + [timer for _, _, timer in mine]

    def _run_once(self) -> None:  # noqa: C901 - in one piece: it runs some thousand times in a seed
        """Run what is ready; if nothing is, let time pass until the next timer."""
        ready, timers, pop = self._ready, self._timers, heapq.heappop
        while timers and timers[0][2]._cancelled:
            pop(timers)
        if not ready and not self._stopping:
            if not timers:
                raise Stalled("nothing is ready, and no timer is set")
            self._now = max(self._now, timers[0][0])
        now = self._now
        while timers and timers[0][0] <= now:
            ready.append(pop(timers)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if not handle._cancelled:
                try:
                    handle._context.run(handle._callback, *handle._args)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001 - as the loop of the standard library does
                    self.call_exception_handler({"message": "a callback failed", "exception": error, "handle": handle})


def _do_nothing() -> None:
    return


def _process_of(handle: asyncio.Handle) -> SimulatedProcess | None:
    process: SimulatedProcess | None = handle._context.get(PROCESS)  # type: ignore[attr-defined]  # it has no public name
    return process
