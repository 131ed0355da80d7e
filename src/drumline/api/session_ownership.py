"""Which sessions and executions belong to a caller: reports of workers are accepted for those only.

A session belongs to the key that opened it. An execution is proved by its lease's nonce, which only its holder
knows. Workers of an earlier version leave it out of logs and files, and are believed if the execution's session is
theirs.
"""

from collections.abc import Sequence
from typing import Any

from drumline.api.operation import ApiCall
from drumline.core.access import Caller, are_within
from drumline.core.errors import Invalid, NotFound
from drumline.core.ids import SessionId, TaskId, parse_task_id, session_text
from drumline.core.protocol import ChunkBody, nonce_of, without_nul
from drumline.core.session import SessionSpec
from drumline.ports.query import Holder
from drumline.ports.store import LogChunk


async def own_spec(call: ApiCall[Any, Any], session: SessionId) -> SessionSpec:
    """Return what a session can run; `NotFound` unless it is open and the caller's own."""
    spec = await call.context.gateway.spec(session)
    if not _is_of(spec, call.by):
        raise NotFound(f"worker {session_text(session)} has no open session", field="session")
    return spec


async def is_own(call: ApiCall[Any, Any], session: SessionId) -> bool:
    """Tell whether a session is open and the caller's own."""
    try:
        await own_spec(call, session)
    except NotFound:
        return False
    return True


async def own_tasks(call: ApiCall[Any, Any], tasks: Sequence[TaskId]) -> frozenset[TaskId]:
    """Return which of some tasks are of the caller's tenant, names and queues."""
    by = call.by
    if not by.is_narrowed:
        return frozenset(tasks) if by.tenant is None else await call.engine.queries.own(tasks, tenant=by.tenant)
    views = await call.engine.store.queries.get(list(dict.fromkeys(tasks)), tenant=by.tenant, payload=False)
    return frozenset(view.id for view in views if view is not None and by.covers(view.lane.name, view.lane.queue))


Leases = tuple[list[TaskId], list[int | None]]
"""The tasks and the nonces of pieces of logs, in their order."""


def leases_of(bodies: Sequence[ChunkBody]) -> Leases:
    """Return whose logs pieces are of, or raise `Invalid` naming the field at fault."""
    tasks = [parse_task_id(body.task, field=f"chunks[{number}].task") for number, body in enumerate(bodies)]
    return tasks, [_nonce(body, number) for number, body in enumerate(bodies)]


async def own_chunks(call: ApiCall[Any, Any], bodies: Sequence[ChunkBody], leases: Leases) -> list[LogChunk]:
    """Return the pieces of logs that are of executions which the caller's own sessions run or ran."""
    tasks, nonces = leases
    executions = list(dict.fromkeys((task, body.epoch) for task, body in zip(tasks, bodies, strict=True)))
    found = dict(zip(executions, await call.engine.store.queries.holders(executions), strict=True))
    own = {
        session: await is_own(call, session)
        for session in {holder.session for holder in found.values() if holder is not None and holder.session}
    }
    return [
        LogChunk(task=task, epoch=body.epoch, seq=body.seq, text=without_nul(body.text), nonce=nonce)
        for task, body, nonce in zip(tasks, bodies, nonces, strict=True)
        if _is_held(found[task, body.epoch], nonce, own)
    ]


def _is_held(holder: Holder | None, nonce: int | None, own: dict[SessionId, bool]) -> bool:
    if holder is None or holder.session is None:
        return False
    return own[holder.session] if nonce is None else nonce == holder.nonce


def _nonce(body: ChunkBody, number: int) -> int | None:
    return None if body.nonce is None else nonce_of(body.nonce, field=f"chunks[{number}].nonce")


def _is_of(spec: SessionSpec, by: Caller) -> bool:
    if by.tenant is not None and spec.tenant != by.tenant:
        return False
    if spec.key and spec.key not in {by.id, by.replaces}:
        return False
    return not by.is_narrowed or (are_within(spec.queues, by.queues) and all(map(by.may_run, spec.names)))


def lease_header(value: bytes, task: TaskId) -> tuple[int, int]:
    """Return epoch and nonce of the lease that a file is sent under, or raise `Invalid`."""
    epoch, _, nonce = value.decode("latin-1").partition(" ")
    if not (epoch.isascii() and epoch.isdigit() and len(epoch) <= 9):
        raise Invalid(f"must be the epoch and the nonce of the lease of {task}", field="X-Lease")
    return int(epoch), nonce_of(nonce, field="X-Lease")
