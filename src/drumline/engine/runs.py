"""Runs of schedules: looked at, triggered and backfilled."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final, Protocol

from msgspec import Struct

from drumline.aio.threads import in_thread
from drumline.core.clock import Instant, to_instant
from drumline.core.errors import Conflict, Invalid
from drumline.core.field_schema import Configured, about
from drumline.core.ids import JobId, ScheduleId, TaskId
from drumline.core.limits import Limits
from drumline.core.schedule import RunKind, RunView
from drumline.core.timetable import timetable
from drumline.engine.schedules import ScheduleService
from drumline.ports.schedules import Fired, NewRun
from drumline.ports.store import Store

MOST_AT_A_MOMENT: Final = 100
"""Milliseconds that a triggered run may step aside for others of the same moment."""
RATE: Final = 10.0
LEAST_RATE: Final = 0.001
MOST_RATE: Final = 1000.0
AT_ONCE: Final = 1000
"""Runs of a backfill in one transaction."""


class RunPage(Struct, frozen=True):
    """A stretch of a schedule's runs, and the cursor that continues it."""

    items: tuple[RunView, ...]
    statuses: Mapping[str, str]
    """Where their tasks and jobs stand, by id."""
    next_cursor: str | None


class Backfill(Struct, frozen=True, kw_only=True):
    """What a backfill is about, or would be."""

    count: int
    """Fire times in the span."""
    missing: int
    """Those that have no run."""
    first: Instant | None = None
    """The first of those that have none."""
    last: Instant | None = None
    ends_at: Instant | None = None
    """When the last run starts."""


class BackfillRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make runs for the fire times of a span, `end` included, that have none; at so many a second."""

    start: Annotated[datetime, about("The first fire time that may be made up for.")]
    end: Annotated[datetime, about("The last one; not in the future.")]
    rate: Annotated[
        float,
        about(
            Configured("backfill", "Runs that start in a second; at most {:,} runs in all."),
            minimum=LEAST_RATE,
            maximum=MOST_RATE,
        ),
    ] = RATE
    dry_run: Annotated[bool, about("Only tell what would be done.")] = False


class RunStarting(Protocol):
    """Makes runs of a schedule."""

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun]) -> Fired:
        """Make runs that were requested."""
        ...


class RunService:
    """What people do with runs. A `tenant` of None is everybody's."""

    def __init__(self, store: Store, schedules: ScheduleService, firings: RunStarting, *, limits: Limits) -> None:
        self._store = store
        self._schedules = schedules
        self.firings = firings
        """What makes the runs: the engine's own firings, or where `shards` route them."""
        self._limits = limits

    async def list_runs(
        self, schedule: ScheduleId, *, limit: int = 100, cursor: str | None = None, tenant: str | None = None
    ) -> RunPage:
        """Return a page of a schedule's runs, the latest fire time first."""
        if not 1 <= limit <= self._limits.page:
            raise Invalid(f"must be from 1 to {self._limits.page}", field="limit")
        await self._schedules.get(schedule, tenant=tenant)
        before = None if cursor is None else _instant_of(cursor)
        runs = await self._store.schedules.list_runs(schedule, limit=limit + 1, before=before, tenant=tenant)
        page = tuple(runs[:limit])
        statuses = await self.statuses((run.task for run in page), (run.job for run in page), tenant=tenant)
        return RunPage(page, statuses, str(page[-1].fire_time) if len(runs) > limit else None)

    async def statuses(
        self, tasks: Iterable[TaskId | None], jobs: Iterable[JobId | None], *, tenant: str | None = None
    ) -> dict[str, str]:
        """Return where tasks and jobs stand, by id."""
        task_ids = [task for task in tasks if task is not None]
        job_ids = [job for job in jobs if job is not None]
        found: dict[str, str] = {}
        if task_ids:
            now = await self._store.queries.now()
            views = await self._store.queries.get(task_ids, payload=False, tenant=tenant)
            found |= {view.id: view.status(now).value for view in views if view is not None}
        if job_ids:
            views_of_jobs = await self._store.jobs.get_jobs(job_ids, tenant=tenant)
            found |= {job.id: job.status.value for job in views_of_jobs if job is not None}
        return found

    async def trigger(
        self, schedule: ScheduleId, *, fire_time: datetime | None = None, tenant: str | None = None
    ) -> RunView:
        """Start a run now, whatever the schedule says, and whether or not another goes on.

        With a `fire_time` it is the run for that time, and a `Conflict` if there is one already: so the act can be
        repeated when its answer was lost.
        """
        view = await self._schedules.get(schedule, tenant=tenant)
        if fire_time is not None:
            run = await self._start(schedule, to_instant(fire_time, field="fire_time"))
            if run is None:
                raise Conflict("there is a run for this fire time already", field="fire_time")
            return run
        now = await self._store.queries.now()
        table = timetable(view.rule)
        for later in range(MOST_AT_A_MOMENT):
            # A fire time of the schedule's own is left to it: that run would be taken for this one.
            moment = Instant(now + later)
            if table.next_after(Instant(moment - 1)) != moment and (run := await self._start(schedule, moment)):
                return run
        raise Conflict("too many runs were triggered at this moment; try again", field="id")

    async def backfill(self, schedule: ScheduleId, request: BackfillRequest, *, tenant: str | None = None) -> Backfill:
        """Make runs for the fire times of a span that have none, at a pace; with `dry_run` only say which.

        Fire times are those that the schedule would have now. To repeat it makes nothing twice.
        """
        view = await self._schedules.get(schedule, tenant=tenant)
        now = await self._store.queries.now()
        start, end = self._span(request, now)
        if not LEAST_RATE <= request.rate <= MOST_RATE:
            raise Invalid(f"must be from {LEAST_RATE:g} to {MOST_RATE:g} a second", field="rate")
        table = timetable(view.rule)
        count = await in_thread(lambda: table.count(Instant(start - 1), end))
        if count > self._limits.backfill:
            raise Invalid(
                f"has {count:,} fire times; at most {self._limits.backfill:,} are accepted at once", field="end"
            )
        known = await self._store.schedules.fire_times(schedule, after=Instant(start - 1), until=end)
        missing = await in_thread(lambda: [time for time in table.times(Instant(start - 1), end) if time not in known])
        runs = [
            NewRun(fire_time=time, kind=RunKind.BACKFILL, start_at=Instant(now + round(place * 1000 / request.rate)))
            for place, time in enumerate(missing)
        ]
        if not request.dry_run:
            for place in range(0, len(runs), AT_ONCE):
                await self.firings.add_runs(schedule, runs[place : place + AT_ONCE])
        return Backfill(
            count=count,
            missing=len(missing),
            first=missing[0] if missing else None,
            last=missing[-1] if missing else None,
            ends_at=runs[-1].start_at if runs else None,
        )

    async def drop_backfill(self, schedule: ScheduleId, *, tenant: str | None = None) -> int:
        """Give up what has not started of a schedule's backfills, and return how many runs that were."""
        await self._schedules.get(schedule, tenant=tenant)
        return await self._store.schedules.drop_runs(schedule, kind=RunKind.BACKFILL)

    async def _start(self, schedule: ScheduleId, fire_time: Instant) -> RunView | None:
        fired = await self.firings.add_runs(schedule, [NewRun(fire_time=fire_time, kind=RunKind.TRIGGER)])
        return fired.runs[0] if fired.runs else None

    def _span(self, request: BackfillRequest, now: Instant) -> tuple[Instant, Instant]:
        start, end = to_instant(request.start, field="start"), to_instant(request.end, field="end")
        if end < start:
            raise Invalid("is before start", field="end")
        if end > now:
            raise Invalid("is in the future: what is to come fires by itself", field="end")
        return start, end


def _instant_of(cursor: str) -> Instant:
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise Invalid("must be a cursor that came with a page", field="cursor")
    return Instant(int(cursor))
