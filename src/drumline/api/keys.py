"""API keys: who am I, make, look, disable, enable, revoke, rotate."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import EVERY_TENANT, Permission, Role
from drumline.core.api_key import ApiKey, KeyId
from drumline.core.audit import REASON
from drumline.core.clock import Instant, moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.new_key import KeyRequest, RotateKeyRequest
from drumline.core.views import Moment, TaskIdText
from drumline.engine.keys import MadeKey
from drumline.ports.access import KeyChange

_KEYS = "/api/v1/keys"


class MeBody(Struct, frozen=True, kw_only=True):
    """Whose key it is that was sent, and what may be done with it."""

    id: str
    """The key's id; `first` for the one that the server was started with."""
    name: str
    tenant: str
    """The tenant whose data it sees; `*` for all tenants."""
    role: Role
    permissions: tuple[Permission, ...]
    names: tuple[str, ...]
    queues: tuple[str, ...]
    rate_limit: str | None


class KeyBody(Struct, frozen=True, kw_only=True):
    """An API key, without the key itself."""

    id: TaskIdText
    name: str
    prefix: str
    """How the key begins."""
    tenant: str
    """Whose it is; `*` for every tenant's."""
    role: Role
    scopes: tuple[Permission, ...]
    names: tuple[str, ...]
    queues: tuple[str, ...]
    rate_limit: str | None
    enabled: bool
    created_at: Moment
    created_by: str
    expires_at: Moment | None
    revoked_at: Moment | None
    replaces: TaskIdText | None
    """The key that it was rotated from."""
    last_used_at: Moment | None
    uses: int
    """How often it was used, as of some seconds ago."""


class MadeKeyBody(KeyBody, frozen=True, kw_only=True):
    """A new API key. `key` is shown this once; only its digest is kept."""

    key: str


class KeyList(Struct, frozen=True):
    """A page of keys, newest first."""

    items: tuple[KeyBody, ...]
    next_cursor: str | None


class KeysQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of keys."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


class ReasonRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Why it is done, for the audit log."""

    reason: Annotated[str | None, REASON] = None


async def me(call: ApiCall[None, NoQuery]) -> Reply:
    """Tell whose key it is that was sent, and what may be done with it."""
    by = call.by
    body = MeBody(
        id=by.id,
        name=by.name,
        tenant=by.tenant or EVERY_TENANT,
        role=by.role,
        permissions=tuple(sorted(by.permissions)),
        names=by.names,
        queues=by.queues,
        rate_limit=None if by.rate is None else str(by.rate),
    )
    return Reply(encode(body))


async def create_key(call: ApiCall[KeyRequest, NoQuery]) -> Reply:
    """Create a key; it is shown only once. A key cannot grant more than the caller's own."""
    return _made(call, await call.engine.access.keys.create(call.body, by=call.by))


async def list_keys(call: ApiCall[None, KeysQuery]) -> Reply:
    """Return a page of keys, newest first, those that open nothing any more included."""
    limit = call.query.limit
    if limit > call.context.limits.page:
        raise Invalid(f"must be from 1 to {call.context.limits.page}", field="limit")
    cursor = None if call.query.cursor is None else KeyId(parse_task_id(call.query.cursor, field="cursor"))
    keys = await call.engine.store.keys.list_keys(tenant=call.tenant, limit=limit + 1, before=cursor)
    is_more = len(keys) > limit
    items = tuple(KeyBody(**_fields(key)) for key in keys[:limit])
    return Reply(encode(KeyList(items, keys[limit - 1].id if is_more else None)))


async def get_key(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a key, without the key itself."""
    return _kept(await call.engine.access.keys.get(_key_id(call), tenant=call.tenant))


async def disable_key(call: ApiCall[ReasonRequest, NoQuery]) -> Reply:
    """Let a key open nothing until it is enabled again."""
    return await _changed(call, KeyChange(is_enabled=False))


async def enable_key(call: ApiCall[ReasonRequest, NoQuery]) -> Reply:
    """Let a disabled key open again."""
    return await _changed(call, KeyChange(is_enabled=True))


async def revoke_key(call: ApiCall[ReasonRequest, NoQuery]) -> Reply:
    """Let a key open nothing any more, for good; every server refuses it within two seconds."""
    return await _changed(call, KeyChange(is_revoked=True))


async def rotate_key(call: ApiCall[RotateKeyRequest, NoQuery]) -> Reply:
    """Make a key in the place of an old one; both open until the overlap is over."""
    return _made(call, await call.engine.access.keys.rotate(_key_id(call), call.body, by=call.by))


def _key_id(call: ApiCall[Any, Any]) -> KeyId:
    return KeyId(parse_task_id(call.params["id"]))


async def _changed(call: ApiCall[ReasonRequest, NoQuery], change: KeyChange) -> Reply:
    key = _key_id(call)
    before = await call.engine.access.keys.get(key, tenant=call.tenant)
    after = await call.engine.access.keys.change(key, change, by=call.by)
    call.note(before=_standing(before), after=_standing(after))
    return _kept(after)


def _standing(key: ApiKey) -> dict[str, Any]:
    return {"id": key.id, "name": key.spec.name, "enabled": key.is_enabled, "revoked_at": _moment(key.revoked_at)}


def _kept(key: ApiKey) -> Reply:
    return Reply(encode(KeyBody(**_fields(key))))


def _made(call: ApiCall[Any, Any], made: MadeKey) -> Reply:
    fields = _fields(made.kept)
    call.note(after=KeyBody(**fields))
    location = ((b"location", f"{_KEYS}/{made.kept.id}".encode()),)
    return Reply(encode(MadeKeyBody(**fields, key=made.secret)), 201, headers=location)


def _fields(key: ApiKey) -> dict[str, Any]:
    spec = key.spec
    return {
        "id": key.id,
        "name": spec.name,
        "prefix": spec.prefix,
        "tenant": key.tenant or EVERY_TENANT,
        "role": spec.role,
        "scopes": spec.scopes,
        "names": spec.names,
        "queues": spec.queues,
        "rate_limit": spec.rate,
        "enabled": key.is_enabled,
        "created_at": moment_of(key.created_at),
        "created_by": spec.created_by,
        "expires_at": _moment(key.expires_at),
        "revoked_at": _moment(key.revoked_at),
        "replaces": spec.replaces,
        "last_used_at": _moment(key.last_used_at),
        "uses": key.uses,
    }


def _moment(instant: Instant | None) -> str | None:
    return None if instant is None else moment_of(instant)


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/me", handler=me, tag=Tag.KEYS, summary="Tell whose key it is that was sent",
        answer=MeBody, permission=None,
    ),
    Operation(
        method="POST", path=_KEYS, handler=create_key, tag=Tag.KEYS, summary="Make a key, shown once",
        largest=lambda limits: limits.request_lists, body=KeyRequest, answer=MadeKeyBody, status=201,
        permission=Permission.KEYS_MANAGE, audit_act="key.create", reach=Reach.OWN,
    ),
    Operation(
        method="GET", path=_KEYS, handler=list_keys, tag=Tag.KEYS, summary="List keys, newest first", query=KeysQuery,
        answer=KeyList, permission=Permission.KEYS_MANAGE,
    ),
    Operation(
        method="GET", path=_KEYS + "/{id}", handler=get_key, tag=Tag.KEYS, summary="Look at a key", answer=KeyBody,
        permission=Permission.KEYS_MANAGE,
    ),
    Operation(
        method="POST", path=_KEYS + "/{id}/disable", handler=disable_key, tag=Tag.KEYS,
        summary="Let a key open nothing for now", body=ReasonRequest, body_required=False, answer=KeyBody,
        permission=Permission.KEYS_MANAGE, audit_act="key.disable", reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_KEYS + "/{id}/enable", handler=enable_key, tag=Tag.KEYS,
        summary="Let a disabled key open again", body=ReasonRequest, body_required=False, answer=KeyBody,
        permission=Permission.KEYS_MANAGE, audit_act="key.enable", reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_KEYS + "/{id}/revoke", handler=revoke_key, tag=Tag.KEYS,
        summary="Let a key open nothing any more", body=ReasonRequest, body_required=False, answer=KeyBody,
        permission=Permission.KEYS_MANAGE, audit_act="key.revoke", reach=Reach.OWN,
    ),
    Operation(
        method="POST", path=_KEYS + "/{id}/rotate", handler=rotate_key, tag=Tag.KEYS,
        summary="Make a key in the place of another", body=RotateKeyRequest, body_required=False, answer=MadeKeyBody,
        status=201, permission=Permission.KEYS_MANAGE, audit_act="key.rotate", reach=Reach.OWN,
    ),
)  # fmt: skip
