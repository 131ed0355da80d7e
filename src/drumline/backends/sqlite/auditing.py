"""The audit log: rows in chains, one chain for each tenant, only ever added to."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from drumline.backends.sqlite.access import Access
from drumline.backends.sqlite.statements import SQL
from drumline.core.audit import AuditEntry, AuditHead, AuditRow, link
from drumline.core.clock import Instant
from drumline.ports.access import AuditFilter


class Auditing(Access):
    """`ports.access.Auditing` on SQLite."""

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Write entries into the chains of their tenants, in order, at the store's time."""
        now = self._now()
        return await self._database.write(lambda connection: [_append(connection, entry, now) for entry in entries])

    async def list_audit(self, which: AuditFilter, *, limit: int, before: str | None = None) -> list[AuditRow]:
        """Return rows, newest first, starting below the id `before`."""
        span = msgspec.structs.asdict(which) | {"limit": limit, "before": before}
        rows = await self._database.read(lambda connection: connection.execute(SQL["list_audit"], span).fetchall())
        return [_row(row) for row in rows]

    async def audit_chain(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """Return a stretch of a tenant's chain, in its order, starting above the place `after`."""
        span = {"tenant": tenant, "after": after, "limit": limit}
        rows = await self._database.read(lambda connection: connection.execute(SQL["audit_chain"], span).fetchall())
        return [_row(row) for row in rows]

    async def audit_heads(self, *, tenant: str | None = None) -> list[AuditHead]:
        """Return how each chain ends, as it is kept beside the rows, by tenant."""
        given = {"tenant": tenant}
        rows = await self._database.read(lambda connection: connection.execute(SQL["audit_heads"], given).fetchall())
        return [AuditHead(*row) for row in rows]


def _append(connection: sqlite3.Connection, entry: AuditEntry, now: Instant) -> AuditRow:
    known = connection.execute(SQL["is_audited"], {"id": entry.id}).fetchone()
    if known is not None:
        return _row(known)
    end = connection.execute(SQL["audit_head"], {"tenant": entry.tenant}).fetchone()
    row, head = link(AuditHead(entry.tenant, *(end or ())), entry, now)
    connection.execute(SQL["append_audit"], msgspec.structs.asdict(row))
    connection.execute(SQL["move_audit_head"], {"tenant": head.tenant, "count": head.count, "hash": head.hash})
    return row


def _row(row: tuple[Any, ...]) -> AuditRow:
    tenant, seq, id_, asks, text, digest = row
    return AuditRow(tenant=tenant, seq=seq, id=id_, asks=asks, text=text, hash=digest)
