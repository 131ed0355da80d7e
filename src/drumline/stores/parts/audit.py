"""The audit log: rows in chains, one chain for each tenant, only ever added to."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from drumline.core.audit import BEGINNING, AuditEntry, AuditHead, AuditRow, link
from drumline.core.clock import Instant
from drumline.ports.access import AuditFilter
from drumline.stores.driver import Line, Part, Transaction


class AuditLog(Part):
    """`ports.access.AuditLog`."""

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Write entries into the chains of their tenants, in order, at the store's time."""
        return await self._database.transact(
            Line.REQUEST, lambda transaction: self._append(transaction, entries), repeat=True
        )

    async def list_audit(self, which: AuditFilter, *, limit: int, before: str | None = None) -> list[AuditRow]:
        """Return rows, newest first, starting below the id `before`."""
        narrowed = msgspec.structs.asdict(which)
        rows = await self._database.fetch(
            Line.BROAD, "list_audit", repeat=True, within=which.tenant, **narrowed, limit=limit, before=before
        )
        return [_row(row) for row in rows]

    async def audit_chain(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """Return a stretch of a tenant's chain, in its order, starting above the place `after`."""
        rows = await self._database.fetch(
            Line.BROAD, "audit_chain", repeat=True, within=tenant, tenant=tenant, after=after, limit=limit
        )
        return [_row(row) for row in rows]

    async def audit_heads(self, *, tenant: str | None = None) -> list[AuditHead]:
        """Return how each chain ends, as it is kept beside the rows, by tenant."""
        rows = await self._database.fetch(
            Line.BROAD, "audit_heads", repeat=True, within=tenant, tenant=tenant, beginning=BEGINNING
        )
        return [AuditHead(*row) for row in rows]

    async def _append(self, transaction: Transaction, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        heads, now = await self._lock_heads(transaction, {entry.tenant for entry in entries})
        # Looked up under the lock: a first try whose answer was lost has either committed or will never do.
        known = await transaction.fetch("audited", ids=[entry.id for entry in entries])
        rows = {row.id: row for row in map(_row, known)}
        added = []
        for entry in entries:
            if entry.id not in rows:
                rows[entry.id], heads[entry.tenant] = link(heads[entry.tenant], entry, now)
                added.append(rows[entry.id])
        if added:
            await transaction.fetch(
                "append_audit",
                tenants=[row.tenant for row in added],
                seqs=[row.seq for row in added],
                ids=[row.id for row in added],
                asks=[row.asks for row in added],
                texts=[row.text for row in added],
                hashes=[row.hash for row in added],
            )
            await transaction.fetch(
                "move_audit_heads",
                tenants=list(heads),
                counts=[head.count for head in heads.values()],
                hashes=[head.hash for head in heads.values()],
            )
        return [rows[entry.id] for entry in entries]

    async def _lock_heads(self, transaction: Transaction, tenants: set[str]) -> tuple[dict[str, AuditHead], Instant]:
        wanted = {"tenants": sorted(tenants), "now": self._now()}
        rows = await transaction.fetch("lock_audit_heads", **wanted)
        if len(rows) < len(tenants):
            # Whoever begins the same chain at the same time waits for the other's row here, and then finds it.
            await transaction.fetch("begin_audit", tenants=sorted(tenants), beginning=BEGINNING)
            rows = await transaction.fetch("lock_audit_heads", **wanted)
        heads = {tenant: AuditHead(tenant, count, digest) for tenant, count, digest, _ in rows}
        return heads, Instant(rows[0][3])


def _row(row: Iterable[Any]) -> AuditRow:
    tenant, seq, id_, asks, text, digest = row
    return AuditRow(
        tenant=tenant, seq=seq, id=str(id_), asks=None if asks is None else str(asks), text=text, hash=digest
    )
