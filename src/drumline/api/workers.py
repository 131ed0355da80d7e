"""Workers and the task types that they run: list them, drain a worker, undo that."""

from typing import Annotated

from msgspec import Struct

from drumline.api.key_restrictions import check_worker
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.shapes import WorkerBody, WorkerList, worker_body
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.field_schema import about
from drumline.core.ids import SessionId, parse_session_id
from drumline.core.task_type import NO_DEFAULTS, TypeDefaults


class WorkersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether to list workers that left lately too."""

    closed: Annotated[bool, about("List workers that left lately too.")] = False


async def list_workers(call: ApiCall[None, WorkersQuery]) -> Reply:
    """Return the workers there are."""
    views = await call.engine.sessions.list(closed=call.query.closed, tenant=call.tenant)
    return Reply(encode(WorkerList(tuple(worker_body(view) for view in views))))


async def get_worker(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a worker, also one that left lately."""
    view = await call.engine.sessions.get(parse_session_id(call.params["id"]), tenant=call.tenant)
    return Reply(encode(worker_body(view)))


async def drain_worker(call: ApiCall[None, NoQuery]) -> Reply:
    """Ask a worker to finish what it holds and take nothing more; it hears of it at its next beat."""
    session = parse_session_id(call.params["id"])
    await check_worker(call, session)
    await call.engine.sessions.drain(session, tenant=call.tenant)
    return await _changed(call, session, should_drain=True)


async def undrain_worker(call: ApiCall[None, NoQuery]) -> Reply:
    """Let a worker that was asked to drain go on; `409` if it has left already."""
    session = parse_session_id(call.params["id"])
    await check_worker(call, session)
    await call.engine.sessions.undrain(session, tenant=call.tenant)
    return await _changed(call, session, should_drain=False)


async def _changed(call: ApiCall[None, NoQuery], session: SessionId, *, should_drain: bool) -> Reply:
    """Return a worker as it is after a change, which is noted in the audit log."""
    view = await call.engine.sessions.get(session, tenant=call.tenant)
    call.note(after={"id": call.params["id"], "should_drain": should_drain})
    return Reply(encode(worker_body(view)))


class TypeBody(Struct, frozen=True, kw_only=True):
    """A kind of task. `payload_schema` is JSON Schema, where it is known; `workers` is how many can run it.

    `defaults` are what its code declares for submissions that do not say otherwise; those of the worker that started
    last.
    """

    name: str
    doc: str
    payload_schema: dict[str, object] | None
    workers: int
    queues: tuple[str, ...]
    defaults: TypeDefaults


class TypeList(Struct, frozen=True):
    """What live workers can run, by name."""

    items: tuple[TypeBody, ...]
    next_cursor: str | None = None


async def list_types(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the tasks that live workers can run; a worker without queues of its own serves all."""
    found: dict[str, TypeBody] = {}
    sessions = await call.engine.sessions.list(tenant=call.tenant)
    for session in sorted(sessions, key=lambda view: view.opened_at):
        for type_ in session.spec.types:
            known = found.get(type_.name)
            queues = frozenset(session.spec.queues) | frozenset(known.queues if known else ())
            found[type_.name] = TypeBody(
                name=type_.name,
                doc=type_.doc or (known.doc if known else ""),
                payload_schema=type_.schema if type_.schema is not None else (known.payload_schema if known else None),
                workers=1 + (known.workers if known else 0),
                queues=tuple(sorted(queues)),
                defaults=type_.defaults or (known.defaults if known else NO_DEFAULTS),
            )
    return Reply(encode(TypeList(tuple(found[name] for name in sorted(found)))))


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/workers", handler=list_workers, merges=True, tag=Tag.WORKERS,
        summary="List the workers", query=WorkersQuery, answer=WorkerList, permission=Permission.WORKERS_READ,
    ),
    Operation(
        method="GET", path="/api/v1/workers/{id}", handler=get_worker, merges=True, tag=Tag.WORKERS,
        summary="Look at a worker", answer=WorkerBody, permission=Permission.WORKERS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/workers/{id}/drain", handler=drain_worker, merges=True, tag=Tag.WORKERS,
        summary="Ask a worker to finish and leave", answer=WorkerBody,
        permission=Permission.WORKERS_CONTROL, audit_act="worker.drain", reach=Reach.TASKS,
    ),
    Operation(
        method="DELETE", path="/api/v1/workers/{id}/drain", handler=undrain_worker, merges=True, tag=Tag.WORKERS,
        summary="Let a worker go on that was asked to drain", answer=WorkerBody,
        permission=Permission.WORKERS_CONTROL, audit_act="worker.undrain", reach=Reach.TASKS,
    ),
    Operation(
        method="GET", path="/api/v1/types", handler=list_types, merges=True, tag=Tag.WORKERS,
        summary="List the tasks that live workers can run", answer=TypeList, permission=Permission.WORKERS_READ,
    ),
)  # fmt: skip
