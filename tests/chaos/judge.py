"""Compares what was acknowledged, what ran and what the store says, and explains every double execution by a fault."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.chaos.case import SUBMISSIONS, Case
from tests.chaos.explaining import ROUNDING, Lags, explain, is_stale
from tests.evidence.trace import Ending, Execution, Fault, Line, Phase

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})
SETTLED = frozenset({"completed", "retried", "failed", "cancelled", "snoozed", "parked"})
LIMIT = 3


@dataclass(frozen=True)
class Double:
    """An execution that came to nothing and was followed by another one, with the fault that explains it."""

    task: str
    worker: str
    began: float
    again: float
    fault: Fault | None
    how: str = "not explained"
    """How the fault explains it, in words."""


@dataclass
class Verdict:
    """What was found."""

    submitted: int = 0
    """Tasks that were acknowledged, those of jobs included."""
    stored: int = 0
    """Tasks that the store has, those of schedules and of unknown submissions included."""
    states: Counter[str] = field(default_factory=Counter)
    executions: int = 0
    lost: list[str] = field(default_factory=list)
    doubles: list[Double] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """Everything else that cannot be."""

    @property
    def unexplained(self) -> list[Double]:
        """Doubles that no fault explains."""
        return [double for double in self.doubles if double.fault is None]

    @property
    def is_good(self) -> bool:
        """Whether every promise held."""
        return not (self.lost or self.violations or self.unexplained)


def judge(lines: Iterable[Line]) -> Verdict:
    """Judge a whole trace."""
    case = Case(lines)
    lags = Lags(case)
    verdict = Verdict(
        submitted=len(case.acknowledged),
        stored=len(case.endings),
        states=Counter(ending.state for ending in case.endings.values()),
        executions=sum(run.moment == "begin" for runs in case.runs.values() for run in runs),
    )
    verdict.lost = [task for task in case.acknowledged if not _has_ended(case.endings.get(task))]
    for ending in case.endings.values():
        verdict.doubles += _doubles(case, lags, ending)
        verdict.violations += [f"{ending.task}: {fault}" for fault in _faults(case, lags, ending)]
    verdict.violations += [*_unknown_runs(case), *_keys(case), *_jobs(case), *_fires(case)]
    verdict.violations += _limit(case, {double.task for double in verdict.doubles})
    return verdict


def _has_ended(ending: Ending | None) -> bool:
    return ending is not None and ending.state in ENDED


def _faults(case: Case, lags: Lags, ending: Ending) -> Iterator[str]:
    """Yield what cannot be of one task."""
    begins = case.begins(ending.task)
    if len(begins) > len(ending.attempts):
        yield f"it began {len(begins)} times in {len(ending.attempts)} attempts"
    if ending.state == "COMPLETED" and not begins:
        yield "it is completed and has never begun"
    finished = ending.finished
    is_late = finished is not None and any(
        run.at > finished + ROUNDING and not is_stale(case, lags, run, finished) for run in begins
    )
    if ending.state == "COMPLETED" and is_late:
        yield f"it began at {begins[-1].at:.3f} after it was completed at {ending.finished:.3f}"
    if ending.attempts.count("completed") > 1:
        yield "it was completed twice"
    yield from _expected_state(case, ending)
    yield from _cancelled(case, lags, ending.task, begins)


def _expected_state(case: Case, ending: Ending) -> Iterator[str]:
    submission = case.acknowledged.get(ending.task)
    if submission is None or submission.what != "submit" or case.is_touched(ending.task, "cancel"):
        return
    expected = "FAILED" if submission.detail["kind"] == "fail" else "COMPLETED"
    if ending.state in ENDED and ending.state != expected:
        yield f"it is {ending.state} and should be {expected}: {ending.attempts}"


def _cancelled(case: Case, lags: Lags, task: str, begins: list[Execution]) -> Iterator[str]:
    """Yield executions that began after the cancellation was acknowledged as done."""
    if case.is_touched(task, "retry"):
        return
    for operation in case.operations.get(task, []):
        is_done = operation.what == "cancel" and operation.phase is Phase.OK and operation.state == "CANCELLED"
        if is_done and any(
            run.at > operation.at + ROUNDING and not is_stale(case, lags, run, operation.at) for run in begins
        ):
            yield f"it began after it was cancelled at {operation.at:.3f}"


def _doubles(case: Case, lags: Lags, ending: Ending) -> list[Double]:
    """Return the executions that came to nothing, as the attempts under their leases say, and were followed by others.

    A worker that was stopped may begin an attempt late whose lease is lost: it is this one that came to nothing. Two
    executions under one lease are never explained, nor is one whose attempt the store has recorded as ended.
    """
    begins = sorted(case.begins(ending.task), key=lambda run: (run.epoch, run.at))
    doubles = []
    for run, again in pairwise(begins):
        lease = case.lease_of(run)
        if run.epoch == again.epoch:
            doubles.append(Double(ending.task, run.worker, run.at, again.at, None))
        elif lease is None or lease.outcome not in SETTLED:
            doubles.append(Double(ending.task, run.worker, run.at, again.at, *explain(case, lags, run, lease)))
    return doubles


def _unknown_runs(case: Case) -> Iterator[str]:
    for task in case.runs:
        if task not in case.endings:
            yield f"{task}: it ran, and the store does not know it"


def _keys(case: Case) -> Iterator[str]:
    """Yield idempotency keys that made two tasks."""
    stored = Counter(ending.key for ending in case.endings.values() if ending.key is not None)
    yield from (f"key {key} has made {count} tasks" for key, count in stored.items() if count > 1)
    answers: dict[str, set[str | None]] = defaultdict(set)
    for operations in case.operations.values():
        for each in operations:
            if each.phase is Phase.OK and each.what in SUBMISSIONS and each.key is not None:
                answers[each.key].add(each.task)
    yield from (f"key {key} was answered by {tasks}" for key, tasks in answers.items() if len(tasks) > 1)


def _jobs(case: Case) -> Iterator[str]:
    """Yield jobs that were acknowledged without their tasks, and tasks that began before a parent had ended."""
    for job in case.jobs:
        tasks: dict[str, str] = job.detail.get("tasks", {})
        if tasks.keys() != job.detail["needs"].keys():
            yield f"job {job.task} was acknowledged with the tasks {sorted(tasks)}"
            continue
        for key, parents in job.detail["needs"].items():
            begins = case.begins(tasks[key])
            for parent in parents if begins else ():
                ends = [run.at for run in case.runs[tasks[parent]] if run.moment == "end"]
                if not ends or ends[0] > begins[0].at:
                    yield f"{tasks[key]}: it began before its parent {tasks[parent]} had ended"


def _fires(case: Case) -> Iterator[str]:
    """Yield fire times of schedules that made two tasks."""
    fires = Counter((each.schedule, each.fire_time) for each in case.endings.values() if each.schedule is not None)
    yield from (f"schedule {fire[0]} fired {count} times for {fire[1]}" for fire, count in fires.items() if count > 1)


def _limit(case: Case, doubled: set[str]) -> list[str]:
    """Return moments when more tasks ran under the limit than it allows; those of lost leases do not count."""
    changes: list[tuple[float, int]] = []
    for task, runs in case.runs.items():
        begins = [run for run in runs if run.moment == "begin" and run.limit]
        ends = [run for run in runs if run.moment == "end"]
        if len(begins) == len(ends) == 1 and task not in doubled:
            changes += [(begins[0].at, 1), (ends[0].at, -1)]
    running = 0
    found = []
    for at, change in sorted(changes):
        running += change
        if running > LIMIT:
            found.append(f"{running} tasks ran under a limit of {LIMIT} at {at:.3f}")
    return found
