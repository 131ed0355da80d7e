"""What ended sign-ins before their time."""

import sqlite3
from collections.abc import Sequence

from drumline.backends.sqlite.access import Access, batch_of
from drumline.backends.sqlite.statements import SQL
from drumline.core.clock import Instant
from drumline.ports.sign_ins import Mark


class SignIns(Access):
    """`ports.sign_ins.SignIns` on SQLite."""

    async def leave_marks(self, marks: Sequence[Mark]) -> list[bool]:
        """Leave marks at the store's time, and tell which were not there."""
        given = {"marks": batch_of([(mark.name, mark.lasts_ms) for mark in marks]), "now": self._now()}
        names = batch_of([mark.name for mark in marks])

        def act(connection: sqlite3.Connection) -> set[str]:
            connection.execute(SQL["prune_marks"], {"now": given["now"]})
            there = {name for name, _ in connection.execute(SQL["find_marks"], {"names": names})}
            connection.execute(SQL["leave_marks"], given)
            return there

        there = await self._database.write(act)
        return [mark.name not in there for mark in marks]

    async def find_marks(self, names: Sequence[str]) -> list[Instant | None]:
        """Return when each of these marks was left last."""
        given = {"names": batch_of(names)}
        rows = await self._database.read(lambda connection: connection.execute(SQL["find_marks"], given).fetchall())
        found = {name: Instant(left_at) for name, left_at in rows}
        return [found.get(name) for name in names]
