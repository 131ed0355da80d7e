"""Shards: look at the databases of an installation, add one, move new work to it, empty it and take it away."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.audit import REASON
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.field_schema import about
from drumline.core.slots import SLOTS
from drumline.core.views import Moment
from drumline.ports.shards import ShardState, ShardStatus

_SHARDS = "/api/v1/shards"
_LONGEST_URL = 2048

Name = Annotated[
    str,
    about(
        "Lower-case letters, digits and -, and a letter first.",
        maxLength=32,
        pattern="^[a-z][a-z0-9-]*$",
        examples=["pg2"],
    ),
]
Url = Annotated[str, Meta(min_length=1, max_length=_LONGEST_URL)]
_STORE = about(
    "Where its PostgreSQL is. It is stored encrypted, and only host, port and database are told again.",
    writeOnly=True,
    examples=["postgresql://drumline:password@pg2.example:5432/drumline"],
)
_QUEUE = about(
    "Where its Redis is, if it has one of its own. It is stored and told like `store_url`.",
    writeOnly=True,
    examples=["redis://:password@redis2.example:6379/0"],
)


class ShardRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A database to be added to the installation."""

    name: Name
    store_url: Annotated[Url, _STORE]
    queue_url: Annotated[Url | None, _QUEUE] = None
    reason: Annotated[str | None, REASON] = None

    def __repr__(self) -> str:
        return f"ShardRequest({self.name}, ***)"


class ShardChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other addresses of the same database; what is left out stays, a `queue_url` of null takes that away."""

    store_url: Annotated[Url | UnsetType, _STORE] = UNSET
    queue_url: Annotated[Url | UnsetType | None, _QUEUE] = UNSET
    reason: Annotated[str | None, REASON] = None

    def __repr__(self) -> str:
        return "ShardChange(***)"


class MoveRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which slots another shard takes over: new work of theirs goes there."""

    taker: Annotated[
        str | None,
        about("The shard that takes them. Without it they are spread evenly over all active shards."),
    ] = None
    giver: Annotated[str | None, about("The shard that gives them. Without it those with most slots do.")] = None
    slots: Annotated[
        Annotated[int, Meta(ge=1, le=SLOTS)] | None,
        about("How many. Without it all that `giver` has, or as many as make it even."),
    ] = None
    reason: Annotated[str | None, REASON] = None


class MovedBody(Struct, frozen=True, kw_only=True):
    """What was moved."""

    slots: int
    """How many slots have another shard now."""


class ShardBody(Struct, frozen=True, kw_only=True):
    """A database of the installation."""

    name: str
    """`main` is the directory, which also keeps what is not a task."""
    state: ShardState
    is_away: bool
    """Whether this server could not reach it just now."""
    slots: int
    """Slots whose new work it takes, of 4096 in all."""
    unfinished: int
    """Slots whose move has begun and not ended."""
    address: str
    """Host, port and database, without the login."""
    queue_address: str | None
    """Where its Redis is; null if it has none."""
    added_at: Moment | None
    """Null for the directory."""
    queued: int | None
    """Tasks that wait to be run; null while it is away."""
    running: int | None
    left: int | None
    """Tasks, jobs and schedules that are still to be moved away, while it is draining."""


class ShardList(Struct, frozen=True):
    """All shards, the directory first, then by name."""

    items: tuple[ShardBody, ...]
    next_cursor: str | None = None


async def list_shards(call: ApiCall[None, NoQuery]) -> Reply:
    """Return the shards with their load, the directory first."""
    return Reply(encode(ShardList(tuple(_body(shard) for shard in await call.engine.shards.list()))))


async def get_shard(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a shard with its load."""
    return Reply(encode(_body(await call.engine.shards.get(_name(call)))))


async def add_shard(call: ApiCall[ShardRequest, NoQuery]) -> Reply:
    """Add a database: it is migrated, and has no slots until some are moved to it."""
    wanted = call.body
    body = _body(await call.engine.shards.add(wanted.name, store_url=wanted.store_url, queue_url=wanted.queue_url))
    call.note(after=_audited(body))
    return Reply(encode(body), 201, headers=((b"location", f"{_SHARDS}/{body.name}".encode()),))


async def change_shard(call: ApiCall[ShardChange, NoQuery]) -> Reply:
    """Change the addresses of a shard; every process goes by them within seconds."""
    name, shards = _name(call), call.engine.shards
    before = _body(await shards.get(name))
    has_queue = call.body.queue_url is not UNSET
    after = _body(
        await shards.change(
            name,
            store_url=_given(call.body.store_url),
            queue_url=_given(call.body.queue_url),
            has_queue=has_queue,
        )
    )
    call.note(before=_audited(before), after=_audited(after))
    return Reply(encode(after))


async def move_slots(call: ApiCall[MoveRequest, NoQuery]) -> Reply:
    """Let another shard take the new work of some slots; what is stored stays where it is."""
    wanted = call.body
    moved = await call.engine.shards.move(taker=wanted.taker, giver=wanted.giver, slots=wanted.slots)
    call.note(after={"taker": wanted.taker, "giver": wanted.giver, "slots": moved})
    return Reply(encode(MovedBody(slots=moved)))


async def drain_shard(call: ApiCall[None, NoQuery]) -> Reply:
    """Empty a shard: others take its new work at once, and schedulers move what waits in it."""
    body = _body(await call.engine.shards.drain(_name(call)))
    call.note(after=_audited(body))
    return Reply(encode(body))


async def keep_shard(call: ApiCall[None, NoQuery]) -> Reply:
    """End the draining of a shard: what is left in it stays, and it may be given slots again."""
    body = _body(await call.engine.shards.keep(_name(call)))
    call.note(after=_audited(body))
    return Reply(encode(body))


async def remove_shard(call: ApiCall[None, NoQuery]) -> Reply:
    """Forget a shard that was drained; its database stays as it is."""
    name, shards = _name(call), call.engine.shards
    before = _body(await shards.get(name))
    await shards.remove(name)
    call.note(before=_audited(before))
    return Reply(b"", 204)


def _name(call: ApiCall[Any, Any]) -> str:
    return call.params["name"]


def _given(url: str | UnsetType | None) -> str | None:
    return None if url is UNSET else url


def _body(shard: ShardStatus) -> ShardBody:
    return ShardBody(
        name=shard.name,
        state=shard.state,
        is_away=shard.is_away,
        slots=shard.slots,
        unfinished=shard.unfinished,
        address=shard.address,
        queue_address=shard.queue_address,
        added_at=None if shard.added_at is None else moment_of(shard.added_at),
        queued=shard.queued,
        running=shard.running,
        left=shard.left,
    )


def _audited(shard: ShardBody) -> dict[str, object]:
    """Return what the audit log keeps of a shard: what acts change, and never a login."""
    names = ("name", "state", "slots", "address", "queue_address")
    return {name: getattr(shard, name) for name in names}


OPERATIONS = (
    Operation(
        method="GET", path=_SHARDS, handler=list_shards, tag=Tag.SHARDS, summary="List shards with their load",
        answer=ShardList, permission=Permission.SHARDS_READ,
    ),
    Operation(
        method="POST", path=_SHARDS, handler=add_shard, tag=Tag.SHARDS, summary="Add a shard", body=ShardRequest,
        answer=ShardBody, status=201,
        permission=Permission.SHARDS_MANAGE, audit_act="shard.add", reach=Reach.WHOLE,
    ),
    Operation(
        method="GET", path=_SHARDS + "/{name}", handler=get_shard, tag=Tag.SHARDS, summary="Look at a shard",
        answer=ShardBody, permission=Permission.SHARDS_READ,
    ),
    Operation(
        method="PATCH", path=_SHARDS + "/{name}", handler=change_shard, tag=Tag.SHARDS,
        summary="Change the addresses of a shard", body=ShardChange, answer=ShardBody,
        permission=Permission.SHARDS_MANAGE, audit_act="shard.change", reach=Reach.WHOLE,
    ),
    Operation(
        method="DELETE", path=_SHARDS + "/{name}", handler=remove_shard, tag=Tag.SHARDS,
        summary="Remove a shard that was drained", status=204,
        permission=Permission.SHARDS_MANAGE, audit_act="shard.remove", reach=Reach.WHOLE,
    ),
    Operation(
        method="POST", path=_SHARDS + "/{name}/drain", handler=drain_shard, tag=Tag.SHARDS, summary="Drain a shard",
        answer=ShardBody, permission=Permission.SHARDS_MANAGE, audit_act="shard.drain", reach=Reach.WHOLE,
    ),
    Operation(
        method="DELETE", path=_SHARDS + "/{name}/drain", handler=keep_shard, tag=Tag.SHARDS,
        summary="End the draining of a shard", answer=ShardBody,
        permission=Permission.SHARDS_MANAGE, audit_act="shard.keep", reach=Reach.WHOLE,
    ),
    Operation(
        method="POST", path="/api/v1/slots/move", handler=move_slots, tag=Tag.SHARDS,
        summary="Move new work of some slots to another shard", body=MoveRequest, answer=MovedBody,
        permission=Permission.SHARDS_MANAGE, audit_act="slots.move", reach=Reach.WHOLE,
    ),
)  # fmt: skip
