"""The audit log: recording acts, and verifying its hash chain."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from drumline.aio.batcher import Batcher
from drumline.core.audit import AuditEntry, AuditHead, AuditRow, Fault, Phase, Verifier, side
from drumline.core.errors import Unavailable
from drumline.ports.access import AuditLog

STRETCH: Final = 500
"""Rows read at a time when a chain is followed."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Verdict(Struct, frozen=True):
    """What was found out about a chain: how it ends, and what is wrong with it, if anything."""

    head: AuditHead
    fault: Fault | None


class AuditService:
    """The audit log. Appends that come at the same time share a transaction."""

    def __init__(self, store: AuditLog, *, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id
        self._appending: Batcher[AuditEntry, AuditRow] = Batcher(store.append_audit, name="audit", largest=200)

    async def ask(self, entry: AuditEntry) -> AuditEntry:
        """Write down an act that is about to be done; if this raises, it must not be."""
        asked = msgspec.structs.replace(entry, id=self._new_id(), phase=Phase.ASKED)
        await self._appending.join(asked)
        return asked

    async def answer(
        self, asked: AuditEntry, phase: Phase, *, before: Any = None, after: Any = None, problem: str | None = None
    ) -> None:
        """Write down how an act went. It has gone: should the store be away now, that it was asked has to do."""
        entry = msgspec.structs.replace(
            asked,
            id=self._new_id(),
            phase=phase,
            asks=asked.id,
            before=side(before),
            after=side(after),
            problem=problem,
        )
        try:
            row = await self._appending.join(entry)
        except Unavailable as error:
            log.error("act.unanswered", act=entry.act, target=entry.target, key=entry.key, error=error.message)  # noqa: TRY400
        else:
            # Logs that are stored elsewhere then have the end of each chain at the time.
            log.info(
                "act.recorded",
                act=entry.act,
                phase=phase,
                target=entry.target,
                key=entry.key,
                tenant=entry.tenant,
                head=f"{row.seq}:{row.hash.hex()}",
            )

    async def chain(self, tenant: str) -> AsyncIterator[Sequence[AuditRow]]:
        """Yield a tenant's chain from its beginning, stretch by stretch."""
        after = 0
        while rows := await self._store.audit_chain(tenant, after=after, limit=STRETCH):
            yield rows
            after = rows[-1].seq

    async def whole_chain(self, tenant: str) -> AsyncIterator[Sequence[AuditRow] | AuditHead]:
        """Yield all rows of a chain, also those that its head leaves out, and then how it ends by its head."""
        count = 0
        async for rows in self.chain(tenant):
            yield rows
            count = rows[-1].seq
        # Acts go on meanwhile: what the head says is read after the rows, and the rest of the rows after that.
        (kept,) = await self._store.audit_heads(tenant=tenant) or [AuditHead(tenant)]
        while count < kept.count:
            rows = await self._store.audit_chain(tenant, after=count, limit=min(STRETCH, kept.count - count))
            if not rows:
                break
            yield rows
            count = rows[-1].seq
        yield kept

    async def verify(self, *, tenant: str | None = None, expected: AuditHead | None = None) -> list[Verdict]:
        """Follow every chain, or a tenant's, and tell what is wrong with it."""
        heads = await self._store.audit_heads(tenant=tenant)
        if not heads and expected is not None:
            heads = [AuditHead(expected.tenant)]
        return [await self._verify(head, expected) for head in heads]

    async def _verify(self, head: AuditHead, expected: AuditHead | None) -> Verdict:
        verifier = Verifier(head.tenant, expected=expected)
        kept = head
        async for part in self.whole_chain(head.tenant):
            if isinstance(part, AuditHead):
                kept = part
            else:
                verifier.follow(part)
        return Verdict(verifier.head, verifier.close(kept))
