"""What a durable task has done, and what it waits for."""

from typing import Annotated

from msgspec import Meta, Raw, Struct

from drumline.aio.threads import off_loop
from drumline.api.operation import ApiCall, Operation, Reply, Tag
from drumline.api.tasks import task_of
from drumline.core.access import Permission
from drumline.core.clock import Instant, moment_of
from drumline.core.codec import decode, encode
from drumline.core.durable import Record, RecordStatus, StepsView, WaitView
from drumline.core.durable_protocol import WaitWord
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, page_cursor
from drumline.core.outcome import ErrorInfo
from drumline.core.record_body import KindWord, StatusWord
from drumline.core.views import ErrorBody, Moment

_LONGEST_CURSOR = 9


class StepsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which records to list."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,9}$")] = None


class StepBody(Struct, frozen=True, kw_only=True):
    """Something that a task has done under a name: a step, or a sleep that is over.

    `tried` is a step that failed and will be tried again at `due_at`; `failed` one that has no tries left.
    """

    name: str
    key: str | None
    kind: KindWord
    status: StatusWord
    tries: int
    started_at: Moment | None
    finished_at: Moment
    duration: float | None
    due_at: Moment | None
    result: Raw | None
    error: ErrorBody | None


class TaskWaitBody(Struct, frozen=True, kw_only=True):
    """Something that a task waits for. Without `until` it has no end of its own."""

    kind: WaitWord
    name: str
    key: str | None
    since: Moment
    until: Moment | None
    reason: str | None


class StepList(Struct, frozen=True, kw_only=True):
    """What a task has done, in the order in which it was begun, and what it waits for."""

    items: tuple[StepBody, ...]
    next_cursor: str | None
    waits: tuple[TaskWaitBody, ...]


async def list_steps(call: ApiCall[None, StepsQuery]) -> Reply:
    """Return the records of a task in their order, and what it waits for."""
    query = call.query
    view = await call.engine.durable.steps(
        task_of(call), after=_after(query.cursor), limit=query.limit, tenant=call.tenant
    )
    weight = sum(len(record.value) + 200 for record in view.page.records)
    return Reply(await off_loop(weight, lambda: encode(_list_body(view))))


def _after(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > _LONGEST_CURSOR:
        raise Invalid("must be the next_cursor of a page", field="cursor")
    return int(cursor)


def _list_body(view: StepsView) -> StepList:
    page = view.page
    return StepList(
        items=tuple(map(_step_body, page.records)),
        next_cursor=str(page.records[-1].seq) if page.has_more else None,
        waits=tuple(map(_wait_body, view.waits)),
    )


def _step_body(record: Record) -> StepBody:
    is_done = record.status is RecordStatus.DONE
    error = None if is_done else decode(bytes(record.value), ErrorInfo)
    return StepBody(
        name=record.name,
        key=record.key or None,
        kind=record.kind.word,
        status=record.status.word,
        tries=record.tries,
        started_at=_moment(record.started_at),
        finished_at=moment_of(record.at),
        duration=None if record.started_at is None else max(record.at - record.started_at, 0) / 1000,
        due_at=_moment(record.due_at),
        result=record.value if is_done else None,
        error=None if error is None else ErrorBody(error.kind, error.message, error.traceback),
    )


def _wait_body(view: WaitView) -> TaskWaitBody:
    return TaskWaitBody(
        kind=view.kind.word,
        name=view.name,
        key=view.key or None,
        since=moment_of(view.since),
        until=_moment(view.until),
        reason=view.reason or None,
    )


def _moment(instant: Instant | None) -> str | None:
    return None if instant is None else moment_of(instant)


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/{id}/steps", handler=list_steps, tag=Tag.TASKS,
        summary="List what a durable task has done and waits for", query=StepsQuery, answer=StepList,
        permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
