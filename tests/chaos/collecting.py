"""Makes the trace of a run: from what witness, tasks and faults have recorded, and from what the store says."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import asyncpg
import msgspec

from drumline.core.attempt import AttemptOutcome
from tests.evidence.trace import Ending, Execution, Fault, Line, Operation, Phase
from tests.faults.fleet import Body, Fleet

Recorded = TypeVar("Recorded")
ATTEMPTS = """
SELECT task_id, array_agg(outcome ORDER BY epoch), max(finished_at) FROM drumline.attempt GROUP BY task_id
"""
"""Read from the database itself: this is what is judged, not the queries of the API."""


def recorded(folder: Path, epoch: float, now: float) -> Iterator[Line]:
    """Yield operations, executions and faults; an operation that has no answer ends as unknown."""
    invoked: dict[int, Operation] = {}
    for operation in _lines(folder / "operations.jsonl", Operation):
        if operation.phase is Phase.INVOKE:
            invoked[operation.op] = operation
        else:
            invoked.pop(operation.op, None)
        yield operation
    yield from (msgspec.structs.replace(each, at=now, phase=Phase.UNKNOWN) for each in invoked.values())
    for execution in _lines(folder / "executions.jsonl", Execution):
        yield msgspec.structs.replace(execution, at=execution.at - epoch)
    # An upgrade is in the trace as the replacements of which it consists: each is about one process only.
    yield from (fault for fault in faults_of(folder) if fault.kind != "upgrade")


def faults_of(folder: Path) -> list[Fault]:
    """Return the faults, each once, with its end if it has one."""
    return list({fault.detail["id"]: fault for fault in _lines(folder / "faults.jsonl", Fault)}.values())


def collect(fleet: Fleet, folder: Path, epoch: float) -> list[Line]:
    """Return the whole trace in its order, the endings last."""
    now = time.monotonic() - epoch
    lines = sorted(recorded(folder, epoch, now), key=lambda line: line.at)
    return [*lines, *endings(fleet, epoch, now)]


def endings(fleet: Fleet, epoch: float, now: float) -> Iterator[Ending]:
    """Yield what the store says of every task."""
    attempts = asyncio.run(_attempts(fleet.postgres.url()))
    wall_epoch = time.time() - time.monotonic() + epoch
    for task, body in fleet.tasks().items():
        outcomes, finished = attempts.get(UUID(task), ([], None))
        yield _ending(task, body, outcomes, None if finished is None else finished / 1000 - wall_epoch, now)


def _ending(task: str, body: Body, outcomes: list[int], finished: float | None, now: float) -> Ending:
    return Ending(
        at=now,
        task=task,
        state=body["status"],
        attempts=tuple(AttemptOutcome(outcome).word for outcome in outcomes),
        key=body["idempotency_key"],
        job=body["job_id"],
        schedule=body["schedule_id"],
        fire_time=body["fire_time"],
        finished=finished,
    )


async def _attempts(url: str) -> dict[UUID, tuple[list[int], int]]:
    connection = await asyncpg.connect(url)
    try:
        return {task: (outcomes, finished) for task, outcomes, finished in await connection.fetch(ATTEMPTS)}
    finally:
        await connection.close()


def _lines(path: Path, kind: type[Recorded]) -> Iterator[Recorded]:
    """Yield the lines of a file; the last one may be cut short when its writer was killed."""
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield decoder.decode(line)
