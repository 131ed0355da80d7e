"""Writes acts into the audit log: one row before the act, one after it."""

from typing import Any, Final
from urllib.parse import unquote

from drumline.api.key_restrictions import check_task
from drumline.api.operation import ApiCall, Handler, Reply, Stream
from drumline.core.audit import LONGEST_REASON, AuditEntry, Phase
from drumline.core.clock import Instant, moment_of
from drumline.core.errors import DrumlineError
from drumline.core.ids import TaskId
from drumline.core.names import check_text
from drumline.core.task import TaskView

REASON: Final = b"x-reason"


def entry_of(call: ApiCall[Any, Any], act: str, *, path: str, address: str, request_id: bytes) -> AuditEntry:
    """Return what there is to tell of an act before it is done."""
    return AuditEntry(
        id="",
        tenant=call.home,
        act=act,
        phase=Phase.ASKED,
        target=path,
        key=call.by.id,
        key_name=call.by.name,
        address=address,
        request_id=request_id.decode(),
        reason=reason_of(call),
    )


async def recorded(call: ApiCall[Any, Any], entry: AuditEntry, handler: Handler) -> Reply | Stream:
    """Do an act, with a row in the audit log before it and one after it.

    If the first row cannot be written, the act is not done. If the server dies in between, the first row stays alone.
    """
    audit = call.engine.access.audit
    asked = await audit.ask(entry)
    try:
        reply = await handler(call)
    except DrumlineError as error:
        await audit.answer(asked, Phase.REFUSED, problem=f"{error.code}: {error.message}")
        raise
    detail = call.audit_detail
    await audit.answer(asked, Phase.DONE, before=detail and detail.before, after=detail and detail.after)
    return reply


def reason_of(call: ApiCall[Any, Any]) -> str | None:
    """Return why the caller does something: the body's reason, or the header `X-Reason`, percent-encoded if need be."""
    reason = getattr(call.body, "reason", None)
    header = call.header(REASON)
    if isinstance(reason, str):
        return check_text(reason, field="reason", longest=LONGEST_REASON)
    if header is None or not header.strip():
        return None
    return check_text(unquote(header.decode("latin-1")), field="X-Reason", longest=LONGEST_REASON)


async def note_before(call: ApiCall[Any, Any], task: TaskId) -> None:
    """Record a task's state before an act; raises `NotFound`, and `Forbidden` if the caller's key excludes it."""
    view = await call.engine.queries.get(task, tenant=call.tenant)
    check_task(call, view)
    call.note(before=audited_fields(view, call.engine.clock.now()))


def audited_fields(view: TaskView, now: Instant) -> dict[str, Any]:
    """Return the fields of a task that the audit log keeps: those that acts change, and those that identify it."""
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
