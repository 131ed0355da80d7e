"""A limit split into shares, one per shard, that two movers move to where tasks wait.

A transfer is one row at the giver, written by the transaction that lowers the share, and numbered per giver and taker.
The taker raises its share and notes the number in one transaction, each number once; then the transfer is deleted.
The limit may be lowered: the directory's share (shard 0) takes it all, and may fall below 0 until others give.
A shard that is away takes no part: whatever is under way waits for it.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

from tests.model.explore import Step

NO_CEILING = 99

T = TypeVar("T")


class Rules(NamedTuple):
    """The protections, all in place, and how far to look."""

    lowers_first: bool = True
    """Whether the giver's commit comes before the taker's."""
    not_under_use: bool = True
    """Whether a share is not lowered under what runs."""
    has_transfers: bool = True
    """Whether what is under way is a row; else a mover adds up all shares, and hands out what is missing."""
    applies_once: bool = True
    """Whether the taker applies a number once."""
    carries_on: bool = True
    """Whether any mover applies the transfers that it finds."""
    deletes_by_number: bool = True
    """Whether the giver's row is deleted by its number."""
    asks_busy: bool = True
    """Whether an always full giver is asked to claim less."""
    lifts_ceiling: bool = True
    """Whether the next pass lets it run its whole share again."""
    absent_keep_shares: bool = True
    """Whether the share of a shard that is away stays its own; else another takes it over."""
    transfers_stay: bool = True
    """Whether a transfer waits for a taker that is away; else the giver takes it back."""
    shards: int = 2
    limit: int = 2
    transfers: int = 2
    """How many transfers between each two shards."""
    faults: int = 2
    lowerings: int = 0
    absences: int = 0
    """How often a shard goes away, and comes back."""
    is_greedy: bool = False
    """Whether shard 0 has tasks waiting all the time, and shard 1 has one."""


class Mover(NamedTuple):
    """What a mover is doing."""

    phase: Literal["raise", "delete", "lower", "add up"]
    giver: int = 0
    taker: int = 0
    number: int = 0
    total: int = 0


class World(NamedTuple):
    """The shares of each database, and what is under way."""

    limit: int
    shares: tuple[int, ...]
    running: tuple[int, ...]
    ceilings: tuple[int, ...]
    """How many a shard may run at the moment; one that is asked to give has its share - 1."""
    transfers: tuple[tuple[int, ...], ...]
    """At each giver, by taker: the number under way, or 0."""
    sent: tuple[tuple[int, ...], ...]
    received: tuple[tuple[int, ...], ...]
    """By giver, kept by the taker: the last number that it has applied."""
    movers: tuple[Mover | None, ...]
    lowerings: int
    away: int | None
    absences: int
    has_run: bool
    """Whether the task of shard 1 has run, beside a greedy shard 0."""
    faults: int


def start(rules: Rules) -> World:
    """Return the world in which the directory has the whole limit."""
    shards = rules.shards
    none = ((0,) * shards,) * shards
    return World(
        limit=rules.limit,
        shares=(rules.limit,) + (0,) * (shards - 1),
        running=(0,) * shards,
        ceilings=(NO_CEILING,) * shards,
        transfers=none,
        sent=none,
        received=none,
        movers=(None, None),
        lowerings=rules.lowerings,
        away=None,
        absences=rules.absences,
        has_run=False,
        faults=rules.faults,
    )


def broken(world: World, rules: Rules) -> str | None:
    """Tell whether more run than may."""
    debt = max(0, -world.shares[0])  # a lowered limit is in force when the directory's share is not below 0
    went_on = max(0, world.running[0] - max(0, world.shares[0])) if rules.lowerings else 0
    if sum(world.running) > world.limit + debt + went_on:
        return "more runs than the limit"
    return None


def has_ended(world: World, rules: Rules) -> bool:
    """Tell whether all shares add up with nothing under way, or the one that waited has run."""
    if any(ceiling != NO_CEILING for ceiling in world.ceilings):
        return False
    if rules.is_greedy:
        return world.has_run
    is_idle = not any(map(any, world.transfers)) and world.movers == (None, None)
    return is_idle and sum(world.shares) == world.limit and min(world.shares) >= 0


def is_cut(world: World, rules: Rules) -> bool:
    """Tell whether more transfers would have to follow than the model counts."""
    needs_more = world.shares[0] < 0 or rules.is_greedy
    return needs_more and any(number >= rules.transfers for row in world.sent for number in row)


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for shard in range(rules.shards):
        if shard != world.away:
            yield from _shard_steps(world, rules, shard)
    if world.lowerings and world.away != 0:
        lowered = _share(world, 0, -1)._replace(limit=world.limit - 1, lowerings=world.lowerings - 1)
        yield Step("the limit is lowered", lowered)
    for number, mover in enumerate(world.movers):
        for what, after in _mover_steps(world, rules, number, mover):
            yield Step(f"mover {number} {what}", after)
        if mover is not None and world.faults:
            died = _mover(world, number, None)._replace(faults=world.faults - 1)
            yield Step(f"fault: mover {number} dies", died, is_fault=True)
    yield from _absences(world, rules)


def _absences(world: World, rules: Rules) -> Iterator[Step[World]]:
    if world.away is not None:
        yield Step(f"shard {world.away} is back", world._replace(away=None))
    elif world.absences:
        for shard in range(rules.shards):
            gone = world._replace(away=shard, absences=world.absences - 1)
            yield Step(f"fault: shard {shard} is away", gone, is_fault=True)


def _shard_steps(world: World, rules: Rules, shard: int) -> Iterator[Step[World]]:
    running, share, ceiling = world.running[shard], world.shares[shard], world.ceilings[shard]
    room = min(share, ceiling)
    if running < room:
        claimed = world._replace(running=_put(world.running, shard, running + 1))
        yield Step(f"claim at {shard}", claimed._replace(has_run=world.has_run or (rules.is_greedy and shard == 1)))
    # The next takes the place at once in a greedy shard.
    if running and not (rules.is_greedy and shard == 0 and running <= room):
        yield Step(f"settle at {shard}", world._replace(running=_put(world.running, shard, running - 1)))
    is_wanted = (rules.is_greedy and not world.has_run) or world.shares[0] < 0
    if rules.asks_busy and ceiling == NO_CEILING and running and running == share and is_wanted:
        asked = world._replace(ceilings=_put(world.ceilings, shard, share - 1))
        yield Step(f"{shard} is asked to claim less", asked)
    if rules.lifts_ceiling and ceiling != NO_CEILING:
        lifted = world._replace(ceilings=_put(world.ceilings, shard, NO_CEILING))
        yield Step(f"{shard} may run its share again", lifted)


def _mover_steps(world: World, rules: Rules, number: int, mover: Mover | None) -> Iterator[tuple[str, World]]:
    if mover is None:
        yield from _begin(world, rules, number)
        return
    giver, taker = mover.giver, mover.taker
    if world.away == {"raise": taker, "delete": giver}.get(mover.phase, -1):
        return
    match mover.phase:
        case "raise":
            yield _raised(world, rules, number, mover)
        case "delete":
            yield f"deletes transfer {giver} > {taker}", _mover(_deleted(world, rules, mover), number, None)
        case "lower":
            if world.shares[giver] > world.running[giver]:
                yield f"lowers {giver}", _mover(_share(world, giver, -1), number, None)
        case "add up":
            yield from _added_up(world, rules, number, mover)


def _begin(world: World, rules: Rules, number: int) -> Iterator[tuple[str, World]]:
    if not rules.has_transfers:
        yield "begins to add up", _mover(world, number, Mover("add up"))
    yield from _for_the_absent(world, rules)
    for giver in range(rules.shards):
        if giver == world.away:
            continue
        for taker in range(rules.shards):
            if giver == taker:
                continue
            if _may_give(world, rules, giver, taker):
                yield _given(world, rules, number, giver, taker)
            found = world.transfers[giver][taker]
            if found and rules.carries_on:
                yield (
                    f"finds transfer {giver} > {taker} no. {found}",
                    _mover(world, number, Mover("raise", giver, taker, found)),
                )


def _for_the_absent(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    """What a mover must not do."""
    away = world.away
    if away is None:
        return
    for shard in range(rules.shards):
        if shard != away and not rules.absent_keep_shares and world.shares[away] + world.shares[shard] <= rules.limit:
            yield f"hands the share of {away} to {shard}", _share(world, shard, world.shares[away])
        if not rules.transfers_stay and world.transfers[shard][away]:
            rows = _put2(world.transfers, shard, away, 0)
            yield f"takes the transfer {shard} > {away} back", _share(world, shard, 1)._replace(transfers=rows)


def _may_give(world: World, rules: Rules, giver: int, taker: int) -> bool:
    if world.transfers[giver][taker] or world.sent[giver][taker] >= rules.transfers:
        return False
    if (world.shares[0] < 0 and taker != 0) or (rules.is_greedy and world.has_run and taker == 1):
        return False
    is_unused = world.shares[giver] > world.running[giver] or not rules.not_under_use
    return world.shares[giver] > 0 and is_unused


def _given(world: World, rules: Rules, number: int, giver: int, taker: int) -> tuple[str, World]:
    transfer = world.sent[giver][taker] + 1
    sent = world._replace(sent=_put2(world.sent, giver, taker, transfer))
    if not rules.lowers_first:
        return f"raises {taker} for {giver}", _mover(
            _share(sent, taker, 1), number, Mover("lower", giver, taker, transfer)
        )
    lowered = _share(sent, giver, -1)._replace(ceilings=_put(world.ceilings, giver, NO_CEILING))
    if rules.has_transfers:
        lowered = lowered._replace(transfers=_put2(world.transfers, giver, taker, transfer))
    return f"lowers {giver} for {taker}", _mover(lowered, number, Mover("raise", giver, taker, transfer))


def _raised(world: World, rules: Rules, number: int, mover: Mover) -> tuple[str, World]:
    giver, taker = mover.giver, mover.taker
    if not rules.has_transfers:
        return f"raises {taker}", _mover(_share(world, taker, 1), number, None)
    on = mover._replace(phase="delete")
    if world.received[giver][taker] >= mover.number and rules.applies_once:
        return f"sees no. {mover.number} applied at {taker}", _mover(world, number, on)
    raised = _share(world, taker, 1)._replace(received=_put2(world.received, giver, taker, mover.number))
    return f"raises {taker} by no. {mover.number}", _mover(raised, number, on)


def _deleted(world: World, rules: Rules, mover: Mover) -> World:
    is_number = world.transfers[mover.giver][mover.taker] == mover.number
    if not is_number and rules.deletes_by_number:
        return world
    return world._replace(transfers=_put2(world.transfers, mover.giver, mover.taker, 0))


def _added_up(world: World, rules: Rules, number: int, mover: Mover) -> Iterator[tuple[str, World]]:
    """Shard by shard, as there is no common snapshot: what is missing from the limit is handed out."""
    shard, last = mover.giver, rules.shards - 1
    if shard <= last:
        if shard != world.away:
            on = mover._replace(giver=shard + 1, total=mover.total + world.shares[shard])
            yield f"reads {world.shares[shard]} at {shard}", _mover(world, number, on)
    elif mover.total < world.limit and last != world.away:
        raised = _share(world, last, world.limit - mover.total)
        yield f"finds {world.limit - mover.total} missing, raises {last}", _mover(raised, number, None)
    else:
        yield "finds nothing missing", _mover(world, number, None)


def _share(world: World, shard: int, change: int) -> World:
    return world._replace(shares=_put(world.shares, shard, world.shares[shard] + change))


def _mover(world: World, number: int, mover: Mover | None) -> World:
    return world._replace(movers=_put(world.movers, number, mover))


def _put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _put2(rows: tuple[tuple[int, ...], ...], row: int, place: int, value: int) -> tuple[tuple[int, ...], ...]:
    return _put(rows, row, _put(rows[row], place, value))
