"""What a durable task has done, and what it waits for."""

from typing import Annotated

from msgspec import Meta, Raw, Struct

from drumline.aio.threads import off_loop
from drumline.api.operation import ApiCall, Operation, Reply, Tag
from drumline.api.tasks import task_of
from drumline.core.access import Permission
from drumline.core.children import ChildOutcome, GroupCount
from drumline.core.clock import Instant, moment_of
from drumline.core.codec import decode, encode
from drumline.core.durable import Record, RecordKind, RecordStatus, RoundView, StepsView, WaitView
from drumline.core.durable_protocol import WaitWord
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, page_cursor
from drumline.core.outcome import ErrorInfo
from drumline.core.record_body import KindWord, StatusWord
from drumline.core.redaction import Redaction
from drumline.core.views import ErrorBody, Moment

_LONGEST_CURSOR = 9


class StepsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which records to list."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,9}$")] = None
    round: Annotated[int, Meta(ge=1, le=(1 << 31) - 1)] | None = None
    """The round whose records are listed; the present one unless it is said."""


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
    """Something that a task waits for. Without `until` it has no end of its own.

    Of a signal, `schema` is the JSON Schema of the payload that the task expects, where its code declares a type.
    """

    kind: WaitWord
    name: str
    key: str | None
    since: Moment
    until: Moment | None
    reason: str | None
    schema: Annotated[Raw | None, Meta(extra_json_schema={"type": ["object", "null"]})]
    pending: int | None
    """With a wait for children: how many of them have not ended."""


class RoundBody(Struct, frozen=True, kw_only=True):
    """A round of a task that is over: `ctx.restart` has begun the next one."""

    round: int
    ended_at: Moment
    records: int


class StepList(Struct, frozen=True, kw_only=True):
    """What a task has done, in the order in which it was begun, and what it waits for.

    `round` is the one that the items are of, and `rounds` are those that are over, the last of them. With a round that
    is over there is the `payload` that it was given.
    """

    items: tuple[StepBody, ...]
    next_cursor: str | None
    waits: tuple[TaskWaitBody, ...]
    round: int
    rounds: tuple[RoundBody, ...]
    payload: Raw | None


async def list_steps(call: ApiCall[None, StepsQuery]) -> Reply:
    """Return the records of a task in their order, and what it waits for."""
    query = call.query
    view = await call.engine.durable.steps(
        task_of(call), after=_after(query.cursor), limit=query.limit, round=query.round, tenant=call.tenant
    )
    weight = sum(len(record.value) + 200 for record in view.page.records) + len(view.payload or b"")
    return Reply(await off_loop(weight, lambda: encode(_list_body(view, call.engine.redaction))))


def _after(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > _LONGEST_CURSOR:
        raise Invalid("must be the next_cursor of a page", field="cursor")
    return int(cursor)


def _list_body(view: StepsView, hidden: Redaction) -> StepList:
    page = view.page
    return StepList(
        items=tuple(map(_step_body, page.records)),
        next_cursor=str(page.records[-1].seq) if page.has_more else None,
        waits=tuple(map(_wait_body, view.waits)),
        round=view.round,
        rounds=tuple(map(_round_body, view.rounds)),
        payload=None if view.payload is None else hidden.payload(view.payload),
    )


def _round_body(view: RoundView) -> RoundBody:
    return RoundBody(round=view.round, ended_at=moment_of(view.ended_at), records=view.records)


def _step_body(record: Record) -> StepBody:
    is_done = record.status is RecordStatus.DONE
    has_error = record.status in {RecordStatus.TRIED, RecordStatus.FAILED}
    error = error_of(record) if has_error else None
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


def error_of(record: Record) -> ErrorInfo:
    """Return why something that is recorded did not succeed, for people."""
    if record.kind is RecordKind.CALL:
        outcome = decode(bytes(record.value), ChildOutcome)
        state = "ended" if outcome.state is None else outcome.state.name.lower()
        return outcome.error or ErrorInfo("ChildFailed", f"child {outcome.child} was {state}")
    if record.kind in {RecordKind.GROUP, RecordKind.FIRST}:
        counted = decode(bytes(record.value), GroupCount)
        return ErrorInfo("ChildFailed", f"{counted.bad:,} of {counted.count:,} children failed or were cancelled")
    return decode(bytes(record.value), ErrorInfo)


def _wait_body(view: WaitView) -> TaskWaitBody:
    return TaskWaitBody(
        kind=view.kind.word,
        name=view.name,
        key=view.key or None,
        since=moment_of(view.since),
        until=_moment(view.until),
        reason=view.reason or None,
        schema=None if view.schema is None else Raw(view.schema.encode()),
        pending=view.pending,
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
