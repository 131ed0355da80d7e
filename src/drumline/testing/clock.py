"""Clocks on a simulated loop's time: that of each process, which may be ahead, behind, or run too fast."""

from drumline.core.clock import Instant
from drumline.testing.loop import PROCESS, SimulatedLoop, SimulatedProcess

EPOCH = 1_767_225_600.0
"""When simulations begin: 2026-01-01 00:00 UTC."""


class SimulatedClock:
    """`core.clock.Clock` of a process; without one, the true time."""

    def __init__(self, loop: SimulatedLoop, process: SimulatedProcess | None = None) -> None:
        self._loop = loop
        self._process = process

    def now(self) -> Instant:
        """Return wall time."""
        return Instant(round(wall_time(self._loop, self._process) * 1000))

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return monotonic_time(self._loop, self._process)


def wall_time(loop: SimulatedLoop, process: SimulatedProcess | None) -> float:
    """Return what a process takes for seconds since 1970."""
    ahead = 0.0 if process is None else process.clock_offset
    return EPOCH + monotonic_time(loop, process) + ahead


def monotonic_time(loop: SimulatedLoop, process: SimulatedProcess | None) -> float:
    """Return the seconds that a process has measured since the simulation began."""
    now = loop.time()
    return now if process is None else now + process.gained(now)


def current_process() -> SimulatedProcess | None:
    """Return the process that the running code belongs to."""
    return PROCESS.get()
