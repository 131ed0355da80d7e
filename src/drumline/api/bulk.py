"""Bulk operations: ask for one, look at how it goes, abort it."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.shapes import moment
from drumline.core.access import Permission, are_within
from drumline.core.bulk import BulkAct, BulkFilter, BulkId, BulkRequest, BulkState, BulkView, ItemOutcome
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Forbidden, Invalid
from drumline.core.field_schema import PAGE_SIZE, SEVERAL, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.views import Moment, TaskIdText
from drumline.engine.bulk import Prospect


class BulkBody(Struct, frozen=True, kw_only=True):
    """The state of a bulk operation. Of a dry run there is no id, no state and no time: nothing was begun."""

    id: TaskIdText | None
    act: BulkAct
    state: BulkState | None
    total: int
    done: int
    skipped: int
    failed: int
    rate: float | None
    filter: BulkFilter | None
    """None if the tasks were named one by one."""
    reason: str | None
    created_at: Moment | None
    finished_at: Moment | None
    sample: tuple[TaskIdText, ...] = ()
    """Of a dry run: some of the tasks."""
    oldest_at: Moment | None = None
    newest_at: Moment | None = None
    """Of a dry run about failures: when the first and the last of them happened."""


class BulkList(Struct, frozen=True):
    """A page of bulk operations, newest first."""

    items: tuple[BulkBody, ...]
    next_cursor: str | None


class ItemBody(Struct, frozen=True, kw_only=True):
    """One task of a bulk operation, and why nothing was done about it if that is so."""

    seq: int
    id: TaskIdText
    outcome: ItemOutcome
    error: str | None


class ItemList(Struct, frozen=True):
    """A page of a bulk operation's tasks, in their order."""

    items: tuple[ItemBody, ...]
    next_cursor: str | None


class BulkQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which operations to list."""

    state: Annotated[tuple[BulkState, ...], SEVERAL] = ()
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


class ItemsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tasks of an operation to list."""

    outcome: Annotated[tuple[ItemOutcome, ...], SEVERAL] = ()
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern="^[0-9]{1,9}$")] = None


async def begin_bulk(call: ApiCall[BulkRequest, NoQuery]) -> Reply:
    """Freeze the tasks that are meant, and let them be dealt with; a dry run only tells which they would be."""
    return await begin_reply(call, call.body)


async def begin_reply(call: ApiCall[Any, Any], request: BulkRequest) -> Reply:
    """Begin an operation, however it was asked for, and answer 202; 200 for a dry run."""
    if request.dry_run:
        prospect = await call.engine.bulk.survey(request, tenant=call.tenant, by=call.by)
        return Reply(encode(prospect_body(request, prospect)))
    view = await call.engine.bulk.begin(request, tenant=call.tenant, by=call.by)
    call.note(after=bulk_body(view))
    return Reply(encode(bulk_body(view)), 202, headers=((b"location", f"/api/v1/bulk/{view.id}".encode()),))


async def list_bulks(call: ApiCall[None, BulkQuery]) -> Reply:
    """Return a page of operations, newest first."""
    query = call.query
    page = await call.engine.bulk.list(
        states=frozenset(query.state), limit=query.limit, cursor=query.cursor, tenant=call.tenant
    )
    return Reply(encode(BulkList(tuple(bulk_body(view) for view in page.items), page.next_cursor)))


async def get_bulk(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the state of an operation."""
    return Reply(encode(bulk_body(await call.engine.store.bulks.get_bulk(_bulk_of(call), tenant=call.tenant))))


async def list_bulk_items(call: ApiCall[None, ItemsQuery]) -> Reply:
    """Return a page of an operation's tasks, those with certain outcomes if named."""
    query = call.query
    page = await call.engine.bulk.items(
        _bulk_of(call),
        outcomes=frozenset(query.outcome),
        limit=query.limit,
        after=_place(query.cursor),
        tenant=call.tenant,
    )
    items = tuple(ItemBody(seq=item.seq, id=item.task, outcome=item.outcome, error=item.error) for item in page.items)
    return Reply(encode(ItemList(items, page.next_cursor)))


async def abort_bulk(call: ApiCall[None, NoQuery]) -> Reply:
    """Deal with no more tasks of an operation; what was done stays done."""
    before = await call.engine.store.bulks.get_bulk(_bulk_of(call), tenant=call.tenant)
    call.note(before=bulk_body(before))
    by, plan = call.by, before.plan
    if not (are_within(plan.names, by.names) and are_within(plan.queues, by.queues)):
        raise Forbidden("this key is for some tasks only, and the operation is about others too", field="id")
    view = await call.engine.store.bulks.abort_bulk(_bulk_of(call), tenant=call.tenant)
    call.note(after=bulk_body(view))
    return Reply(encode(bulk_body(view)))


def bulk_body(view: BulkView) -> BulkBody:
    """Return an operation as JSON shows it."""
    return BulkBody(
        id=view.id,
        act=view.act,
        state=view.state,
        total=view.total,
        done=view.done,
        skipped=view.skipped,
        failed=view.failed,
        rate=view.rate,
        filter=view.plan.filter,
        reason=view.plan.reason,
        created_at=moment_of(view.created_at),
        finished_at=moment(view.finished_at),
    )


def prospect_body(request: BulkRequest, prospect: Prospect) -> BulkBody:
    """Return what a dry run found."""
    return BulkBody(
        id=None,
        act=prospect.act,
        state=None,
        total=prospect.total,
        done=0,
        skipped=0,
        failed=0,
        rate=request.rate,
        filter=request.filter,
        reason=request.reason,
        created_at=None,
        finished_at=None,
        sample=prospect.sample,
        oldest_at=moment(prospect.oldest_at),
        newest_at=moment(prospect.newest_at),
    )


def _bulk_of(call: ApiCall[Any, Any]) -> BulkId:
    return BulkId(parse_task_id(call.params["id"]))


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 9):
        raise Invalid("is not a cursor of this list", field="cursor")
    return int(cursor)


OPERATIONS = (
    Operation(
        method="POST", path="/api/v1/bulk", handler=begin_bulk, tag=Tag.BULK,
        summary="Retry, discard, cancel or reschedule many tasks",
        largest=lambda limits: limits.request_lists, body=BulkRequest, answer=BulkBody, status=202,
        also=(200,), permission=Permission.TASKS_CONTROL, audit_act="bulk.begin", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path="/api/v1/bulk", handler=list_bulks, merges=True, tag=Tag.BULK,
        summary="List bulk operations, newest first", query=BulkQuery, answer=BulkList,
        permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/bulk/{id}", handler=get_bulk, merges=True, tag=Tag.BULK,
        summary="See how a bulk operation goes", answer=BulkBody, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/bulk/{id}/items", handler=list_bulk_items, tag=Tag.BULK,
        summary="List the tasks of a bulk operation, and why some were passed over", query=ItemsQuery,
        answer=ItemList, permission=Permission.TASKS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/bulk/{id}/abort", handler=abort_bulk, tag=Tag.BULK,
        summary="Deal with no more tasks of a bulk operation", answer=BulkBody,
        permission=Permission.TASKS_CONTROL, audit_act="bulk.abort", reach=Reach.TASKS,
    ),
)  # fmt: skip
