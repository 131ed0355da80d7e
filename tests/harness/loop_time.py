"""How long one callback holds the event loop, in processor time, so that a busy machine does not matter much."""

import gc
from asyncio import Handle
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from time import thread_time
from typing import Any


class LoopTime:
    """The longest callback so far."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.what = ""
        self._collecting = 0.0
        self._began = 0.0
        self._thread = get_ident()

    def note(self, handle: Handle, seconds: float) -> None:
        if seconds > self.longest:
            self.longest = seconds
            self.what = f"{repr(handle)[:300]}, {self._collecting * 1000:.0f} ms of it in the garbage collector"
        self._collecting = 0.0

    def collected(self, phase: str, _info: dict[str, Any]) -> None:
        """Note how long the garbage collector runs in the thread of the loop."""
        if get_ident() != self._thread:
            return
        if phase == "start":
            self._began = thread_time()
        else:
            self._collecting += thread_time() - self._began


@contextmanager
def measured_loop() -> Iterator[LoopTime]:
    """Measure every callback of asyncio's own event loops."""
    times = LoopTime()
    run = Handle._run

    def measured(handle: Handle) -> None:
        began = thread_time()
        run(handle)
        times.note(handle, thread_time() - began)

    Handle._run = measured  # type: ignore[method-assign, assignment]
    gc.callbacks.append(times.collected)
    try:
        yield times
    finally:
        gc.callbacks.remove(times.collected)
        Handle._run = run  # type: ignore[method-assign]
