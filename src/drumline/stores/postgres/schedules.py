"""Schedules on PostgreSQL: stored, and fired, only in slots that are open in this database."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog

from drumline.core.errors import Conflict, Moved, NotFound
from drumline.core.ids import ScheduleId
from drumline.core.schedule import NewSchedule, ScheduleView
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import ALL_OPEN, SLOTS, OpenSlots
from drumline.ports.schedules import Fired, FireOrder, NewRun, ScheduleChange
from drumline.stores.driver import Line, Transaction
from drumline.stores.parts.firing import Firing
from drumline.stores.parts.schedules import Schedules
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.submitting import MOVED

ELSEWHERE: Final = "schedules of this name belong to another shard: delete this one, and create it under the new name"

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class PostgresSchedules(Schedules):
    """`ports.schedules.Schedules` on PostgreSQL."""

    async def _fence(self, transaction: Transaction, slots: Sequence[tuple[int, int, int]]) -> None:
        if slots:
            await transaction.fetch(
                "fence",
                slots=[slot for slot, _, _ in slots],
                versions=[version for _, version, _ in slots],
                oldest=[oldest for _, _, oldest in slots],
            )

    async def add_schedules(self, schedules: Sequence[NewSchedule]) -> list[ScheduleView | Conflict | Moved]:
        """Store schedules; a name that its tenant has given already is a `Conflict`."""
        try:
            return await super().add_schedules(schedules)
        except SlotClosed:
            if len(schedules) == 1:
                return [MOVED]
        return [answer for new in schedules for answer in await self.add_schedules([new])]

    async def _change(self, change: ScheduleChange, tenant: str | None) -> ScheduleView | NotFound | Conflict:
        try:
            return await super()._change(change, tenant)
        except SlotClosed:
            return Conflict(ELSEWHERE, field="name")


class PostgresFiring(Firing):
    """`ports.schedules.Firing` on PostgreSQL."""

    async def fire(self, order: FireOrder) -> Fired:
        """Make the runs of schedules that are due, and find their next fire times."""
        return await self._in_open_slots(order, super().fire) or Fired()

    async def start_runs(self, order: FireOrder) -> Fired:
        """Start waiting runs whose time has come, and those before which no run goes on any more."""
        return await self._in_open_slots(order, super().start_runs) or Fired()

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder) -> Fired:
        """Start runs, or let them wait for their time; one whose fire time has a run already is left out."""
        add_runs = super().add_runs
        fired = await self._in_open_slots(order, lambda order: add_runs(schedule, runs, order))
        if fired is None:
            raise Moved("the schedule is being moved to another shard; try again")
        return fired

    async def _in_open_slots(self, order: FireOrder, work: Callable[[FireOrder], Awaitable[Fired]]) -> Fired | None:
        """Do something that makes ids. If the map that they are made by is behind, leave out what is closed here.

        None is returned if no slot of that map is open here, or one was closed in this very moment. Slots that the map
        does not know yet are not used: what is made in them could not be found.
        """
        try:
            return await work(order)
        except SlotClosed:
            order.ids.open = await self._still_open(order.ids.open)
        if order.ids.open.slots == ():
            log.warning("schedules.shut", reason="no slot is open in this database: its schedules have to be moved")
            return None
        try:
            return await work(order)
        except SlotClosed:
            return None

    async def _still_open(self, known: OpenSlots) -> OpenSlots:
        """Return those of slots that are open in this database, by the very entries that are known."""
        identity = await self._database.fetch(Line.FIRE, "shard_identity", repeat=True)
        if not identity:
            return ALL_OPEN
        ((name, _),) = identity
        versions = dict.fromkeys(range(SLOTS), 0) if name == DIRECTORY else {}
        for slot, version, _, closed_at, _ in await self._database.fetch(Line.FIRE, "own_entries", repeat=True):
            versions.pop(slot, None)  # they come in the order of their versions
            if closed_at is None:
                versions[slot] = version
        slots = range(SLOTS) if known.slots is None else known.slots
        still = tuple(slot for slot in slots if versions.get(slot) == known.versions.get(slot, 0))
        return OpenSlots(still, known.versions, known.since)
