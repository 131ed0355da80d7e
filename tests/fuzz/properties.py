"""What the fuzz tests share: how many examples, what counts as a refusal, and how work is counted."""

import gc
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, settings

from drumline.core.errors import DrumlineError

T = TypeVar("T")

EXAMPLES: Final = int(os.environ.get("DRUMLINE_FUZZ_EXAMPLES", "0"))
"""Examples of each test, where a longer run asks for more."""


def fuzz(examples: int = 100) -> settings:
    """Return the decorator for a fuzz test that has so many examples in `make test`."""
    return settings(max_examples=EXAMPLES or examples, deadline=None, suppress_health_check=list(HealthCheck))


def outcome(act: Callable[[], T]) -> T | DrumlineError:
    """Return what a parser makes of an input, or the error with which it refuses it; any other error is a fault."""
    try:
        return act()
    except DrumlineError as error:
        return error


def accepted(act: Callable[[], T]) -> T | None:
    """Return what a parser makes of an input; None if it refuses it."""
    made = outcome(act)
    return None if isinstance(made, DrumlineError) else made


def steps(act: Callable[[], Any]) -> int:
    """Return how many functions are called, those written in C included: a measure of work without a clock."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before, is_collected = sys.getprofile(), gc.isenabled()
    gc.disable()  # a collection calls hooks, those of Hypothesis for example, which are no work of `act`
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(before)
        if is_collected:
            gc.enable()
    return count
