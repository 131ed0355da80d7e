"""What people decided about failure groups."""

from collections.abc import Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.triage import MOST_TRIAGED, Decision, Triage, TriageChange, triaged
from drumline.stores.driver import Line, Part, Transaction, tell_facts


class Triages(Part):
    """`ports.triage.Triages`."""

    async def change_triage(self, fingerprint: str, change: TriageChange, *, tenant: str) -> Triage:
        """Change what was decided about a group, and return all of it."""

        async def act(transaction: Transaction) -> Triage:
            (row,) = await transaction.fetch(
                "change_triage",
                tenant=tenant,
                fingerprint=fingerprint,
                decision=change.decision,
                by=change.by,
                until=change.until,
                sets_note=change.sets_note,
                note=change.note,
                sets_owner=change.sets_owner,
                owner=change.owner,
                now=self._now(),
            )
            await transaction.fetch("trim_triages", tenant=tenant, most=MOST_TRIAGED)
            triage = _triage(row)
            await tell_facts(transaction, [triaged(tenant, triage)], now=self._now())
            return triage

        return await self._database.transact(Line.REQUEST, act, within=tenant)

    async def find_triages(self, fingerprints: Sequence[str], *, tenant: str) -> dict[str, Triage]:
        """Return what was decided about groups; those without are left out."""
        rows = await self._database.fetch(
            Line.REQUEST, "find_triages", repeat=True, within=tenant, tenant=tenant, fingerprints=list(fingerprints)
        )
        return {triage.fingerprint: triage for triage in map(_triage, rows)}


def _triage(row: Any) -> Triage:
    fingerprint, decision, decided_at, decided_by, until, note, owner = row
    return Triage(
        fingerprint=fingerprint,
        decision=Decision(decision),
        decided_at=None if decided_at is None else Instant(decided_at),
        decided_by=decided_by,
        until=None if until is None else Instant(until),
        note=note,
        owner=owner,
    )
