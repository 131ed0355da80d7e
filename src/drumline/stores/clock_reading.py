"""Reading another machine's clock over a network that takes its time."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

READINGS: Final = 5


async def clock_distance(ask: Callable[[], Awaitable[float]]) -> float:
    """Return by how many seconds a clock is ahead of this machine's.

    `ask` returns its time. The quickest of a few answers counts, and is taken for half as old as its question: the
    first one may have waited for a plan, a page or a turn, which says nothing about clocks.
    """
    readings = [await _reading(ask) for _ in range(READINGS)]
    return min(readings)[1]


async def _reading(ask: Callable[[], Awaitable[float]]) -> tuple[float, float]:
    """Return how long an answer took, and the distance that it tells."""
    began, before = time.perf_counter(), time.time()
    there = await ask()
    took = time.perf_counter() - began
    return took, there - (before + took / 2)
