"""Service level objectives, and their tallies by hour."""

from collections.abc import Sequence
from typing import Any, Final

from drumline.core.alert import SloId
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.core.slo import (
    DAY,
    KEPT_DAYS,
    MOST_SLOS,
    HourTally,
    NewSlo,
    Slo,
    SloChange,
    SloCount,
    SloDefinition,
    Tally,
)
from drumline.ports.alerts import SloFilter
from drumline.stores.driver import ABOVE_ALL, Line, Part, Transaction
from drumline.stores.parts.alerts import insert_alert, remove_alerts

NOT_THERE: Final = "there is no such objective"
NAME_TAKEN: Final = "there is an objective of that name already"
PERIOD: Final = KEPT_DAYS * DAY


class Slos(Part):
    """`ports.alerts.Slos`."""

    async def create_slo(self, slo: NewSlo) -> Slo:
        """Keep an objective and its rules; raises `Conflict` if a name is taken, or there are too many."""

        async def work(transaction: Transaction) -> Slo:
            await transaction.fetch(
                "create_slo",
                id=slo.id,
                tenant=slo.tenant,
                name=slo.name,
                task=slo.definition.task,
                definition=encode(slo.definition).decode(),
                behind=PERIOD,
                most=MOST_SLOS,
                now=self._now(),
            )
            rows = await transaction.fetch("get_slo", id=slo.id, tenant=slo.tenant)
            if not rows:
                is_taken = await transaction.fetch("slo_named", id=slo.id, tenant=slo.tenant, name=slo.name)
                raise (
                    Conflict(NAME_TAKEN, field="name")
                    if is_taken
                    else Conflict(f"there are {MOST_SLOS} objectives already, as many as there may be")
                )
            for rule in slo.rules:
                await insert_alert(transaction, rule, now=self._now())
            return _slo(rows[0])

        return await self._database.transact(Line.REQUEST, work, repeat=True, within=slo.tenant)

    async def slo(self, id: SloId, *, tenant: str | None = None) -> Slo | None:
        """Return an objective."""
        rows = await self._database.fetch(Line.REQUEST, "get_slo", repeat=True, within=tenant, id=id, tenant=tenant)
        return _slo(rows[0]) if rows else None

    async def slos(self, which: SloFilter, *, limit: int, before: SloId | None = None) -> list[Slo]:
        """Return objectives, newest first, starting below `before`."""
        rows = await self._database.fetch(
            Line.REQUEST,
            "slos",
            repeat=True,
            within=which.tenant,
            tenant=which.tenant,
            name=which.name,
            task=which.task,
            limit=limit,
            before=before or ABOVE_ALL,
        )
        return [_slo(row) for row in rows]

    async def change_slo(self, id: SloId, change: SloChange, *, tenant: str | None = None) -> Slo:
        """Change an objective; with another definition its hours are forgotten."""

        async def work(transaction: Transaction) -> Slo:
            rows = await transaction.fetch("lock_slos", ids=[id], tenant=tenant)
            if not rows:
                raise NotFound(NOT_THERE, field="id")
            slo = _slo(rows[0])
            if change.name is not None:
                if await transaction.fetch("slo_named", id=id, tenant=slo.tenant, name=change.name):
                    raise Conflict(NAME_TAKEN, field="name")
                await transaction.fetch("rename_slo", id=id, name=change.name)
            if change.definition is not None and change.definition != slo.definition:
                await transaction.fetch(
                    "redefine_slo",
                    id=id,
                    definition=encode(change.definition).decode(),
                    behind=PERIOD,
                    now=self._now(),
                )
                await transaction.fetch("delete_slo_hours", ids=[id])
            (row,) = await transaction.fetch("get_slo", id=id, tenant=None)
            return _slo(row)

        return await self._database.transact(Line.REQUEST, work, within=tenant)

    async def delete_slo(self, id: SloId, *, tenant: str | None = None) -> bool:
        """Delete an objective with its hours and its rules; tell whether there was one."""
        now = await self._time()

        async def work(transaction: Transaction) -> bool:
            if not await transaction.fetch("lock_slos", ids=[id], tenant=tenant):
                return False
            rules = [str(rule) for (rule,) in await transaction.fetch("alerts_of_slo", slo=id)]
            await remove_alerts(transaction, rules, tenant=None, now=now)
            await transaction.fetch("delete_slo_hours", ids=[id])
            await transaction.fetch("delete_slos", ids=[id])
            return True

        return await self._database.transact(Line.REQUEST, work, within=tenant)

    async def due_slos(self, *, limit: int, every_ms: int) -> list[Slo]:
        """Return objectives that were not counted for `every_ms`, and note that they are being counted."""
        rows = await self._database.fetch(Line.REQUEST, "due_slos", limit=limit, every=every_ms, now=self._now())
        return [_slo(row) for row in rows]

    async def record_slos(self, counts: Sequence[SloCount]) -> None:
        """Write tallies of hours in place of what there was, unless the objective was changed meanwhile."""
        now = await self._time()

        async def work(transaction: Transaction) -> None:
            rows = await transaction.fetch("lock_slos", ids=[count.slo.id for count in counts], tenant=None)
            turns = {slo.id: slo.turn for slo in map(_slo, rows)}
            kept = [count for count in counts if turns.get(count.slo.id) == count.slo.turn]
            ids = [count.slo.id for count in kept]
            hours = [(count.slo.id, hour) for count in kept for hour in count.hours]
            await transaction.fetch(
                "put_slo_hours",
                slos=[slo for slo, _ in hours],
                times=[hour.at for _, hour in hours],
                good=[hour.tally.good for _, hour in hours],
                total=[hour.tally.total for _, hour in hours],
            )
            await transaction.fetch("prune_slo_hours", ids=ids, before=now - PERIOD)
            await transaction.fetch(
                "note_slo_counts",
                ids=ids,
                counted_until=[count.counted_until for count in kept],
                fast=[count.burn_fast for count in kept],
                slow=[count.burn_slow for count in kept],
                now=self._now(),
            )

        if counts:
            await self._database.transact(Line.REQUEST, work, repeat=True)

    async def slo_tallies(self, slos: Sequence[Slo], *, now: Instant) -> dict[SloId, Tally]:
        """Return the tallies of objectives over their periods."""
        rows = await self._database.fetch(
            Line.REQUEST,
            "slo_tallies",
            repeat=True,
            ids=[slo.id for slo in slos],
            since=[now - slo.definition.period for slo in slos],
        )
        return {SloId(str(slo)): Tally(int(good), int(total)) for slo, good, total in rows}

    async def slo_hours(self, id: SloId, *, since: Instant) -> list[HourTally]:
        """Return the hours of an objective from a time on, in order."""
        rows = await self._database.fetch(Line.REQUEST, "slo_hours", repeat=True, id=id, since=since)
        return [HourTally(Instant(at), Tally(good, total)) for at, good, total in rows]


def _slo(row: Any) -> Slo:
    id_, tenant, name, definition, created_at, counted_until, counted_at, burn_fast, burn_slow, turn = row
    return Slo(
        id=SloId(str(id_)),
        tenant=tenant,
        name=name,
        definition=decode(definition, SloDefinition),
        created_at=Instant(created_at),
        counted_until=Instant(counted_until),
        counted_at=None if counted_at is None else Instant(counted_at),
        burn_fast=burn_fast,
        burn_slow=burn_slow,
        turn=turn,
    )
