"""Makes a failing plan smaller: leaves out operations and faults for as long as the rest fails in the same way."""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tests.simulation import plan

MOST_RUNS: Final = 400
_VARIABLE: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\bs\d+\w*|\d+(\.\d+)?")
"""What differs between two runs that fail alike: ids, labels of steps, numbers."""

ProblemsOf = Callable[[plan.Plan], tuple[str, ...]]


def shrink(failing: plan.Plan, problems: tuple[str, ...], problems_of: ProblemsOf) -> tuple[plan.Plan, tuple[str, ...]]:
    """Return a smaller plan that has the first of these problems too, and all that it has."""
    wanted = kind_of(problems[0])
    runs = 0
    piece = max(failing.size // 2, 1)
    while piece and runs < MOST_RUNS:
        is_smaller = False
        start = 0
        while start < failing.size and runs < MOST_RUNS:
            runs += 1
            smaller = _without(failing, start, piece)
            found = problems_of(smaller)
            alike = [each for each in found if kind_of(each) == wanted]
            if alike:
                failing, is_smaller = smaller, True
                problems = (*alike, *(each for each in found if each not in alike))
            else:
                start += piece
        if not is_smaller or piece > failing.size:
            piece //= 2
    return failing, problems


def kind_of(problem: str) -> str:
    """Return what is left of a problem in another run that fails in the same way."""
    return _VARIABLE.sub("#", problem.partition(":")[0])


def _without(whole: plan.Plan, start: int, count: int) -> plan.Plan:
    """Return a plan without a stretch of its events, faults first."""
    events: list[Any] = [*whole.faults, *whole.steps]
    kept = events[:start] + events[start + count :]
    faults = tuple(each for each in kept if isinstance(each, plan.FaultStep))
    steps = tuple(each for each in kept if isinstance(each, plan.Step))
    return msgspec.structs.replace(whole, faults=faults, steps=steps)
