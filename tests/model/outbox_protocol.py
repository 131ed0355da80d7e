"""The outbox as a log: three transactions, two sequencers, two relays on one cursor, a pruner, kill -9 anywhere.

Two of the transactions act on one task, one after the other, since the task's row is locked; the third is about another
task and may be slow. Each protection is a switch in `Rules`; the tests turn them off one by one and expect the checker
to find out.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tests.model.explore import Step

ACTS = ("a1", "a2", "b1")
EARLIER = {"a2": "a1"}
"""What has to be committed, or taken back, before an act can lock its task."""


class Rules(NamedTuple):
    """Which protections are in place, and how far to look."""

    positions: bool = True
    """Readers go by position; without, by the number that a row got when it was written: the classic mistake."""
    numbers_after_lock: bool = True
    """A row gets its number after the task is locked, not before."""
    sequencer_locks: bool = True
    gives_once: bool = True
    """A row that has got a position meanwhile keeps it."""
    in_order: bool = True
    """Rows get positions in the order of their numbers."""
    moves_after_sending: bool = True
    keeps_unread: bool = True
    sequencers: int = 2
    relays: int = 1
    faults: int = 2


class Writing(NamedTuple):
    """A transaction: what it has done so far."""

    phase: Literal["waits", "locked", "written", "over"] = "waits"
    number: int = 0


class Row(NamedTuple):
    """A committed row."""

    number: int
    act: str
    position: int = 0


class Sequencer(NamedTuple):
    """One that gives positions: what it saw when it began to look, and whether it has the lock."""

    seen: tuple[int, ...] = ()
    has_lock: bool = False


class Relay(NamedTuple):
    """One that sends: where it found the cursor, what it read, how much of it is sent."""

    old: int = 0
    new: int = 0
    page: tuple[str, ...] = ()
    moved: bool = False


class World(NamedTuple):
    """Everything."""

    writing: tuple[Writing, ...] = (Writing(),) * len(ACTS)
    next_number: int = 1
    rows: tuple[Row, ...] = ()
    last_position: int = 0
    sequencers: tuple[Sequencer, Sequencer] = (Sequencer(), Sequencer())
    relays: tuple[Relay, Relay] = (Relay(), Relay())
    cursor: int = 0
    sent: tuple[str, ...] = ()
    """In the order of their first sending."""
    committed: frozenset[str] = frozenset()
    faults: int = 0
    broken: str | None = None


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for place, act in enumerate(ACTS):
        yield from _write(world, rules, place, act)
    for place in range(rules.sequencers):
        yield from _sequence(world, rules, place)
    for place in range(rules.relays):
        yield from _relay(world, rules, place)
    yield from _prune(world, rules)


def is_over(world: World) -> bool:
    """Tell whether everything was written, and sent."""
    return all(each.phase == "over" for each in world.writing) and world.committed == set(world.sent)


def _write(world: World, rules: Rules, place: int, act: str) -> Iterator[Step[World]]:
    here = world.writing[place]
    earlier = EARLIER.get(act)
    is_free = earlier is None or world.writing[ACTS.index(earlier)].phase == "over"
    if here.phase == "waits" and not rules.numbers_after_lock and not here.number:
        drawn = _put(world.writing, place, here._replace(number=world.next_number))
        yield Step(f"{act}: draw a number", world._replace(writing=drawn, next_number=world.next_number + 1))
    if here.phase == "waits" and is_free:
        yield Step(f"{act}: lock", world._replace(writing=_put(world.writing, place, here._replace(phase="locked"))))
    if here.phase == "locked":
        number = here.number or world.next_number
        written = _put(world.writing, place, Writing("written", number))
        yield Step(f"{act}: write", world._replace(writing=written, next_number=max(world.next_number, number + 1)))
    if here.phase == "written":
        over = _put(world.writing, place, Writing("over"))
        rows = tuple(sorted((*world.rows, Row(here.number, act))))
        yield Step(f"{act}: commit", world._replace(writing=over, rows=rows, committed=world.committed | {act}))
        yield from _fault(world, rules, f"{act}: roll back", world._replace(writing=over))


def _sequence(world: World, rules: Rules, place: int) -> Iterator[Step[World]]:
    """One statement: it sees what is committed when it begins, then gets the lock, then gives positions."""
    here = world.sequencers[place]
    if not here.seen and rules.positions:
        seen = tuple(row.number for row in world.rows if not row.position)
        if seen:
            yield Step(f"sequencer {place}: look", _sequencer(world, place, Sequencer(seen)))
    if not here.seen:
        return
    if not here.has_lock:
        if rules.sequencer_locks and world.sequencers[1 - place].has_lock:
            yield Step(f"sequencer {place}: leave it to the other", _sequencer(world, place, Sequencer()))
        else:
            yield Step(f"sequencer {place}: lock", _sequencer(world, place, here._replace(has_lock=True)))
        return
    yield Step(f"sequencer {place}: commit", _given(world, rules, here.seen, place))
    yield from _fault(world, rules, f"sequencer {place}: kill", _sequencer(world, place, Sequencer()))


def _given(world: World, rules: Rules, seen: tuple[int, ...], place: int) -> World:
    rows = {row.number: row for row in world.rows}
    last = world.last_position
    broken = world.broken
    for number in seen if rules.in_order else reversed(seen):
        if number not in rows or (rules.gives_once and rows[number].position):
            continue
        if rows[number].position:
            broken = "a row was given two positions"
        last += 1
        rows[number] = rows[number]._replace(position=last)
    world = world._replace(rows=tuple(sorted(rows.values())), last_position=last, broken=broken)
    return _sequencer(world, place, Sequencer())


def _relay(world: World, rules: Rules, place: int) -> Iterator[Step[World]]:
    here = world.relays[place]
    if not here.page and not here.moved:
        page = sorted((_place_of(row, rules), row.act) for row in world.rows if _place_of(row, rules) > world.cursor)
        if page:
            read = Relay(world.cursor, page[-1][0], tuple(act for _, act in page))
            yield Step(f"relay {place}: read {read.page}", _at(world, place, read))
        return
    if here.page and (rules.moves_after_sending or here.moved):
        act, *rest = here.page
        sent = world.sent if act in world.sent else (*world.sent, act)
        after = _at(world, place, here._replace(page=tuple(rest), moved=here.moved or not rest))
        if not rest and not rules.moves_after_sending:
            after = _at(world, place, Relay())
        yield Step(f"relay {place}: send {act}", _checked(after._replace(sent=sent)))
    else:
        cursor = here.new if world.cursor == here.old else world.cursor
        rested = Relay() if rules.moves_after_sending else here._replace(moved=True)
        yield Step(f"relay {place}: move to {cursor}", _at(world._replace(cursor=cursor), place, rested))
    yield from _fault(world, rules, f"relay {place}: kill", _at(world, place, Relay()))


def _prune(world: World, rules: Rules) -> Iterator[Step[World]]:
    bound = world.cursor if rules.keeps_unread else world.last_position
    kept = tuple(row for row in world.rows if not row.position or row.position > bound)
    if kept != world.rows and rules.positions:
        yield Step("prune", world._replace(rows=kept))


def _checked(world: World) -> World:
    for later, earlier in EARLIER.items():
        if later in world.sent and earlier in world.committed - set(world.sent[: world.sent.index(later)]):
            return world._replace(broken=f"{later} was sent before {earlier}")
    return world


def _fault(world: World, rules: Rules, name: str, after: World) -> Iterator[Step[World]]:
    if world.faults < rules.faults:
        yield Step(f"fault: {name}", after._replace(faults=world.faults + 1), is_fault=True)


def _place_of(row: Row, rules: Rules) -> int:
    return row.position if rules.positions else row.number


def _put(writing: tuple[Writing, ...], place: int, one: Writing) -> tuple[Writing, ...]:
    return (*writing[:place], one, *writing[place + 1 :])


def _sequencer(world: World, place: int, one: Sequencer) -> World:
    first, second = world.sequencers
    return world._replace(sequencers=(one, second) if place == 0 else (first, one))


def _at(world: World, place: int, one: Relay) -> World:
    first, second = world.relays
    return world._replace(relays=(one, second) if place == 0 else (first, one))
