"""Bringing tasks in."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from drumline.core.clock import Instant
from drumline.core.codec import decode
from drumline.core.errors import KeyReused
from drumline.core.ids import SessionId, TaskId
from drumline.core.session import SessionSpec
from drumline.core.state import Act, State
from drumline.core.task import NewTask, SubmitAnswer, Submitted
from drumline.ports.store import ClaimRequest, StoredLeased
from drumline.stores.driver import Transaction
from drumline.stores.parts.expiry import note_expiries
from drumline.stores.sqlite.batches import batch_of, tell
from drumline.stores.sqlite.claiming import Claiming
from drumline.stores.sqlite.database import Statements, connection_of, finish
from drumline.stores.sqlite.statements import SQL

SUBMITTED: Final = "submit"
ACT_OF: Final[Mapping[str, Act | None]] = {SUBMITTED: None} | {act.value: act for act in Act}
"""The acts behind the words in the outbox; none is the submission."""

QUEUED: Final = int(State.QUEUED)

TaskRow = tuple[TaskId, int, str, str | None, str | None, Instant]
"""A task as it is stored: id, lane, payload, options, idempotency key, when it is due."""


class Submitting(Claiming):
    """`ports.store.Submitting` on SQLite."""

    async def prepare(self) -> None:
        """Have everything ready since the store was opened."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        """Store tasks durably, in order."""
        return await self._database.write(lambda connection: self._submit(connection, tasks))

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task, leased to a session if that can be given it."""

        def submit(connection: sqlite3.Connection) -> StoredLeased:
            (submitted,) = self._submit(connection, [task])
            if not isinstance(submitted, Submitted):
                raise submitted
            rows = connection.execute(SQL["session_specs"], {"sessions": batch_of([session])}).fetchall()
            for _, spec in rows:
                request = _request(task, session, nonce, decode(spec, SessionSpec))
                for claimed in self._claim(connection, request, submitted.due_at).tasks:
                    return StoredLeased(submitted, claimed)
            return StoredLeased(submitted, None)

        return await self._database.write(submit)

    async def submit_in(self, transaction: Transaction, tasks: Sequence[NewTask]) -> list[Instant]:
        """Store tasks without idempotency keys as part of a transaction, and return when each is due."""
        answers = self._submit(connection_of(transaction), tasks)
        return [answer.due_at for answer in answers if isinstance(answer, Submitted)]

    def _submit(self, connection: sqlite3.Connection, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        now = self._now()
        answers: list[SubmitAnswer] = []
        rows: list[TaskRow] = []
        for task in tasks:
            due_at = task.run_at if task.run_at is not None else Instant(now + task.delay_ms)
            known = self._known(connection, task, due_at) if task.idempotency_key is not None else None
            if known is not None:
                answers.append(known)
                continue
            lane = self._lanes.number(connection, task.lane)
            options = None if task.options is None else task.options.decode()
            rows.append((task.id, lane, task.payload.decode(), options, task.idempotency_key, due_at))
            answers.append(Submitted(task.id, due_at))
        if rows:
            _insert(connection, rows, now)
            finish(note_expiries(Statements(connection), tasks))
            tell(connection, now, [(row[0], SUBMITTED, QUEUED, 0) for row in rows])
        return answers

    def _known(self, connection: sqlite3.Connection, task: NewTask, due_at: Instant) -> Submitted | KeyReused | None:
        """Return the answer for a key that was used before; otherwise note the key."""
        found = connection.execute(
            SQL["idempotency"], {"tenant": task.lane.tenant, "key": task.idempotency_key}
        ).fetchone()
        if found is None:
            row = (task.lane.tenant, task.idempotency_key, task.id, task.fingerprint, due_at)
            connection.execute(SQL["insert_idempotency"], row)
            return None
        task_id, fingerprint, first_due_at = found
        if fingerprint != task.fingerprint:
            return KeyReused(f"belongs to task {task_id}, which was submitted differently", field="idempotency_key")
        return Submitted(TaskId(task_id), Instant(first_due_at), created=False)


def _insert(connection: sqlite3.Connection, rows: Sequence[TaskRow], now: Instant) -> None:
    """Write tasks, and let them wait to be claimed: of those that are alike, only what differs goes through JSON."""
    _, lane, _, options, key, due_at = rows[0]
    rest = (options, None, due_at)
    if key is None and len([1 for row in rows if row[1] == lane and row[3:] == rest]) == len(rows):
        alike = {"lane": lane, "due_at": due_at}
        batch = batch_of([(row[0], row[2]) for row in rows])
        connection.execute(SQL["insert_alike_tasks"], {"batch": batch, "options": options, "now": now, **alike})
        connection.execute(SQL["insert_alike_live"], {"ids": batch_of([row[0] for row in rows]), **alike})
        return
    connection.execute(SQL["insert_tasks"], {"batch": batch_of(rows), "now": now})
    live = [(task, lane, due_at, 0, 0) for task, lane, _, _, _, due_at in rows]
    connection.execute(SQL["insert_live"], {"batch": batch_of(live)})


def _request(task: NewTask, session: SessionId, nonce: int, spec: SessionSpec) -> ClaimRequest:
    """Return what the session would ask for if it were hinted at the task."""
    return ClaimRequest(
        session=session,
        nonce=nonce,
        limit=1,
        queues=spec.queues,
        names=spec.names,
        tenant=spec.tenant,
        hints=(task.id,),
    )
