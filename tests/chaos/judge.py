"""Compares what was acknowledged, what ran and what the store says, and explains every double execution by a fault."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from tests.evidence.trace import Ending, Execution, Fault, Line, Note, Operation, Phase

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})
SETTLED = frozenset({"completed", "retried", "failed", "cancelled", "snoozed", "parked"})
SUBMISSIONS = frozenset({"submit", "submit_job"})
ROUNDING = 0.05
"""Seconds by which the clocks of two accounts may differ."""
GRACE = 3.0
"""Seconds from a claim to its execution at most: an answer that was lost is asked for again, and comes later."""
LIMIT = 3
SHARED = {"near": ("postgres", "postgres-wire"), "far": ("postgres", "postgres-wire", "api-wire", "api-1")}
"""Through what a worker speaks with the store: faults of it may lose claims, reports and heartbeats of the worker."""
ENDING = frozenset({"kill", "stop", "replace"})
"""Faults that end a process or its session; a stepped clock ends neither."""
LOSING = ENDING | {
    "cut", "half_open", "lose_reply", "restart_postgres", "crash_postgres", "power_loss", "disk_full",
}  # fmt: skip
"""Faults that lose requests or answers; a delay loses none."""
EXPIRY = 8.0
"""Seconds that a process must be stopped for its session to expire: heartbeats are 5 s apart, and the TTL is 15 s."""


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


class Case:
    """A trace, by task."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.operations: dict[str | None, list[Operation]] = defaultdict(list)
        self.runs: dict[str, list[Execution]] = defaultdict(list)
        self.endings: dict[str, Ending] = {}
        self.faults: list[Fault] = []
        self.acknowledged: dict[str, Operation] = {}
        self.jobs: list[Operation] = []
        for line in lines:
            self._take(line)

    def _take(self, line: Line) -> None:
        match line:
            case Operation():
                self.operations[line.task].append(line)
                if line.phase is Phase.OK and line.what in SUBMISSIONS:
                    self._acknowledge(line)
            case Execution():
                self.runs[line.task].append(line)
            case Ending():
                self.endings[line.task] = line
            case Fault():
                self.faults.append(line)
            case Note():
                pass

    def _acknowledge(self, line: Operation) -> None:
        if line.what == "submit_job":
            self.jobs.append(line)
            self.acknowledged |= dict.fromkeys(line.detail["tasks"].values(), line)
        elif line.task is not None:
            self.acknowledged[line.task] = line

    def begins(self, task: str) -> list[Execution]:
        """Return the executions of a task that began, in their order."""
        return [run for run in self.runs.get(task, []) if run.moment == "begin"]

    def end_of(self, begun: Execution) -> float:
        """Return when an execution noted its end; one that did not has none."""
        ends = [
            run.at
            for run in self.runs[begun.task]
            if run.moment != "begin" and (run.pid, run.attempt) == (begun.pid, begun.attempt) and run.at >= begun.at
        ]
        return min(ends, default=inf)

    def is_touched(self, task: str, *acts: str) -> bool:
        """Tell whether a client may have done one of these to a task."""
        return any(operation.what in acts for operation in self.operations.get(task, []))


def judge(lines: Iterable[Line]) -> Verdict:
    """Judge a whole trace."""
    case = Case(lines)
    verdict = Verdict(
        submitted=len(case.acknowledged),
        stored=len(case.endings),
        states=Counter(ending.state for ending in case.endings.values()),
        executions=sum(run.moment == "begin" for runs in case.runs.values() for run in runs),
    )
    verdict.lost = [task for task in case.acknowledged if not _has_ended(case.endings.get(task))]
    for ending in case.endings.values():
        verdict.doubles += _doubles(case, ending)
        verdict.violations += [f"{ending.task}: {fault}" for fault in _faults(case, ending)]
    verdict.violations += [*_unknown_runs(case), *_keys(case), *_jobs(case), *_fires(case)]
    verdict.violations += _limit(case, {double.task for double in verdict.doubles})
    return verdict


def _has_ended(ending: Ending | None) -> bool:
    return ending is not None and ending.state in ENDED


def _faults(case: Case, ending: Ending) -> Iterator[str]:
    """Yield what cannot be of one task."""
    begins = case.begins(ending.task)
    if len(begins) > len(ending.attempts):
        yield f"it began {len(begins)} times in {len(ending.attempts)} attempts"
    if ending.state == "COMPLETED" and not begins:
        yield "it is completed and has never begun"
    finished = ending.finished
    is_late = finished is not None and any(
        run.at > finished + ROUNDING and not _was_stopped(case, run, finished) for run in begins
    )
    if ending.state == "COMPLETED" and is_late:
        yield f"it began at {begins[-1].at:.3f} after it was completed at {ending.finished:.3f}"
    if ending.attempts.count("completed") > 1:
        yield "it was completed twice"
    yield from _expected_state(case, ending)
    yield from _cancelled(case, ending.task, begins)


def _was_stopped(case: Case, run: Execution, finished: float) -> bool:
    """Tell whether a worker held a stale lease: stopped before its task ended elsewhere, until just before it began."""
    return any(
        fault.kind == "stop"
        and (fault.target, fault.detail.get("pid")) == (run.worker, run.pid)
        and fault.until is not None
        and fault.at < finished < fault.until <= run.at <= fault.until + GRACE
        for fault in case.faults
    )


def _expected_state(case: Case, ending: Ending) -> Iterator[str]:
    submission = case.acknowledged.get(ending.task)
    if submission is None or submission.what != "submit" or case.is_touched(ending.task, "cancel"):
        return
    expected = "FAILED" if submission.detail["kind"] == "fail" else "COMPLETED"
    if ending.state in ENDED and ending.state != expected:
        yield f"it is {ending.state} and should be {expected}: {ending.attempts}"


def _cancelled(case: Case, task: str, begins: list[Execution]) -> Iterator[str]:
    """Yield executions that began after the cancellation was acknowledged as done."""
    if case.is_touched(task, "retry"):
        return
    for operation in case.operations.get(task, []):
        is_done = operation.what == "cancel" and operation.phase is Phase.OK and operation.state == "CANCELLED"
        if is_done and any(run.at > operation.at + ROUNDING for run in begins):
            yield f"it began after it was cancelled at {operation.at:.3f}"


def _doubles(case: Case, ending: Ending) -> list[Double]:
    """Return the executions that came to nothing, as many as the attempts do not account for."""
    # A worker that was stopped may begin an attempt late whose lease is lost: it is this one that came to nothing.
    begins = sorted(case.begins(ending.task), key=lambda run: (run.attempt, run.at))
    excess = len(begins) - sum(outcome in SETTLED for outcome in ending.attempts)
    if excess <= 0 or len(begins) < 2:
        return []
    failed = {(run.pid, run.attempt) for run in case.runs[ending.task] if run.moment == "error"}
    found = [
        Double(ending.task, run.worker, run.at, again.at, *_explain(case, run, again.at))
        for run, again in pairwise(begins)
        if (run.pid, run.attempt) not in failed
    ]
    found.sort(key=lambda double: double.fault is None)
    return found[:excess]


def _explain(case: Case, run: Execution, again: float) -> tuple[Fault, str] | tuple[None]:
    """Return the fault that ended an execution or its lease, and how.

    It must have been there while the task ran, or up to `GRACE` seconds after its end: by then its report has arrived.
    A fault of the worker counts if it is one of this very process. Else one of what the worker speaks through must have
    been there while the task ran, or up to `GRACE` seconds before: a claim whose answer was lost is repeated after the
    fault, and may be released in between.
    """
    name, until = run.worker, min(again, case.end_of(run) + GRACE)
    since = run.at - GRACE
    until = max(until, since)
    during = [fault for fault in case.faults if fault.at <= until and (fault.until or until) >= since]
    own = [
        fault
        for fault in during
        if fault.target in {name, "all"} and fault.kind in ENDING and fault.detail.get("pid", run.pid) == run.pid
    ]
    if ended := next((fault for fault in own if _ends_session(fault)), None):
        return ended, "its process ended, or was stopped for so long that its session expired"
    shared = SHARED[name.partition("-")[0]]
    lost = [*own, *(fault for fault in during if fault.target in shared and fault.kind in LOSING)]
    return (lost[0], "it may have lost the claim, the report or heartbeats") if lost else (None,)


def _ends_session(fault: Fault) -> bool:
    return fault.kind != "stop" or (fault.until is not None and fault.until - fault.at >= EXPIRY)


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
    """Yield tasks of jobs that began before a parent had ended."""
    for job in case.jobs:
        tasks: dict[str, str] = job.detail["tasks"]
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
