"""Schedules: each is with its runs, and what it fires, in the shard of its name."""

from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, Moved, NotFound
from drumline.core.ids import ScheduleId
from drumline.core.schedule import NewSchedule, RunKind, RunView, ScheduleView
from drumline.ports.hint import NO_EFFECTS
from drumline.ports.schedules import (
    Fired,
    FireOrder,
    NewRun,
    ScheduleChange,
    ScheduleFilter,
    Watch,
)
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part, earliest, newest


class Schedules(Part):
    """`ports.schedules.Schedules`."""

    async def add_schedules(self, schedules: Sequence[NewSchedule]) -> list[ScheduleView | Conflict | Moved]:
        """Store schedules. A name that its tenant has given already is a `Conflict`, unless it is the very same one."""
        return await self._router.split(
            schedules, lambda store, part: store.schedules.add_schedules(part), key=lambda each: each.id
        )

    async def get_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | None]:
        """Return schedules as they stand; None for those that do not exist."""
        return await self._router.split(
            schedules,
            lambda store, part: store.schedules.get_schedules(part, tenant=tenant),
            is_absent=lambda view: view is None,
        )

    async def list_schedules(
        self, which: ScheduleFilter, *, limit: int, before: ScheduleId | None = None
    ) -> list[ScheduleView]:
        """Return schedules, newest first, starting below `before`."""
        lists = await self._router.each(lambda store: store.schedules.list_schedules(which, limit=limit, before=before))
        return newest(lists, limit=limit)

    async def change_schedules(
        self, changes: Sequence[ScheduleChange], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound | Conflict]:
        """Change schedules. One that is not at the version given any more is a `Conflict`, as is a name taken."""
        return await self._router.split(
            changes,
            lambda store, part: store.schedules.change_schedules(part, tenant=tenant),
            key=lambda change: change.id,
            is_absent=is_not_found,
        )

    async def delete_schedules(
        self, schedules: Sequence[ScheduleId], *, tenant: str | None = None
    ) -> list[ScheduleView | NotFound]:
        """Delete schedules with the notes of their runs, and return them as they last stood; tasks and jobs stay."""
        return await self._router.split(
            schedules,
            lambda store, part: store.schedules.delete_schedules(part, tenant=tenant),
            is_absent=is_not_found,
        )

    async def drop_runs(self, schedule: ScheduleId, *, kind: RunKind) -> int:
        """Forget the runs of a kind that have not started, and return how many there were."""
        return await self._router.one(schedule, lambda store: store.schedules.drop_runs(schedule, kind=kind))

    async def list_runs(
        self, schedule: ScheduleId, *, limit: int, before: Instant | None = None, tenant: str | None = None
    ) -> list[RunView]:
        """Return the runs of a schedule, latest fire time first, starting below `before`."""
        return await self._router.one(
            schedule, lambda store: store.schedules.list_runs(schedule, limit=limit, before=before, tenant=tenant)
        )

    async def fire_times(self, schedule: ScheduleId, *, after: Instant, until: Instant) -> frozenset[Instant]:
        """Return the fire times in a span that have a run which was not skipped."""
        return await self._router.one(
            schedule, lambda store: store.schedules.fire_times(schedule, after=after, until=until)
        )

    async def watch(self) -> Watch:
        """Return what there is to fire in any shard, and when. Changes nothing."""
        found = await self._router.each(lambda store: store.schedules.watch())
        return Watch(
            now=max(watch.now for watch in found),
            seen_at=max((watch.seen_at for watch in found if watch.seen_at is not None), default=None),
            words=max(watch.words for watch in found),
            next_due=earliest(watch.next_due for watch in found),
            next_start=earliest(watch.next_start for watch in found),
            has_waiting=any(watch.has_waiting for watch in found),
        )

    async def note_watch(self) -> None:
        """Note that a scheduler is running, and that no missed firing is left."""
        await self._router.all(lambda store: store.schedules.note_watch())

    async def prune_runs(self, *, before: Instant, limit: int) -> int:
        """Delete up to `limit` notes of runs that were made before a time, but for those that wait; return how many."""
        return sum(
            await self._router.in_turn(
                limit, lambda store, left: store.schedules.prune_runs(before=before, limit=left), count=int
            )
        )


class Firing(Part):
    """`ports.schedules.Firing`. Schedulers fire each shard by itself; this does one after the other."""

    async def fire(self, order: FireOrder) -> Fired:
        """Make the runs of schedules that are due, and find their next fire times."""
        return _together(
            await self._router.in_turn(
                order.limit,
                lambda store, left: store.firing.fire(replace(order, limit=left)),
                count=lambda fired: fired.schedules,
            ),
            of=len(self._router.shards),
        )

    async def start_runs(self, order: FireOrder) -> Fired:
        """Start waiting runs: of backfills whose time has come, and those before which no run goes on any more."""
        return _together(
            await self._router.in_turn(
                order.limit,
                lambda store, left: store.firing.start_runs(replace(order, limit=left)),
                count=lambda fired: fired.schedules,
            ),
            of=len(self._router.shards),
        )

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder) -> Fired:
        """Start runs, or let them wait for their time; one whose fire time has a run already is left out."""
        return await self._router.one(
            schedule,
            lambda store: store.firing.add_runs(schedule, runs, order),
        )


def _together(found: Sequence[Fired], *, of: int) -> Fired:
    """Return what was fired in some of so many shards."""
    return Fired(
        schedules=sum(fired.schedules for fired in found),
        has_more=len(found) < of or any(fired.has_more for fired in found),
        runs=tuple(run for fired in found for run in fired.runs),
        missed=sum(fired.missed for fired in found),
        tasks=tuple(task for fired in found for task in fired.tasks),
        jobs=tuple(job for fired in found for job in fired.jobs),
        cancelled=tuple(task for fired in found for task in fired.cancelled),
        effects=sum((fired.effects for fired in found), NO_EFFECTS),
    )
