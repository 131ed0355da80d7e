"""Job W waits for job P in the same database, and each leaves it for another database meanwhile.

A whole job moves: copied inactive with its version, taken out if it still has that version, activated. Every change of
a job raises its version. While both are in one database the end of P begins W in its own transaction: the wait is near.
When either leaves, the wait becomes far: a registrar registers it at P, wherever that is; the end of P then writes a
ripple, which a teller brings to W, wherever that is. Both follow forwarding rows, and activate copies.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tests.model.explore import Step


class Rules(NamedTuple):
    """The protections, all in place, and how far to look."""

    takes_by_version: bool = True
    """Whether a job is taken out only with the version that was copied."""
    registering_raises: bool = True
    """Whether registering a wait raises the version of P."""
    telling_raises: bool = True
    """Whether a ripple that W takes raises its version: what it unblocks is a change, too."""
    watchers_go_along: bool = True
    """Whether the copy of P has the waits that are registered at it."""
    leaving_p_makes_far: bool = True
    """Whether the waits of the giver's jobs become far in the transaction that takes P out."""
    leaving_w_makes_far: bool = True
    """Whether the wait of W becomes far when W moves."""
    registering_looks: bool = True
    """Whether registering looks whether P has ended."""
    ripples_follow: bool = True
    """Whether a teller follows the forwarding row of W."""
    moves_w: bool = True
    """Whether W moves, too."""
    faults: int = 2


class Job(NamedTuple):
    """W or P in one database."""

    version: int = 1
    is_copy: bool = False
    has_ended: bool = False
    """Of P."""
    watched: bool = False
    """Of P: whether the wait is registered."""
    told: bool = False
    """Of W."""
    is_far: bool = False
    is_registered: bool = False


Rows = tuple[Job | None, Job | None]
Mover = tuple[Literal["copy", "take", "activate", "discard"], Job]


class World(NamedTuple):
    """Two databases. Jobs go from 0 to 1, so a forwarding row is a version at 0."""

    w: Rows = (Job(), None)
    p: Rows = (Job(), None)
    forwards: tuple[int | None, int | None] = (None, None)
    """Of W and of P."""
    movers: tuple[Mover | None, Mover | None] = (None, None)
    """Of W and of P."""
    ripples: tuple[bool, bool] = (False, False)
    registrar: Literal["at P", "at W"] | None = None
    teller: tuple[Literal["tell", "delete"], int] | None = None
    faults: int = 0
    broken: str | None = None


def broken(world: World) -> str | None:
    """Tell which promise does not hold."""
    for name, rows in (("W", world.w), ("P", world.p)):
        if sum(_is_active(row) for row in rows) > 1:
            return f"{name} is active in two places"
    p = [row for row in world.p if row is not None and not row.is_copy]
    if p and not p[0].has_ended and any(row is not None and row.told for row in world.w):
        return "W begins before P has ended"
    return world.broken


def has_ended(world: World, rules: Rules) -> bool:
    """Tell whether W has begun, and the jobs have moved."""
    is_idle = world.movers == (None, None) and world.registrar is None and world.teller is None
    w, p = world.w[int(rules.moves_w)], world.p[1]
    return is_idle and _is_active(w) and _is_active(p) and w is not None and w.told and not any(world.ripples)


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for what, after in (*_end(world), *_registering(world, rules), *_telling(world, rules)):
        yield Step(what, after)
    for number in (0, 1):
        for what, after in _moving(world, rules, number):
            yield Step(f"the mover of {'WP'[number]} {what}", after)
    if world.faults:
        yield from _deaths(world._replace(faults=world.faults - 1))


def _deaths(world: World) -> Iterator[Step[World]]:
    for number in (0, 1):
        if world.movers[number] is not None:
            yield Step(f"fault: the mover of {'WP'[number]} dies", _mover(world, number, None), is_fault=True)
    if world.registrar is not None:
        yield Step("fault: the registrar dies", world._replace(registrar=None), is_fault=True)
    if world.teller is not None:
        yield Step("fault: the teller dies", world._replace(teller=None), is_fault=True)


def _is_active(row: Job | None) -> bool:
    return row is not None and not row.is_copy


def _end(world: World) -> Iterator[tuple[str, World]]:
    for shard, p in enumerate(world.p):
        if p is None or p.is_copy or p.has_ended:
            continue
        ended = _row(world, 1, shard, p._replace(has_ended=True, version=p.version + 1))
        if p.watched:
            ended = _ripple(ended, shard, there=True)
        w = world.w[shard]
        if w is not None and not w.is_copy and not w.is_far:
            ended = _row(ended, 0, shard, w._replace(told=True, version=w.version + 1))
        yield f"P ends at {shard}", ended


def _found(world: World, number: int) -> tuple[World, int] | None:
    """Go to a job, by its forwarding row, and activate the copy that this means."""
    rows = (world.w, world.p)[number]
    if _is_active(rows[0]):
        return world, 0
    copy, forward = rows[1], world.forwards[number]
    if copy is None:
        return None
    if copy.is_copy:
        return (_row(world, number, 1, _activated(copy)), 1) if forward == copy.version + 1 else None
    return world, 1


def _activated(copy: Job) -> Job:
    return copy._replace(is_copy=False, version=copy.version + 1)


def _registering(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    if world.registrar is None:
        for w in world.w:
            if w is not None and not w.is_copy and w.is_far and not w.is_registered and not w.told:
                yield "the registrar reads the wait", world._replace(registrar="at P")
    elif world.registrar == "at P":
        found = _found(world, 1)
        if found is None:
            yield "the registrar gets 404", world._replace(broken="P is not found")
            return
        there, shard = found
        p = there.p[shard]
        assert p is not None
        registered = _row(there, 1, shard, p._replace(watched=True, version=p.version + rules.registering_raises))
        if p.has_ended and rules.registering_looks:
            registered = _ripple(registered, shard, there=True)
        yield f"the registrar registers at {shard}", registered._replace(registrar="at W")
    else:
        found = _found(world, 0)
        if found is None:
            yield "the registrar gets 404", world._replace(broken="W is not found")
            return
        there, shard = found
        w = there.w[shard]
        assert w is not None
        yield (
            "the registrar marks the wait",
            _row(there, 0, shard, w._replace(is_registered=True))._replace(registrar=None),
        )


def _telling(world: World, rules: Rules) -> Iterator[tuple[str, World]]:
    if world.teller is None:
        for shard, there in enumerate(world.ripples):
            if there:
                yield f"the teller reads a ripple at {shard}", world._replace(teller=("tell", shard))
        return
    phase, source = world.teller
    if phase == "delete":
        yield "the teller deletes the ripple", _ripple(world, source, there=False)._replace(teller=None)
        return
    found = _found(world, 0) if rules.ripples_follow or _is_active(world.w[0]) else None
    told = world if found is None else _told(*found, rules)
    if found is None and rules.ripples_follow:
        told = world._replace(broken="W is not found")
    yield "the teller tells W", told._replace(teller=("delete", source))


def _told(world: World, shard: int, rules: Rules) -> World:
    w = world.w[shard]
    assert w is not None
    if w.told:
        return world
    return _row(world, 0, shard, w._replace(told=True, version=w.version + rules.telling_raises))


def _moving(world: World, rules: Rules, number: int) -> Iterator[tuple[str, World]]:
    rows, mover = (world.w, world.p)[number], world.movers[number]
    source, taken = rows
    if mover is None:
        if source is not None and (number == 1 or rules.moves_w):
            yield "reads it", _mover(world, number, ("copy", source))
        if taken is not None and taken.is_copy:
            yield "finds the copy", _mover(world, number, ("take", taken._replace(is_copy=False)))
        return
    phase, copied = mover
    match phase:
        case "copy":
            yield "copies it", _copied(world, rules, number, copied)
        case "take":
            yield _taken(world, rules, number, copied)
        case "activate":
            is_its = taken is not None and taken.is_copy and taken.version == copied.version
            active = _row(world, number, 1, _activated(taken)) if taken is not None and is_its else world
            yield "activates the copy", _mover(active, number, None)
        case "discard":
            is_its = taken is not None and taken.is_copy and taken.version == copied.version
            yield "discards the copy", _mover(_row(world, number, 1, None) if is_its else world, number, None)


def _copied(world: World, rules: Rules, number: int, source: Job) -> World:
    there = (world.w, world.p)[number][1]
    if there is not None and not (there.is_copy and there.version <= source.version):
        return _mover(world, number, None)
    copy = source._replace(is_copy=True, is_far=source.is_far or rules.leaving_w_makes_far)
    if not rules.watchers_go_along:
        copy = copy._replace(watched=False)
    return _mover(_row(world, number, 1, copy), number, ("take", source))


def _taken(world: World, rules: Rules, number: int, copied: Job) -> tuple[str, World]:
    source = (world.w, world.p)[number][0]
    if source is not None and (source.version == copied.version or not rules.takes_by_version):
        out = _row(world, number, 0, None)
        forwards = list(world.forwards)
        forwards[number] = copied.version + 1
        out = out._replace(forwards=(forwards[0], forwards[1]))
        w = out.w[0]
        if number == 1 and w is not None and rules.leaving_p_makes_far:
            # That is a change of W as well.
            out = _row(out, 0, 0, w._replace(is_far=True, version=w.version + (not w.is_far)))
        return "takes it out", _mover(out, number, ("activate", copied))
    if source is None and world.forwards[number] == copied.version + 1:
        return "finds it taken out", _mover(world, number, ("activate", copied))
    return "may not take it out", _mover(world, number, ("discard", copied))


def _row(world: World, number: int, shard: int, row: Job | None) -> World:
    rows = (world.w, world.p)[number]
    both = (row, rows[1]) if shard == 0 else (rows[0], row)
    return world._replace(w=both) if number == 0 else world._replace(p=both)


def _mover(world: World, number: int, mover: Mover | None) -> World:
    first, second = world.movers
    return world._replace(movers=(mover, second) if number == 0 else (first, mover))


def _ripple(world: World, shard: int, *, there: bool) -> World:
    first, second = world.ripples
    return world._replace(ripples=(there, second) if shard == 0 else (first, there))
