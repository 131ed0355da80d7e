"""A trace by task: operations, executions, the leases under which they ran, and faults."""

from collections import defaultdict
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from tests.evidence.trace import Ending, Execution, Fault, Line, Note, Operation, Phase

SUBMISSIONS = frozenset({"submit", "submit_job"})


class Lease(NamedTuple):
    """What the store says of a lease: how its attempt ended, when it was given, and when it was given up."""

    outcome: str
    since: float
    until: float


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
            self.acknowledged |= dict.fromkeys(line.detail.get("tasks", {}).values(), line)
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
            if run.moment != "begin" and (run.pid, run.epoch) == (begun.pid, begun.epoch) and run.at >= begun.at
        ]
        return min(ends, default=inf)

    def lease_of(self, run: Execution) -> Lease | None:
        """Return the lease under which an execution ran; None if the store knows of none.

        A trace that does not say when leases were given is read as if they had been given when the executions began.
        """
        ending = self.endings.get(run.task)
        if ending is None or run.epoch not in ending.epochs:
            return None
        place = ending.epochs.index(run.epoch)
        since = ending.leased[place] if ending.leased else None
        until = ending.ended[place] if ending.ended else inf
        return Lease(ending.attempts[place], run.at if since is None else since, until)

    def is_touched(self, task: str, *acts: str) -> bool:
        """Tell whether a client may have done one of these to a task."""
        return any(operation.what in acts for operation in self.operations.get(task, []))
