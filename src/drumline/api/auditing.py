"""Writing acts into the audit log: asked before they are done, and answered after."""

from typing import Any, Final
from urllib.parse import unquote

from drumline.api.operation import Call, Handler, Reply, Stream
from drumline.core.audit import LONGEST_REASON, AuditEntry, Phase
from drumline.core.errors import DrumlineError
from drumline.core.names import check_text

REASON: Final = b"x-reason"


def entry_of(call: Call[Any, Any], act: str, *, path: str, address: str, request_id: bytes) -> AuditEntry:
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


async def recorded(call: Call[Any, Any], entry: AuditEntry, handler: Handler) -> Reply | Stream:
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
    trail = call.trail
    await audit.answer(asked, Phase.DONE, before=trail and trail.before, after=trail and trail.after)
    return reply


def reason_of(call: Call[Any, Any]) -> str | None:
    """Return why the caller does something: the body's reason, or the header `X-Reason`, percent-encoded if need be."""
    reason = getattr(call.body, "reason", None)
    header = call.header(REASON)
    if isinstance(reason, str):
        return check_text(reason, field="reason", longest=LONGEST_REASON)
    if header is None or not header.strip():
        return None
    return check_text(unquote(header.decode("latin-1")), field="X-Reason", longest=LONGEST_REASON)
