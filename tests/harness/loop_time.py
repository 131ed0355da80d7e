"""How long one callback holds the event loop, in processor time, so that a busy machine does not matter much."""

from asyncio import Handle
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time


class LoopTime:
    """The longest callback so far."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.what = ""

    def note(self, handle: Handle, seconds: float) -> None:
        if seconds > self.longest:
            self.longest = seconds
            self.what = repr(handle)[:300]


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
    try:
        yield times
    finally:
        Handle._run = run  # type: ignore[method-assign]
