"""Schedules: what they are, and where they stand. How they fire is in `firing.py`."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from drumline.backends.schedule_rows import (
    NUMBER_OF,
    missing,
    outdated,
    run_view,
    schedule_fact,
    schedule_view,
    taken,
    text_of,
)
from drumline.backends.sqlite.access import Access, batch_of, tell_facts
from drumline.backends.sqlite.statements import SQL
from drumline.core.clock import LATEST, Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import ScheduleId
from drumline.core.schedule import NewSchedule, RunKind, RunView, ScheduleView
from drumline.ports.schedules import Definition, Placing, ScheduleChange, ScheduleFilter, Watch

AFTER_ALL: Final = LATEST + 1


class Schedules(Access):
    """`ports.schedules.Schedules` on SQLite, but for firing."""

    async def add_schedules(self, schedules: Sequence[NewSchedule]) -> list[ScheduleView | Conflict]:
        """Store schedules; a name that its tenant has given already is a `Conflict`."""
        return await self._database.write(lambda connection: [self._add_schedule(connection, new) for new in schedules])

    async def get_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | None]:
        """Return schedules as they stand; None for those that do not exist."""
        found = await self._database.read(lambda connection: views_in(connection, schedules, tenant))
        return [found.get(schedule) for schedule in schedules]

    async def list_schedules(
        self, which: ScheduleFilter, *, limit: int, before: ScheduleId | None = None
    ) -> list[ScheduleView]:
        """Return schedules, newest first, starting below `before`."""
        wanted = {
            "before": before, "tenant": which.tenant, "name": which.name, "app": which.app, "limit": limit,
            "state": None if which.state is None else NUMBER_OF[which.state],
        }  # fmt: skip
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["list_schedules"], wanted).fetchall()
        )
        return [schedule_view(row) for row in rows]

    async def change_schedules(
        self, changes: Sequence[ScheduleChange], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound | Conflict]:
        """Change schedules that are still at the version given."""
        return await self._database.write(
            lambda connection: [self._change_schedule(connection, change, tenant) for change in changes]
        )

    async def delete_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound]:
        """Delete schedules with the notes of their runs, and return them as they last stood."""

        def delete(connection: sqlite3.Connection) -> list[ScheduleView | NotFound]:
            found = views_in(connection, schedules, tenant)
            for view in found.values():
                connection.execute(SQL["delete_schedule_runs"], {"id": view.id})
                connection.execute(SQL["delete_schedule_live"], {"id": view.id})
                connection.execute(SQL["delete_schedule"], {"id": view.id})
            tell_facts(connection, self._now(), [schedule_fact("deleted", view) for view in found.values()])
            return [found.get(schedule) or missing(schedule) for schedule in schedules]

        return await self._database.write(delete)

    async def drop_runs(self, schedule: ScheduleId, *, kind: RunKind) -> int:
        """Forget the runs of a kind that have not started, and return how many there were."""
        return await self._change("drop_runs", {"schedule": schedule, "kind": NUMBER_OF[kind]})

    async def list_runs(
        self, schedule: ScheduleId, *, limit: int, before: Instant | None = None, tenant: str | None = None
    ) -> list[RunView]:
        """Return the runs of a schedule, latest fire time first, starting below `before`."""
        wanted = {
            "schedule": schedule,
            "limit": limit,
            "before": AFTER_ALL if before is None else before,
            "tenant": tenant,
        }
        rows = await self._database.read(lambda connection: connection.execute(SQL["list_runs"], wanted).fetchall())
        return [run_view(row) for row in rows]

    async def fire_times(self, schedule: ScheduleId, *, after: Instant, until: Instant) -> frozenset[Instant]:
        """Return the fire times in a span that have a run which was not skipped."""
        span = {"schedule": schedule, "after": after, "until": until}
        rows = await self._database.read(lambda connection: connection.execute(SQL["fire_times"], span).fetchall())
        return frozenset(Instant(time) for (time,) in rows)

    async def watch(self) -> Watch:
        """Tell what there is to fire, and when."""
        seen_at, words, due_at, start_at, has_waiting = await self._database.read(
            lambda connection: connection.execute(SQL["watch"]).fetchone()
        )
        return Watch(
            now=self._now(),
            seen_at=seen_at,
            words=words,
            next_due=due_at,
            next_start=start_at,
            has_waiting=bool(has_waiting),
        )

    async def note_watch(self) -> None:
        """Leave word that a scheduler is here."""
        await self._change("note_watch", {"now": self._now()})

    async def prune_runs(self, *, before: Instant, limit: int) -> int:
        """Delete up to `limit` notes of runs that were made before a time, but for those that wait."""
        return await self._change("prune_runs", {"before": before, "limit": limit})

    def _add_schedule(self, connection: sqlite3.Connection, new: NewSchedule) -> ScheduleView | Conflict:
        owner = connection.execute(SQL["schedule_named"], {"tenant": new.tenant, "name": new.name}).fetchone()
        if owner is not None and owner[0] != new.id:
            return taken(new.name)
        if owner is None:  # else an earlier answer was lost
            now = self._now()
            definition = Definition(
                name=new.name, rule=new.rule, policy=new.policy, target=new.target, origin=new.origin
            )
            row = {"id": new.id, "tenant": new.tenant, "now": now} | _columns(definition)
            connection.execute(SQL["insert_schedule"], row)
            placing = _places(Placing(state=new.state, turn=new.turn))
            connection.execute(SQL["insert_schedule_live"], {"id": new.id, "now": now} | placing)
            tell_facts(connection, now, [schedule_fact("created", _view(connection, new.id))])
        return _view(connection, new.id)

    def _change_schedule(
        self, connection: sqlite3.Connection, change: ScheduleChange, tenant: str | None
    ) -> ScheduleView | NotFound | Conflict:
        view = views_in(connection, [change.id], tenant).get(change.id)
        if view is None:
            return missing(change.id)
        if view.version != change.version:
            return outdated(change.id)
        if change.definition is not None:
            named = {"tenant": view.tenant, "name": change.definition.name}
            owner = connection.execute(SQL["schedule_named"], named).fetchone()
            if owner is not None and owner[0] != change.id:
                return taken(change.definition.name)
            connection.execute(SQL["change_schedule"], {"id": change.id} | _columns(change.definition))
        if change.placing is not None:
            place = {"id": change.id, "reason": change.placing.reason} | _places(change.placing)
            connection.execute(SQL["place_schedule"], place)
        now = self._now()
        connection.execute(SQL["note_schedule_change"], {"id": change.id, "now": now})
        changed = _view(connection, change.id)
        tell_facts(connection, now, [schedule_fact(change.word, changed)])
        return changed


def views_in(
    connection: sqlite3.Connection, schedules: Sequence[ScheduleId], tenant: str | None = None
) -> dict[ScheduleId, ScheduleView]:
    """Return schedules as they stand, by id."""
    rows = connection.execute(SQL["schedules"], {"ids": batch_of(schedules)}).fetchall()
    views = [schedule_view(row) for row in rows]
    return {view.id: view for view in views if tenant in {None, view.tenant}}


def _view(connection: sqlite3.Connection, schedule: ScheduleId) -> ScheduleView:
    return views_in(connection, [schedule])[schedule]


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
    }
