"""Visits every state that a model can reach, and tells what can go wrong."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Hashable)


class Step(NamedTuple, Generic[S]):
    """One thing that can happen; `is_fault` marks what a healthy system does not need."""

    name: str
    after: S
    is_fault: bool = False


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
) -> Verdict:
    """Check that no reachable state is `broken`, and that from each an `ended` one is reachable without faults.

    States that are `cut` lie at the bound of the model, so they need not be able to end.
    """
    came_from: dict[S, tuple[S, str] | None] = {start: None}
    healthy: dict[S, list[S]] = {}
    frontier = deque([start])
    while frontier:
        here = frontier.popleft()
        if reason := broken(here):
            return Verdict(len(came_from), reason, _story(here, came_from))
        healthy[here] = []
        for step in steps(here):
            if not step.is_fault:
                healthy[here].append(step.after)
            if step.after not in came_from:
                came_from[step.after] = (here, step.name)
                frontier.append(step.after)
    can_end = _reaching(healthy, {state for state in healthy if ended(state)})
    for state in healthy:
        if state not in can_end and not cut(state):
            return Verdict(len(came_from), "stuck: nothing but a fault can end it", _story(state, came_from))
    return Verdict(len(came_from), None)


def _reaching(edges: dict[S, list[S]], goals: set[S]) -> set[S]:
    before: dict[S, list[S]] = {}
    for here, nexts in edges.items():
        for after in nexts:
            before.setdefault(after, []).append(here)
    reached, frontier = set(goals), deque(goals)
    while frontier:
        for state in before.get(frontier.popleft(), ()):
            if state not in reached:
                reached.add(state)
                frontier.append(state)
    return reached


def _story(state: S, came_from: dict[S, tuple[S, str] | None]) -> tuple[str, ...]:
    names: list[str] = []
    while (origin := came_from[state]) is not None:
        state, name = origin
        names.append(name)
    return tuple(reversed(names))
