"""Queues: look, pause, resume."""

from bisect import bisect_right
from typing import Annotated, Any

from msgspec import Meta, Struct

from drumline.aio.threads import off_loop
from drumline.api.key_restrictions import check_queue_reach
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.shapes import QueueBody, QueueList, queue_body
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.field_schema import line, page_cursor
from drumline.core.names import check_queue, check_text
from drumline.core.tenant import check_tenant
from drumline.ports.store import QueueView

LONGEST_REASON = 500
MOST_LISTED = 1000
"""Queues in one page."""
SORT_BYTES = 10
WORKER_BYTES = 20
"""What sorting a queue, and looking at a worker for one, costs, as bytes of JSON."""


class PauseRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a queue is paused, for those who will wonder."""

    reason: Annotated[str | None, line(500)] = None


class QueuesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How many queues to list, and after which."""

    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = MOST_LISTED
    cursor: Annotated[
        str | None, page_cursor(pattern="^[a-z0-9][a-z0-9_.-]{0,62}/[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$")
    ] = None


async def list_queues(call: ApiCall[None, QueuesQuery]) -> Reply:
    """Return a page of the queues that have tasks or are paused, by tenant and name."""
    found, limit = await call.engine.store.queries.queues(tenant=call.tenant), call.query.limit
    # By the order of this program, which the pages go by, whatever the database thinks comes first.
    views = await off_loop(SORT_BYTES * len(found), lambda: sorted(found, key=_mark))
    start = 0
    if call.query.cursor is not None:
        tenant, _, queue = call.query.cursor.partition("/")
        mark = (check_tenant(tenant, field="cursor"), check_queue(queue, field="cursor"))
        start = bisect_right(views, mark, key=_mark)
    workers = await call.engine.sessions.list(tenant=call.tenant)
    page = views[start : start + limit]
    cursor = f"{page[-1].tenant}/{page[-1].name}" if len(views) > start + limit else None

    def listed() -> bytes:
        return encode(QueueList(tuple(queue_body(view, workers) for view in page), cursor))

    return Reply(await off_loop(WORKER_BYTES * len(page) * len(workers), listed))


def _mark(view: QueueView) -> tuple[str, str]:
    return view.tenant, view.name


async def pause_queue(call: ApiCall[PauseRequest, NoQuery]) -> Reply:
    """Hand out no more tasks of a queue; running ones go on."""
    queue = check_queue(call.params["name"], field="name")
    check_queue_reach(call, queue)
    reason = call.body.reason
    if reason is not None:
        check_text(reason, field="reason", longest=LONGEST_REASON)
    call.note(before=_pause(await queue_view(call, queue)))
    await call.engine.control.pause_queue(queue, tenant=call.home, reason=reason)
    return await _queue_reply(call, queue)


async def resume_queue(call: ApiCall[None, NoQuery]) -> Reply:
    """Hand out a paused queue's tasks again."""
    queue = check_queue(call.params["name"], field="name")
    check_queue_reach(call, queue)
    call.note(before=_pause(await queue_view(call, queue)))
    await call.engine.control.resume_queue(queue, tenant=call.home)
    return await _queue_reply(call, queue)


async def _queue_reply(call: ApiCall[Any, NoQuery], queue: str) -> Reply:
    view = await queue_view(call, queue)
    call.note(after=_pause(view))
    return Reply(encode(queue_body(view, await call.engine.sessions.list(tenant=call.home))))


async def queue_view(call: ApiCall[Any, NoQuery], queue: str) -> QueueView:
    """Return a queue of the caller's tenant."""
    views = await call.engine.store.queries.queues(tenant=call.home)
    # A queue that is neither paused nor has tasks is not listed: it is nothing but its name.
    empty = QueueView(
        tenant=call.home, name=queue, pending=0, queued=0, processing=0, oldest_due_at=None, is_paused=False
    )
    return next((view for view in views if view.name == queue), empty)


def _pause(view: QueueView) -> dict[str, Any]:
    """Return what the audit log has of a queue."""
    return {"queue": view.name, "tenant": view.tenant, "is_paused": view.is_paused, "reason": view.reason}


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/queues", handler=list_queues, merges=True, tag=Tag.QUEUES,
        summary="List the queues that have tasks or are paused", query=QueuesQuery, answer=QueueList,
        permission=Permission.QUEUES_READ,
    ),
    Operation(
        method="POST", path="/api/v1/queues/{name}/pause", handler=pause_queue, merges=True, tag=Tag.QUEUES,
        summary="Hand out no more tasks of a queue", body=PauseRequest, body_required=False, answer=QueueBody,
        permission=Permission.QUEUES_CONTROL, audit_act="queue.pause", reach=Reach.TASKS,
    ),
    Operation(
        method="POST", path="/api/v1/queues/{name}/resume", handler=resume_queue, merges=True, tag=Tag.QUEUES,
        summary="Hand out a paused queue's tasks again", answer=QueueBody,
        permission=Permission.QUEUES_CONTROL, audit_act="queue.resume", reach=Reach.TASKS,
    ),
)  # fmt: skip
