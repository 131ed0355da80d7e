"""Running an ended task again with another payload."""

import sqlite3

from msgspec import Raw

from drumline.core.ids import TaskId
from drumline.ports.dead_letters import edited
from drumline.ports.store import Changed
from drumline.stores.sqlite.access import tell_facts
from drumline.stores.sqlite.controlling import Controlling, Standing
from drumline.stores.sqlite.dead_letters import DeadLetters
from drumline.stores.sqlite.statements import SQL


class Editing(Controlling, DeadLetters):
    """`ports.dead_letters.DeadLetters` on SQLite, with what people do to tasks."""

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload; what it was given before is kept as a `PayloadEdit`."""

        def retry(connection: sqlite3.Connection, task: TaskId, at: Standing) -> Changed:
            changed = self._retry(connection, task, at)
            now = self._now()
            connection.execute(SQL["keep_payload"], {"id": task, "epoch": at.epoch, "now": now}).fetchone()
            connection.execute(SQL["edit_payload"], {"id": task, "payload": bytes(payload).decode()})
            tell_facts(connection, now, [edited(task, at.lane, epoch=at.epoch)])
            return changed

        (answer,) = await self._each([task], tenant, retry)
        if not isinstance(answer, Changed):
            raise answer
        return answer
