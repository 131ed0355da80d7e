"""Limits over several databases: what each may run of a limit, and where more of it should be.

A limit is split into shares, one per shard. A share moves in two steps, each a transaction of one database: the giver
lowers its own, never under what it uses, and writes a transfer; the taker raises its own, once. So the shares never add
up to more than the limit, whoever stops in between (`docs/adr/0043-limit-shares.md`).
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from drumline.core.flow import FlowLimit, Slots

ShareKey = tuple[int, str | None]
"""What is shared out: a limit by its number, and a key of it; None for a limit without keys."""


class Split(IntEnum):
    """How much of a limit a database has."""

    WHOLE = 0
    REST = 1
    """The directory's: what it has not given to others."""
    COPY = 2
    """What it was given."""


class Amount(Struct, frozen=True, gc=False):
    """So much of a limit: tasks that may run at once, and that may start within its period."""

    running: int = 0
    starts: int = 0

    def __bool__(self) -> bool:
        return bool(self.running or self.starts)


NOTHING: Final = Amount()


class Share(Struct, frozen=True, gc=False):
    """What a database was given of a limit, less what it gave, and the most it should use for the moment."""

    given: Amount = NOTHING
    running_ceiling: int | None = None
    starts_ceiling: int | None = None


NO_SHARE: Final = Share()


class Holding(Struct, frozen=True, kw_only=True):
    """What a database has of a limit, uses of it, and how many due tasks wait for more."""

    limit: int
    key: str | None
    share: Amount
    used: Amount
    waiting: int
    counts_running: bool
    """Whether the limit is about how many run at once."""
    counts_starts: bool
    """Whether it is about how many start."""

    @property
    def about(self) -> ShareKey:
        """What it is a share of."""
        return self.limit, self.key

    @property
    def is_short(self) -> bool:
        """Whether tasks wait for more than there is, or less than nothing is left."""
        room = (self.share.running - self.used.running, self.share.starts - self.used.starts)
        return (self.counts_running and self._lacks(self.share.running, room[0])) or (
            self.counts_starts and self._lacks(self.share.starts, room[1])
        )

    def _lacks(self, share: int, room: int) -> bool:
        return share < 0 or self.waiting > max(room, 0)


class Gift(Struct, frozen=True, kw_only=True):
    """So much of a limit for another database, or as much of it as is not in use."""

    taker: str
    limit: int
    key: str | None
    amount: Amount


class Ceiling(Struct, frozen=True, kw_only=True):
    """The most that a database should use of a limit until it has given some of it; None where all is well."""

    limit: int
    key: str | None
    running: int | None = None
    starts: int | None = None


class Transfer(Struct, frozen=True, kw_only=True):
    """What was taken from a share, on its way to another. `number` is the giver's, for each taker by itself."""

    taker: str
    number: int
    limit: int
    key: str | None
    amount: Amount


class LimitDefinitions(Struct, frozen=True, kw_only=True):
    """All limits of the directory, as of one change of them."""

    directory: str = ""
    """Which installation's; empty for a database that is alone."""
    version: int = 0
    last_id: int = 0
    """The number of the newest limit there was: one that is older and missing was deleted."""
    limits: tuple[FlowLimit, ...] = ()


class LimitHolder(Struct, frozen=True, kw_only=True):
    """What one shard runs under a limit, and what it may; None if the limit does not count that.

    Without `running` the shard cannot be reached, or has not heard of the limit yet.
    """

    shard: str
    running: int | None = None
    max_concurrent: int | None = None
    rate: int | None = None


class Plan(NamedTuple):
    """What should move, by giver."""

    gifts: dict[str, list[Gift]]
    ceilings: dict[str, list[Ceiling]]


class _Stand(NamedTuple):
    """One kind of a share: what a shard has, uses, and could use."""

    share: int
    used: int
    wanted: int


def allowed(limit: FlowLimit, share: Share) -> FlowLimit:
    """Return a limit with the numbers that hold in a database with this share of it."""
    if limit.split == Split.WHOLE:
        return limit
    given, rest = share.given, limit.split == Split.REST
    return replace(
        limit,
        max_concurrent=_held(limit.max_concurrent, given.running, share.running_ceiling, rest=rest),
        rate=_held(limit.rate, given.starts, share.starts_ceiling, rest=rest),
    )


def allowed_here(limits: Mapping[int, FlowLimit], shares: Mapping[Slots, Share], slots: Slots) -> FlowLimit:
    """Return the limit of some slots with the numbers that hold for them here."""
    return allowed(limits[slots[0]], shares.get(slots, NO_SHARE))


def plan(holdings: Mapping[str, Sequence[Holding]], *, turn: int) -> Plan:
    """Return what shards should give each other, from what each has of the same limits and keys.

    What is not in use goes to where tasks wait. Where that is not enough, all that need some get equal parts of it, and
    those that use more than that are asked to use less. Where there is less than one for each, they take turns.
    """
    gifts: dict[str, list[Gift]] = {name: [] for name in holdings}
    ceilings: dict[str, list[Ceiling]] = {name: [] for name in holdings}
    by_key: dict[ShareKey, dict[str, Holding]] = {}
    for name, held in holdings.items():
        for holding in held:
            by_key.setdefault(holding.about, {})[name] = holding
    for (limit, key), shards in by_key.items():
        place = turn if key is None else turn + crc32(key.encode())  # not all keys at one shard at a time
        running = _moves({name: _running(each) for name, each in shards.items()}, place)
        starts = _moves({name: _starts(each) for name, each in shards.items()}, place)
        for pair in sorted(running.given.keys() | starts.given.keys()):
            amount = Amount(running.given.get(pair, 0), starts.given.get(pair, 0))
            gifts[pair[0]].append(Gift(taker=pair[1], limit=limit, key=key, amount=amount))
        for name in sorted(running.ceilings.keys() | starts.ceilings.keys()):
            asked = Ceiling(limit=limit, key=key, running=running.ceilings.get(name), starts=starts.ceilings.get(name))
            ceilings[name].append(asked)
    return Plan(gifts, ceilings)


class _Moves(NamedTuple):
    given: dict[tuple[str, str], int]
    ceilings: dict[str, int]


def _moves(stands: Mapping[str, _Stand | None], turn: int) -> _Moves:
    """Return what of one kind should go from whom to whom, and who should use less, and how much."""
    known = {name: stand for name, stand in sorted(stands.items()) if stand is not None}
    targets = _targets(known, turn)
    short = {name: targets[name] - stand.share for name, stand in known.items() if stand.share < targets[name]}
    given: dict[tuple[str, str], int] = {}
    ceilings: dict[str, int] = {}
    # What nobody uses first: only what is still missing then is asked of those that are busy.
    for name, stand in known.items():
        free = min(stand.share - stand.used, stand.share - targets[name])
        for taker in sorted(short, key=lambda each: (-short[each], each)):
            part = min(free, short[taker])
            if part > 0:
                given[name, taker] = part
                short[taker] -= part
                free -= part
    missing = sum(short.values())
    for name, stand in known.items():
        left = stand.share - sum(part for (giver, _), part in given.items() if giver == name)
        part = min(missing, left - targets[name])
        if part > 0:
            ceilings[name] = left - part
            missing -= part
    return _Moves(given, ceilings)


def _targets(stands: Mapping[str, _Stand], turn: int) -> dict[str, int]:
    """Return what each should have: what it wants, or if that is too much in all, an equal part."""
    left = max(sum(stand.share for stand in stands.values()), 0)
    targets = dict.fromkeys(stands, 0)
    wanting = sorted((name for name in stands if stands[name].wanted > 0), key=lambda name: (stands[name].wanted, name))
    while wanting:
        part = left // len(wanting)
        if stands[wanting[0]].wanted > part:
            break
        name = wanting.pop(0)
        targets[name] = stands[name].wanted
        left -= targets[name]
    if not wanting:
        return targets
    part, more = divmod(left, len(wanting))
    order = sorted(wanting)
    if part:  # who has one more keeps it
        order.sort(key=lambda name: -stands[name].share)
    else:
        order = order[turn % len(order) :] + order[: turn % len(order)]
    return targets | {name: part + (place < more) for place, name in enumerate(order)}


def _running(holding: Holding) -> _Stand | None:
    if not holding.counts_running:
        return None
    used = holding.used.running
    return _Stand(holding.share.running, used, used + holding.waiting)


def _starts(holding: Holding) -> _Stand | None:
    if not holding.counts_starts:
        return None
    used = holding.used.starts
    return _Stand(holding.share.starts, used, used + holding.waiting)


def _held(whole: int | None, given: int, ceiling: int | None, *, rest: bool) -> int | None:
    if whole is None:
        return None
    share = whole + given if rest else given
    return share if ceiling is None else min(share, ceiling)
