"""A schedule leaves its shard for the new owner of its slot, while schedulers fire it in whichever database they look.

The slot's entry is closed at shard 0, then the map names shard 1; the schedule follows: copied inactive, taken out by
its version, activated. Firing is one transaction of one database: the run, its task, and the next fire time. A run that
goes on is seen only by its own database: while one does, the next fire time is skipped. Firing does not raise the
version, because the giver fires no more once its slot is closed. The name of a copy is not known before it is active. A
client changes the schedule,
or puts one of the same name, by asking every former owner for the name, then the owner.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tests.model.explore import Step


class Rules(NamedTuple):
    """The protections, all in place, and how far to look."""

    takes_by_version: bool = True
    """Whether a schedule is taken out only with the version that was copied."""
    editing_raises: bool = True
    """Whether a client's change raises the version."""
    copies_rest: bool = True
    """Whether an inactive copy does not fire."""
    firing_is_fenced: bool = True
    """Whether a schedule fires only where its slot is open."""
    waits_for_runs: bool = True
    """Whether a schedule moves only when no run of it goes on."""
    looks_for_name: bool = True
    """Whether former owners are asked for the name."""
    name_stays: bool = True
    """Whether the giver keeps the name with the forwarding row."""
    moves_without_drain: bool = True
    """Whether schedules follow their slot by themselves, and not only when the shard is emptied."""
    latest: int = 2
    faults: int = 1


class Row(NamedTuple):
    """The schedule in one database."""

    next_fire: int = 1
    value: int = 0
    """How often it was changed."""
    version: int = 1
    is_copy: bool = False


Rows = tuple[Row | None, Row | None]


class World(NamedTuple):
    """Two databases, of which 0 gives and 1 takes."""

    now: int = 0
    rows: Rows = (Row(), None)
    forward: int | None = None
    """The version of the forwarding row at 0."""
    is_closed: bool = False
    is_named: bool = False
    """Whether the map names shard 1."""
    handled: frozenset[int] = frozenset()
    """Fire times that have fired, or were skipped because a run went on."""
    going: int | None = None
    """Where a run goes on."""
    mover: tuple[Literal["copy", "take", "activate", "discard"], Row] | None = None
    client: tuple[Literal["look", "store", "change"], int] | None = None
    """What it does next, and where."""
    value: int = 0
    """How many changes were acknowledged."""
    faults: int = 0
    broken: str | None = None


def broken(world: World) -> str | None:
    """Tell which promise does not hold."""
    if world.broken:
        return world.broken
    active = [row for row in world.rows if row is not None and not row.is_copy]
    if len(active) > 1:
        return "active in two places"
    if active and active[0].value < world.value:
        return "an acknowledged change is lost"
    return None


def has_ended(world: World, rules: Rules) -> bool:
    """Tell whether every fire time was handled, and the schedule is where its slot is."""
    row = world.rows[1]
    has_moved = world.is_named and row is not None and not row.is_copy
    is_idle = world.mover is None and world.client is None and world.going is None
    return is_idle and has_moved and len(world.handled) == rules.latest


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    if world.now < rules.latest:
        yield Step("time passes", world._replace(now=world.now + 1))
    if not world.is_closed:
        yield Step("the slot is closed at 0", world._replace(is_closed=True))
    elif not world.is_named:
        yield Step("the map names 1", world._replace(is_named=True))
    if world.going is not None:
        yield Step("the run ends", world._replace(going=None))
    for what, after in (*_firing(world, rules), *_client(world, rules), *_moving(world, rules)):
        yield Step(what, after)
    if world.faults and world.mover is not None:
        yield Step("fault: the mover dies", world._replace(mover=None, faults=world.faults - 1), is_fault=True)


def _firing(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    for shard, row in enumerate(world.rows):
        if row is None or (row.is_copy and rules.copies_rest) or row.next_fire > world.now:
            continue
        is_open = world.is_named if shard == 1 else not world.is_closed
        if rules.firing_is_fenced and not is_open:
            continue
        fired = _row(world, shard, row._replace(next_fire=row.next_fire + 1))
        why = None
        if row.next_fire in world.handled:
            why = "a fire time is handled twice"
        elif world.going != shard and world.going is not None:
            why = "a run begins while another goes on"
        elif not is_open:
            why = "a reader with the newest map does not find the run"
        going = shard if world.going is None else world.going
        handled = world.handled | {row.next_fire}
        yield f"fires {row.next_fire} at {shard}", fired._replace(handled=handled, going=going, broken=why)


def _client(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    if world.client is None:
        if world.value == 0:
            first = 1 if world.is_named and not rules.looks_for_name else 0
            yield "a client puts the schedule", world._replace(client=("look", first))
        return
    what, shard = world.client
    row = world.rows[shard]
    if row is not None and row.is_copy and what == "change" and world.forward == row.version + 1:
        world = _row(world, 1, row._replace(is_copy=False, version=row.version + 1))
        row = world.rows[1]
    if row is not None and not row.is_copy:
        changed = row._replace(value=row.value + 1, version=row.version + rules.editing_raises)
        yield f"the client changes it at {shard}", _row(world, shard, changed)._replace(client=None, value=1)
    else:
        yield _not_there(world, rules, what, shard)


def _not_there(world: World, rules: Rules, what: str, shard: int) -> tuple[str, World]:
    if shard == 0 and world.forward is not None and rules.name_stays:
        return "the client is forwarded", world._replace(client=("change", 1))
    if shard == 0 and what == "look" and world.is_named:
        return "the client finds no such name at 0", world._replace(client=("store", 1))
    if shard == 1 and (what == "store" or not rules.looks_for_name):
        return "the client stores another", world._replace(broken="one name, two schedules")
    return "the client asks again", world._replace(client=("look", 0))


def _moving(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    taken = world.rows[1]
    if world.mover is None:
        yield from _begin(world, rules)
        return
    phase, copied = world.mover
    is_its = taken is not None and taken.is_copy and taken.version == copied.version
    match phase:
        case "copy":
            is_free = taken is None or (taken.is_copy and taken.version <= copied.version)
            after = _row(world, 1, copied._replace(is_copy=True)) if is_free else world
            yield "the mover copies it", after._replace(mover=("take", copied) if is_free else None)
        case "take":
            yield _taken(world, rules, copied)
        case "activate":
            active = copied._replace(version=copied.version + 1)
            yield "the mover activates it", (_row(world, 1, active) if is_its else world)._replace(mover=None)
        case "discard":
            yield "the mover discards the copy", (_row(world, 1, None) if is_its else world)._replace(mover=None)


def _begin(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    source, taken = world.rows
    is_free = world.going is None or not rules.waits_for_runs
    if source is not None and world.is_named and rules.moves_without_drain and is_free:
        yield "the mover reads it", world._replace(mover=("copy", source))
    if taken is not None and taken.is_copy:
        yield "the mover finds the copy", world._replace(mover=("take", taken._replace(is_copy=False)))


def _taken(world: World, rules: Rules, copied: Row) -> tuple[str, World]:
    source = world.rows[0]
    if source is None:
        is_its = world.forward == copied.version + 1
        return "the mover finds it taken out", world._replace(mover=("activate" if is_its else "discard", copied))
    if source.version != copied.version and rules.takes_by_version:
        return "the mover may not take it out", world._replace(mover=("discard", copied))
    out = _row(world, 0, None)._replace(forward=copied.version + 1)
    return "the mover takes it out", out._replace(mover=("activate", copied))


def _row(world: World, shard: int, row: Row | None) -> World:
    first, second = world.rows
    return world._replace(rows=(row, second) if shard == 0 else (first, row))
