"""One job waits for two others; they end, one of them may fail and live again, and two processes tell of it.

An end is committed with a note that others have to be told. Whoever tells reads the note, tells in a transaction of its
own, and deletes the note after it; it may die in between, and another begins anew.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Step

TELLERS = ("ada", "bob")


class Rules(NamedTuple):
    """Which protections are in place, and how far to look."""

    notes_end: bool = True
    """Whether an end is noted in its own transaction, and not only told after it."""
    marks_told: bool = True
    """Whether the waiting job remembers of whom it has been told."""
    looks_again: bool = True
    """Whether the teller looks, under the lock, whether the other is still ended."""
    revivals: int = 1
    deaths: int = 2


class Teller(NamedTuple):
    """A process that tells; `note` is the one it has read."""

    note: tuple[int, int] | None = None
    has_told: bool = False
    is_sure_to_tell: int | None = None
    """A job whose end it has just committed itself: it tells of it if it lives."""


class World(NamedTuple):
    """The two jobs, the one that waits for them, the notes and the tellers."""

    states: tuple[str, str] = ("running", "running")
    waiting: str = "waiting"
    pending: int = 2
    told: frozenset[int] = frozenset()
    notes: frozenset[tuple[int, int]] = frozenset()
    numbers: int = 0
    tellers: tuple[Teller, Teller] = (Teller(), Teller())
    revivals: int = 0
    deaths: int = 0
    broken: str | None = None


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    yield from _ends(world, rules)
    for number, teller in enumerate(world.tellers):
        yield from _tellings(world, rules, number, teller)


def has_ended(world: World) -> bool:
    """Tell whether the waiting job stands as the others ended."""
    if world.states == ("completed", "completed"):
        return world.waiting in {"begun", "failed"}  # failed, if it was told of a failure before that was resumed
    return world.waiting == "failed" and "failed" in world.states


def _ends(world: World, rules: Rules) -> Iterator[Step[World]]:
    for job in (0, 1):
        if world.states[job] == "running":
            yield Step(f"job {job} completes", _ended(world, rules, job, "completed"))
            if job == 0:
                yield Step(f"job {job} fails", _ended(world, rules, job, "failed"))
        elif world.states[job] == "failed" and world.revivals < rules.revivals:
            revived = _state(world, job, "running")._replace(revivals=world.revivals + 1)
            yield Step(f"job {job} is resumed", revived, is_fault=True)


def _ended(world: World, rules: Rules, job: int, state: str) -> World:
    ended = _state(world, job, state)
    if rules.notes_end:
        return ended._replace(notes=world.notes | {(world.numbers, job)}, numbers=world.numbers + 1)
    return _teller(ended, 0, world.tellers[0]._replace(is_sure_to_tell=job))


def _tellings(world: World, rules: Rules, number: int, teller: Teller) -> Iterator[Step[World]]:
    name = TELLERS[number]
    if teller.is_sure_to_tell is not None:
        told = _told(world, rules, teller.is_sure_to_tell)
        yield Step(f"{name} tells what it ended", _teller(told, number, Teller()))
    elif teller.note is None:
        for note in sorted(world.notes):
            yield Step(f"{name} reads a note", _teller(world, number, Teller(note=note)))
    elif not teller.has_told:
        told = _told(world, rules, teller.note[1])
        yield Step(f"{name} tells", _teller(told, number, teller._replace(has_told=True)))
    else:
        deleted = world._replace(notes=world.notes - {teller.note})
        yield Step(f"{name} deletes the note", _teller(deleted, number, Teller()))
    if teller != Teller() and world.deaths < rules.deaths:
        died = _teller(world, number, Teller())._replace(deaths=world.deaths + 1)
        yield Step(f"fault: {name} dies", died, is_fault=True)


def _told(world: World, rules: Rules, job: int) -> World:
    """Tell the waiting job of an end, in one transaction that holds both jobs."""
    state = world.states[job]
    if rules.looks_again and state == "running":
        return world
    if world.waiting != "waiting" or (rules.marks_told and job in world.told):
        return world
    told = world._replace(told=world.told | {job})
    if state == "failed":
        return told._replace(waiting="failed")
    pending = world.pending - 1
    if pending:
        return told._replace(pending=pending)
    is_early = world.states != ("completed", "completed")
    return told._replace(
        pending=0, waiting="begun", broken="it began before the others had completed" if is_early else None
    )


def _state(world: World, job: int, state: str) -> World:
    first, second = (state if place == job else each for place, each in enumerate(world.states))
    return world._replace(states=(first, second))


def _teller(world: World, number: int, teller: Teller) -> World:
    first, second = (teller if place == number else each for place, each in enumerate(world.tellers))
    return world._replace(tellers=(first, second))
