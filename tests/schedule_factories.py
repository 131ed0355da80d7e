"""Schedules as tests need them."""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from drumline.core.accept_schedule import accept_schedule
from drumline.core.clock import Instant, ManualClock
from drumline.core.codec import encode
from drumline.core.firing import Absence
from drumline.core.ids import ScheduleId
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.schedule import NewSchedule, RunState, RunView, ScheduleRequest, ScheduleView
from drumline.core.slots import slot_of_key
from drumline.core.task import TaskRequest
from drumline.ports.schedules import Fired, FireOrder
from drumline.ports.store import Store
from tests.factories import IDS, new_id

START = Instant(1_699_999_980_000)
"""The minute in which `ManualClock` starts, 20 seconds before its time."""
MINUTE = 60_000


def schedule_request(name: str = "nightly", **fields: Any) -> ScheduleRequest:
    if not {"cron", "interval", "run_at"} & fields.keys():
        fields["cron"] = "* * * * *"
    if not {"task", "job"} & fields.keys():
        fields["task"] = TaskRequest(name="work", payload=Raw(encode({})))
    return ScheduleRequest(name=name, **fields)


def job_request(name: str = "report") -> JobRequest:
    return JobRequest(
        name=name,
        tasks={"extract": JobTaskRequest(name="work"), "load": JobTaskRequest(name="work", needs=("extract",))},
    )


def new_schedule(now: Instant, name: str = "nightly", *, tenant: str = "default", **fields: Any) -> NewSchedule:
    own = ScheduleId(new_id(slot_of_key(tenant, name)))
    return accept_schedule(schedule_request(name, **fields), id=own, now=now, tenant=tenant)


async def add(store: Store, clock: ManualClock, name: str = "nightly", **fields: Any) -> ScheduleView:
    (answer,) = await store.schedules.add_schedules([new_schedule(clock.now(), name, **fields)])
    if isinstance(answer, Exception):
        raise answer
    return answer


def order(*, limit: int = 100, absence: Absence | None = None, limits: Limits = DEFAULT_LIMITS) -> FireOrder:
    return FireOrder(limit=limit, ids=IDS, absence=absence, limits=limits)


async def fire(store: Store, **how: Any) -> Fired:
    return await store.firing.fire(order(**how))


async def get(store: Store, schedule: ScheduleId) -> ScheduleView:
    (view,) = await store.schedules.get_schedules([schedule])
    assert view is not None
    return view


async def runs_of(store: Store, schedule: ScheduleId) -> list[RunView]:
    return list(reversed(await store.schedules.list_runs(schedule, limit=1000)))


def times_of(runs: Sequence[RunView], *, state: RunState | None = None) -> list[int]:
    """Return the fire times of runs, in minutes after `START`."""
    return [(run.fire_time - START) // MINUTE for run in runs if state in {None, run.state}]
