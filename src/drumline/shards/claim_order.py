"""Which shards a claim asks first, learned from the claims before it."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from drumline.core.session import SessionSpec

PROBE_EVERY: Final = 0.1
"""Seconds after which a shard that had too little is asked again by claimers that others keep busy."""
CLAIMS_PER_TURN: Final = 8
"""Claims in a row that go to one shard: so what a worker reports at once is mostly for one, too."""
MOST_KINDS: Final = 1000

Kind = tuple[tuple[str, ...], tuple[str, ...], str | None]
"""What a claimer can be given: queues, names, tenant."""


class ClaimOrder:
    """The order of shards for claimers of one kind.

    A shard that gave all that it was asked for has more, probably. Those are asked first, by turns of a few claims, so
    that each gets as many claims as the others, and under load a claim asks one shard. A shard that had less is asked
    now and then.
    """

    def __init__(self) -> None:
        self._full: set[str] = set()
        self._asked_at: dict[str, float] = {}
        self._turn = 0

    def likely(self, names: Sequence[str], *, now: float) -> list[str]:
        """Return the shards to ask before waiting: those with more work, after one that was not asked for a while."""
        full = [name for name in names if name in self._full]
        if not full:
            return []
        others = [name for name in names if name not in self._full]
        longest = min(others, key=lambda name: self._asked_at.get(name, 0.0), default=None)
        if longest is not None and now - self._asked_at.get(longest, 0.0) >= PROBE_EVERY:
            return [longest, *self._rotated(full)]
        return self._rotated(full)

    def all(self, names: Sequence[str]) -> list[str]:
        """Return all shards, those with more work first."""
        full = [name for name in names if name in self._full]
        return self._rotated(full) + [name for name in names if name not in self._full]

    def note(self, name: str, *, wanted: int, given: int, now: float) -> None:
        """Note what a shard gave when it was asked for so many."""
        self._asked_at[name] = now
        if given >= wanted:
            self._full.add(name)
        else:
            self._full.discard(name)

    def _rotated(self, names: list[str]) -> list[str]:
        if len(names) < 2:
            return names
        self._turn += 1
        start = self._turn // CLAIMS_PER_TURN % len(names)
        return names[start:] + names[:start]


class ClaimOrders:
    """The orders of shards by kind of claimer, those used last."""

    def __init__(self) -> None:
        self._orders: OrderedDict[Kind, ClaimOrder] = OrderedDict()

    def of(self, spec: SessionSpec) -> ClaimOrder:
        """Return the order for claimers that can run this."""
        kind = (spec.queues, spec.names, spec.tenant)
        order = self._orders.get(kind)
        if order is None:
            order = self._orders[kind] = ClaimOrder()
            if len(self._orders) > MOST_KINDS:
                self._orders.popitem(last=False)
        return order
