"""Signals to durable tasks: to one task, or by correlation to whichever task of the tenant takes it first."""

from typing import Annotated, Any

from msgspec import Raw, Struct

from drumline.api.auditing import note_before
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.tasks import SLACK, task_of
from drumline.core.access import Permission
from drumline.core.audit import REASON
from drumline.core.codec import encode
from drumline.core.durable import LONGEST_RECORD_NAME, NOTHING
from drumline.core.field_schema import Configured, about, line

_Id = Annotated[
    str | None,
    line(LONGEST_RECORD_NAME, "The sender's: the same signal sent twice is kept once. Without one each is another."),
]
_Payload = Annotated[Raw, about(Configured("payload", "Any JSON, at most {:,} bytes."))]


class SignalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal to a task."""

    payload: _Payload = NOTHING
    id: _Id = None
    reason: Annotated[str | None, REASON] = None


class KeyedSignalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal to whichever task of the tenant waits for its name with this key as its correlation."""

    key: Annotated[str, line(LONGEST_RECORD_NAME, "What tasks that wait for it are found by.")]
    payload: _Payload = NOTHING
    id: _Id = None
    reason: Annotated[str | None, REASON] = None


class SignalBody(Struct, frozen=True, kw_only=True):
    """A signal that is kept durably. `created` is false if it was there already; `woken` tasks have become due."""

    id: str
    created: bool
    woken: int


async def signal(call: ApiCall[SignalRequest, NoQuery]) -> Reply:
    """Keep a signal to a task, which is due at once if it waits for it."""
    task, wanted = task_of(call), call.body
    await note_before(call, task)
    sent = await call.engine.durable.signal(
        call.params["name"], wanted.payload, task=task, id=wanted.id, tenant=call.tenant
    )
    return _reply(sent.id, created=sent.created, woken=sent.woken)


async def signal_by_key(call: ApiCall[KeyedSignalRequest, NoQuery]) -> Reply:
    """Keep a signal by correlation; every task that waits for it is due, and the first one takes it."""
    wanted = call.body
    sent = await call.engine.durable.signal(
        call.params["name"], wanted.payload, key=wanted.key, id=wanted.id, tenant=call.home
    )
    return _reply(sent.id, created=sent.created, woken=sent.woken)


def _reply(id: str, *, created: bool, woken: int) -> Reply:
    return Reply(encode(SignalBody(id=id, created=created, woken=woken)), 201 if created else 200)


_COMMON: dict[str, Any] = {
    "method": "POST", "tag": Tag.TASKS, "largest": lambda limits: limits.payload + SLACK, "bulk": "payload",
    "answer": SignalBody, "status": 201, "also": (200,), "permission": Permission.TASKS_SIGNAL,
}  # fmt: skip

OPERATIONS = (
    Operation(
        path="/api/v1/tasks/{id}/signals/{name}", handler=signal, summary="Signal a task", body=SignalRequest,
        body_required=False, audit_act="task.signal", reach=Reach.TASKS, **_COMMON,
    ),
    Operation(
        path="/api/v1/signals/{name}", handler=signal_by_key, summary="Signal whichever task waits for a key",
        body=KeyedSignalRequest, audit_act="signal.send", reach=Reach.WHOLE, **_COMMON,
    ),
)  # fmt: skip
