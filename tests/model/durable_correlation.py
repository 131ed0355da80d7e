"""Signals by correlation: two tasks may wait for one, and either may be killed or cancelled meanwhile.

A transaction that takes the lock of the key before it looks is one step; without the lock it is two.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tests.model.explore import Step

Wakes = Literal["all", "one", "gives"]


class Protocol(NamedTuple):
    """What is kept to; each but the first two values switches a protection off."""

    signals: int = 1
    faults: int = 1
    locks: bool = True
    """Whether sending and parking hold the lock of the key while they look."""
    wakes: Wakes = "all"
    """Whether a signal wakes all who wait, or one, or is given to one."""


class World(NamedTuple):
    """Tasks run, looked in vain, wait, are due, answered or cancelled; signals are unsent, late, stored or taken."""

    tasks: tuple[str, ...] = ("running", "running")
    signals: tuple[str, ...] = ("unsent",)
    faults: int = 1


def put(words: tuple[str, ...], place: int, word: str) -> tuple[str, ...]:
    """Return words with another one at a place."""
    return (*words[:place], word, *words[place + 1 :])


def steps(world: World, rules: Protocol) -> Iterator[Step[World]]:
    """Yield all that can happen next."""
    for place in range(len(world.tasks)):
        yield from _steps_of_task(world, rules, place)
    for place in range(len(world.signals)):
        yield from _steps_of_signal(world, rules, place)


def _steps_of_task(world: World, rules: Protocol, place: int) -> Iterator[Step[World]]:
    state = world.tasks[place]
    if state == "due":
        yield Step(f"claim {place}", world._replace(tasks=put(world.tasks, place, "running")))
    if state == "running":
        yield _look(world, rules, place)
    if state == "looked":
        yield Step(f"park {place}", world._replace(tasks=put(world.tasks, place, "waiting")))
    if world.faults:
        less = world._replace(faults=world.faults - 1)
        if state in {"running", "looked"}:
            yield Step(f"kill and reap {place}", less._replace(tasks=put(world.tasks, place, "due")), is_fault=True)
        if state in {"due", "running", "looked", "waiting"}:
            yield Step(f"cancel {place}", less._replace(tasks=put(world.tasks, place, "cancelled")), is_fault=True)


def _look(world: World, rules: Protocol, place: int) -> Step[World]:
    """Take a signal, or else wait."""
    found = next((at for at, each in enumerate(world.signals) if each in {"stored", f"for{place}"}), None)
    if found is not None:
        tasks, signals = put(world.tasks, place, "answered"), put(world.signals, found, "taken")
        return Step(f"take {place}", world._replace(tasks=tasks, signals=signals))
    after = "waiting" if rules.locks else "looked"
    return Step(f"look in vain {place}", world._replace(tasks=put(world.tasks, place, after)))


def _steps_of_signal(world: World, rules: Protocol, place: int) -> Iterator[Step[World]]:
    waiting = [at for at, state in enumerate(world.tasks) if state == "waiting"]
    if world.signals[place] == "late":
        yield Step("store late", world._replace(signals=put(world.signals, place, "stored")))
    if world.signals[place] != "unsent":
        return
    if not rules.locks and not waiting:
        yield Step("nobody waits", world._replace(signals=put(world.signals, place, "late")))
        return
    woken = waiting if rules.wakes == "all" else waiting[:1]
    tasks = tuple("due" if at in woken else state for at, state in enumerate(world.tasks))
    after = f"for{woken[0]}" if rules.wakes == "gives" and woken else "stored"
    yield Step("signal", World(tasks, put(world.signals, place, after), world.faults))


def broken(world: World) -> str | None:
    """Return what promise a state breaks."""
    is_idle = not {"due", "running", "looked"} & set(world.tasks)
    if "waiting" in world.tasks and "stored" in world.signals and is_idle:
        return "lost wake-up: a task waits for a signal that is there"
    for signal in world.signals:
        if signal.startswith("for") and world.tasks[int(signal[3])] in {"cancelled", "answered"}:
            return "a signal is lost with the task that it was given to"
    return None
