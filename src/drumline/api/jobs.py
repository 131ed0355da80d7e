"""Jobs: submit, look, cancel, resume."""

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from drumline.aio.threads import off_loop
from drumline.api.job_shapes import (
    GraphBody,
    JobAttemptList,
    JobBody,
    JobList,
    graph_body,
    job_attempt_body,
    job_body,
)
from drumline.api.key_restrictions import check_job_tasks
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.reading import decode_body, members_of, read_time
from drumline.api.schedule_shapes import ScheduleBody
from drumline.api.schedules import created, location_of
from drumline.api.stopping import unless_stopped
from drumline.api.tasks import CancelQuery, GetQuery, with_header_key
from drumline.core.accept_job import name_of
from drumline.core.accept_schedule import schedule_for
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.errors import Conflict, Invalid
from drumline.core.field_schema import PAGE_SIZE, SEVERAL, TIME, about, line, page_cursor
from drumline.core.filter_syntax import LONGEST_FILTER
from drumline.core.graph import too_many_edges
from drumline.core.ids import JobId, parse_job_id
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest, JobView
from drumline.core.limits import Limits
from drumline.core.names import LONGEST_NAME, LONGEST_TAG, check_key, check_name, check_text
from drumline.core.task_type import SubmissionWarning
from drumline.core.views import TaskIdText
from drumline.ports.jobs import JobFilter

_SLICE = 1024 * 1024
"""Bytes of tasks of a job that are decoded between two turns of the event loop."""
_TASK_BYTES = 2048
"""What reading a task costs besides its length, as bytes."""

NODE_BYTES = 500
NEED_BYTES = 100
"""What showing a task of a job and one of its needs costs, as bytes of JSON."""

MOST_WARNINGS = 100

_TASK = msgspec.json.Decoder(JobTaskRequest)


class RawJobRequest(JobRequest, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A job as it comes: its tasks are read one by one, so that a fault can be told by its task's key."""

    tasks: Raw  # type: ignore[assignment]


class SubmittedJobBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job that is stored durably, and the ids of its tasks by key.

    `created` is false if its idempotency key brought back an earlier one. If it was submitted with a schedule, there is
    no job yet: `id` and `status` are null, and `schedule` is what will make jobs.
    """

    id: TaskIdText | None
    status: JobStatus | None
    created: bool
    tasks: dict[str, TaskIdText]
    schedule: ScheduleBody | UnsetType = UNSET
    warnings: tuple[SubmissionWarning, ...] = ()


LONGEST_REASON = 500


class JobsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which jobs to list."""

    status: Annotated[tuple[JobStatus, ...], SEVERAL] = ()
    name: Annotated[str | None, line()] = None
    owner: Annotated[str | None, line()] = None
    tag: Annotated[str | None, line(LONGEST_TAG)] = None
    idempotency_key: Annotated[str | None, line()] = None
    since: Annotated[str | None, about("Only jobs that were submitted at this time or later.", **TIME)] = None
    until: Annotated[str | None, about("Only jobs that were submitted before this time.", **TIME)] = None
    filter: Annotated[
        str | None, line(LONGEST_FILTER, "Terms that all have to hold: `name:nightly* -status:completed duration>1h`.")
    ] = None
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


class JobAttemptsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many executions to list."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class CancelJobRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether to end running tasks now, without waiting for their workers, and why the job is cancelled."""

    force: bool = False
    reason: Annotated[str | None, line(LONGEST_REASON)] = None


async def submit_job(call: ApiCall[RawJobRequest, NoQuery]) -> Reply:
    """Store a job with all its tasks, or nothing of it, and answer once it is durable.

    With a `schedule` it is the pattern of jobs: a schedule is stored, and answered with.
    """
    request = with_header_key(await _read(call.body, call.context.limits), call.header(b"idempotency-key"))
    if request.schedule is not None:
        return await _scheduled(call, request)
    allow = call.by.check_submission if call.by.is_narrowed else None
    stored = await call.engine.jobs.submit(request, tenant=call.home, allow=allow)
    body = SubmittedJobBody(
        id=stored.id,
        status=stored.status,
        created=stored.created,
        tasks=dict(stored.tasks),
        warnings=await _warnings(call, request),
    )
    location = ((b"location", f"/api/v1/jobs/{stored.id}".encode()),)
    return Reply(encode(body), 201 if stored.created else 200, headers=location)


async def _warnings(call: ApiCall[RawJobRequest, NoQuery], request: JobRequest) -> tuple[SubmissionWarning, ...]:
    """Return what is doubtful about a job, at most so much of it."""
    tasks = [(key, name_of(key, task), task.payload) for key, task in request.tasks.items()]
    found = await call.engine.types.warnings([(name, payload) for _, name, payload in tasks], tenant=call.home)
    placed = [
        msgspec.structs.replace(warning, field=f"tasks.{key}.{warning.field}")
        for (key, _, _), warnings in zip(tasks, found, strict=True)
        for warning in warnings
    ]
    return tuple(placed[:MOST_WARNINGS])


async def _scheduled(call: ApiCall[RawJobRequest, NoQuery], request: JobRequest) -> Reply:
    """Store the schedule that a job was submitted with, and answer with it: there is no job yet."""
    call.by.check(Permission.SCHEDULES_WRITE)
    try:
        schedule = await created(call, schedule_for(request))
    except Invalid as error:
        field = error.field or "name"
        of_job = field.removeprefix("job.")
        where = of_job if of_job != field else f"schedule.{field}"
        raise Invalid(error.message, field=where, code=error.code) from error
    body = SubmittedJobBody(id=None, status=None, created=True, tasks={}, schedule=schedule)
    return Reply(encode(body), 201, headers=location_of(schedule.id))


async def list_jobs(call: ApiCall[None, JobsQuery]) -> Reply:
    """Return a page of jobs, newest first."""
    query = call.query
    which = JobFilter(
        tenant=call.tenant,
        statuses=frozenset(query.status),
        name=None if query.name is None else check_name(query.name),
        owner=None if query.owner is None else check_text(query.owner, field="owner", longest=LONGEST_NAME),
        tag=None if query.tag is None else check_text(query.tag, field="tag", longest=LONGEST_TAG),
        idempotency_key=None if query.idempotency_key is None else check_key(query.idempotency_key),
        since=None if query.since is None else read_time(query.since, field="since"),
        until=None if query.until is None else read_time(query.until, field="until"),
    )
    page = await call.engine.jobs.list_jobs(which, text=query.filter, limit=query.limit, cursor=query.cursor)
    return Reply(encode(JobList(tuple(job_body(view) for view in page.items), page.next_cursor, page.is_partial)))


async def get_job(call: ApiCall[None, GetQuery]) -> Reply:
    """Return a job, at once or when it has ended."""
    job = job_of(call)
    view: JobView | None = None
    seconds = call.wait(call.query.wait)
    if seconds > 0:
        waiting = call.engine.jobs.wait(job, seconds=seconds, tenant=call.tenant)
        view = await unless_stopped(waiting, stop=call.context.stop, receive=call.receive)
    return await job_reply(call, job, view)


async def graph(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a job's tasks as they stand, which needs which, and what the job's length hangs on."""
    job = job_of(call)
    view = await call.engine.jobs.get(job, tenant=call.tenant)
    nodes = await call.engine.jobs.nodes(job, tenant=call.tenant)
    now = call.engine.clock.now()
    weight = sum(NODE_BYTES + NEED_BYTES * len(node.needs) for node in nodes)
    return Reply(await off_loop(weight, lambda: encode(graph_body(view, nodes, now=now))))


async def job_attempts(call: ApiCall[None, JobAttemptsQuery]) -> Reply:
    """Return the executions of a job's tasks: those that run, then the one that ended last."""
    found, is_more = await call.engine.jobs.attempts(job_of(call), limit=call.query.limit, tenant=call.tenant)
    return Reply(encode(JobAttemptList(tuple(job_attempt_body(attempt) for attempt in found), is_more)))


async def cancel_job(call: ApiCall[CancelJobRequest, CancelQuery]) -> Reply:
    """Cancel a job's waiting tasks at once and ask the running ones to stop, or with force end them now."""
    job = job_of(call)
    reason = call.body.reason
    if reason is not None:
        check_text(reason, field="reason", longest=LONGEST_REASON)
    force = call.body.force or call.query.force
    await _note_before(call, job)
    try:
        await call.engine.jobs.cancel(job, force=force, reason=reason, tenant=call.tenant)
    except Conflict:
        view = await call.engine.jobs.get(job, tenant=call.tenant)
        if view.status is not JobStatus.CANCELLED:  # one that is cancelled already is no conflict: it may be repeated
            raise
        return await job_reply(call, job, view)
    return await job_reply(call, job)


async def resume_job(call: ApiCall[None, NoQuery]) -> Reply:
    """Run a job's failed, cancelled and skipped tasks again, and only those; results are kept."""
    job = job_of(call)
    await _note_before(call, job)
    await call.engine.jobs.resume(job, tenant=call.tenant)
    return await job_reply(call, job)


def job_of(call: ApiCall[Any, Any]) -> JobId:
    """Return the job that the path names."""
    return parse_job_id(call.params["id"])


async def job_reply(call: ApiCall[Any, Any], job: JobId, view: JobView | None = None) -> Reply:
    """Answer with the state of a job."""
    if view is None:
        view = await call.engine.jobs.get(job, tenant=call.tenant)
    call.note(after=_standing(view))
    return Reply(encode(job_body(view)))


async def _note_before(call: ApiCall[Any, Any], job: JobId) -> None:
    """Record a job's state before an act; raises `NotFound`, and `Forbidden` if the key excludes one of its tasks."""
    call.note(before=_standing(await call.engine.jobs.get(job, tenant=call.tenant)))
    await check_job_tasks(call, job)


def _standing(view: JobView) -> dict[str, Any]:
    """Return what the audit log has of a job."""
    return {"id": view.id, "name": view.name, "tenant": view.tenant, "status": view.status}


async def _read(body: RawJobRequest, limits: Limits) -> JobRequest:
    """Return a submission with its tasks read, or raise `Invalid` naming the task and field at fault."""
    raws = members_of(body.tasks, field="tasks")
    await asyncio.sleep(0)
    most = limits.job_tasks
    if len(raws) > most:  # before any of them is looked at
        raise Invalid(f"has {len(raws):,} tasks; at most {most:,} are accepted", field="tasks", code="too_many")
    tasks: dict[str, JobTaskRequest] = {}
    edges = size = 0
    for key, raw in raws.items():
        task = tasks[key] = _read_task(key, raw)
        edges += len(task.needs)
        if edges > limits.job_edges:
            raise too_many_edges(limits.job_edges)
        size += len(raw) + _TASK_BYTES
        if size > _SLICE:
            size = 0
            await asyncio.sleep(0)
    fields = {name: getattr(body, name) for name in JobRequest.__struct_fields__ if name != "tasks"}
    return JobRequest(**fields, tasks=tasks)


def _read_task(key: str, raw: Raw) -> JobTaskRequest:
    try:
        return decode_body(_TASK, bytes(raw))
    except Invalid as error:
        inner = "" if error.field in {None, "body"} else f".{error.field}"
        raise Invalid(error.message, field=f"tasks.{key}{inner}", code=error.code) from error


OPERATIONS = (
    Operation(
        method="POST", path="/api/v1/jobs", handler=submit_job, tag=Tag.JOBS, summary="Submit a job",
        largest=lambda limits: limits.body,
        body=RawJobRequest, described=JobRequest, answer=SubmittedJobBody, status=201, also=(200,), idempotent=True,
        # With a schedule it needs schedules:write too, which the handler checks.
        permission=Permission.TASKS_SUBMIT, reach=Reach.TASKS,
        audit_act=lambda body: None if body.schedule is None else "schedule.create",
    ),
    Operation(
        method="GET", path="/api/v1/jobs", handler=list_jobs, merges=True, tag=Tag.JOBS,
        summary="List jobs, newest first", query=JobsQuery, answer=JobList, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/jobs/{id}", handler=get_job, tag=Tag.JOBS,
        summary="Look at a job, or wait for its end", query=GetQuery, answer=JobBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/jobs/{id}/graph", handler=graph, tag=Tag.JOBS,
        summary="Look at a job's tasks and how they hang together", answer=GraphBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/jobs/{id}/attempts", handler=job_attempts, tag=Tag.JOBS,
        summary="List the executions of a job's tasks, the latest first", query=JobAttemptsQuery, answer=JobAttemptList,
        permission=Permission.TASKS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/jobs/{id}/cancel", handler=cancel_job, tag=Tag.JOBS, summary="Cancel a job",
        body=CancelJobRequest, body_required=False, query=CancelQuery, answer=JobBody,
        permission=Permission.TASKS_CONTROL, audit_act="job.cancel", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/jobs/{id}/resume", handler=resume_job, tag=Tag.JOBS,
        summary="Run what failed in a job, and what hung on it, again", answer=JobBody,
        permission=Permission.TASKS_CONTROL, audit_act="job.resume", reach=Reach.TASKS,
    ),
)  # fmt: skip
