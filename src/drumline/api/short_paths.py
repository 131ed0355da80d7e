"""The paths of the original flow document and low-level design, answering in exactly their shapes."""

from datetime import datetime
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from drumline.api.auditing import audited_fields, note_before
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.tasks import SubmittedBody, allow_of, cancelled, submit_request, task_limit, with_header_key
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import ONE_KEY, ONE_TIME, PRIORITY, Schema, about, line
from drumline.core.ids import parse_task_id
from drumline.core.names import check_name
from drumline.core.state import State
from drumline.core.task import EMPTY_PAYLOAD, TaskRequest
from drumline.core.views import Moment, TaskIdText

WORDS: Final = MappingProxyType(
    {
        State.BLOCKED: "Scheduled",
        State.QUEUED: "Scheduled",
        State.RUNNING: "Running",
        State.COMPLETED: "Completed",
        State.FAILED: "Failed",
        State.CANCELLED: "Cancelled",
        State.SKIPPED: "Skipped",
    }
)


ABSENT: Final = "\0"
"""No name given; no task can be called that."""


class FlowRequest(TaskRequest, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task as the flow document writes it: with `type` for its name. All other fields are taken too."""

    SCHEMA: ClassVar[Schema] = {"oneOf": [{"required": ["type"]}, {"required": ["name"]}], "allOf": [ONE_TIME, ONE_KEY]}

    name: Annotated[str, line(description="The same as type.", default=UNSET)] = ABSENT
    type: Annotated[str, line(description="What kind of task it is; the same as name.", default=UNSET)] = ABSENT


class ScheduleTaskRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task as the low-level design writes it."""

    task_name: Annotated[str, line()]
    execution_time: datetime
    priority: Annotated[
        int | str | None,
        about(
            "From -100 to 100, or critical, high, normal, low. A point is worth a minute of waiting.",
            anyOf=PRIORITY,
            default=0,
        ),
    ] = None
    payload: Raw = EMPTY_PAYLOAD


class ScheduledBody(Struct, frozen=True):
    """The low-level design's answer to a submission or a cancellation."""

    task_id: TaskIdText
    status: str


class TaskStatusBody(Struct, frozen=True):
    """The low-level design's answer to a look."""

    task_id: TaskIdText
    status: str
    execution_time: Moment


async def submit_flow(call: ApiCall[FlowRequest, NoQuery]) -> Reply:
    """Store a task written with `type` or `name`."""
    request = call.body
    if request.type == request.name == ABSENT:
        raise Invalid("is missing; it names the task", field="type")
    if request.type != ABSENT:
        check_name(request.type, field="type")
        if request.name not in {ABSENT, request.type}:
            raise Invalid("differs from name; give one of them", field="type")
        request = msgspec.structs.replace(request, name=request.type)
    return await submit_request(call, with_header_key(request, call.header(b"idempotency-key")))


async def schedule_task(call: ApiCall[ScheduleTaskRequest, NoQuery]) -> Reply:
    """Store a task to run at a time."""
    wanted = call.body
    request = TaskRequest(
        name=wanted.task_name, run_at=wanted.execution_time, priority=wanted.priority, payload=wanted.payload
    )
    try:
        stored = await call.engine.submissions.submit(request, tenant=call.home, allow=allow_of(call.by))
    except Invalid as error:
        # The engine speaks of its own fields; this caller knows them by other names.
        field = {"name": "task_name", "run_at": "execution_time"}.get(error.field or "", error.field)
        raise Invalid(error.message, field=field, code=error.code) from error
    return Reply(encode(ScheduledBody(stored.id, WORDS[State.QUEUED])), 201)


async def task_status(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the status of a task."""
    task = parse_task_id(call.params["task_id"], field="task_id")
    view = await call.engine.queries.get(task, tenant=call.tenant)
    time = next(time for time in (view.due_at, view.started_at, view.created_at) if time is not None)
    return Reply(encode(TaskStatusBody(view.id, WORDS[view.state], moment_of(time))))


async def cancel_task(call: ApiCall[None, NoQuery]) -> Reply:
    """Cancel a task now, running or not: the answer says that it is cancelled, so it must be."""
    task = parse_task_id(call.params["task_id"], field="task_id")
    await note_before(call, task)
    view = await cancelled(call, task, force=True)
    call.note(after=audited_fields(view, call.engine.clock.now()))
    return Reply(encode(ScheduledBody(view.id, WORDS[view.state])))


OPERATIONS = (
    Operation(
        method="POST", path="/tasks", handler=submit_flow, tag=Tag.SHORT, summary="Submit a task by its type",
        body=FlowRequest, largest=task_limit, bulk="payload", answer=SubmittedBody, status=201, also=(200,),
        idempotent=True, permission=Permission.TASKS_SUBMIT, audit_act=None, reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/scheduleTask", handler=schedule_task, tag=Tag.SHORT, summary="Schedule a task",
        body=ScheduleTaskRequest, largest=task_limit, bulk="payload", answer=ScheduledBody, status=201,
        permission=Permission.TASKS_SUBMIT, audit_act=None, reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path="/taskStatus/{task_id}", handler=task_status, tag=Tag.SHORT,
        summary="Tell where a task stands", answer=TaskStatusBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="DELETE", path="/cancelTask/{task_id}", handler=cancel_task, tag=Tag.SHORT,
        summary="Cancel a task, running or not", answer=ScheduledBody,
        permission=Permission.TASKS_CONTROL, audit_act="task.cancel", reach=Reach.TASKS,
    ),
)  # fmt: skip
