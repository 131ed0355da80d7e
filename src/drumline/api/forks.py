"""Forks of durable tasks: new tasks that begin with the records of others."""

from typing import Annotated

from msgspec import UNSET, Raw, Struct, UnsetType, field

from drumline.api.auditing import note_before
from drumline.api.key_restrictions import check_new_payload
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.tasks import SLACK, task_of
from drumline.core.access import Permission
from drumline.core.audit import REASON
from drumline.core.codec import encode
from drumline.core.durable import LONGEST_RECORD_NAME
from drumline.core.field_schema import Configured, about, line
from drumline.core.views import TaskIdText


class ForkRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a new task goes other ways than the one that it is made from."""

    step: Annotated[
        str,
        line(LONGEST_RECORD_NAME, "The name of a step, sleep or wait of the task; records before it are copied."),
    ] = field(name="from")
    key: Annotated[str | None, line(LONGEST_RECORD_NAME, "Its key, if it has one.")] = None
    payload: Annotated[
        Raw | UnsetType, about(Configured("payload", "Another payload: any JSON, at most {:,} bytes."))
    ] = UNSET
    id: Annotated[
        str | None,
        line(LONGEST_RECORD_NAME, "The sender's: the same request sent twice makes one task. Without one each does."),
    ] = None
    reason: Annotated[str | None, REASON] = None


class ForkBody(Struct, frozen=True, kw_only=True):
    """A task that is stored durably with some `records` of another; `created` is false if it was there already."""

    id: TaskIdText
    forked_from: TaskIdText
    records: int
    created: bool


async def fork(call: ApiCall[ForkRequest, NoQuery]) -> Reply:
    """Store a task like another, with the records that it has before a step."""
    task, wanted = task_of(call), call.body
    if wanted.payload is not UNSET:
        call.by.check(Permission.TASKS_SUBMIT)  # what is to run is the caller's own from now on
        await check_new_payload(call, task)
    await note_before(call, task)
    made = await call.engine.forks.fork(
        task,
        wanted.step,
        key=wanted.key or "",
        payload=None if wanted.payload is UNSET else wanted.payload,
        id=wanted.id,
        tenant=call.tenant,
        may_restore=not call.by.is_narrowed,
    )
    stored = made.submitted
    call.note(after={"id": stored.id, "from": wanted.step, "records": made.records})
    body = ForkBody(id=stored.id, forked_from=task, records=made.records, created=stored.created)
    location = ((b"location", f"/api/v1/tasks/{stored.id}".encode()),)
    return Reply(encode(body), 201 if stored.created else 200, headers=location)


OPERATIONS = (
    Operation(
        method="POST", path="/api/v1/tasks/{id}/fork", handler=fork, tag=Tag.TASKS,
        summary="Make a task that begins with the records of another", body=ForkRequest,
        largest=lambda limits: limits.payload + SLACK, bulk="payload", answer=ForkBody, status=201, also=(200,),
        permission=Permission.TASKS_CONTROL, audit_act="task.fork", reach=Reach.TASKS,
    ),
)  # fmt: skip
