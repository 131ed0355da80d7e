"""The firing of one schedule as a state machine: two schedulers, kills at any point, a clock that is set.

Fire times are 1, 2, 3 …, and the schedule's misfire policy is to skip: what was due while nobody was there does not
fire. The promises: no fire time has two runs; none is left out that some scheduler was there for, from when it was due
to when it was dealt with; none is made up for that nobody was there for. `Protocol` turns each protection off.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tests.model.explore import Step

NEVER = -9
LAPSE = 1
"""A word is good for so long."""

WAITING = frozenset({"doubting", "decided", "locked", "fired"})

Phase = Literal["dead", "idle", "doubting", "decided", "locked", "fired"]


class Protocol(NamedTuple):
    """The rules. The defaults are those of `scheduler/fire.py` and the stores."""

    locks: bool = True
    """Whether a schedule is locked from when it is read to the commit."""
    has_key: bool = True
    """Whether a run is unique by its fire time."""
    is_one_transaction: bool = True
    """Whether the run and the next fire time are committed together; else the run comes first."""
    run_comes_first: bool = True
    counts_from: Literal["fire time", "clock"] = "fire time"
    """What the next fire time is found from."""
    remembers: bool = True
    """Whether a scheduler knows that it has been there itself, whatever the clock says."""
    doubts: bool = True
    """Whether an old word is doubted until everybody who is there has had time to leave another."""
    word_comes_last: bool = True
    """Whether after an absence the word is left only when all is dealt with."""
    latest: int = 3
    faults: int = 1


class Scheduler(NamedTuple):
    """One scheduler, between two of its steps."""

    phase: Phase = "dead"
    was_there: bool = False
    """Whether it has made a pass in this life."""
    word: int = 0
    """The word that it found."""
    absent_since: int | None = None
    """After which time nobody was there, if it came to think so; and before which it came itself."""
    came_at: int = 0
    read: tuple[int, ...] = ()
    """The fire times that it is about to deal with."""
    is_half_done: bool = False


class World(NamedTuple):
    """All there is."""

    now: int = 0
    next_fire: int = 1
    runs: tuple[int, ...] = ()
    word: int = NEVER
    """When a scheduler last left word."""
    lock: int | None = None
    schedulers: tuple[Scheduler, Scheduler] = (Scheduler(), Scheduler())
    spoken: tuple[bool, bool] = (True, True)
    """Whether each has left word since the oldest doubt of the other began."""
    unattended: frozenset[int] = frozenset()
    """Fire times that were due, and not dealt with, at some moment when nobody was there."""
    forgotten: frozenset[int] = frozenset()
    """Those that nobody was there for when they came due, nor for longer than a word is good for."""
    attended: frozenset[int] = frozenset()
    """Those that somebody was there for when they came due."""
    is_set: bool = False
    """Whether the clock was ever set: then nobody can tell how long it was that nobody was there."""
    faults: int = 0
    broken: str | None = None


def steps(world: World, rules: Protocol) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    if world.now < rules.latest:
        yield Step("time passes", _noted(world._replace(now=world.now + 1)))
    for number, scheduler in enumerate(world.schedulers):
        for name, after in _steps_of(world, rules, number, scheduler):
            yield Step(f"{'AB'[number]} {name}", _noted(after))
        if scheduler.phase != "dead" and world.faults < rules.faults:
            killed = _with(world, number, Scheduler())._replace(faults=world.faults + 1)
            freed = killed._replace(lock=None if world.lock == number else world.lock)
            yield Step(f"{'AB'[number]} is killed", _noted(freed), is_fault=True)
    if world.faults < rules.faults:
        for change in (-1, 2):
            now = world.now + change
            if 0 <= now <= rules.latest:
                set_ = world._replace(now=now, faults=world.faults + 1, is_set=True)
                yield Step(f"the clock is set to {now}", _noted(set_), is_fault=True)


def _steps_of(world: World, rules: Protocol, number: int, own: Scheduler) -> Iterator[tuple[str, World]]:
    match own.phase:
        case "dead":
            yield "starts", _with(world, number, Scheduler(phase="idle"))
        case "idle":
            yield "looks", _looked(world, rules, number, own)
        case "doubting":
            yield from _doubting(world, rules, number, own)
        case "decided":
            yield "reads what is due", _read(world, rules, number, own)
        case "locked":
            yield "commits", _committed(world, rules, number, own)
        case "fired":
            yield "ends its pass", _left_word(world, rules, number, own)


def _doubting(world: World, rules: Protocol, number: int, own: Scheduler) -> Iterator[tuple[str, World]]:
    # Its patience outlasts a round of everybody who is there.
    if not world.schedulers[1 - number].was_there or world.spoken[1 - number]:
        yield "is sure", _sure(world, rules, number, own)


def _looked(world: World, rules: Protocol, number: int, own: Scheduler) -> World:
    is_due = world.next_fire <= world.now
    is_attended = (rules.remembers and own.was_there) or world.now - world.word <= LAPSE
    if not is_due:
        return _with(world, number, own._replace(phase="fired", was_there=True))
    if is_attended:
        return _with(world, number, own._replace(phase="decided", absent_since=None))
    doubting = own._replace(phase="doubting", word=world.word, came_at=world.now)
    spoken = tuple(place == number and spoke for place, spoke in enumerate(world.spoken))
    world = world._replace(spoken=(spoken[0], spoken[1]))
    if not rules.word_comes_last:
        world = world._replace(word=world.now)
    if not rules.doubts:
        decided = doubting._replace(phase="decided", absent_since=doubting.word)
        return _with(world, number, decided)
    return _with(world, number, doubting)


def _sure(world: World, rules: Protocol, number: int, own: Scheduler) -> World:
    if world.spoken[1 - number]:  # if that is old too, the clock was set once more, and it begins anew
        return _looked(world, rules, number, own)
    return _with(world, number, own._replace(phase="decided", absent_since=own.word))


def _read(world: World, rules: Protocol, number: int, own: Scheduler) -> World:
    times = tuple(range(world.next_fire, world.now + 1))
    if not times or (rules.locks and world.lock is not None):  # what is locked is passed over
        return _with(world, number, own._replace(phase="fired"))
    locked = _with(world, number, own._replace(phase="locked", read=times, is_half_done=False))
    return locked._replace(lock=number) if rules.locks else locked


def _committed(world: World, rules: Protocol, number: int, own: Scheduler) -> World:
    """Write what was decided; in two halves if they are not one transaction."""
    writes_runs = rules.is_one_transaction or own.is_half_done is not rules.run_comes_first
    advances = rules.is_one_transaction or not writes_runs
    if writes_runs:
        world = _run(world, rules, own)
    if advances:
        last = own.read[-1] if rules.counts_from == "fire time" else world.now
        first = max(own.read[0], world.next_fire)
        world = _dealt_with(world._replace(next_fire=max(last + 1, world.next_fire)), first)
    if not rules.is_one_transaction and not own.is_half_done:
        return _with(world, number, own._replace(is_half_done=True))
    done = own._replace(phase="fired", read=(), is_half_done=False)
    return _with(world, number, done)._replace(lock=None if world.lock == number else world.lock)


def _run(world: World, rules: Protocol, own: Scheduler) -> World:
    for time in own.read:
        is_missed = own.absent_since is not None and own.absent_since < time < own.came_at
        if is_missed or (rules.has_key and time in world.runs):
            continue
        broken = world.broken
        if time in world.runs:
            broken = f"fire time {time} has two runs"
        elif time in world.forgotten and not world.is_set:
            broken = f"fire time {time} was made up for, though nobody was there"
        world = world._replace(runs=tuple(sorted((*world.runs, time))), broken=broken)
    return world


def _dealt_with(world: World, first: int) -> World:
    left_out = [time for time in range(first, world.next_fire) if time not in world.runs]
    wrong = [time for time in left_out if time not in world.unattended]
    if wrong and world.broken is None:
        return world._replace(broken=f"fire time {wrong[0]} was left out, though somebody was there")
    return world


def _left_word(world: World, rules: Protocol, number: int, own: Scheduler) -> World:
    idle = own._replace(phase="idle", was_there=True, absent_since=None, word=0, came_at=0)
    if own.absent_since is not None and world.next_fire <= world.now and rules.word_comes_last:
        # Somebody else deals with the rest just now, and may die over it: it has to be judged in the same way.
        return _with(world, number, own._replace(phase="decided"))
    spoken = tuple(place == number or spoke for place, spoke in enumerate(world.spoken))
    return _with(world, number, idle)._replace(word=world.now, spoken=(spoken[0], spoken[1]))


def _noted(world: World) -> World:
    """Note of each fire time that is due whether somebody is there."""
    due = range(world.next_fire, world.now + 1)
    is_attended = any(scheduler.was_there for scheduler in world.schedulers)
    fresh = [time for time in due if time not in world.attended and time not in world.unattended]
    attended = world.attended.union(fresh) if is_attended else world.attended
    gone = [] if is_attended else list(due)
    # Somebody who has come, and waits to be sure, may fire what comes due meanwhile; others do not know of that.
    waits = [own for own in world.schedulers if own.phase in WAITING and not own.was_there]
    came = min((own.came_at for own in waits), default=world.now)
    is_long = world.now - world.word > LAPSE
    forgotten = [time for time in gone if is_long and time < came and time not in attended]
    # What is dealt with is of no account any more, and a smaller world is explored sooner.
    return world._replace(
        attended=_from(world.next_fire, attended),
        unattended=_from(world.next_fire, world.unattended.union(gone)),
        forgotten=_from(world.next_fire, world.forgotten.union(forgotten)),
    )


def _from(first: int, times: frozenset[int]) -> frozenset[int]:
    return frozenset(time for time in times if time >= first)


def _with(world: World, number: int, scheduler: Scheduler) -> World:
    both = list(world.schedulers)
    both[number] = scheduler
    return world._replace(schedulers=(both[0], both[1]))
