"""A job waits for two others: one in another database, one in its own.

W is in database B and waits for P0 in database A and for P1 in B, whose end reaches W in its own transaction. W is
stored first; registrars then read which waits are not registered, register them at A, and mark them in B. Tellers read
a ripple at A, apply it in B, and delete it. A life is the number of a job's resumes: a ripple names the life of W.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeVar

from tests.model.explore import Step

T = TypeVar("T")


class Rules(NamedTuple):
    """The protections, all in place, and how far to look."""

    stores_first: bool = True
    """Whether W is stored before its wait is registered."""
    registering_looks: bool = True
    """Whether registering looks, under the lock of P, whether P has ended."""
    registers_again: bool = True
    """Whether a registration is repeated until it is marked."""
    end_writes_ripple: bool = True
    """Whether the end of P writes the ripple in its own transaction, and not only tells W after it."""
    marks_told: bool = True
    """Whether W remembers for which job it has taken a ripple."""
    names_life: bool = True
    """Whether W takes ripples of its own life only."""
    resume_registers: bool = True
    """Whether resuming W registers its waits anew."""
    deletes_by_number: bool = True
    """Whether a teller deletes the ripple that it has read, and not what there is for the pair."""
    tellers: int = 2
    revivals_of_p: int = 1
    revivals_of_w: int = 1
    faults: int = 1


class Waiting(NamedTuple):
    """The job that waits."""

    state: Literal["absent", "waiting", "begun", "failed"] = "waiting"
    life: int = 1
    told: tuple[bool, ...] = (False, False)
    registered: tuple[bool, ...] = (False, True)


class Ripple(NamedTuple):
    """The end of a job, on its way to W."""

    job: int
    state: str
    life_of_p: int
    life_of_w: int


class World(NamedTuple):
    """The jobs, the ripples and the processes."""

    awaited: tuple[tuple[str, int], ...]
    """State and life of P0 and P1."""
    waiting: Waiting
    watched: tuple[int, ...]
    """The life of W that is registered at each, or 0."""
    ripples: frozenset[Ripple]
    registrars: tuple[tuple[str, int] | None, ...]
    """Where each goes next, and with which life of W."""
    tellers: tuple[tuple[str, Ripple] | None, ...]
    begun: int
    has_failed: bool
    """Whether an awaited job was failed at some time while W waited."""
    revivals_of_p: int
    revivals_of_w: int
    faults: int
    broken: str | None = None


def start(rules: Rules) -> World:
    """Return the world in which both run, and nothing is registered."""
    return World(
        awaited=(("running", 1), ("running", 1)),
        waiting=Waiting("waiting" if rules.stores_first else "absent"),
        watched=(0, 1),
        ripples=frozenset(),
        registrars=(None, None),
        tellers=(None,) * rules.tellers,
        begun=0,
        has_failed=False,
        revivals_of_p=rules.revivals_of_p,
        revivals_of_w=rules.revivals_of_w,
        faults=rules.faults,
    )


def has_ended(world: World) -> bool:
    """Tell whether W is as the others ended."""
    states = [state for state, _ in world.awaited]
    if "running" in states or world.ripples or any(world.registrars) or any(world.tellers):
        return False
    return world.waiting.state == "failed" or ("failed" not in states and world.waiting.state == "begun")


def steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    if world.broken:
        return
    yield from _ends(world, rules)
    yield from _waiting_steps(world, rules)
    for number, registrar in enumerate(world.registrars):
        yield from _registrar_steps(world, rules, number, registrar)
    for number, teller in enumerate(world.tellers):
        yield from _teller_steps(world, rules, number, teller)


def _ends(world: World, rules: Rules) -> Iterator[Step[World]]:
    remote, local = world.awaited
    if remote[0] == "running":
        for state in ("completed", "failed"):
            yield from _remote_end(_state(world, 0, state), rules)
    elif remote[0] == "failed" and world.revivals_of_p:
        revived = world._replace(awaited=(("running", remote[1] + 1), local), revivals_of_p=world.revivals_of_p - 1)
        yield Step("P0 is resumed", revived, is_fault=True)
    if local[0] == "running":
        ended = _state(world, 1, "completed")
        yield Step("P1 completes", _told(ended, rules, Ripple(1, "completed", 1, world.waiting.life)))


def _remote_end(ended: World, rules: Rules) -> Iterator[Step[World]]:
    state, life = ended.awaited[0]
    if not ended.watched[0]:
        yield Step(f"P0 has {state}", ended)
    elif rules.end_writes_ripple:
        yield Step(f"P0 has {state}, with a ripple", _with_ripple(ended))
    else:
        yield Step(f"P0 has {state}, told", _told(ended, rules, Ripple(0, state, life, ended.watched[0])))
        if ended.faults:
            died = ended._replace(faults=ended.faults - 1)
            yield Step(f"fault: P0 has {state}, its process dies", died, is_fault=True)


def _waiting_steps(world: World, rules: Rules) -> Iterator[Step[World]]:
    waiting = world.waiting
    is_local_done = world.awaited[1][0] == "completed"
    has_failed = any(state == "failed" for state, _ in world.awaited)
    if waiting.state == "absent" and all(world.watched):
        stored = Waiting(told=(False, is_local_done), registered=(True, True))
        yield Step("W is stored", world._replace(waiting=stored, has_failed=has_failed))
    if waiting.state == "failed" and world.revivals_of_w:
        registered = waiting.told[0] if rules.resume_registers else True
        again = Waiting("waiting", waiting.life + 1, (waiting.told[0], is_local_done), (registered, True))
        resumed = world._replace(waiting=again, revivals_of_w=world.revivals_of_w - 1, has_failed=has_failed)
        yield Step("W is resumed", resumed, is_fault=True)


def _registrar_steps(
    world: World, rules: Rules, number: int, registrar: tuple[str, int] | None
) -> Iterator[Step[World]]:
    waiting = world.waiting
    name = f"registrar {number}"
    if registrar is None:
        if _is_to_register(world, rules):
            yield Step(f"{name} reads the wait", _registrar(world, number, ("at A", waiting.life)))
            if not rules.registers_again and world.faults:
                lost = world._replace(waiting=waiting._replace(registered=(True, True)), faults=world.faults - 1)
                yield Step(f"fault: {name} dies before A", lost, is_fault=True)
        return
    place, life = registrar
    if place == "at A":
        after = world._replace(watched=(max(life, world.watched[0]), world.watched[1]))
        if rules.registering_looks and world.awaited[0][0] != "running":
            after = _with_ripple(after)
        yield Step(f"{name} registers at P0", _registrar(after, number, ("at B", life)))
    else:
        is_its = waiting.life == life and waiting.state != "absent"
        marked = world._replace(waiting=waiting._replace(registered=(True, True))) if is_its else world
        yield Step(f"{name} marks the wait", _registrar(marked, number, None))
    if world.faults:
        died = _registrar(world, number, None)._replace(faults=world.faults - 1)
        yield Step(f"fault: {name} dies", died, is_fault=True)


def _is_to_register(world: World, rules: Rules) -> bool:
    if world.waiting.registered[0]:
        return False
    if world.waiting.state == "absent":
        return not world.watched[0]
    return world.waiting.state == "waiting" and (rules.registers_again or not world.watched[0])


def _teller_steps(world: World, rules: Rules, number: int, teller: tuple[str, Ripple] | None) -> Iterator[Step[World]]:
    name = f"teller {number}"
    if teller is None:
        for ripple in sorted(world.ripples):
            yield Step(f"{name} reads that P0 has {ripple.state}", _teller(world, number, ("tell", ripple)))
        return
    phase, ripple = teller
    if phase == "tell":
        told = _told(world, rules, ripple)
        yield Step(f"{name} tells that P0 has {ripple.state}", _teller(told, number, ("delete", ripple)))
    else:
        gone = {each for each in world.ripples if each == ripple or not rules.deletes_by_number}
        yield Step(f"{name} deletes the ripple", _teller(world._replace(ripples=world.ripples - gone), number, None))
    if world.faults:
        died = _teller(world, number, None)._replace(faults=world.faults - 1)
        yield Step(f"fault: {name} dies", died, is_fault=True)


def _with_ripple(world: World) -> World:
    state, life = world.awaited[0]
    return world._replace(ripples=world.ripples | {Ripple(0, state, life, world.watched[0])})


def _told(world: World, rules: Rules, ripple: Ripple) -> World:
    """Apply a ripple in W's database."""
    waiting = world.waiting
    is_of_another_life = rules.names_life and waiting.life != ripple.life_of_w
    if waiting.state != "waiting" or is_of_another_life or (rules.marks_told and waiting.told[ripple.job]):
        return world
    if ripple.state == "failed":
        told = waiting.told if rules.resume_registers else _put(waiting.told, ripple.job, value=True)
        why = None if world.has_failed else "W fails by an end that was over when it began to wait"
        return world._replace(waiting=waiting._replace(state="failed", told=told), broken=why)
    bare_counter = (True, any(waiting.told))  # any two begin it
    told = _put(waiting.told, ripple.job, value=True) if rules.marks_told else bare_counter
    world = world._replace(waiting=waiting._replace(told=told))
    return _begun(world) if all(told) else world


def _begun(world: World) -> World:
    why = "W begins twice" if world.begun else None
    if any(state != "completed" for state, _ in world.awaited):
        why = "W begins before all have completed"
    return world._replace(waiting=world.waiting._replace(state="begun"), begun=world.begun + 1, broken=why)


def _state(world: World, job: int, state: str) -> World:
    awaited = _put(world.awaited, job, (state, world.awaited[job][1]))
    return world._replace(awaited=awaited, has_failed=world.has_failed or state == "failed")


def _registrar(world: World, number: int, registrar: tuple[str, int] | None) -> World:
    return world._replace(registrars=_put(world.registrars, number, registrar))


def _teller(world: World, number: int, teller: tuple[str, Ripple] | None) -> World:
    return world._replace(tellers=_put(world.tellers, number, teller))


def _put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])
