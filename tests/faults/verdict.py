"""What must hold whatever was killed: nothing is lost, nothing completed runs again, doubles are explained.

It compares three accounts: what the API acknowledged, what the store recorded, and what the tasks themselves left.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from tests.faults.fleet import Body, Fleet, until
from tests.faults.load import Load
from tests.faults.traces import Run, runs_of

UNENDED = ("PENDING", "QUEUED", "PROCESSING")
INTERRUPTED = frozenset({"crashed", "released"})
ROUNDING = 0.005
"""Times are written in milliseconds, by two programs."""
TOLD = 20
"""Faults that are told; the rest would be more of the same."""


class Verdict(NamedTuple):
    """What was found, for tests that ask for more."""

    tasks: int
    outcomes: Counter[str]
    doubles: int
    """Tasks that began more often than their own failures explain."""
    ended_after: float
    """Seconds from the last submission until the last end."""


@dataclass(frozen=True)
class Story:
    """All that is known of one task."""

    kind: str
    task: Body
    history: list[Body]
    runs: list[Run]

    @property
    def outcomes(self) -> list[str]:
        return [attempt["outcome"] for attempt in self.history]

    @property
    def in_vain(self) -> int:
        """How many executions came to nothing: neither to the end nor to a failure of their own."""
        return len(self.runs) - 1 - self.outcomes.count("retried")

    def faults(self, killed: set[int]) -> Iterator[str]:
        """Say everything that cannot be."""
        outcomes = self.outcomes
        if self.task["status"] != "COMPLETED" or outcomes[-1:] != ["completed"]:
            yield "it is not completed"
            return
        if set(outcomes[:-1]) - INTERRUPTED - {"retried"}:
            yield "it ended before its end"
        if outcomes.count("retried") > (self.kind == "stumble"):
            yield "it failed more often than it does"
        if not self.runs or len(self.runs) > len(self.history):
            yield f"it ran {len(self.runs)} times in {len(self.history)} attempts"
            return
        if self.runs[-1].began > _seconds(self.history[-1]["finished_at"]) + ROUNDING:
            yield "it ran again after it was completed"
        if self.in_vain > sum(outcome in INTERRUPTED for outcome in outcomes):
            yield f"it ran {self.in_vain} times in vain, and the history does not tell"
        # Only executions of workers that were killed, or whose server was away for long, may come to nothing.
        # (Commands have processes of their own.)
        if self.kind != "shell" and self.in_vain > sum(run.pid in killed for run in self.runs):
            yield f"it ran {self.in_vain} times in vain, and no kill explains it"

    def __str__(self) -> str:
        words = ("epoch", "outcome", "worker", "started_at", "finished_at", "error")
        attempts = [tuple(attempt[word] for word in words) for attempt in self.history]
        return f"{self.kind} {self.task['id']} {self.task['status']}: {attempts}, {self.runs}"


def judge(fleet: Fleet, load: Load, *, within: float) -> Verdict:
    """Wait until all that was acknowledged has ended by itself, and compare what ran with what was recorded."""
    assert not load.faults, load.faults[:TOLD]
    waited = until(lambda: not _unended(fleet, load), within, lambda: _explain(fleet, load))
    assert not fleet.fallen(), f"ended by themselves: {fleet.fallen()}"
    stories = _stories(fleet, load)
    wrong = [f"{fault}: {story}" for story in stories for fault in story.faults(fleet.killed | fleet.cut_off)]
    assert not wrong, "\n".join(wrong[:TOLD])
    return Verdict(
        tasks=len(stories),
        outcomes=Counter(outcome for story in stories for outcome in story.outcomes),
        doubles=sum(story.in_vain > 0 for story in stories),
        ended_after=waited,
    )


def _stories(fleet: Fleet, load: Load) -> list[Story]:
    keyed = {task["idempotency_key"]: task for task in fleet.tasks().values()}
    ours = [task for task in fleet.tasks().values() if str(task["idempotency_key"]).startswith(load.name)]
    missing = [key for key, task in load.acknowledged.items() if key not in keyed or keyed[key]["id"] != task]
    assert not missing, f"acknowledged and gone: {missing[:TOLD]}"
    assert len(ours) == len(load.acknowledged), "one key has made two tasks"
    runs = runs_of(fleet.traces)
    histories = fleet.attempts(list(load.acknowledged.values()))
    return [
        Story(load.kinds[key], keyed[key], histories[task], runs.get(key, []))
        for key, task in load.acknowledged.items()
    ]


def _unended(fleet: Fleet, load: Load) -> set[str]:
    """Return which acknowledged tasks have not ended."""
    return fleet.tasks(*UNENDED).keys() & set(load.acknowledged.values())


def _explain(fleet: Fleet, load: Load) -> str:
    """Tell what is known of tasks that should have ended."""
    left = sorted(_unended(fleet, load))
    known = fleet.tasks(*UNENDED)
    histories = fleet.attempts(left[:TOLD])
    lines = [f"{known.get(task)} {history}" for task, history in histories.items()]
    return "\n".join([f"{len(left)} have not ended at {time.time():.3f}", f"workers {fleet.workers()}", *lines])


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
