"""Limits and what is under them, as both stores read and decide them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Conflict
from drumline.core.flow import (
    MOST_LIMITS,
    NO_KEY,
    NOTHING_USED,
    Candidate,
    FlowLimit,
    Slots,
    Use,
    choose,
    free_at,
    rival_of,
    room_in,
)
from drumline.core.ids import TaskId
from drumline.core.limit_shares import Share, allowed_here
from drumline.core.task import Lane
from drumline.ports.store import ClaimRequest

SORTED_AT_ONCE: Final = 500
"""Tasks whose keys a claim looks up, if it meets some of which nobody has."""
MOST_KEYS: Final = 500
"""Keys that a claim looks at in one lane; the next one goes on behind them."""
AHEAD_MS: Final = 60_000
"""How long before they are due the keys of tasks are looked up."""
NO_SHARES: Final[Mapping[Slots, Share]] = {}
"""Where no limit is split."""


class LimitedLane(Struct, frozen=True):
    """A lane and the limits that its tasks are under."""

    number: int
    lane: Lane
    is_twin: bool
    limits: tuple[FlowLimit, ...]

    @property
    def keyed_by(self) -> str | None:
        """Where the keys of its tasks are found, if one of its limits has keys."""
        return next((limit.keyed_by for limit in self.limits if limit.keyed_by is not None), None)

    @property
    def is_by_key(self) -> bool:
        """Whether its tasks are claimed key by key."""
        return self.is_twin and self.keyed_by is not None

    @property
    def is_unsorted(self) -> bool:
        """Whether keys of its tasks have to be looked up first."""
        return not self.is_twin and self.keyed_by is not None

    @property
    def most_of_key(self) -> int:
        """How many tasks of one key could be given at most."""
        keyed = [limit for limit in self.limits if limit.keyed_by is not None]
        return min(room_in(limit, NOTHING_USED) for limit in keyed)

    def candidate(self, task: str, due_at: int, key: int = NO_KEY) -> Candidate:
        """Return a due task of this lane with what it counts to."""
        return Candidate(TaskId(task), self.lane, due_at, tuple(limit.slots(key) for limit in self.limits))


class Choice(Struct, frozen=True):
    """What a claim decided: the tasks to lease, and when it is worth while to ask again if that is known."""

    chosen: list[Candidate]
    next_at: Instant | None


def limit_of(row: Iterable[Any]) -> FlowLimit:
    """Return a limit from its row."""
    id_, tenant, name, queue, task, keyed_by, max_concurrent, rate, period_ms, created_at, split = row
    return FlowLimit(
        id=id_, tenant=tenant, name=name, queue=queue, task=task, keyed_by=keyed_by, max_concurrent=max_concurrent,
        rate=rate, period_ms=period_ms, created_at=Instant(created_at), split=split,
    )  # fmt: skip


def check_limits(limit: FlowLimit, others: Sequence[FlowLimit]) -> None:
    """Raise `Conflict` if a limit cannot stand beside the others of its tenant."""
    rival = rival_of(limit, others)
    if rival is not None:
        raise Conflict(
            f"limit {rival.name} finds the key of the same tasks in {rival.keyed_by}; a task has one key", field="key"
        )
    if len([other for other in others if other.name != limit.name]) >= MOST_LIMITS:
        raise Conflict(f"there are {MOST_LIMITS} limits already; one has to be deleted first", field="name")


def limited_lanes(rows: Iterable[Iterable[Any]], limits: Sequence[FlowLimit]) -> list[LimitedLane]:
    """Return lanes from (number, is a twin, words…) with their limits, those that have any."""
    found = []
    for number, is_twin, *words in rows:
        lane = Lane(*words)
        theirs = tuple(limit for limit in limits if limit.concerns(lane))
        if theirs:
            found.append(LimitedLane(number, lane, bool(is_twin), theirs))
    return found


def since_of(limit: FlowLimit, now: int) -> int:
    """Return the time after which starts count; where there is no rate none do."""
    return now if limit.period_ms is None else now - limit.period_ms


def asked_of(candidates: Iterable[Candidate], limits: Mapping[int, FlowLimit], now: int) -> list[list[int]]:
    """Return what candidates count to, each once, with the time after which starts count."""
    slots = {slots for candidate in candidates for slots in candidate.slots}
    return [[limit, key, since_of(limits[limit], now)] for limit, key in sorted(slots)]


def decide(
    candidates: Sequence[Candidate],
    uses: Mapping[Slots, Use],
    limits: Mapping[int, FlowLimit],
    requests: Sequence[ClaimRequest],
    shares: Mapping[Slots, Share] = NO_SHARES,
) -> Choice:
    """Choose among due tasks for requests that can run the same."""
    counted = {slots for candidate in candidates for slots in candidate.slots}
    here = {slots: allowed_here(limits, shares, slots) for slots in counted}
    room = {slots: room_in(here[slots], uses.get(slots, NOTHING_USED)) for slots in counted}
    wanted = sum(request.limit for request in requests)
    chosen = choose(candidates, room, wanted, requests[-1].shares)
    free = [free_at(here[slots], uses[slots]) for slots in uses if room.get(slots) == 0]
    return Choice(chosen, min((each for each in free if each is not None), default=None))


def counts_differently(before: FlowLimit, after: FlowLimit) -> bool:
    """Tell whether what was started under a limit before says nothing about it now."""
    return (before.queue, before.task, before.keyed_by) != (after.queue, after.task, after.keyed_by)


def soonest(*times: Instant | None) -> Instant | None:
    """Return the earliest of the times that are known."""
    return min((each for each in times if each is not None), default=None)
