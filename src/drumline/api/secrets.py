"""Secrets: set, list, delete. Values go in and never come out."""

from typing import Annotated

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.audit import REASON
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, about, page_cursor
from drumline.core.secret import LONGEST_VALUE, NAME_PATTERN, SHORTEST_VALUE, SecretView, check_secret_name
from drumline.core.tenant import TENANT_PATTERN, check_tenant
from drumline.core.views import Moment

_SECRETS = "/api/v1/secrets"
_SLACK = 6 * LONGEST_VALUE
"""Bytes that a body may have besides its value: each character may be escaped."""


class SecretRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a secret is to be."""

    value: Annotated[
        str,
        Meta(min_length=SHORTEST_VALUE, max_length=LONGEST_VALUE),
        about(f"What it is: {SHORTEST_VALUE} to {LONGEST_VALUE:,} bytes of text. It is not told again."),
    ]
    reason: Annotated[str | None, REASON] = None

    def __repr__(self) -> str:
        return "SecretRequest(***)"


class SecretInfo(Struct, frozen=True, kw_only=True):
    """A secret, without its value."""

    name: str
    tenant: str
    version: int
    """How often its value was set."""
    key_id: str
    """The key that it is sealed with."""
    created_at: Moment
    updated_at: Moment


class SecretInfoList(Struct, frozen=True):
    """A page of secrets, by tenant and name."""

    items: tuple[SecretInfo, ...]
    next_cursor: str | None


class SecretsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of secrets."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(pattern=f"^{TENANT_PATTERN}/{NAME_PATTERN}$")] = None


class RotatedKeyBody(Struct, frozen=True, kw_only=True):
    """What became of what was sealed with an old key."""

    key_id: str
    """The key that everything is sealed with now."""
    secrets: int
    """Secrets that were sealed anew."""
    signing_secrets: int
    """Secrets of webhooks that were sealed anew, or for the first time."""
    unreadable: tuple[str, ...]
    """What could not be opened, because its key is not here."""


async def put_secret(call: ApiCall[SecretRequest, NoQuery]) -> Reply:
    """Set a secret's value; tasks that run from now on get it."""
    name = check_secret_name(call.params["name"])
    put = await call.engine.secrets.put(name, call.body.value, tenant=call.home)
    body = _body(put.secret)
    call.note(after=body)
    headers = ((b"location", f"{_SECRETS}/{name}".encode()),) if put.created else ()
    return Reply(encode(body), 201 if put.created else 200, headers=headers)


async def list_secrets(call: ApiCall[None, SecretsQuery]) -> Reply:
    """Return the names of secrets, with when they were set and by which key they are sealed."""
    limit = call.query.limit
    if limit > call.context.limits.page:
        raise Invalid(f"must be from 1 to {call.context.limits.page}", field="limit")
    after = None if call.query.cursor is None else _place(call.query.cursor)
    found = await call.engine.store.secrets.list_secrets(tenant=call.tenant, limit=limit + 1, after=after)
    items = tuple(_body(secret) for secret in found[:limit])
    return Reply(encode(SecretInfoList(items, f"{items[-1].tenant}/{items[-1].name}" if len(found) > limit else None)))


async def delete_secret(call: ApiCall[None, NoQuery]) -> Reply:
    """Forget a secret; tasks that refer to it fail when they run."""
    name = check_secret_name(call.params["name"])
    await call.engine.secrets.delete(name, tenant=call.home)
    call.note(before={"name": name, "tenant": call.home})
    return Reply(b"", 204)


async def rotate_secret_key(call: ApiCall[None, NoQuery]) -> Reply:
    """Seal everything with the first of the server's two keys; then the other one can be taken away."""
    key_id = call.engine.secrets.box.key_id
    rotated = await call.engine.secrets.rotate()
    body = RotatedKeyBody(
        key_id=key_id,
        secrets=rotated.secrets,
        signing_secrets=rotated.signing_secrets,
        unreadable=rotated.unreadable,
    )
    call.note(after=body)
    return Reply(encode(body))


def _place(cursor: str) -> tuple[str, str]:
    tenant, _, name = cursor.partition("/")
    return check_tenant(tenant, field="cursor"), check_secret_name(name, field="cursor")


def _body(secret: SecretView) -> SecretInfo:
    return SecretInfo(
        name=secret.name,
        tenant=secret.tenant,
        version=secret.version,
        key_id=secret.key_id,
        created_at=moment_of(secret.created_at),
        updated_at=moment_of(secret.updated_at),
    )


OPERATIONS = (
    Operation(
        method="GET", path=_SECRETS, handler=list_secrets, tag=Tag.SECRETS,
        summary="List secrets, without their values", query=SecretsQuery, answer=SecretInfoList,
        permission=Permission.SECRETS_READ,
    ),
    Operation(
        method="PUT", path=_SECRETS + "/{name}", handler=put_secret, tag=Tag.SECRETS, summary="Set a secret",
        body=SecretRequest, largest=lambda _limits: _SLACK, bulk="value", answer=SecretInfo, status=200, also=(201,),
        permission=Permission.SECRETS_WRITE, audit_act="secret.set", reach=Reach.WHOLE,
    ),
    Operation(
        method="DELETE", path=_SECRETS + "/{name}", handler=delete_secret, tag=Tag.SECRETS, summary="Delete a secret",
        status=204, permission=Permission.SECRETS_WRITE, audit_act="secret.delete", reach=Reach.WHOLE,
    ),
    Operation(
        method="POST", path="/api/v1/secret-key/rotate", handler=rotate_secret_key, tag=Tag.SECRETS,
        summary="Seal everything with the newest key", answer=RotatedKeyBody,
        permission=Permission.TENANTS_MANAGE, audit_act="secret_key.rotate", reach=Reach.WHOLE,
    ),
)  # fmt: skip
