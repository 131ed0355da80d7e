"""Tasks: submit, look, reschedule, cancel, retry."""

import asyncio
import re
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from drumline.aio.threads import off_loop
from drumline.api.auditing import audited_fields, note_before
from drumline.api.lists import raw_items
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.problems import to_problem
from drumline.api.reading import decode_body
from drumline.api.shapes import (
    AttemptList,
    StatusBody,
    TaskBody,
    TaskList,
    attempt_body,
    progress_body,
    shown,
    task_body,
    weight_of,
    weight_of_attempt,
)
from drumline.api.stopping import unless_stopped
from drumline.api.task_queries import TaskQuery, filter_of
from drumline.core.access import Caller, Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.collapse import CollapsedInto
from drumline.core.errors import Conflict, DrumlineError, Invalid, KeyReused
from drumline.core.field_schema import (
    ONE_TIME,
    PAGE_SIZE,
    PRIORITY,
    SEVERAL,
    UUID,
    WAIT,
    Configured,
    Schema,
    about,
    duration,
    given,
    moment,
    page_cursor,
)
from drumline.core.ids import TaskId, parse_task_id
from drumline.core.job import JobRequest
from drumline.core.limits import Limits
from drumline.core.problem import Problem
from drumline.core.state import State, Status, status_of
from drumline.core.task import EMPTY_PAYLOAD, Submitted, TaskRequest, TaskView
from drumline.core.task_type import SubmissionWarning
from drumline.core.views import Moment, TaskIdText
from drumline.engine.submit import Allow

SLACK = 64 * 1024
"""Bytes that a task's request may have besides its payload."""
LARGEST_SUMMARY = 64 * 1024
"""Bytes of the largest payload that is listed by `payload_up_to`."""
_SLICE = 1024 * 1024
"""Bytes of tasks of a batch that are read between two turns of the event loop."""
_TASK_BYTES = 2048
"""What reading a task costs besides its length, as bytes."""

Keyed = TypeVar("Keyed", TaskRequest, JobRequest)
"""What can be submitted under an idempotency key."""

ITEM_BYTES = 200
"""What telling of a task that was refused costs, as bytes of JSON."""
HEADER_KEY = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")
"""What a key may look like in a header, where only ASCII is safe."""

CollapsedWord = Annotated[str, Meta(extra_json_schema={"enum": [how.value for how in CollapsedInto]})]

_TASK = msgspec.json.Decoder(TaskRequest)


def task_limit(limits: Limits) -> int:
    """Return the largest body of a single submission."""
    return limits.payload + SLACK


class SubmittedBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task that is stored durably. `created` is false if its idempotency key brought back an earlier one.

    `collapsed` says what a submission with `collapse` did to the earlier task whose id is answered: `replaced` its
    payload, `postponed` it, or was `dropped`.

    `warnings` are there if something about it is doubtful: `unknown_type` if no worker has ever published a task of its
    name, `unfit_payload` if its payload does not fit the task's parameters and the installation does not refuse that.
    """

    id: TaskIdText
    status: Status
    due_at: Moment | None
    created: bool
    collapsed: CollapsedWord | None = None
    warnings: tuple[SubmissionWarning, ...] = ()


class BatchRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Many tasks; each is read on its own, so that a bad one does not hold up the others."""

    tasks: Annotated[
        list[Raw],
        about(
            "The tasks; an item that is not valid is answered with its problem.",
            items={"$ref": "#/components/schemas/TaskRequest"},
            maxItems=Configured("batch"),
        ),
    ]


class BatchSubmission(Struct, frozen=True, forbid_unknown_fields=True):
    """Many tasks as they come: how many they are is looked at before any of them is."""

    tasks: Raw


class BatchItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to one task of a batch: its id, with warnings where it is doubtful, or the problem with it."""

    id: TaskIdText | UnsetType = UNSET
    created: bool | UnsetType = UNSET
    collapsed: CollapsedWord | None = None
    error: Problem | UnsetType = UNSET
    warnings: tuple[SubmissionWarning, ...] = ()


class BatchBody(Struct, frozen=True):
    """The answers to a batch, in its order."""

    tasks: list[BatchItem]


class ListQuery(TaskQuery, frozen=True, forbid_unknown_fields=True):
    """Which tasks to list."""

    status: Annotated[tuple[Status, ...], SEVERAL] = ()
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None
    payload: Annotated[bool, about("Whether to include payloads.")] = False
    payload_up_to: Annotated[
        int, Meta(ge=0, le=LARGEST_SUMMARY), about("Include payloads of at most so many bytes, without results.")
    ] = 0
    traceback: Annotated[bool, about("Whether errors come with their tracebacks.")] = False


class GetQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How long to wait for the task to end, in seconds."""

    wait: Annotated[float, about("Seconds to wait for it to end.", **WAIT)] = 0.0


class EndedRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks that the caller waits for."""

    ids: Annotated[list[str], about("Their ids.", items=UUID, maxItems=Configured("page"))]


class EndedBody(Struct, frozen=True):
    """Those that have ended, or do not exist (any more)."""

    ids: tuple[TaskIdText, ...]


class CancelQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether to end a running task now."""

    force: Annotated[bool, about("End a running task now; its worker is shut out.")] = False


class CancelRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether to end a running task now, without waiting for its worker to stop it."""

    force: bool = False


class RescheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change of a waiting task; what is absent stays."""

    SCHEMA: ClassVar[Schema] = {"anyOf": [given(name) for name in ("run_at", "delay", "priority")], **ONE_TIME}

    run_at: Annotated[datetime | None, moment("Run it at this time; not together with delay.")] = None
    delay: Annotated[float | str | None, duration("Run it so much later than now; not together with run_at.")] = None
    priority: Annotated[int | str | None, about(anyOf=PRIORITY)] = None


async def submit(call: ApiCall[TaskRequest, NoQuery]) -> Reply:
    """Store a task, and answer once it is durable."""
    return await submit_request(call, with_header_key(call.body, call.header(b"idempotency-key")))


async def submit_request(call: ApiCall[Any, Any], request: TaskRequest) -> Reply:
    """Store a task, however it was written, and answer 201; 200 if its key brought back an earlier one."""
    stored = await call.engine.submissions.submit(request, tenant=call.home, allow=allow_of(call.by))
    warnings = await call.engine.types.warnings_of_one(request.name, request.payload, tenant=call.home)
    location = ((b"location", f"/api/v1/tasks/{stored.id}".encode()),)
    if stored.created:
        status = status_of(State.QUEUED, stored.due_at, call.engine.clock.now())
        body = SubmittedBody(
            id=stored.id, status=status, due_at=moment_of(stored.due_at), created=True, warnings=warnings
        )
        return Reply(encode(body), 201, headers=location)
    view = await call.engine.queries.get(stored.id)
    now = call.engine.clock.now()
    due_at = None if view.due_at is None else moment_of(view.due_at)
    body = SubmittedBody(
        id=stored.id,
        status=view.status(now),
        due_at=due_at,
        created=False,
        collapsed=stored.collapsed,
        warnings=warnings,
    )
    return Reply(encode(body), 200, headers=location)


def with_header_key(request: Keyed, header: bytes | None) -> Keyed:
    """Return the request with the key of its `Idempotency-Key` header, which must not contradict the body."""
    if header is None:
        return request
    key = header.decode("latin-1")
    if HEADER_KEY.fullmatch(key) is None:
        raise Invalid("must be 1 to 255 visible ASCII characters", field="Idempotency-Key")
    written = request.idempotency_key if request.idempotency_key is not None else request.idempotency_key_alias
    if written is not None and written != key:
        raise Invalid("differs from the idempotency_key in the body", field="Idempotency-Key")
    return request if written is not None else msgspec.structs.replace(request, idempotency_key=key)


async def submit_batch(call: ApiCall[BatchSubmission, NoQuery]) -> Reply:
    """Store many tasks; each gets its own answer, in order."""
    raws = raw_items(call.body.tasks, most=call.context.limits.batch, field="tasks")
    requests: list[TaskRequest | DrumlineError] = []
    size = 0
    for raw in raws:
        requests.append(_decoded(raw))
        size += len(raw) + _TASK_BYTES
        if size > _SLICE:
            size = 0
            await asyncio.sleep(0)
    answers = await call.engine.submissions.submit_many(requests, tenant=call.home, allow=allow_of(call.by))
    read = [
        (request.name, request.payload) if isinstance(request, TaskRequest) else ("", EMPTY_PAYLOAD)
        for request in requests
    ]
    warnings = await call.engine.types.warnings(read, tenant=call.home)

    def listed() -> bytes:
        return encode(
            BatchBody([_batch_item(answer, number, warnings[number]) for number, answer in enumerate(answers)])
        )

    return Reply(await off_loop(ITEM_BYTES * sum(not isinstance(answer, Submitted) for answer in answers), listed))


def allow_of(by: Caller) -> Allow | None:
    """Return what asks whether a caller may submit a task; nothing for those who may submit all."""
    return by.check_submission if by.is_narrowed else None


def _decoded(raw: Raw) -> TaskRequest | DrumlineError:
    try:
        return decode_body(_TASK, bytes(raw))
    except Invalid as error:
        return Invalid(error.message, field=None if error.field == "body" else error.field, code=error.code)


def _batch_item(answer: Submitted | DrumlineError, number: int, warnings: tuple[SubmissionWarning, ...]) -> BatchItem:
    if isinstance(answer, Submitted):
        return BatchItem(id=answer.id, created=answer.created, collapsed=answer.collapsed, warnings=warnings)
    problem = to_problem(answer)
    if isinstance(answer, KeyReused):  # from the store, which does not know the task's place in the batch
        problem = msgspec.structs.replace(problem, field=f"tasks[{number}].{problem.field}")
    return BatchItem(error=problem)


async def list_tasks(call: ApiCall[None, ListQuery]) -> Reply:
    """Return a page of tasks, newest first."""
    query = call.query
    which = filter_of(call, query, frozenset(query.status))
    page = await call.engine.queries.list_tasks(
        which,
        limit=query.limit,
        cursor=query.cursor,
        payload=query.payload,
        payload_up_to=query.payload_up_to,
        traceback=query.traceback,
    )
    views = page.items
    now, hidden = call.engine.clock.now(), call.engine.redaction

    def listed() -> bytes:
        items = tuple(task_body(shown(view, hidden), now=now) for view in views)
        return encode(TaskList(items, page.next_cursor, page.is_partial))

    return Reply(await off_loop(sum(map(weight_of, views)), listed))


async def get(call: ApiCall[None, GetQuery]) -> Reply:
    """Return a task, at once or when it has ended."""
    task = task_of(call)
    view: TaskView | None = None
    seconds = call.wait(call.query.wait)
    if seconds > 0:
        waiting = call.engine.queries.wait(task, seconds=seconds, tenant=call.tenant)
        view = await unless_stopped(waiting, stop=call.context.stop, receive=call.receive)
    return await task_reply(call, task, view)


async def ended(call: ApiCall[EndedRequest, GetQuery]) -> Reply:
    """Return which of some tasks have ended, at once or when the first of them has."""
    if len(call.body.ids) > call.context.limits.page:
        raise Invalid(f"must be at most {call.context.limits.page}", field="ids")
    tasks = tuple(parse_task_id(text, field=f"ids[{number}]") for number, text in enumerate(call.body.ids))
    waiting = call.engine.queries.wait_for_any(tasks, seconds=call.wait(call.query.wait), tenant=call.tenant)
    found = await unless_stopped(waiting, stop=call.context.stop, receive=call.receive)
    return Reply(encode(EndedBody(found or ())))


async def reschedule(call: ApiCall[RescheduleRequest, NoQuery]) -> Reply:
    """Change when a waiting task is due, or its priority."""
    task = task_of(call)
    change = call.body
    await note_before(call, task)
    await call.engine.control.reschedule(
        task, run_at=change.run_at, delay=change.delay, priority=change.priority, tenant=call.tenant
    )
    return await task_reply(call, task)


async def cancel(call: ApiCall[CancelRequest, CancelQuery]) -> Reply:
    """Cancel a waiting task at once; ask a running one to stop, or with force end it now."""
    task = task_of(call)
    await note_before(call, task)
    view = await cancelled(call, task, force=call.body.force or call.query.force)
    return await task_reply(call, task, view)


async def cancelled(call: ApiCall[Any, Any], task: TaskId, *, force: bool) -> TaskView:
    """Cancel a task and return it; one that is cancelled already is no conflict, so that the act can be repeated."""
    try:
        await call.engine.control.cancel(task, tenant=call.tenant, force=force)
    except Conflict:
        view = await call.engine.queries.get(task, tenant=call.tenant)
        if view.state is not State.CANCELLED:
            raise
        return view
    return await call.engine.queries.get(task, tenant=call.tenant)


async def retry(call: ApiCall[None, NoQuery]) -> Reply:
    """Run a failed, cancelled or skipped task again."""
    task = task_of(call)
    await note_before(call, task)
    await call.engine.control.retry(task, tenant=call.tenant)
    return await task_reply(call, task)


async def status(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the status of a task and nothing else: from the read model where there is one, else from the store."""
    task = task_of(call)
    return Reply(encode(StatusBody(task, await call.engine.queries.status(task, tenant=call.tenant))))


async def attempts(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a task's executions, oldest first; of those before many long errors, the errors are shortened."""
    views = await call.engine.queries.attempts(task_of(call), tenant=call.tenant)
    return Reply(
        await off_loop(
            sum(map(weight_of_attempt, views)),
            lambda: encode(AttemptList(tuple(attempt_body(view) for view in views))),
        )
    )


def task_of(call: ApiCall[Any, Any]) -> TaskId:
    """Return the task that the path names."""
    return parse_task_id(call.params["id"])


async def task_reply(call: ApiCall[Any, Any], task: TaskId, view: TaskView | None = None) -> Reply:
    """Answer with the state of a task."""
    if view is None:
        view = await call.engine.queries.get(task, tenant=call.tenant)
    view = await call.engine.queries.opened(view)
    if call.audit_detail is not None:
        call.note(after=audited_fields(view, call.engine.clock.now()))
    progress = await call.engine.queries.progress(view, tenant=call.tenant)
    hidden, now = call.engine.redaction, call.engine.clock.now()
    told, shard = progress_body(progress), _shard_of(call, task)
    body = await off_loop(
        weight_of(view), lambda: encode(task_body(shown(view, hidden), now=now, progress=told, shard=shard))
    )
    return Reply(body)


def _shard_of(call: ApiCall[Any, Any], task: TaskId) -> str | UnsetType:
    """Return the shard of a task for those who may see shards, where there are several."""
    if Permission.SHARDS_READ not in call.by.permissions:
        return UNSET
    return call.engine.shards.holder(task) or UNSET


OPERATIONS = (
    Operation(
        method="POST", path="/api/v1/tasks", handler=submit, tag=Tag.TASKS, summary="Submit a task",
        body=TaskRequest, largest=task_limit, bulk="payload", answer=SubmittedBody, status=201, also=(200,),
        idempotent=True, permission=Permission.TASKS_SUBMIT, audit_act=None, reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/tasks/batch", handler=submit_batch, tag=Tag.TASKS, summary="Submit many tasks",
        largest=lambda limits: limits.body, body=BatchSubmission, described=BatchRequest, answer=BatchBody,
        permission=Permission.TASKS_SUBMIT, audit_act=None, reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path="/api/v1/tasks", handler=list_tasks, merges=True, tag=Tag.TASKS,
        summary="List tasks, newest first", query=ListQuery, answer=TaskList, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/tasks/{id}", handler=get, tag=Tag.TASKS,
        summary="Look at a task, or wait for its end", query=GetQuery, answer=TaskBody,
        permission=Permission.TASKS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/tasks/ended", handler=ended, tag=Tag.TASKS,
        summary="Wait for the first of some tasks to end",
        body=EndedRequest, query=GetQuery, answer=EndedBody, permission=Permission.TASKS_READ, audit_act=None,
        reach=Reach.OWN,
    ),
    Operation(
        method="PATCH", path="/api/v1/tasks/{id}", handler=reschedule, tag=Tag.TASKS,
        summary="Change when a waiting task runs, or its priority", body=RescheduleRequest, answer=TaskBody,
        permission=Permission.TASKS_CONTROL, audit_act="task.reschedule", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/tasks/{id}/cancel", handler=cancel, tag=Tag.TASKS, summary="Cancel a task",
        body=CancelRequest, body_required=False, query=CancelQuery, answer=TaskBody,
        permission=Permission.TASKS_CONTROL, audit_act="task.cancel", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/tasks/{id}/retry", handler=retry, tag=Tag.TASKS,
        summary="Run a failed, cancelled or skipped task again", answer=TaskBody,
        permission=Permission.TASKS_CONTROL, audit_act="task.retry", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path="/api/v1/tasks/{id}/status", handler=status, tag=Tag.TASKS,
        summary="Ask for a task's status, often and cheaply", answer=StatusBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/tasks/{id}/attempts", handler=attempts, tag=Tag.TASKS,
        summary="List a task's executions, oldest first", answer=AttemptList, permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
