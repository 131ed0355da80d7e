"""What the store says of durable tasks in the end: records, signals and children, as notes of the trace."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import asyncpg

from drumline.core.durable import RecordKind, RecordStatus
from drumline.core.state import State
from tests.chaos.witness import DURABLE, FAMILY, SIGNALS, signal_request
from tests.evidence.trace import Ending, Note, Operation, Phase
from tests.faults.fleet import Body, Fleet

STORE = "store"
NAMES = frozenset(f"witnessed.{name}" for name in (*DURABLE, FAMILY, "leaf", "hold"))
ENDING_OUTCOMES = frozenset({"completed", "failed", "cancelled"})
QUERIES = {
    "record": "SELECT task_id, name, key, kind, status, epoch, value FROM drumline.step_record ORDER BY task_id, seq",
    "signal": "SELECT task_id, id, taken_by, payload FROM drumline.signal ORDER BY seq",
    "child": "SELECT child_id, parent_id, name, key, place, state FROM drumline.task_link",
    "payload": "SELECT id, payload FROM drumline.task",
    "result": "SELECT task_id, result FROM drumline.attempt WHERE outcome = 3",
    "left": "SELECT parent_id, kind FROM drumline.child_note",
}
"""Read from the database itself: this is what is judged, not the queries of the API."""

Rows = dict[str, list[Any]]


async def durable_rows(connection: "asyncpg.Connection[asyncpg.Record]") -> Rows:
    """Read all that is kept of durable tasks."""
    return {what: await connection.fetch(query) for what, query in QUERIES.items()}


def durable_notes(rows: Rows, tasks: dict[str, Body], now: float) -> Iterator[Note]:
    """Yield what is kept of durable tasks."""

    def note(what: str, task: UUID | None, **detail: Any) -> Note:
        return Note(at=now, process=STORE, what=what, task=None if task is None else str(task), detail=detail)

    for task, name, key, kind, status, epoch, value in rows["record"]:
        words = {"kind": RecordKind(kind).word, "status": RecordStatus(status).name.lower()}
        yield note("record", task, name=name, key=key, **words, epoch=epoch, value=json.loads(value))
    for task, id_, taken_by, payload in rows["signal"]:
        yield note("signal", task, id=id_, taken_by=str(taken_by) if taken_by else None, payload=json.loads(payload))
    for child, parent, name, key, place, state in rows["child"]:
        word = None if state is None else State(state).name
        yield note("child", child, parent=str(parent), call=[name, key, place], state=word)
    payloads = {str(task): payload for task, payload in rows["payload"]}
    results = {str(task): result for task, result in rows["result"]}
    for task, body in tasks.items():
        if body["name"] in NAMES:
            result = results.get(task)
            said = None if result is None else json.loads(result)
            kind = body["name"].removeprefix("witnessed.")
            yield note("durable", UUID(task), name=kind, payload=json.loads(payloads[task]), result=said)
    yield from (note("left", parent, kind=kind) for parent, kind in rows["left"])


def acts_of_parents(rows: Rows, endings: list[Ending]) -> Iterator[Operation]:
    """Yield what judges must know of children: their parents have cancelled and retried them, at some time."""
    children = {str(child) for child, *_ in rows["child"]}
    number = 0
    for ending in endings:
        if ending.task not in children:
            continue
        acts = ["cancel"] if "cancelled" in ending.attempts else []
        acts += ["retry"] if ENDING_OUTCOMES.intersection(ending.attempts[:-1]) else []
        for act in acts:
            number -= 1
            for phase in (Phase.INVOKE, Phase.UNKNOWN):
                yield Operation(at=0.0, op=number, client="parent", what=act, phase=phase, task=ending.task)


def send_missing_signals(fleet: Fleet, tasks: dict[str, Body]) -> None:
    """Send all signals, by their ids, of tasks that wait for signals which the witness had no time for."""
    for task, body in tasks.items():
        if body["name"].removeprefix("witnessed.") in DURABLE:
            for number in range(SIGNALS):
                path, request = signal_request(task, body["idempotency_key"], number)
                status, answer = fleet.ask("POST", f"/api/v1{path}", request)
                assert status in {200, 201, 409}, answer
