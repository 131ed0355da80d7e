"""Sorts the lines of a trace by task, key, schedule and process, for our own judge."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tests.evidence.trace import Ending, Execution, Fault, Line, Note, Operation, Phase

BYSTANDERS = ("redis", "queue", "kafka", "scheduler", "notifier")
"""Components whose loss or pause must not let anything run twice; only their clocks may."""
SUBMISSIONS = frozenset({"submit", "submit_job", "submit_many", "job", "batch"})
OPERATOR_ACTS = frozenset({"retry", "retry_job", "resume_job", "retry_many", "bulk_retry", "bulk"})
"""What makes an ended task run again."""
STORES = ("postgres", "sqlite", "store", "database")
UPGRADE_SECONDS = 60.0
"""How long a rolling upgrade takes at most, if the trace does not tell."""
BEAT_SECONDS = 5.0
FOREVER = float("inf")


@dataclass
class Run:
    """One execution: when it began, where, and how it ended as far as it could tell."""

    task: str
    worker: str
    began: float
    limit: str | None
    attempt: int
    pid: int | None = None
    epoch: int = 0
    ended: float = FOREVER
    moment: str | None = None

    def __str__(self) -> str:
        return f"the execution on {self.worker} at {self.began:.3f}"


class Lease(NamedTuple):
    """What the store says of a lease: how its attempt ended, when it was given, and when it was given up."""

    outcome: str
    since: float | None
    """None if the trace does not say it; the times of both are known, or none is."""
    until: float


@dataclass
class Act:
    """An operation of a client, from its first line to its last."""

    what: str
    began: float
    ended: float = FOREVER
    phase: Phase = Phase.UNKNOWN
    task: str | None = None
    key: str | None = None
    state: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def made(self) -> tuple[str, ...]:
        """The tasks that a submission has made: those that its detail lists, or its own."""
        listed = self.detail.get("tasks") or ()
        tasks = listed.values() if isinstance(listed, dict) else listed
        return tuple(task for task in tasks if task) or ((self.task,) if self.task else ())


class Account:
    """All that a trace says, by what it is about."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.acts: list[Act] = []
        self.faults: list[Fault] = []
        self.notes: list[Note] = []
        self.endings: dict[str, Ending] = {}
        self.runs: defaultdict[str, list[Run]] = defaultdict(list)
        self._open_acts: dict[int, Act] = {}
        for line in sorted(lines, key=lambda line: line.at):
            self._take(line)

    @cached_property
    def workers(self) -> frozenset[str]:
        """The processes in which something ran."""
        return frozenset(run.worker for runs in self.runs.values() for run in runs)

    @cached_property
    def _places(self) -> frozenset[str]:
        """The places of workers, whichever process has them: `worker1` of `worker1.2`."""
        return frozenset(map(place_of, self.workers))

    @cached_property
    def has_stops(self) -> bool:
        """Whether tasks could note that they were stopped; then one without an end was killed, or still runs."""
        return any(run.moment == "stopped" for runs in self.runs.values() for run in runs)

    @cached_property
    def unrecorded(self) -> frozenset[str]:
        """The tasks that write no executions, as their submissions say."""
        return frozenset(task for act in self.submissions() if act.detail.get("unrecorded") for task in act.made)

    @cached_property
    def completed_at(self) -> dict[str, float]:
        """When each task was first known to be completed: by a client, a note of the system, or the store."""
        found: dict[str, float] = {}
        for act in self.acts:
            if act.what == "read" and act.phase is Phase.OK and act.task and act.state == "COMPLETED":
                found[act.task] = min(found.get(act.task, FOREVER), act.ended)
        for note in self.notes:
            if note.what == "settled" and note.task and str(note.detail.get("outcome")).lower() == "completed":
                found[note.task] = min(found.get(note.task, FOREVER), note.at)
        for ending in self.endings.values():
            if ending.state == "COMPLETED" and ending.finished is not None:
                found[ending.task] = min(found.get(ending.task, FOREVER), ending.finished)
        return found

    def submissions(self) -> Iterator[Act]:
        """Yield the submissions."""
        return (act for act in self.acts if act.what in SUBMISSIONS)

    def lease_of(self, run: Run) -> Lease | None:
        """Return the lease under which an execution ran, if the trace tells of it."""
        ending = self.endings.get(run.task)
        if ending is None or not run.epoch or run.epoch not in ending.epochs:
            return None
        place = ending.epochs.index(run.epoch)
        since = ending.leased[place] if ending.leased else None
        return Lease(ending.attempts[place], since, FOREVER if since is None else ending.ended[place])

    def fault_between(self, since: float, until: float, *workers: str) -> Fault | None:
        """Return a fault that was there at some time between two, and that may have hidden a worker from the others.

        One of the workers themselves explains best, the first worker's before the second's, and one of a store better
        than any other.
        """
        count = bisect_right(self.faults, until, key=lambda fault: fault.at)
        found = [
            fault
            for fault in self.faults[:count]
            if _last(fault) >= since and any(self._concerns(fault, worker) for worker in workers)
        ]
        return min(found, key=lambda fault: _remoteness(fault, workers), default=None)

    def operator_between(self, since: float, until: float, task: str) -> Act | None:
        """Return an act of an operator by which a task may have run again."""
        ending = self.endings.get(task)
        concerned = {task, None, ending.job if ending else None}
        while ending is not None and ending.parent is not None:  # the retry of a parent is one of its children
            concerned.add(ending.parent)
            ending = self.endings.get(ending.parent)
        for act in self.acts:
            if act.what in OPERATOR_ACTS and act.began <= until and act.ended >= since and act.phase is not Phase.FAIL:
                job = self.endings[act.task].job if act.task in self.endings else act.task
                if act.task in concerned or (job is not None and job in concerned):
                    return act
        return None

    def _concerns(self, fault: Fault, worker: str) -> bool:
        if worker in {fault.target, fault.detail.get("worker")}:
            return True
        if place_of(fault.target) in self._places:
            return False  # another worker, or another process in the same place
        return fault.kind in {"clock", "drift"} or not fault.target.startswith(BYSTANDERS)

    def _take(self, line: Line) -> None:
        match line:
            case Operation():
                self._take_operation(line)
            case Execution():
                self._take_execution(line)
            case Ending():
                self.endings[line.task] = line
            case Fault():
                self.faults.append(line)
            case Note():
                self.notes.append(line)

    def _take_operation(self, line: Operation) -> None:
        act = self._open_acts.get(line.op)
        if act is None:
            act = Act(line.what, line.at)
            self._open_acts[line.op] = act
            self.acts.append(act)
        if line.phase is not Phase.INVOKE:
            act.phase = line.phase
            act.ended = FOREVER if line.phase is Phase.UNKNOWN else line.at
        act.task, act.key, act.state = line.task or act.task, line.key or act.key, line.state or act.state
        act.detail |= line.detail

    def _take_execution(self, line: Execution) -> None:
        if line.moment == "begin":
            self.runs[line.task].append(
                Run(line.task, line.worker, line.at, line.limit, line.attempt, line.pid, line.epoch)
            )
            return
        for run in reversed(self.runs[line.task]):
            if (run.worker, run.pid, run.attempt, run.moment) == (line.worker, line.pid, line.attempt, None):
                run.ended, run.moment = line.at, line.moment
                return
        orphan = Run(
            line.task, line.worker, line.at, line.limit, line.attempt, line.pid, ended=line.at, moment="orphan"
        )
        self.runs[line.task].append(orphan)


def place_of(process: str) -> str:
    """Return the name of a process without the number of its start."""
    name, _, number = process.rpartition(".")
    return name if name and number.isdigit() else process


def _remoteness(fault: Fault, workers: Sequence[str]) -> int:
    """Return how far a fault is from explaining what became of the workers' executions."""
    if fault.target in workers:
        return workers.index(fault.target)
    return len(workers) + (not fault.target.startswith(STORES))


def _last(fault: Fault) -> float:
    """Return when a fault was over: an upgrade stops one process after another, what was sent on a slow wire arrives
    later, and a worker that was cut off counts as silent until its next heartbeat, also if it claims before.
    """
    if fault.until is not None:
        late = fault.detail.get("amount", 0.0) if fault.kind == "slow" else 0.0
        return fault.until + late + (BEAT_SECONDS if fault.kind == "cut" else 0.0)
    return fault.at + (UPGRADE_SECONDS if fault.kind == "upgrade" else 0)
