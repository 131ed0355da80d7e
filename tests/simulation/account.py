"""What a run has left, arranged for the checks: the trace, the database, and what the watch has seen."""

import json
from collections import defaultdict
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from tests.evidence.trace import Ending, Execution, Fault, Operation, Phase
from tests.simulation.plan import Step
from tests.simulation.watch import Change, changes
from tests.simulation.witness import Refusal
from tests.simulation.world import World

EPOCH_MS: Final = 1_767_225_600_000
RUNNING: Final = 2
COMPLETED, FAILED, CANCELLED, SKIPPED, RETRIED, SNOOZED, RELEASED, CRASHED = 3, 4, 5, 6, 10, 11, 12, 13
POISON_AFTER: Final = 3
FOREVER: Final = float("inf")
UPGRADE_SECONDS: Final = 30.0
AFTERMATH_SECONDS: Final = 35.0
"""How long a fault may be felt after it: until dead sessions are reaped, duties pass again, and processes restart."""


class Row(NamedTuple):
    """An attempt as the store has it. Times are virtual seconds."""

    task: str
    epoch: int
    outcome: int
    started: float | None
    finished: float
    attempt: int
    nonce: int | None
    """That of the lease, if its own worker has ended it."""
    session: int | None


class Evidence:
    """The trace and the database, arranged for the checks."""

    def __init__(self, world: World) -> None:
        self.plan = world.plan
        self.operations = [line for line in world.trace if isinstance(line, Operation)]
        self.executions = [line for line in world.trace if isinstance(line, Execution)]
        self.faults = [line for line in world.trace if isinstance(line, Fault)]
        self.endings = {line.task: line for line in world.trace if isinstance(line, Ending)}
        self.databases = world.databases
        self.connections = world.connections
        self.rows: dict[str, list[Row]] = defaultdict(list)
        for number, connection in enumerate(self.connections):
            for task, epoch, outcome, started, finished, attempt, nonce, session in connection.execute(
                "SELECT task_id, epoch, outcome, started_at, finished_at, attempt, nonce, session FROM attempt"
                " ORDER BY task_id, epoch"
            ):
                begun = None if started is None else seconds_of(started)
                held_by = None if session is None else _apart(session, number)
                row = Row(task, epoch, outcome, begun, seconds_of(finished), attempt, nonce, held_by)
                self.rows[task].append(row)
        self.payloads = {task: json.loads(payload) for task, payload in self.query("SELECT id, payload FROM task")}
        self.tenants: dict[str, str] = dict(
            self.query("SELECT task.id, lane.tenant FROM task JOIN lane ON lane.id = task.lane")
        )
        self.labels: dict[tuple[str, str], list[str]] = defaultdict(list)
        """The tasks that bear a label, by their tenant and it."""
        for task, payload in self.payloads.items():
            self.labels[self.tenants[task], payload["label"]].append(task)
        self.receiver, self.broker = world.receiver, world.broker
        self.steps = {step.label: step for step in world.plan.steps}
        self.refusals: list[Refusal] = world.refusals
        self.effects = world.effects
        self.begun = {(line.task, line.epoch): line for line in self.executions if line.moment == "begin"}
        self.changes = [
            change._replace(session=_apart(change.session, number))
            for number, connection in enumerate(self.connections)
            for change in changes(connection)
        ]

    @cached_property
    def by_session(self) -> dict[int, list[Change]]:
        """What happened to each session, in its order."""
        found: dict[int, list[Change]] = defaultdict(list)
        for change in self.changes:
            if change.task is None:
                found[change.session].append(change)
        return found

    @cached_property
    def workers(self) -> dict[int, str]:
        """The process that each session belongs to."""
        return {
            _apart(session, number): json.loads(spec).get("label", "")
            for number, connection in enumerate(self.connections)
            for session, spec in connection.execute("SELECT id, spec FROM session")
        }

    def silence_before(self, session: int, at: float) -> tuple[float, float] | None:
        """Return from when to when a session was silent that was taken for dead at a time; None if it was not."""
        for before, change in pairwise(self.by_session[session]):
            if change.what == "dead" and abs(change.at - at) < 0.01:
                return before.at, change.at
        return None

    def database_of(self, session: int) -> str:
        """Return the name of the database that a session is in."""
        return list(self.databases.servers)[session >> 64]

    def is_remote(self, worker: str) -> bool:
        """Tell whether a worker reaches the database by way of the servers."""
        fleet = self.plan.fleet
        number = int(worker.removeprefix("worker")) if worker else -1
        return number >= fleet.workers - fleet.remote_workers

    def lasts_until(self, fault: Fault) -> float:
        """Return when a fault was over; a clock stays as it was set, and an upgrade takes a second for each process."""
        if fault.until is not None:
            return fault.until
        return FOREVER if fault.kind in {"clock", "drift"} else fault.at + UPGRADE_SECONDS * (fault.kind == "upgrade")

    def concerned(self, *what: str) -> set[str]:
        """Return the tasks that clients have asked for one of these, whatever became of it."""
        return {line.task for line in self.operations if line.what in what and line.task is not None}

    def was_retried(self, task: str | None) -> bool:
        """Tell whether a client has asked to retry a task, or one of those that started it: that retries it too."""
        asked = self.concerned("retry")
        while task is not None and task not in asked:
            task = self.endings[task].parent if task in self.endings else None
        return task is not None

    def options_of(self, task: str) -> dict[str, Any] | None:
        """Return what a task was submitted with; None if the plan does not tell."""
        head, _, tail = self.payloads[task]["label"].partition(".")
        step: Step | None = self.steps.get(head)
        if step is None:
            return None
        found: dict[str, Any]
        match step.what:
            case "submit" if tail:  # a child
                return None
            case "submit":
                found = step.body
            case "batch":
                found = step.body["tasks"][int(tail)]
            case "job":
                found = step.body["tasks"][tail]
            case "schedule":
                found = step.body["task"]
            case _:
                return None
        return found

    def is_calm(self, since: float, until: float) -> bool:
        """Tell whether no fault was there between two times, nor shortly before."""
        return not any(
            fault.at <= until and self.lasts_until(fault) + AFTERMATH_SECONDS >= since for fault in self.faults
        )

    def acknowledged(self, what: str) -> list[Operation]:
        """Return the operations of a kind that were acknowledged."""
        return [line for line in self.operations if line.what == what and line.phase is Phase.OK]

    def was_asked(self, *what: str) -> bool:
        """Tell whether any client has asked for one of these."""
        return any(line.what in what for line in self.operations)

    def query(self, text: str) -> list[Any]:
        """Ask every database."""
        return [row for connection in self.connections for row in connection.execute(text)]


def _apart(session: int, number: int) -> int:
    """Return a number for a session in one of several databases: a worker has the same id in all of them."""
    return session + (number << 64)


def seconds_of(millis: int) -> float:
    """Return the virtual time of an instant in the database."""
    return (millis - EPOCH_MS) / 1000
