"""Bringing in a task that somebody waits for, leased from the start."""

import sqlite3

from drumline.core.codec import decode
from drumline.core.ids import SessionId
from drumline.core.session import SessionSpec
from drumline.core.task import NewTask, Submitted
from drumline.ports.store import ClaimRequest, StoredLeased
from drumline.stores.sqlite.batches import batch_of
from drumline.stores.sqlite.claiming import Claiming
from drumline.stores.sqlite.statements import SQL
from drumline.stores.sqlite.submitting import Submitting


class SubmittingLeased(Submitting, Claiming):
    """The part of `ports.store.Submitting` for a task that a session waits for, on SQLite."""

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
