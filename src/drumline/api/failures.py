"""Failures: the tasks that failed for good, one by one and in groups; look, retry, discard, purge."""

from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from drumline.aio.threads import off_loop
from drumline.api.auditing import note_before
from drumline.api.bulk import BulkBody, begin_reply
from drumline.api.failure_groups import Fingerprint
from drumline.api.key_restrictions import check_new_payload
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.reading import read_time
from drumline.api.shapes import AttemptBody, TaskBody, attempt_body, shown, task_body, weight_of, weight_of_attempt
from drumline.api.tasks import task_limit, task_of, task_reply
from drumline.core.access import Permission
from drumline.core.bulk import (
    BULK_ALL,
    BULK_IDS,
    BULK_RATE,
    BULK_REASON,
    DRY_RUN,
    ONE_CHOICE,
    BulkAct,
    BulkFilter,
    BulkRequest,
)
from drumline.core.clock import Instant, moment_of, to_datetime
from drumline.core.codec import encode
from drumline.core.dead_letter import Reason
from drumline.core.duration import millis, parse_duration
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, QUEUE, TIME, UUID, Schema, about, duration_schemas, line, page_cursor
from drumline.core.filter_subjects import FAILURES
from drumline.core.filter_syntax import LONGEST_FILTER
from drumline.core.filters import read_filter
from drumline.core.ids import parse_task_id
from drumline.core.names import LONGEST_TAG
from drumline.core.redaction import Redaction
from drumline.core.views import Moment, TaskIdText
from drumline.engine.bulk import letters_of
from drumline.ports.dead_letters import DeadLetter, PayloadEdit


class FailureBody(Struct, frozen=True, kw_only=True):
    """A task that failed for good. Failures of one cause share their fingerprint."""

    id: TaskIdText
    tenant: str
    name: str
    queue: str
    failed_at: Moment
    reason: Reason
    kind: str
    message: str
    fingerprint: Fingerprint
    attempts: int
    job: str | None


class FailureList(Struct, frozen=True):
    """A page of failures, the latest first."""

    items: tuple[FailureBody, ...]
    next_cursor: str | None
    is_partial: bool = False
    """Whether a search by `filter` stopped at its bound before it had found `limit` failures."""


class EditBody(Struct, frozen=True, kw_only=True):
    """The payload of a task before it was changed: attempts up to `epoch` ran with it."""

    epoch: int
    at: Moment
    payload: Raw


class FailureFile(Struct, frozen=True, kw_only=True):
    """All that is known about a failure."""

    failure: FailureBody
    task: TaskBody
    attempts: tuple[AttemptBody, ...]
    edits: tuple[EditBody, ...]


class FailuresQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which failures to list."""

    id: Annotated[str | None, about("The failure of one task, if it has one; without other filters.", **UUID)] = None
    queue: Annotated[str | None, about(**QUEUE)] = None
    name: Annotated[str | None, line()] = None
    fingerprint: Annotated[str | None, line(description="Failures of one cause share it.")] = None
    kind: Annotated[str | None, line(description="The class of the error.")] = None
    reason: Reason | None = None
    since: Annotated[str | None, about("Failed then or later.", **TIME)] = None
    until: Annotated[str | None, about("Failed before that.", **TIME)] = None
    tag: Annotated[str | None, line(LONGEST_TAG)] = None
    job: Annotated[str | None, about(**UUID)] = None
    filter: Annotated[
        str | None, line(LONGEST_FILTER, "Terms that all have to hold: `error:timeout -queue:bulk attempts>2`.")
    ] = None
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[
        str | None, page_cursor(pattern="^[0-9]{1,18}[.][0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
    ] = None


class RetryRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What the task shall be given from now on; absent, what it was given before."""

    payload: Raw | UnsetType = UNSET


class ManyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which failures, by exactly one of `ids`, `filter` and `all`, and how many of them in a second at most."""

    SCHEMA: ClassVar[Schema] = ONE_CHOICE

    ids: Annotated[tuple[str, ...], BULK_IDS] = ()
    filter: BulkFilter | None = None
    all: Annotated[bool, BULK_ALL] = False
    rate: Annotated[float | None, BULK_RATE] = None
    reason: Annotated[str | None, BULK_REASON] = None
    dry_run: Annotated[bool, DRY_RUN] = False


class PurgeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How old failures must be to be discarded."""

    older_than: Annotated[float | str, about(anyOf=duration_schemas())]
    reason: Annotated[str | None, BULK_REASON] = None
    dry_run: Annotated[bool, DRY_RUN] = False


async def list_failures(call: ApiCall[None, FailuresQuery]) -> Reply:
    """Return a page of failures, the latest first."""
    query = call.query
    named = {name: getattr(query, name) for name in ("queue", "name", "fingerprint", "kind", "reason", "tag", "job")}
    if query.id is not None:
        if any(named.values()) or query.since or query.until or query.cursor or query.filter:
            raise Invalid("is used without other filters", field="id")
        found = await call.engine.store.dead_letters.get_dead_letters([parse_task_id(query.id)], tenant=call.tenant)
        return Reply(encode(FailureList(tuple(failure_body(letter) for letter in found if letter is not None), None)))
    wanted = BulkFilter(**named, since=_time(query.since, "since"), until=_time(query.until, "until"))
    which = letters_of(wanted, tenant=call.tenant, field="")
    also = None if query.filter is None else read_filter(query.filter, FAILURES, now=call.engine.clock.now())
    page = await call.engine.dead_letters.list(which, also=also, limit=query.limit, cursor=query.cursor)
    items = tuple(failure_body(letter) for letter in page.items)
    return Reply(encode(FailureList(items, page.next_cursor, page.is_partial)))


async def get_failure(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a failure with its task, payload, history and earlier payloads."""
    file, hidden = await call.engine.dead_letters.get(task_of(call), tenant=call.tenant), call.engine.redaction
    now = call.engine.clock.now()

    def body() -> bytes:
        return encode(
            FailureFile(
                failure=failure_body(file.letter),
                task=task_body(shown(file.task, hidden), now=now),
                attempts=tuple(attempt_body(attempt) for attempt in file.attempts),
                edits=tuple(_edit_body(edit, hidden) for edit in file.edits),
            )
        )

    weight = weight_of(file.task) + sum(map(weight_of_attempt, file.attempts))
    return Reply(await off_loop(weight + sum(len(edit.payload) for edit in file.edits), body))


async def retry_failure(call: ApiCall[RetryRequest, NoQuery]) -> Reply:
    """Run a failed task again, with another payload if one is given."""
    task = task_of(call)
    payload = None if call.body.payload is UNSET else call.body.payload
    if payload is not None:
        call.by.check(Permission.TASKS_SUBMIT)  # what is to run is the caller's own from now on
        await check_new_payload(call, task)
    await note_before(call, task)
    may_restore = not call.by.is_narrowed
    await call.engine.dead_letters.retry(task, payload=payload, tenant=call.tenant, may_restore=may_restore)
    return await task_reply(call, task)


async def discard_failure(call: ApiCall[None, NoQuery]) -> Reply:
    """Take a failure off the list; its task stays failed."""
    task = task_of(call)
    await note_before(call, task)
    await call.engine.dead_letters.discard(task, tenant=call.tenant)
    return await task_reply(call, task)


async def retry_failures(call: ApiCall[ManyRequest, NoQuery]) -> Reply:
    """Run many failed tasks again: those that have failed by now, at the rate asked for."""
    return await begin_reply(call, _many(BulkAct.RETRY, call.body))


async def discard_failures(call: ApiCall[ManyRequest, NoQuery]) -> Reply:
    """Take many failures off the list; their tasks stay failed."""
    return await begin_reply(call, _many(BulkAct.DISCARD, call.body))


async def purge_failures(call: ApiCall[PurgeRequest, NoQuery]) -> Reply:
    """Take old failures off the list; their tasks stay failed until they are pruned."""
    age = millis(parse_duration(call.body.older_than, field="older_than"))
    before = to_datetime(Instant(max(await call.engine.store.queries.now() - age, 0)))
    request = BulkRequest(
        act=BulkAct.DISCARD,
        filter=BulkFilter(until=before),
        reason=call.body.reason,
        dry_run=call.body.dry_run,
    )
    return await begin_reply(call, request)


def failure_body(letter: DeadLetter) -> FailureBody:
    """Return a dead letter as JSON shows it."""
    return FailureBody(
        id=letter.task,
        tenant=letter.lane.tenant,
        name=letter.lane.name,
        queue=letter.lane.queue,
        failed_at=moment_of(letter.at),
        reason=letter.reason,
        kind=letter.kind,
        message=letter.message,
        fingerprint=letter.fingerprint,
        attempts=letter.attempts,
        job=letter.job,
    )


def _time(text: str | None, field: str) -> datetime | None:
    return None if text is None else to_datetime(read_time(text, field=field))


def _edit_body(edit: PayloadEdit, hidden: Redaction) -> EditBody:
    return EditBody(epoch=edit.epoch, at=moment_of(edit.at), payload=hidden.payload(edit.payload))


def _many(act: BulkAct, wanted: ManyRequest) -> BulkRequest:
    fields: dict[str, Any] = msgspec.structs.asdict(wanted)
    return BulkRequest(act=act, **fields)


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/failures", handler=list_failures, merges=True, tag=Tag.FAILURES,
        summary="List the tasks that failed for good, the latest first", query=FailuresQuery, answer=FailureList,
        permission=Permission.TASKS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/failures/retry", handler=retry_failures, tag=Tag.FAILURES,
        summary="Run many failed tasks again",
        largest=lambda limits: limits.request_lists, body=ManyRequest, answer=BulkBody, status=202, also=(200,),
        permission=Permission.TASKS_CONTROL, audit_act="failures.retry", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/failures/discard", handler=discard_failures, tag=Tag.FAILURES,
        summary="Take many failures off the list",
        largest=lambda limits: limits.request_lists, body=ManyRequest, answer=BulkBody, status=202, also=(200,),
        permission=Permission.TASKS_CONTROL, audit_act="failures.discard", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/failures/purge", handler=purge_failures, tag=Tag.FAILURES,
        summary="Take old failures off the list", body=PurgeRequest, answer=BulkBody, status=202, also=(200,),
        permission=Permission.TASKS_CONTROL, audit_act="failures.purge", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path="/api/v1/failures/{id}", handler=get_failure, tag=Tag.FAILURES,
        summary="Look at a failure: payload, error, history", answer=FailureFile, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/failures/{id}/retry", handler=retry_failure, tag=Tag.FAILURES,
        summary="Run a failed task again, if need be with another payload", body=RetryRequest, body_required=False,
        largest=task_limit, bulk="payload", answer=TaskBody,
        permission=Permission.TASKS_CONTROL, audit_act="failure.retry", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/failures/{id}/discard", handler=discard_failure, tag=Tag.FAILURES,
        summary="Take a failure off the list", answer=TaskBody,
        permission=Permission.TASKS_CONTROL, audit_act="failure.discard", reach=Reach.TASKS,
    ),
)  # fmt: skip
