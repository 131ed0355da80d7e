"""Makes the trace of a run: from what witness, tasks and faults have recorded, and from what the store says."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import msgspec

from drumline.core.attempt import AttemptOutcome
from tests.chaos.durable import Rows, acts_of_parents, durable_notes, durable_rows
from tests.chaos.witness import OPERATIONS
from tests.evidence.trace import Ending, Execution, Fault, Line, Note, Operation, Phase
from tests.faults.fleet import Body, Fleet


class Attempt(NamedTuple):
    """A row of the table of attempts."""

    epoch: int
    outcome: int
    leased: int | None
    ended: int


Attempts = dict[UUID, list[Attempt]]
ATTEMPTS = """
SELECT task_id, epoch, outcome, nullif(started_at, 0), finished_at FROM drumline.attempt ORDER BY task_id, epoch
"""
"""Read from the database itself: this is what is judged, not the queries of the API."""


def recorded(folder: Path, epoch: float, now: float) -> Iterator[Line]:
    """Yield operations, executions and faults; an operation that has no answer ends as unknown."""
    invoked: dict[int, Operation] = {}
    for operation in _lines(folder / OPERATIONS, Operation):
        if operation.phase is Phase.INVOKE:
            invoked[operation.op] = operation
        else:
            invoked.pop(operation.op, None)
        yield operation
    yield from (msgspec.structs.replace(each, at=now, phase=Phase.UNKNOWN) for each in invoked.values())
    for execution in _lines(folder / "executions.jsonl", Execution | Note):
        yield msgspec.structs.replace(execution, at=execution.at - epoch)
    # An upgrade is in the trace as the replacements of which it consists: each is about one process only.
    yield from (fault for fault in faults_of(folder) if fault.kind != "upgrade")


def faults_of(folder: Path) -> list[Fault]:
    """Return the faults, each once, with its end if it has one."""
    return list({fault.detail["id"]: fault for fault in _lines(folder / "faults.jsonl", Fault)}.values())


def collect(fleet: Fleet, folder: Path, epoch: float) -> list[Line]:
    """Return the whole trace in its order, what the store says last."""
    now = time.monotonic() - epoch
    attempts, rows = asyncio.run(_stored(fleet.postgres.url()))
    tasks = fleet.tasks()
    found = list(endings(tasks, attempts, epoch, now))
    lines = [*recorded(folder, epoch, now), *acts_of_parents(rows, found)]
    return [*sorted(lines, key=lambda line: line.at), *durable_notes(rows, tasks, now), *found]


def endings(tasks: dict[str, Body], attempts: Attempts, epoch: float, now: float) -> Iterator[Ending]:
    """Yield what the store says of every task."""
    wall_epoch = time.time() - time.monotonic() + epoch
    for task, body in tasks.items():
        known = attempts.get(UUID(task), [])
        ended = tuple(each.ended / 1000 - wall_epoch for each in known)
        yield Ending(
            at=now,
            task=task,
            state=body["status"],
            attempts=tuple(AttemptOutcome(each.outcome).word for each in known),
            epochs=tuple(each.epoch for each in known),
            leased=tuple(None if each.leased is None else each.leased / 1000 - wall_epoch for each in known),
            ended=ended,
            key=body["idempotency_key"],
            job=body["job_id"],
            schedule=body["schedule_id"],
            fire_time=body["fire_time"],
            finished=max(ended, default=None),
        )


async def _stored(url: str) -> tuple[Attempts, Rows]:
    connection = await asyncpg.connect(url)
    try:
        attempts: Attempts = defaultdict(list)
        for task, *row in await connection.fetch(ATTEMPTS):
            attempts[task].append(Attempt(*row))
        return attempts, await durable_rows(connection)
    finally:
        await connection.close()


def _lines(path: Path, kind: Any) -> Iterator[Any]:
    """Yield the lines of a file; the last one may be cut short when its writer was killed."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield decoder.decode(line)
