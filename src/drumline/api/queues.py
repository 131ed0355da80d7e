"""Queues: look, pause, resume."""

from typing import Any

from msgspec import Struct

from drumline.api.narrowing import check_queue_reach
from drumline.api.operation import Call, NoQuery, Operation, Reply, Tag
from drumline.api.shapes import QueueBody, QueueList, queue_body
from drumline.core.codec import encode
from drumline.core.names import check_queue, check_text
from drumline.ports.store import QueueView

LONGEST_REASON = 500


class PauseRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a queue is paused, for those who will wonder."""

    reason: str | None = None


async def list_queues(call: Call[None, NoQuery]) -> Reply:
    """Return the queues that have tasks or are paused."""
    views = await call.engine.queries.queues(tenant=call.tenant)
    workers = await call.engine.sessions.list(tenant=call.tenant)
    return Reply(encode(QueueList(tuple(queue_body(view, workers) for view in views))))


async def pause_queue(call: Call[PauseRequest, NoQuery]) -> Reply:
    """Hand out no more tasks of a queue; running ones go on."""
    queue = check_queue(call.params["name"], field="name")
    check_queue_reach(call, queue)
    reason = call.body.reason
    if reason is not None:
        check_text(reason, field="reason", longest=LONGEST_REASON)
    call.note(before=_pause(await _view(call, queue)))
    await call.engine.control.pause_queue(queue, tenant=call.home, reason=reason)
    return await _queue_reply(call, queue)


async def resume_queue(call: Call[None, NoQuery]) -> Reply:
    """Hand out a paused queue's tasks again."""
    queue = check_queue(call.params["name"], field="name")
    check_queue_reach(call, queue)
    call.note(before=_pause(await _view(call, queue)))
    await call.engine.control.resume_queue(queue, tenant=call.home)
    return await _queue_reply(call, queue)


async def _queue_reply(call: Call[Any, NoQuery], queue: str) -> Reply:
    view = await _view(call, queue)
    call.note(after=_pause(view))
    return Reply(encode(queue_body(view, await call.engine.sessions.list(tenant=call.home))))


async def _view(call: Call[Any, NoQuery], queue: str) -> QueueView:
    views = await call.engine.queries.queues(tenant=call.home)
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
        method="GET", path="/api/v1/queues", handler=list_queues, tag=Tag.QUEUES,
        summary="List the queues that have tasks or are paused", answer=QueueList,
    ),
    Operation(
        method="POST", path="/api/v1/queues/{name}/pause", handler=pause_queue, tag=Tag.QUEUES,
        summary="Hand out no more tasks of a queue", body=PauseRequest, body_required=False, answer=QueueBody,
    ),
    Operation(
        method="POST", path="/api/v1/queues/{name}/resume", handler=resume_queue, tag=Tag.QUEUES,
        summary="Hand out a paused queue's tasks again", answer=QueueBody,
    ),
)  # fmt: skip
