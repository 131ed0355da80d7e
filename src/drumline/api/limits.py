"""Flow limits: look, set, delete."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from drumline.api.key_restrictions import check_filter
from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import NotFound
from drumline.core.flow import MOST_CONCURRENT, FlowLimit, LimitRequest
from drumline.core.limit_shares import LimitHolder
from drumline.core.names import check_queue
from drumline.core.views import Moment

_LIMITS = "/api/v1/limits"


class ShareBody(Struct, frozen=True, kw_only=True):
    """What one shard has of a limit."""

    shard: str
    running: int | None
    """How many tasks run under it there; null if the shard cannot be reached, or has not heard of the limit yet."""
    max_concurrent: int | None
    """How many may run there at the moment; null if unknown, or if the limit does not say."""
    rate: int | None
    """How many may start there within the period of the rate; null if unknown, or if the limit does not say."""


class LimitBody(Struct, frozen=True, kw_only=True):
    """A limit, and how much of it is used."""

    name: str
    tenant: str
    queue: str | None
    """The queue that it is about; null means every queue."""
    task: str | None
    """The task name that it is about; null means every name."""
    key: str | None
    """Where a task's key is found; null means that all its tasks count together."""
    max_concurrent: Annotated[int, Meta(ge=1, le=MOST_CONCURRENT)] | None
    rate: str | None
    running: int
    """How many tasks run under it now, under all keys together."""
    created_at: Moment
    shards: tuple[ShareBody, ...]
    """What each shard has of it; empty with one database, and for a limit with keys, which are shared key by key."""


class LimitList(Struct, frozen=True):
    """The limits there are, by name."""

    items: tuple[LimitBody, ...]


async def list_limits(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the limits there are, by tenant and name."""
    limits = await call.engine.flow.list_limits(tenant=call.tenant)
    held = await call.engine.flow.holders([limit for limit, _ in limits])
    return Reply(encode(LimitList(tuple(limit_body(limit, running, held) for limit, running in limits))))


async def get_limit(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a limit, and how many tasks run under it."""
    limit, running = await call.engine.flow.get(_name(call), tenant=call.home)
    return Reply(encode(limit_body(limit, running, await call.engine.flow.holders([limit]))))


async def set_limit(call: ApiCall[LimitRequest, NoQuery]) -> Reply:
    """Set a limit, in place of the one of that name. It holds at once, also for tasks that wait or run already."""
    await _check_reach(call)
    check_filter(call, call.body.task, call.body.queue)
    limit, before = await call.engine.flow.set(_name(call), call.body, tenant=call.home)
    _, running = await call.engine.flow.get(limit.name, tenant=call.home)
    call.note(before=None if before is None else _noted(before), after=_noted(limit))
    held = await call.engine.flow.holders([limit])
    return Reply(encode(limit_body(limit, running, held)), 201 if before is None else 200)


async def delete_limit(call: ApiCall[None, NoQuery]) -> Reply:
    """Delete a limit; its tasks are handed out like all others."""
    await _check_reach(call)
    call.note(before=_noted(await call.engine.flow.delete(_name(call), tenant=call.home)))
    return Reply(b"", 204)


async def _check_reach(call: ApiCall[Any, NoQuery]) -> None:
    """Raise `Forbidden` if there is a limit of the name already that holds for more than the caller is meant for."""
    if not call.by.is_narrowed:
        return
    try:
        found, _ = await call.engine.flow.get(_name(call), tenant=call.home)
    except NotFound:
        return
    check_filter(call, found.task, found.queue)


def _name(call: ApiCall[LimitRequest, NoQuery] | ApiCall[None, NoQuery]) -> str:
    return check_queue(call.params["name"], field="name")


def limit_body(limit: FlowLimit, running: int, held: Mapping[int, Sequence[LimitHolder]]) -> LimitBody:
    """Return a limit as JSON shows it."""
    return LimitBody(
        name=limit.name,
        tenant=limit.tenant,
        queue=limit.queue,
        task=limit.task,
        key=limit.keyed_by,
        max_concurrent=limit.max_concurrent,
        rate=limit.rate_text,
        running=running,
        created_at=moment_of(limit.created_at),
        shards=tuple(
            ShareBody(shard=each.shard, running=each.running, max_concurrent=each.max_concurrent, rate=each.rate)
            for each in held.get(limit.id, ())
        ),
    )


def _noted(limit: FlowLimit) -> dict[str, object]:
    """Return what the audit log has of a limit."""
    fields = ("name", "tenant", "queue", "task", "keyed_by", "max_concurrent")
    return {field: getattr(limit, field) for field in fields} | {"rate": limit.rate_text}


OPERATIONS = (
    Operation(
        method="GET", path=_LIMITS, handler=list_limits, merges=True, tag=Tag.LIMITS, summary="List the flow limits",
        answer=LimitList, permission=Permission.QUEUES_READ,
    ),
    Operation(
        method="GET", path=_LIMITS + "/{name}", handler=get_limit, merges=True, tag=Tag.LIMITS,
        summary="Look at a flow limit", answer=LimitBody, permission=Permission.QUEUES_READ,
    ),
    Operation(
        method="PUT", path=_LIMITS + "/{name}", handler=set_limit, merges=True, tag=Tag.LIMITS,
        summary="Set a flow limit", body=LimitRequest, answer=LimitBody, also=(201,),
        permission=Permission.QUEUES_CONTROL, audit_act="limit.set", reach=Reach.TASKS,
    ),
    Operation(
        method="DELETE", path=_LIMITS + "/{name}", handler=delete_limit, tag=Tag.LIMITS,
        summary="Delete a flow limit", status=204,
        permission=Permission.QUEUES_CONTROL, audit_act="limit.delete", reach=Reach.TASKS,
    ),
)  # fmt: skip
