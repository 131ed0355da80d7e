"""Task types: what live workers can run, as they publish it."""

from msgspec import Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reply, Tag
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.task_type import NO_DEFAULTS, TypeDefaults


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
        method="GET", path="/api/v1/types", handler=list_types, tag=Tag.WORKERS,
        summary="List the tasks that live workers can run", answer=TypeList, permission=Permission.WORKERS_READ,
    ),
)  # fmt: skip
