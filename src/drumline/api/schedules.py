"""Schedules: create, look, change, pause, trigger, backfill, preview."""

from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.problems import Headers
from drumline.api.schedule_shapes import (
    BackfillBody,
    DroppedBody,
    PreviewBody,
    RegisteredBody,
    RunBody,
    RunList,
    ScheduleBody,
    ScheduleList,
    backfill_body,
    preview_body,
    registered_body,
    run_body,
    schedule_body,
)
from drumline.core.access import Permission
from drumline.core.app_schedules import RegisterRequest
from drumline.core.codec import encode
from drumline.core.errors import Forbidden
from drumline.core.field_schema import PAGE_SIZE, Schema, about, line, moment, page_cursor
from drumline.core.firing_policy import CRON, END, FIRE_ONCE, INTERVAL, ONE_RULE, START, TIMEZONE
from drumline.core.ids import ScheduleId, parse_schedule_id
from drumline.core.job import JobRequest
from drumline.core.names import LONGEST_NAME, check_name, check_text
from drumline.core.redaction import REDACTED, hidden_in, redacted_target
from drumline.core.schedule import ScheduleEdit, ScheduleRequest, ScheduleState, ScheduleTarget, ScheduleView
from drumline.core.task import TaskRequest
from drumline.engine.runs import BackfillRequest
from drumline.engine.schedules import FIRE_TIME_BYTES, LONGEST_REASON, days_of, following, weight_of
from drumline.ports.schedules import ScheduleFilter

NEXT = 5
MOST_NEXT = 1000
MOST_DAYS = 366
MOST_NEXT_EACH = 10
"""How many fire times of each schedule a list shows."""
MOST_DAYS_EACH = 35
"""For how many days a list counts the fire times of each schedule."""

_PATH = "/api/v1/schedules"


class SchedulesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which schedules to list."""

    name: Annotated[str | None, line()] = None
    state: ScheduleState | None = None
    app: Annotated[str | None, line(description="Those in the code of an app.")] = None
    next: Annotated[
        int, Meta(ge=0, le=MOST_NEXT_EACH), about("How many of the next fire times of each to show, in `next_fires`.")
    ] = 0
    days: Annotated[
        int, Meta(ge=0, le=MOST_DAYS_EACH), about("For how many days to tell how often each fires, in `fires_by_day`.")
    ] = 0
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


class ScheduleQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many of the next fire times to show, and for how many days to count them."""

    next: Annotated[int, Meta(ge=0, le=MOST_NEXT), about("How many of the next fire times to show.")] = NEXT
    days: Annotated[
        int, Meta(ge=0, le=MOST_DAYS), about("For how many days to tell how often it fires, in `fires_by_day`.")
    ] = 0


class RunsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs to list."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,15}$")] = None


class SchedulePauseRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a schedule is paused, for those who will wonder."""

    reason: Annotated[str | None, line(LONGEST_REASON)] = None


class TriggerRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The fire time that the run is for, so that the act can be repeated; now when absent."""

    fire_time: Annotated[datetime | None, moment("The time that the run is for; now when absent.")] = None


class PreviewRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule as a schedule would have it: how many of its fire times to show, and after which time."""

    SCHEMA: ClassVar[Schema] = {"oneOf": ONE_RULE}

    cron: Annotated[str | None, CRON] = None
    interval: Annotated[float | str | None, INTERVAL] = None
    run_at: Annotated[datetime | None, FIRE_ONCE] = None
    timezone: Annotated[str, TIMEZONE] = "UTC"
    start: Annotated[datetime | None, START] = None
    end: Annotated[datetime | None, END] = None
    count: Annotated[int, Meta(ge=1, le=MOST_NEXT), about("How many fire times to show.")] = NEXT
    after: Annotated[datetime | None, moment("Those after this time; now when absent.")] = None


async def create_schedule(call: ApiCall[ScheduleRequest, NoQuery]) -> Reply:
    """Store a schedule, and answer once it is durable."""
    body = await created(call, call.body)
    return Reply(encode(body), 201, headers=location_of(body.id))


async def created(call: ApiCall[Any, Any], request: ScheduleRequest) -> ScheduleBody:
    """Store a schedule, however it was written, and return it as JSON shows it."""
    await _check_target(call, request.task, request.job)
    view = await call.engine.schedules.create(request, tenant=call.home)
    call.note(after=_noted(view))
    return await _body(call, view)


def location_of(schedule: str) -> Headers:
    """Return the header that says where a schedule is."""
    return ((b"location", f"{_PATH}/{schedule}".encode()),)


async def list_schedules(call: ApiCall[None, SchedulesQuery]) -> Reply:
    """Return a page of schedules, newest first."""
    query = call.query
    which = ScheduleFilter(
        tenant=call.tenant,
        name=None if query.name is None else check_name(query.name),
        state=query.state,
        app=None if query.app is None else check_text(query.app, field="app", longest=LONGEST_NAME),
    )
    page = await call.engine.schedules.list_schedules(which, limit=query.limit, cursor=query.cursor)
    statuses = await call.engine.runs.statuses(
        (view.last_task for view in page.items), (view.last_job for view in page.items), tenant=call.tenant
    )

    def listed() -> bytes:
        items = tuple(
            schedule_body(
                _shown(call, view),
                statuses,
                next_fires=following(view, query.next) if query.next else None,
                by_day=days_of(view, query.days) if query.days else None,
            )
            for view in page.items
        )
        return encode(ScheduleList(items, page.next_cursor))

    weight = sum(map(_weight, page.items)) + FIRE_TIME_BYTES * (query.next + query.days) * len(page.items)
    return Reply(await off_loop(weight, listed))


async def get_schedule(call: ApiCall[None, ScheduleQuery]) -> Reply:
    """Return the state of a schedule, with its next fire times."""
    view = await call.engine.schedules.get(_schedule_of(call), tenant=call.tenant)
    return await _reply(call, view, count=call.query.next, days=call.query.days)


async def edit_schedule(call: ApiCall[ScheduleEdit, NoQuery]) -> Reply:
    """Change what a schedule is; its next fire time is found anew if its rule has changed."""
    schedule = _schedule_of(call)
    await _check_stored(call)
    _check_shown(call)
    await _check_target(call, call.body.task or None, call.body.job or None)
    call.note(before=_noted(await call.engine.schedules.get(schedule, tenant=call.tenant)))
    view = await call.engine.schedules.edit(schedule, call.body, tenant=call.tenant)
    call.note(after=_noted(view))
    return await _reply(call, view)


async def delete_schedule(call: ApiCall[None, NoQuery]) -> Reply:
    """Delete a schedule and the notes of its runs; its tasks and jobs stay."""
    await _check_stored(call)
    call.note(before=_noted(await call.engine.schedules.delete(_schedule_of(call), tenant=call.tenant)))
    return Reply(b"", 204)


async def pause_schedule(call: ApiCall[SchedulePauseRequest, NoQuery]) -> Reply:
    """Let a schedule not fire any more; what has started goes on."""
    await _check_stored(call)
    view = await call.engine.schedules.pause(_schedule_of(call), reason=call.body.reason, tenant=call.tenant)
    call.note(after=_noted(view))
    return await _reply(call, view)


async def resume_schedule(call: ApiCall[None, NoQuery]) -> Reply:
    """Let a paused schedule fire again, from now on: what it missed meanwhile does not fire."""
    await _check_stored(call)
    view = await call.engine.schedules.resume(_schedule_of(call), tenant=call.tenant)
    call.note(after=_noted(view))
    return await _reply(call, view)


async def trigger_schedule(call: ApiCall[TriggerRequest, NoQuery]) -> Reply:
    """Start a run now, whatever the schedule says, and whether or not another goes on."""
    await _check_stored(call)
    run = await call.engine.runs.trigger(_schedule_of(call), fire_time=call.body.fire_time, tenant=call.tenant)
    body = run_body(run, await call.engine.runs.statuses([run.task], [run.job], tenant=call.tenant))
    call.note(after={"fire_time": body.fire_time, "task_id": run.task, "job_id": run.job})
    return Reply(encode(body), 201)


async def backfill_schedule(call: ApiCall[BackfillRequest, NoQuery]) -> Reply:
    """Make runs for the fire times of a span that have none, at a pace; with `dry_run` only tell which."""
    await _check_stored(call)
    backfill = await call.engine.runs.backfill(_schedule_of(call), call.body, tenant=call.tenant)
    body = backfill_body(backfill, dry_run=call.body.dry_run)
    call.note(after=body)
    return Reply(encode(body), 200 if call.body.dry_run else 202)


async def drop_backfill(call: ApiCall[None, NoQuery]) -> Reply:
    """Give up what has not started of a schedule's backfills."""
    await _check_stored(call)
    dropped = await call.engine.runs.drop_backfill(_schedule_of(call), tenant=call.tenant)
    call.note(after={"dropped": dropped})
    return Reply(encode(DroppedBody(dropped)))


async def list_runs(call: ApiCall[None, RunsQuery]) -> Reply:
    """Return a page of a schedule's runs, the latest fire time first."""
    page = await call.engine.runs.list_runs(
        _schedule_of(call), limit=call.query.limit, cursor=call.query.cursor, tenant=call.tenant
    )
    return Reply(encode(RunList(tuple(run_body(run, page.statuses) for run in page.items), page.next_cursor)))


async def preview_schedule(call: ApiCall[PreviewRequest, NoQuery]) -> Reply:
    """Return when a rule fires next, in UTC and by the clock of its zone; nothing is stored."""
    asked = call.body
    request = ScheduleRequest(
        name="preview",
        cron=asked.cron,
        interval=asked.interval,
        run_at=asked.run_at,
        timezone=asked.timezone,
        start=asked.start,
        end=asked.end,
    )
    preview = await call.engine.schedules.preview(request, count=asked.count, after=asked.after)
    return Reply(encode(preview_body(preview)))


async def register_schedules(call: ApiCall[RegisterRequest, NoQuery]) -> Reply:
    """Make schedules be as the code of an app says, and pause those whose code is gone."""
    for each in call.body.schedules:
        await _check_target(call, each.schedule.task, each.schedule.job)
    await _check_registered(call)
    done = await call.engine.registrar.register(call.body, tenant=call.home)
    body = registered_body(done)
    call.note(after={"app": call.body.app, "done": body})
    return Reply(encode(body))


def _schedule_of(call: ApiCall[Any, Any]) -> ScheduleId:
    return parse_schedule_id(call.params["id"])


async def _check_target(call: ApiCall[Any, Any], task: TaskRequest | None, job: JobRequest | None) -> None:
    """Raise `Forbidden` if the caller may not submit what a schedule is to make."""
    if call.by.is_narrowed:
        await call.engine.schedules.allow(
            ScheduleTarget(task=task, job=job), call.by.check_submission, tenant=call.home
        )


async def _check_stored(call: ApiCall[Any, Any]) -> None:
    """Raise `Forbidden` if the schedule that the path names makes what the caller is not meant for."""
    if call.by.is_narrowed:
        view = await call.engine.schedules.get(_schedule_of(call), tenant=call.tenant)
        await _check_target(call, view.target.task, view.target.job)


def _check_shown(call: ApiCall[ScheduleEdit, NoQuery]) -> None:
    """Raise `Forbidden` if a caller who is meant for some tasks only asks for values that it was not shown."""
    field = hidden_in(ScheduleTarget(task=call.body.task or None, job=call.body.job or None))
    if call.by.is_narrowed and field is not None:
        raise Forbidden(
            f"this key is for some tasks only, and is given nothing that it was not shown: "
            f"give the values in the place of {REDACTED}",
            field=f"{field}.payload",
        )


async def _check_registered(call: ApiCall[RegisterRequest, NoQuery]) -> None:
    """Raise `Forbidden` if the app has schedules of what the caller is not meant for: registering may pause them."""
    cursor, is_more = None, call.by.is_narrowed
    which = ScheduleFilter(tenant=call.home, app=call.body.app)
    while is_more:
        page = await call.engine.schedules.list_schedules(which, limit=call.context.limits.page, cursor=cursor)
        for view in page.items:
            await _check_target(call, view.target.task, view.target.job)
        cursor, is_more = page.next_cursor, page.next_cursor is not None


async def _reply(call: ApiCall[Any, Any], view: ScheduleView, *, count: int = NEXT, days: int = 0) -> Reply:
    body = await _body(call, view, count=count, days=days)
    return Reply(await off_loop(_weight(view), lambda: encode(body)))


async def _body(call: ApiCall[Any, Any], view: ScheduleView, *, count: int = NEXT, days: int = 0) -> ScheduleBody:
    statuses = await call.engine.runs.statuses([view.last_task], [view.last_job], tenant=call.tenant)
    times = await call.engine.schedules.next_times(view, count)
    by_day = await call.engine.schedules.days(view, days) if days else None
    return await off_loop(
        _weight(view), lambda: schedule_body(_shown(call, view), statuses, next_fires=times, by_day=by_day)
    )


def _weight(view: ScheduleView) -> int:
    """Return what it costs to show a schedule, as bytes of JSON."""
    return 300 + weight_of(view.target.task, view.target.job)


def _shown(call: ApiCall[Any, Any], view: ScheduleView) -> ScheduleView:
    """Return a schedule with what people may see of its payloads."""
    return replace(view, target=redacted_target(view.target, call.engine.redaction))


def _noted(view: ScheduleView) -> dict[str, Any]:
    """Return what the audit log has of a schedule: when it fires and what it makes, but no payload."""
    target = view.target.task or view.target.job
    return {
        "id": view.id,
        "name": view.name,
        "tenant": view.tenant,
        "rule": view.rule,
        "policy": view.policy,
        "makes": None if target is None else target.name,
        "state": view.state,
        "reason": view.reason,
    }


OPERATIONS = (
    Operation(
        method="POST", path=_PATH, handler=create_schedule, tag=Tag.SCHEDULES, summary="Create a schedule",
        largest=lambda limits: limits.body, body=ScheduleRequest, answer=ScheduleBody, status=201,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.create", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path=_PATH, handler=list_schedules, merges=True, tag=Tag.SCHEDULES,
        summary="List schedules, newest first",
        query=SchedulesQuery, answer=ScheduleList, permission=Permission.SCHEDULES_READ,
    ),
    Operation(
        method="POST", path=_PATH + "/preview", handler=preview_schedule, tag=Tag.SCHEDULES,
        summary="Tell when a rule would fire", body=PreviewRequest, answer=PreviewBody,
        permission=Permission.SCHEDULES_READ, audit_act=None, reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_PATH + "/register", handler=register_schedules, tag=Tag.SCHEDULES,
        summary="Keep schedules in step with an app's code",
        largest=lambda limits: limits.body, body=RegisterRequest, answer=RegisteredBody,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedules.register", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path=_PATH + "/{id}", handler=get_schedule, tag=Tag.SCHEDULES, summary="Look at a schedule",
        query=ScheduleQuery, answer=ScheduleBody, permission=Permission.SCHEDULES_READ,
    ),
    Operation(
        method="PATCH", path=_PATH + "/{id}", handler=edit_schedule, tag=Tag.SCHEDULES, summary="Change a schedule",
        largest=lambda limits: limits.body, body=ScheduleEdit, answer=ScheduleBody,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.edit", reach=Reach.TASKS,
    ),
    Operation(
        method="DELETE", path=_PATH + "/{id}", handler=delete_schedule, tag=Tag.SCHEDULES,
        summary="Delete a schedule", status=204,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.delete", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/pause", handler=pause_schedule, tag=Tag.SCHEDULES,
        summary="Let a schedule not fire any more", body=SchedulePauseRequest, body_required=False, answer=ScheduleBody,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.pause", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/resume", handler=resume_schedule, tag=Tag.SCHEDULES,
        summary="Let a paused schedule fire again", answer=ScheduleBody,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.resume", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/trigger", handler=trigger_schedule, tag=Tag.SCHEDULES,
        summary="Start a run now", body=TriggerRequest, body_required=False, answer=RunBody, status=201,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.trigger", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path=_PATH + "/{id}/backfill", handler=backfill_schedule, tag=Tag.SCHEDULES,
        summary="Make runs for fire times of the past that have none", body=BackfillRequest, answer=BackfillBody,
        status=202, also=(200,),
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.backfill", reach=Reach.TASKS,
    ),
    Operation(
        method="DELETE", path=_PATH + "/{id}/backfill", handler=drop_backfill, tag=Tag.SCHEDULES,
        summary="Give up what has not started of a backfill", answer=DroppedBody,
        permission=Permission.SCHEDULES_WRITE, audit_act="schedule.drop_backfill", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path=_PATH + "/{id}/runs", handler=list_runs, tag=Tag.SCHEDULES,
        summary="List the runs of a schedule, latest first", query=RunsQuery, answer=RunList,
        permission=Permission.SCHEDULES_READ,
    ),
)  # fmt: skip
