"""Visits every state that a model can reach, and tells what can go wrong."""

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Hashable)


class Step(NamedTuple, Generic[S]):
    """One thing that can happen; `is_fault` marks what a healthy system does not need."""

    name: str
    after: S
    is_fault: bool = False


class Goal(NamedTuple, Generic[S]):
    """Something that some states must be able to come to without faults, and what is wrong if one cannot."""

    reason: str
    holds: Callable[[S], bool]
    is_meant: Callable[[S], bool]


class Verdict(NamedTuple):
    """What was found: how many states, and the shortest story that breaks a promise, if any."""

    states: int
    broken: str | None
    story: tuple[str, ...] = ()


def explore(
    start: S,
    steps: Callable[[S], Iterable[Step[S]]],
    *,
    broken: Callable[[S], str | None],
    ended: Callable[[S], bool],
    cut: Callable[[S], bool],
    goals: Iterable[Goal[S]] = (),
) -> Verdict:
    """Check that no reachable state is `broken`, and that from each an `ended` one is reachable without faults.

    States that are `cut` lie at the bound of the model, so they need not be able to end. Further `goals` are those of
    some states only.
    """
    numbers = {start: 0}
    """Each state by a number from here on: a state is large, and to look it up takes long."""
    states = [start]
    came_from: list[tuple[int, str] | None] = [None]
    before: list[list[int]] = [[]]
    """From where each state can be reached without a fault."""
    for here, state in enumerate(states):  # which grow meanwhile
        if reason := broken(state):
            return Verdict(len(states), reason, _story(here, came_from))
        for step in steps(state):
            after = numbers.setdefault(step.after, len(states))
            if after == len(states):
                states.append(step.after)
                came_from.append((here, step.name))
                before.append([])
            if not step.is_fault:
                before[after].append(here)
    for goal in (Goal("stuck: nothing but a fault can end it", ended, lambda state: not cut(state)), *goals):
        number = _missing(states, before, goal)
        if number is not None:
            return Verdict(len(states), goal.reason, _story(number, came_from))
    return Verdict(len(states), None)


def _missing(states: list[S], before: list[list[int]], goal: Goal[S]) -> int | None:
    """Return the first state that a goal is meant for and that cannot come to it."""
    can_come = _reaching(before, {number for number, state in enumerate(states) if goal.holds(state)})
    meant = (number for number, state in enumerate(states) if goal.is_meant(state))
    return next((number for number in meant if number not in can_come), None)


def _reaching(before: list[list[int]], goals: set[int]) -> set[int]:
    reached, frontier = set(goals), list(goals)
    while frontier:
        for state in before[frontier.pop()]:
            if state not in reached:
                reached.add(state)
                frontier.append(state)
    return reached


def _story(state: int, came_from: list[tuple[int, str] | None]) -> tuple[str, ...]:
    names: list[str] = []
    while (origin := came_from[state]) is not None:
        state, name = origin
        names.append(name)
    return tuple(reversed(names))
