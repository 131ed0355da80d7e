"""Schedules: definitions, state and runs. How they fire is in `firing.py`."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from drumline.core.clock import LATEST, Instant
from drumline.core.errors import Conflict, Moved, NotFound
from drumline.core.ids import ScheduleId, made_at
from drumline.core.schedule import NewSchedule, RunKind, RunView, ScheduleView
from drumline.core.slots import slot_of, slot_of_key
from drumline.ports.schedules import Definition, Placing, ScheduleChange, ScheduleFilter, Watch
from drumline.stores.driver import ABOVE_ALL, Line, Part, Transaction, tell_facts
from drumline.stores.schedule_rows import (
    NUMBER_OF,
    missing,
    outdated,
    run_view,
    schedule_fact,
    schedule_view,
    taken,
    text_of,
)

AFTER_ALL: Final = LATEST + 1


class Schedules(Part):
    """`ports.schedules.Schedules`."""

    async def _fence(self, transaction: Transaction, slots: Sequence[tuple[int, int, int]]) -> None:
        """Refuse what is to be stored if slots, each with a version and the time of an id, are not open here."""

    async def add_schedules(self, schedules: Sequence[NewSchedule]) -> list[ScheduleView | Conflict | Moved]:
        """Store schedules; a name that its tenant has given already is a `Conflict`."""
        if not schedules:
            return []
        views = await self._database.transact(
            Line.REQUEST, partial(self._add_schedules, schedules=schedules), repeat=True
        )
        return [views.get(new.id) or taken(new.name) for new in schedules]

    async def get_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | None]:
        """Return schedules as they are now; None for those that do not exist."""
        rows = await self._database.fetch(Line.REQUEST, "schedules", repeat=True, within=tenant, ids=list(schedules))
        found = {view.id: view for view in map(schedule_view, rows) if tenant in {None, view.tenant}}
        return [found.get(schedule) for schedule in schedules]

    async def list_schedules(
        self, which: ScheduleFilter, *, limit: int, before: ScheduleId | None = None
    ) -> list[ScheduleView]:
        """Return schedules, newest first, starting below `before`."""
        rows = await self._database.fetch(
            Line.BROAD,
            "list_schedules",
            repeat=True,
            within=which.tenant,
            before=before or ABOVE_ALL,
            tenant=which.tenant,
            name=which.name,
            app=which.app,
            state=None if which.state is None else NUMBER_OF[which.state],
            limit=limit,
        )
        return [schedule_view(row) for row in rows]

    async def change_schedules(
        self, changes: Sequence[ScheduleChange], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound | Conflict]:
        """Change schedules that are still at the version given."""
        return [await self._change(change, tenant) for change in changes]

    async def delete_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound]:
        """Delete schedules with the notes of their runs, and return them as they last stood."""

        async def delete(transaction: Transaction) -> dict[ScheduleId, ScheduleView]:
            found = await locked_views(transaction, schedules, tenant)
            for name in ("delete_schedule_runs", "delete_schedules_live", "delete_schedules"):
                await transaction.fetch(name, ids=list(found))
            await tell_facts(transaction, [schedule_fact("deleted", view) for view in found.values()], now=self._now())
            return found

        found = await self._database.transact(Line.REQUEST, delete, within=tenant)
        return [found.get(schedule) or missing(schedule) for schedule in schedules]

    async def drop_runs(self, schedule: ScheduleId, *, kind: RunKind) -> int:
        """Forget the runs of a kind that have not started, and return how many there were."""
        return len(await self._database.fetch(Line.REQUEST, "drop_runs", schedule=schedule, kind=NUMBER_OF[kind]))

    async def list_runs(
        self, schedule: ScheduleId, *, limit: int, before: Instant | None = None, tenant: str | None = None
    ) -> list[RunView]:
        """Return the runs of a schedule, latest fire time first, starting below `before`."""
        before_ = AFTER_ALL if before is None else before
        rows = await self._database.fetch(
            Line.REQUEST,
            "list_runs",
            repeat=True,
            within=tenant,
            schedule=schedule,
            before=before_,
            limit=limit,
            tenant=tenant,
        )
        return [run_view(row) for row in rows]

    async def fire_times(self, schedule: ScheduleId, *, after: Instant, until: Instant) -> frozenset[Instant]:
        """Return the fire times in a span that have a run which was not skipped."""
        rows = await self._database.fetch(
            Line.REQUEST, "fire_times", repeat=True, schedule=schedule, after=after, until=until
        )
        return frozenset(Instant(time) for (time,) in rows)

    async def watch(self) -> Watch:
        """Return what there is to fire, and when."""
        ((now, seen_at, words, due_at, start_at, has_waiting),) = await self._database.fetch(
            Line.FIRE, "watch", repeat=True, now=self._now()
        )
        return Watch(
            now=now,
            seen_at=seen_at,
            words=words,
            next_due=due_at,
            next_start=start_at,
            has_waiting=bool(has_waiting),
        )

    async def note_watch(self) -> None:
        """Note that a scheduler is running."""
        await self._database.fetch(Line.FIRE, "note_watch", repeat=True, now=self._now())

    async def prune_runs(self, *, before: Instant, limit: int) -> int:
        """Delete up to `limit` notes of runs that were made before a time, but for those that wait."""
        return len(await self._database.fetch(Line.BROAD, "prune_runs", before=before, limit=limit))

    async def _add_schedules(
        self, transaction: Transaction, schedules: Sequence[NewSchedule]
    ) -> dict[ScheduleId, ScheduleView]:
        ordered = sorted(schedules, key=lambda new: (new.name, new.tenant))
        rows = await transaction.fetch(
            "insert_schedules",
            ids=[new.id for new in ordered],
            tenants=[new.tenant for new in ordered],
            names=[new.name for new in ordered],
            rules=[text_of(new.rule) for new in ordered],
            policies=[text_of(new.policy) for new in ordered],
            targets=[text_of(new.target) for new in ordered],
            apps=[new.origin and new.origin.app for new in ordered],
            modules=[new.origin and new.origin.module for new in ordered],
            now=self._now(),
        )
        stored = {str(id_) for (id_,) in rows}
        new = [one for one in ordered if one.id in stored]
        await self._fence(transaction, [(slot_of(one.id), one.slot_version, made_at(one.id)) for one in new])
        await transaction.fetch(
            "insert_schedules_live",
            ids=[one.id for one in new],
            states=[NUMBER_OF[one.state] for one in new],
            fire_at=[one.turn and one.turn.fire_at for one in new],
            due_at=[one.turn and one.turn.due_at for one in new],
            now=self._now(),
        )
        # Those that were there under the same id too: an earlier answer was lost.
        found = await transaction.fetch("schedules", ids=[one.id for one in schedules])
        views = {view.id: view for view in map(schedule_view, found)}
        facts = [schedule_fact("created", view) for view in views.values() if view.id in stored]
        await tell_facts(transaction, facts, now=self._now())
        return views

    async def _change(self, change: ScheduleChange, tenant: str | None) -> ScheduleView | NotFound | Conflict:
        # Within the wall of a tenant the slots cannot be seen that a new name has to be compared with.
        within = tenant if change.name_version is None else None
        return await self._database.transact(
            Line.REQUEST, partial(self._change_schedule, change=change, tenant=tenant), within=within
        )

    async def _change_schedule(
        self, transaction: Transaction, change: ScheduleChange, tenant: str | None
    ) -> ScheduleView | NotFound | Conflict:
        view = (await locked_views(transaction, [change.id], tenant)).get(change.id)
        if view is None:
            return missing(change.id)
        if view.version != change.version:
            return outdated(change.id)
        if change.definition is not None:
            columns = _columns(change.definition)
            if not await transaction.fetch("change_schedule", id=change.id, **columns):
                return taken(change.definition.name)
            if change.name_version is not None:
                slot = slot_of_key(view.tenant, change.definition.name)
                await self._fence(transaction, [(slot, change.name_version, LATEST)])
        if change.placing is not None:
            await transaction.fetch("place_schedule", id=change.id, **_places(change.placing))
        await transaction.fetch("note_schedule_change", id=change.id, now=self._now())
        (row,) = await transaction.fetch("schedules", ids=[change.id])
        changed = schedule_view(row)
        await tell_facts(transaction, [schedule_fact(change.word, changed)], now=self._now())
        return changed


async def locked_views(
    transaction: Transaction, schedules: Sequence[ScheduleId], tenant: str | None = None
) -> dict[ScheduleId, ScheduleView]:
    """Lock schedules and return them by id."""
    await transaction.fetch("lock_schedules", ids=list(schedules))
    rows = await transaction.fetch("schedules", ids=list(schedules))
    return {view.id: view for view in map(schedule_view, rows) if tenant in {None, view.tenant}}


def _columns(definition: Definition) -> dict[str, object]:
    return {
        "name": definition.name,
        "rule": text_of(definition.rule),
        "policy": text_of(definition.policy),
        "target": text_of(definition.target),
        "app": definition.origin and definition.origin.app,
        "module": definition.origin and definition.origin.module,
    }


def _places(placing: Placing) -> dict[str, object]:
    turn = placing.turn
    return {
        "state": NUMBER_OF[placing.state],
        "fire_at": None if turn is None else turn.fire_at,
        "due_at": None if turn is None else turn.due_at,
        "reason": placing.reason,
    }
