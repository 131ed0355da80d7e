"""Effects of tasks on other systems: what happened, for which task, from which line."""

import copy
import inspect
import linecache
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Hashable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple, Protocol

from drumline.core.current_attempt import CURRENT_ATTEMPT

LONGEST_SHOWN: Final = 100
"""Characters of a call in a message."""
_HERE: Final = os.path.dirname(__file__)  # noqa: PTH120 - compared with the names of code objects
_PACKAGE: Final = os.path.dirname(_HERE)  # noqa: PTH120 - likewise


class Place(NamedTuple):
    """A line of user code."""

    file: str
    line: int
    function: str

    @property
    def text(self) -> str:
        """What the line says."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        path = Path(self.file)
        shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        return f"{shown}:{self.line} in {self.function}"


class Effect(NamedTuple):
    """Something that a task has done outside of Drumline."""

    task: str
    name: str
    """The name of the task."""
    execution: object
    what: Hashable
    """What was done: the same by two executions is a repetition."""
    shown: str
    places: tuple[Place, ...]
    """The lines that led to it, from the task's own to the one that did it."""


class Repetition(NamedTuple):
    """An effect that happened in several executions of one task."""

    effect: Effect
    times: int


class Effects:
    """What tasks of one world have done outside."""

    def __init__(self) -> None:
        self.done: list[Effect] = []
        self._keys: set[Hashable] = set()

    def add(self, what: Hashable, shown: str, *, key: Hashable = None) -> None:
        """Note an effect of the task that runs here; with a `key` that is known it is none, since it is recognised."""
        attempt = CURRENT_ATTEMPT.get()
        if attempt is None:
            return
        if key is not None:
            if key in self._keys:
                return
            self._keys.add(key)
        facts = attempt.facts()
        self.done.append(Effect(str(facts["task_id"]), str(facts["task"]), attempt, what, shown, places_here()))

    def repetitions(self) -> list[Repetition]:
        """Return the effects that happened in more than one execution of a task, in the order of the repetitions."""
        executions: dict[tuple[str, Hashable], list[object]] = {}
        found: dict[tuple[str, Hashable], Effect] = {}
        for effect in self.done:
            key = effect.task, effect.what
            known = executions.setdefault(key, [])
            if not any(each is effect.execution for each in known):
                known.append(effect.execution)
                if len(known) > 1:
                    found[key] = effect
        return [Repetition(effect, len(executions[key])) for key, effect in found.items()]


class EffectWorld(Protocol):
    """What the record of effects needs of a world."""

    effects: Effects

    def reach(self, point: str) -> None:
        """Note that the task that runs here has reached a point; the worker may be killed at it."""
        ...


ACTIVE: Final[list[EffectWorld]] = []
"""The worlds that are open, the innermost last."""


class OutsideCalls:
    """Stands for another system, or a fake of it: each call of it by a task is an effect."""

    def __init__(self, target: Any, *, keyed_by: str | None, reads: Collection[str], make: Callable[[], Any]) -> None:
        self._target = target
        self._keyed_by = keyed_by
        self._reads = frozenset(reads)
        self._make = make
        self._targets: dict[int, tuple[EffectWorld, Any]] = {}
        self._home = ACTIVE[-1] if ACTIVE else None

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._present(), name)
        if name.startswith("_") or name in self._reads or not callable(value):
            return value
        return lambda *args, **kwargs: self._call(name, value, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the target itself."""
        target = self._present()
        return self._call(getattr(target, "__name__", type(target).__name__), target, args, kwargs)

    def _present(self) -> Any:
        """Return the target of the innermost world: each has one of its own, as it was when it was given."""
        world = ACTIVE[-1] if ACTIVE else None
        if world is None or world is self._home:
            return self._target
        if id(world) not in self._targets:
            self._targets = {id(world): (world, self._make())}
        return self._targets[id(world)][1]

    def _call(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if CURRENT_ATTEMPT.get() is None or not ACTIVE:
            return function(*args, **kwargs)
        world = ACTIVE[-1]
        given = _by_name(function, args, kwargs)
        key = None if self._keyed_by is None else given.pop(self._keyed_by, None)
        what = f"{name}({', '.join(f'{argument}={value!r}' for argument, value in given.items())})"
        shown = shortened(what)

        def done() -> None:
            world.effects.add(what, shown, key=None if key is None else (name, repr(key)))
            world.reach(f"after {shown}")

        world.reach(f"before {shown}")
        value = function(*args, **kwargs)
        if inspect.isawaitable(value):
            return _awaited(value, done)
        done()
        return value


async def _awaited(value: Awaitable[Any], done: Callable[[], None]) -> Any:
    result = await value
    done()
    return result


def wrapped(target: Any, *, keyed_by: str | None = None, reads: Collection[str] = ()) -> Any:
    """Return what stands for another system in a world."""
    if inspect.isclass(target):
        return OutsideCalls(target(), keyed_by=keyed_by, reads=reads, make=target)
    pristine = copy.deepcopy(target)
    return OutsideCalls(target, keyed_by=keyed_by, reads=reads, make=lambda: copy.deepcopy(pristine))


def places_here() -> tuple[Place, ...]:
    """Return the lines of user code that are being executed, the outermost first."""
    places: list[Place] = []
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the standard library's own way to ask for the caller
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            if places:
                break
        else:
            places.append(Place(file, frame.f_lineno, frame.f_code.co_qualname))
        frame = frame.f_back
    return tuple(reversed(places))


def _by_name(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # one that cannot be looked into, or arguments that do not fit
        return {**{str(number): value for number, value in enumerate(args)}, **kwargs}


def shortened(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
