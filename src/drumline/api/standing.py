"""How tasks stand before and after somebody does something to them, as the audit log has it."""

from typing import Any

from drumline.api.narrowing import check_task
from drumline.api.operation import Call
from drumline.core.clock import Instant, moment_of
from drumline.core.ids import TaskId
from drumline.core.task import TaskView


async def note_before(call: Call[Any, Any], task: TaskId) -> None:
    """Note how a task stands before an act; raises `NotFound`, and `Forbidden` if the caller is not meant for it."""
    view = await call.engine.queries.get(task, tenant=call.tenant)
    check_task(call, view)
    call.note(before=standing_of(view, call.engine.clock.now()))


def standing_of(view: TaskView, now: Instant) -> dict[str, Any]:
    """Return what acts change of a task, and what it is recognised by."""
    return {
        "id": view.id,
        "name": view.lane.name,
        "queue": view.lane.queue,
        "tenant": view.lane.tenant,
        "status": view.status(now),
        "priority": view.lane.priority,
        "due_at": None if view.due_at is None else moment_of(view.due_at),
        "cancel_requested": view.cancel_requested,
    }
