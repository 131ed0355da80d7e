"""A signal by correlation that is kept in one database, and two tasks of another that wait for it.

Each step is a transaction in one database. What a process has read is delivered at any time later, once, twice or
never: a message that was delivered may stay in the mail.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model.explore import Step

MOST = 3
"""Registrations of a task, and givings, that the model goes through."""


MOST_MAIL = 2
"""Messages that are under way at a time."""


class FarProtocol(NamedTuple):
    """What is kept to; each value switches a protection off."""

    remembers_taken: bool = True
    """A task that took the signal says so whenever it is told of it again."""
    remembers_refused: bool = True
    """A task that refused a giving refuses it for good."""
    numbers_givings: bool = True
    """An answer counts for the giving that it was made to."""
    versions_watches: bool = True
    """A refusal ends the registration that the giving was for, and no later one."""
    versions_marks: bool = True
    """A mark counts for the registration that it was made after."""
    undoes_marks: bool = True
    """A refusal lets the wait be registered anew."""
    gives_on_register: bool = True
    """A registration is given a signal that was there before."""


class FarTask(NamedTuple):
    """A task: it waits, runs or is over. What it remembers is the giving that it took, and the last that it refused."""

    state: str = "running"
    is_registered: bool = False
    undone: int = 0
    is_answered: bool = False
    refused: int = 0


class FarWorld(NamedTuple):
    """The tasks, and where the signal is kept: its state, whom it is given to, and who is registered, in order."""

    tasks: tuple[FarTask, ...] = (FarTask(), FarTask())
    signal: str = "unsent"
    given: tuple[int, int] | None = None
    no: int = 0
    watches: tuple[tuple[int, int], ...] = ()
    version: int = 0
    mail: frozenset[tuple[str | int, ...]] = frozenset()
    faults: int = 1


def steps(world: FarWorld, rules: FarProtocol) -> Iterator[Step[FarWorld]]:
    """Yield all that can happen next."""
    if world.signal == "unsent":
        yield Step("send", _give(world._replace(signal="kept")))
    if world.given is not None:
        place, version = world.given
        yield _post(world, "read what is given", ("tell", place, world.no, version))
    for place in range(len(world.tasks)):
        yield from _steps_of_task(world, place)
    for message in sorted(world.mail, key=str):
        for step in _deliver(world, rules, message):
            yield step
            yield step._replace(after=step.after._replace(mail=step.after.mail - {message}))
        yield Step("lose a message", world._replace(mail=world.mail - {message}))


def _steps_of_task(world: FarWorld, place: int) -> Iterator[Step[FarWorld]]:
    task = world.tasks[place]
    if task.state == "running":
        yield Step(f"park {place}", _put(world, place, task._replace(state="over" if task.is_answered else "waiting")))
    if task.state == "waiting" and not task.is_registered and not task.is_answered:
        yield _post(world, f"read wait {place}", ("register", place, task.undone))
    if task.state == "waiting" and task.is_answered:
        yield Step(f"go on {place}", _put(world, place, task._replace(state="over")))
    if world.faults:
        less = world._replace(faults=world.faults - 1)
        if task.state == "waiting":
            yield Step(f"wake {place}", _put(less, place, task._replace(state="running")), is_fault=True)
        if task.state != "over":
            yield Step(f"end {place}", _put(less, place, task._replace(state="over")), is_fault=True)


def _deliver(world: FarWorld, rules: FarProtocol, message: tuple[str | int, ...]) -> Iterator[Step[FarWorld]]:
    kind, place = str(message[0]), int(message[1])
    task = world.tasks[place]
    if kind == "register" and world.version < MOST:
        others = tuple(watch for watch in world.watches if watch[0] != place)
        place_kept = [watch[0] for watch in world.watches]
        new = (place, world.version + 1)
        watches = (
            tuple(new if watch[0] == place else watch for watch in world.watches)
            if place in place_kept
            else (*others, new)
        )
        after = world._replace(watches=watches, version=world.version + 1)
        after = _give(after) if rules.gives_on_register else after
        yield _post(after, f"register {place}", ("mark", place, message[2]))
    if kind == "mark" and (not rules.versions_marks or task.undone == message[2]):
        yield Step(f"mark {place}", _put(world, place, task._replace(is_registered=True)))
    if kind == "tell":
        yield _decide(world, rules, place, int(message[2]), int(message[3]))
    if kind == "answer":
        yield Step(f"settle {place}", _settle(world, rules, message))


def _decide(world: FarWorld, rules: FarProtocol, place: int, no: int, version: int) -> Step[FarWorld]:
    task = world.tasks[place]
    if rules.remembers_taken and task.is_answered:
        answer = "taken"
    elif rules.remembers_refused and task.refused >= no:
        answer = "refused"
    elif task.state == "waiting" and not task.is_answered:
        answer = "taken"
        task = task._replace(is_answered=True)
    else:
        answer = "refused"
        undone = min(task.undone + 1, MOST)
        task = task._replace(refused=max(task.refused, no))
        if rules.undoes_marks:
            task = task._replace(is_registered=False, undone=undone)
    after = _put(world, place, task)
    return _post(after, f"{place} has {answer}", ("answer", place, no, version, answer))


def _settle(world: FarWorld, rules: FarProtocol, message: tuple[str | int, ...]) -> FarWorld:
    _, place, no, version, answer = message
    watches = tuple(
        watch for watch in world.watches if watch[0] != place or (rules.versions_watches and watch[1] != version)
    )
    world = world._replace(watches=watches)
    is_this = world.signal == "kept" and world.given is not None and (not rules.numbers_givings or world.no == no)
    if is_this and answer == "taken":
        world = world._replace(signal="taken", given=None)
    elif is_this:
        world = world._replace(given=None)
    return _give(world)


def _give(world: FarWorld) -> FarWorld:
    """Give the signal to who was registered first."""
    if world.signal != "kept" or world.given is not None or not world.watches or world.no >= MOST:
        return world
    return world._replace(given=world.watches[0], no=world.no + 1)


def _put(world: FarWorld, place: int, task: FarTask) -> FarWorld:
    return world._replace(tasks=(*world.tasks[:place], task, *world.tasks[place + 1 :]))


def _post(world: FarWorld, name: str, message: tuple[str | int, ...]) -> Step[FarWorld]:
    mail = world.mail | {message}
    return Step(name, world._replace(mail=mail if len(mail) <= MOST_MAIL else world.mail))


def broken(world: FarWorld) -> str | None:
    """Return what promise a state breaks."""
    answered = sum(task.is_answered for task in world.tasks)
    if answered > 1:
        return "one signal has answered two tasks"
    if world.signal == "taken" and not answered:
        return "a signal is lost"
    if answered and world.signal == "kept" and world.given is None:
        return "a signal that was taken may be given to another"
    return None


def ended(world: FarWorld) -> bool:
    """Tell whether nothing is left to do: the signal is taken, or nobody waits for it."""
    waits = any(task.state == "waiting" and not task.is_answered for task in world.tasks)
    runs = any(task.state == "running" for task in world.tasks)
    if runs or world.signal == "unsent":
        return False
    return world.signal == "taken" or (not waits and world.given is None)


def cut(world: FarWorld) -> bool:
    """Tell whether a state is at the bound of the model."""
    return world.version >= MOST or world.no >= MOST or any(task.undone >= MOST for task in world.tasks)
