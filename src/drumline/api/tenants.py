"""Tenants: make, look, change how much they may have."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from drumline.api.operation import ApiCall, NoQuery, Operation, Reach, Reply, Tag
from drumline.core.access import Permission
from drumline.core.audit import REASON
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid, NotFound
from drumline.core.fair_shares import MOST_WEIGHT
from drumline.core.field_schema import PAGE_SIZE, about
from drumline.core.tenant import TENANT_SCHEMA, Quotas, Tenant, check_tenant
from drumline.core.views import Moment

MOST = 1_000_000_000_000
Amount = Annotated[int, Meta(ge=0, le=MOST)]
Weight = Annotated[int, Meta(ge=1, le=MOST_WEIGHT)]

_TENANTS = "/api/v1/tenants"


class QuotasBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much a tenant may have; null means as much as it likes."""

    queued: Amount | None = None
    """Tasks that wait to be run."""
    payload_bytes: Amount | None = None
    """Bytes of JSON in the payload of one task."""
    schedules: Amount | None = None
    """Schedules."""
    weight: Weight | None = None
    """Its share of the workers that serve all tenants, where another tenant's is 1."""


class TenantRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new tenant."""

    name: Annotated[str, about("Lower-case letters, digits and _ . -", **TENANT_SCHEMA)]
    quotas: QuotasBody = QuotasBody()


class TenantChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other quotas; those that are left out stay, null takes one away."""

    queued: Amount | UnsetType | None = UNSET
    payload_bytes: Amount | UnsetType | None = UNSET
    schedules: Amount | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    reason: Annotated[str | None, REASON] = None


class TenantBody(Struct, frozen=True, kw_only=True):
    """A tenant."""

    name: str
    created_at: Moment | None
    """Null for the default tenant until it is changed."""
    quotas: QuotasBody


class TenantList(Struct, frozen=True):
    """A page of tenants, by name."""

    items: tuple[TenantBody, ...]
    next_cursor: str | None


class TenantsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of tenants."""

    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, about("`next_cursor` of the page before.", **TENANT_SCHEMA)] = None


async def create_tenant(call: ApiCall[TenantRequest, NoQuery]) -> Reply:
    """Make a tenant; keys of its own are made after it."""
    quotas = msgspec.convert(call.body.quotas, Quotas, from_attributes=True)
    tenant = await call.engine.access.tenants.add(call.body.name, quotas)
    call.note(after=_body(tenant))
    return Reply(encode(_body(tenant)), 201, headers=((b"location", f"{_TENANTS}/{tenant.name}".encode()),))


async def list_tenants(call: ApiCall[None, TenantsQuery]) -> Reply:
    """Return the tenants by name; a key of one tenant sees that one."""
    limit = call.query.limit
    if limit > call.context.limits.page:
        raise Invalid(f"must be from 1 to {call.context.limits.page}", field="limit")
    after = None if call.query.cursor is None else check_tenant(call.query.cursor, field="cursor")
    if call.tenant is not None:
        own = await call.engine.access.tenants.find(call.tenant)
        return Reply(encode(TenantList(() if own is None or after is not None else (_body(own),), None)))
    tenants = await call.engine.access.tenants.list_tenants(limit=limit + 1, after=after)
    is_more = len(tenants) > limit
    items = tuple(_body(tenant) for tenant in tenants[:limit])
    return Reply(encode(TenantList(items, items[-1].name if is_more else None)))


async def get_tenant(call: ApiCall[None, NoQuery]) -> Reply:
    """Return a tenant."""
    name = check_tenant(call.params["name"])
    if call.tenant not in {None, name}:
        raise NotFound(f"there is no tenant {name}", field="name")
    return Reply(encode(_body(await call.engine.access.tenants.get(name))))


async def change_tenant(call: ApiCall[TenantChange, NoQuery]) -> Reply:
    """Change how much a tenant may have; every server goes by it within two seconds."""
    name = check_tenant(call.params["name"])
    before = await call.engine.access.tenants.get(name)
    wanted: dict[str, Any] = {
        field: getattr(call.body, field) for field in Quotas.__struct_fields__ if getattr(call.body, field) is not UNSET
    }
    after = await call.engine.access.tenants.change(name, msgspec.structs.replace(before.quotas, **wanted))
    call.note(before=_body(before), after=_body(after))
    return Reply(encode(_body(after)))


def _body(tenant: Tenant) -> TenantBody:
    quotas = msgspec.convert(tenant.quotas, QuotasBody, from_attributes=True)
    created_at = moment_of(tenant.created_at) if tenant.created_at else None
    return TenantBody(name=tenant.name, created_at=created_at, quotas=quotas)


OPERATIONS = (
    Operation(
        method="POST", path=_TENANTS, handler=create_tenant, tag=Tag.TENANTS, summary="Make a tenant",
        body=TenantRequest, answer=TenantBody, status=201,
        permission=Permission.TENANTS_MANAGE, audit_act="tenant.create", reach=Reach.WHOLE,
    ),
    Operation(
        method="GET", path=_TENANTS, handler=list_tenants, tag=Tag.TENANTS, summary="List tenants by name",
        query=TenantsQuery, answer=TenantList, permission=Permission.TENANTS_READ,
    ),
    Operation(
        method="GET", path=_TENANTS + "/{name}", handler=get_tenant, tag=Tag.TENANTS, summary="Look at a tenant",
        answer=TenantBody, permission=Permission.TENANTS_READ,
    ),
    Operation(
        method="PATCH", path=_TENANTS + "/{name}", handler=change_tenant, tag=Tag.TENANTS,
        summary="Change how much a tenant may have", body=TenantChange, answer=TenantBody,
        permission=Permission.TENANTS_MANAGE, audit_act="tenant.change", reach=Reach.WHOLE,
    ),
)  # fmt: skip
