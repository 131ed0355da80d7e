"""Takes time and chance away from the machine: in a simulating process both come from the seed.

Import and call `install` before anything of Drumline is imported: modules keep functions such as `time.monotonic`.
"""

import os
import random
import time
from random import Random
from typing import Any

_real_monotonic = time.monotonic
_state: dict[str, Any] = {"random": Random(0), "now": None, "wall": None}


def install() -> None:
    """Replace the functions that ask the machine, for the rest of this process."""
    time.time = lambda: float(_wall())
    time.time_ns = lambda: round(_wall() * 1e9)
    time.monotonic = lambda: float(_now())
    time.monotonic_ns = lambda: round(_now() * 1e9)
    time.perf_counter = lambda: float(_now())
    time.perf_counter_ns = lambda: round(_now() * 1e9)
    time.clock_gettime = lambda _clock: float(_now())
    os.urandom = _urandom
    random._urandom = _urandom  # type: ignore[attr-defined]  # what SystemRandom, secrets and uuid4 draw from


def begin(seed: int, *, now: Any, wall: Any) -> None:
    """Draw from a seed from now on, and tell the time that these functions return."""
    _state.update(random=Random(f"urandom {seed}"), now=now, wall=wall)
    random.seed(f"random {seed}")


def end() -> None:
    """Tell the machine's time again."""
    _state.update(now=None, wall=None)


def real_monotonic() -> float:
    """Return the machine's own clock, to measure the simulation with."""
    return _real_monotonic()


def _now() -> float:
    return float(_state["now"]()) if _state["now"] else _real_monotonic()


def _wall() -> float:
    return float(_state["wall"]()) if _state["wall"] else 1_767_225_600.0


def _urandom(count: int) -> bytes:
    drawn: bytes = _state["random"].randbytes(count)
    return drawn
