"""Workers, as people see them: look, drain."""

from typing import Annotated

from msgspec import Struct

from drumline.api.key_restrictions import check_worker
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.api.shapes import WorkerBody, WorkerList, worker_body
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.errors import NotFound
from drumline.core.field_schema import about
from drumline.core.ids import parse_session_id


class WorkersQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether to list workers that left lately too."""

    closed: Annotated[bool, about("List workers that left lately too.")] = False


async def list_workers(call: ApiCall[None, WorkersQuery]) -> Reply:
    """Return the workers there are."""
    views = await call.engine.sessions.list(closed=call.query.closed, tenant=call.tenant)
    return Reply(encode(WorkerList(tuple(worker_body(view) for view in views))))


async def drain_worker(call: ApiCall[None, NoQuery]) -> Reply:
    """Ask a worker to finish what it holds and take nothing more; it hears of it at its next beat."""
    session = parse_session_id(call.params["id"])
    await check_worker(call, session)
    await call.engine.sessions.drain(session, tenant=call.tenant)
    for view in await call.engine.sessions.list(closed=True, tenant=call.tenant):
        if view.id == session:
            call.note(after={"id": call.params["id"], "should_drain": True})
            return Reply(encode(worker_body(view)))
    raise NotFound(f"there is no worker {call.params['id']}", field="id")


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/workers", handler=list_workers, tag=Tag.WORKERS, summary="List the workers",
        query=WorkersQuery, answer=WorkerList, permission=Permission.WORKERS_READ,
    ),
    Operation(
        method="POST", path="/api/v1/workers/{id}/drain", handler=drain_worker, tag=Tag.WORKERS,
        summary="Ask a worker to finish and leave", answer=WorkerBody,
        permission=Permission.WORKERS_CONTROL, audit_act="worker.drain", reach=Reach.TASKS,
    ),
)  # fmt: skip
