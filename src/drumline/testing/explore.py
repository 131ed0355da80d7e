"""Runs a scenario again and again while the worker is killed at other moments, and names effects that happen twice.

Each run has a schedule: the points at which the worker is killed, or a reply to it is lost. Points are counted: each
message of the worker to the database, and each effect, before and after it. A first run without faults counts them.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from msgspec import Struct

from drumline.testing.effects import Repetition

MOST_POINTS: Final = 5_000
"""Points that are counted; later ones are reached without a fault."""
MOST_FAULTS: Final = 3
"""Faults in one schedule."""
KILL, LOSE = "kill", "lose"


class Point(NamedTuple):
    """A point of a run: its name, and how often it was reached with that."""

    name: str
    number: int

    @property
    def is_message(self) -> bool:
        """Whether it is on the way of a message; else it is before or after an effect."""
        return self.name.startswith(("request ", "reply "))

    @property
    def message(self) -> str:
        """The message that it belongs to."""
        return f"its message {self.name.partition(' ')[2]}"

    @property
    def moment(self) -> str:
        """When that was, in words."""
        if not self.is_message:
            return f"right {self.name}" + ("" if self.number == 1 else f", the time number {self.number}")
        if self.name.startswith("request "):
            return f"before {self.message} was carried out"
        return f"before the reply to {self.message} arrived"


class CrashSchedule:
    """Which faults happen at which points of a run, and which points it has reached."""

    def __init__(self, faults: Mapping[Point, str]) -> None:
        self.faults = faults
        self.points: list[Point] = []
        self.happened: list[str] = []
        self._counts: Counter[str] = Counter()

    def reach(self, name: str) -> str | None:
        """Note that a point was reached, and return the fault that happens at it."""
        self._counts[name] += 1
        point = Point(name, self._counts[name])
        if len(self.points) < MOST_POINTS:
            self.points.append(point)
        fault = self.faults.get(point)
        if fault == KILL:
            self.happened.append(f"the worker was killed {point.moment}")
        elif fault == LOSE:
            self.happened.append(f"the reply to {point.message} was lost")
        return fault


class Exploration(Struct, frozen=True, kw_only=True):
    """What came of an exploration in which nothing happened twice."""

    runs: int
    points: int
    """Points at which the worker could be killed, in the run without faults."""
    effects: int
    """Effects of that run."""


class EffectRepeated(AssertionError):
    """An effect happened in two executions of one task. The message names the line, and how to see it again."""

    def __init__(self, message: str, *, run: int, seed: int, repetition: Repetition) -> None:
        super().__init__(message)
        self.run = run
        self.seed = seed
        self.repetition = repetition


class Trial(Struct, frozen=True):
    """One run of a scenario: the schedule with what was reached, how many effects there were, and the repeated ones."""

    schedule: CrashSchedule
    effects: int
    repetitions: Sequence[Repetition]


Attempt = Callable[[CrashSchedule], Trial]
Scenario = Callable[[Any], Coroutine[Any, Any, object] | object]
"""Called with a new world for each run: submits, and asserts if it likes."""


def explore(attempt: Attempt, *, runs: int, seed: int, only: int | None) -> Exploration:
    """Run a scenario under schedules, or `only` under one of them; raise `EffectRepeated` at the first repetition."""
    if runs < 1:
        raise ValueError(f"runs must be at least 1, not {runs}")
    first = attempt(CrashSchedule({}))
    _check(first, 0, runs, seed)
    points = first.schedule.points
    singles = _single_faults(points, Random(f"singles {seed}"))  # noqa: S311 - chosen, not secret
    for run in range(1, runs) if only is None else [only]:
        if not singles:
            break
        trial = attempt(CrashSchedule(_faults_of(run, singles, seed)))
        _check(trial, run, runs, seed)
    return Exploration(runs=runs, points=len(points), effects=first.effects)


def _single_faults(points: Sequence[Point], random: Random) -> list[tuple[Point, str]]:
    """Return every single fault: those at effects first, where repetitions come from."""
    after = [(point, KILL) for point in points if point.name.startswith("after ")]
    before = [(point, KILL) for point in points if point.name.startswith("before ")]
    messages = [(point, KILL) for point in points if point.is_message]
    messages += [(point, LOSE) for point in points if point.name.startswith("reply ")]
    random.shuffle(messages)
    return after + before + messages


def _faults_of(run: int, singles: Sequence[tuple[Point, str]], seed: int) -> dict[Point, str]:
    """Return the faults of a run: each single one has its turn, then several at once are drawn."""
    if run <= len(singles):
        return dict([singles[run - 1]])
    random = Random(f"{seed} {run}")  # noqa: S311 - chosen, not secret
    drawn: dict[Point, str] = {}
    for _ in range(random.randint(2, MOST_FAULTS)):
        point, fault = random.choice(singles)
        # After a first crash points are reached again.
        drawn[Point(point.name, random.randint(1, 2))] = fault
    return drawn


def _check(trial: Trial, run: int, runs: int, seed: int) -> None:
    if not trial.repetitions:
        return
    repetition = trial.repetitions[0]
    effect = repetition.effect
    place = effect.places[-1]
    lines = [f"{place}: {place.text}", f"  {effect.shown} happened {repetition.times} times for one task {effect.name}"]
    lines += [f"  called from {each}: {each.text}" for each in reversed(effect.places[:-1])]
    lines += [f"  {each}" for each in trial.schedule.happened]
    lines.append(f"  run {run} of {runs}; to see it again: world.explore({runs}, seed={seed}, only={run})")
    raise EffectRepeated("\n".join(lines), run=run, seed=seed, repetition=repetition)
