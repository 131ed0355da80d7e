"""Graphs of tasks, as `{key: the keys it needs}`: whether they can run, in which layers, and what decides their length.

Nothing here recurses, so that a chain of thousands is as good as a fan; every function takes time in proportion to
the number of keys and needs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from msgspec import Struct

from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion

MOST_COMPARED: Final = 200
"""Keys among which one is looked for that is nearly the same as one that is missing."""

K = TypeVar("K", bound=str)
Needs = Mapping[K, Sequence[K]]
"""What each key waits for."""

MOST_EDGES = 100_000
MOST_NAMED = 20
"""Keys of a cycle that are spelt out; a longer one is cut in the middle."""


class CriticalPath(Struct, frozen=True):
    """What the length of a run hangs on: the keys in a row that took longest, and how much later others might be."""

    keys: tuple[str, ...]
    length: float
    slack: dict[str, float]
    """By key: how much longer it could have taken without making the whole longer. None at all on the path."""


def check_graph(needs: Needs[str], *, most: int, most_edges: int = MOST_EDGES, field: str = "tasks") -> None:
    """Raise `Invalid`, naming the field, unless this is a graph that can be run to its end."""
    if not needs:
        raise Invalid("must have at least one task", field=field)
    if len(needs) > most:
        raise Invalid(f"has {len(needs):,} tasks; at most {most:,} are accepted", field=field, code="too_many")
    if sum(map(len, needs.values())) > most_edges:
        raise too_many_edges(most_edges, field)
    for key, parents in needs.items():
        _check_parents(key, parents, needs, f"{field}.{key}.needs")
    cycle = find_cycle(needs)
    if cycle:
        raise Invalid(f"form a cycle: {_drawn(cycle)}", field=field, code="cycle")


def too_many_edges(most: int, field: str = "tasks") -> Invalid:
    """Return the refusal of a graph that is too dense."""
    return Invalid(f"has more than {most:,} needs in all; have a task in between", field=field, code="too_many")


def find_cycle(needs: Needs[K]) -> tuple[K, ...]:
    """Return the keys of a cycle, each before the one that needs it, beginning with the first given; or nothing."""
    left = dict(needs)
    for layer in _peeled(needs):
        for key in layer:
            del left[key]
    if not left:
        return ()
    # Each key that is left needs one that is left: following those must come back to where it has been.
    walked: dict[K, int] = {}
    key = next(iter(left))
    while key not in walked:
        walked[key] = len(walked)
        key = next(parent for parent in left[key] if parent in left)
    cycle = list(walked)[walked[key] :][::-1]
    order = {each: place for place, each in enumerate(needs)}
    start = cycle.index(min(cycle, key=order.__getitem__))
    return tuple(cycle[start:] + cycle[:start])


def layers(needs: Needs[K]) -> list[list[K]]:
    """Return the keys in layers: each is in the first layer after all that it needs. The graph has no cycle."""
    return list(_peeled(needs))


def children_among(needs: Needs[K]) -> dict[K, list[K]]:
    """Return the keys that need each key; keys without children are left out."""
    children: dict[K, list[K]] = {}
    for key, parents in needs.items():
        for parent in parents:
            children.setdefault(parent, []).append(key)
    return children


def last_keys(needs: Needs[K], aside: Collection[K] = ()) -> tuple[K, ...]:
    """Return the keys that no other needs: what a run was for.

    Those `aside` only clean up or raise an alarm after others: they are not meant, and what they need may be the last.
    """
    meant = {key: parents for key, parents in needs.items() if key not in aside} or needs
    needed = {parent for parents in meant.values() for parent in parents}
    return tuple(key for key in meant if key not in needed)


def critical_path(needs: Needs[str], durations: Mapping[str, float]) -> CriticalPath:
    """Return the longest way through a graph without a cycle; a key without a duration takes no time."""
    order = [key for layer in layers(needs) for key in layer]
    children = children_among(needs)
    lasts = {key: durations.get(key, 0.0) for key in order}
    ends: dict[str, float] = {}
    for key in order:
        ends[key] = lasts[key] + max((ends[parent] for parent in needs[key]), default=0.0)
    length = max(ends.values(), default=0.0)
    latest: dict[str, float] = {}
    for key in reversed(order):
        latest[key] = min((latest[child] - lasts[child] for child in children.get(key, ())), default=length)
    return CriticalPath(_path(needs, ends), length, {key: latest[key] - ends[key] for key in order})


def _path(needs: Needs[str], ends: dict[str, float]) -> tuple[str, ...]:
    """Return the way back from what ended last, over whatever each of them waited for last.

    Of those that ended at the same time the one furthest on: what took no time belongs to the way.
    """
    path: list[str] = []
    candidates: Sequence[str] = tuple(reversed(ends))
    while candidates:
        key = max(candidates, key=ends.__getitem__)
        path.append(key)
        candidates = needs[key]
    return tuple(reversed(path))


def _peeled(needs: Needs[K]) -> Iterable[list[K]]:
    """Take off layer after layer of keys whose needs were all taken off; what is on a cycle or behind it stays."""
    waits = {key: len(parents) for key, parents in needs.items()}
    children = children_among(needs)
    layer = [key for key, count in waits.items() if not count]
    while layer:
        yield layer
        following = []
        for key in layer:
            for child in children.get(key, ()):
                waits[child] -= 1
                if not waits[child]:
                    following.append(child)
        layer = following


def _check_parents(key: str, parents: Sequence[str], known: Needs[str], field: str) -> None:
    seen: set[str] = set()
    for place, parent in enumerate(parents):
        where = f"{field}[{place}]"
        if parent == key:
            raise Invalid("is the task itself", field=where)
        if parent not in known:
            near = suggestion(parent, islice(known, MOST_COMPARED))
            raise Invalid(f"there is no task {parent!r} in this job{near}", field=where)
        if parent in seen:
            raise Invalid(f"names {parent!r} twice", field=where)
        seen.add(parent)


def _drawn(cycle: Sequence[str]) -> str:
    if len(cycle) > MOST_NAMED:
        half = MOST_NAMED // 2
        cycle = [*cycle[:half], f"({len(cycle) - MOST_NAMED:,} more)", *cycle[-half:]]
    return " → ".join([*cycle, cycle[0]])
