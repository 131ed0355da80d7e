"""Requests for new keys, and the check that a caller gives no more rights than it has."""

import re
from datetime import datetime
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Struct

from drumline.core.access import (
    EVERY_TENANT,
    FIRST_KEY,
    ROLES,
    Caller,
    KeyPolicy,
    Permission,
    Role,
    are_within,
    permissions_of,
)
from drumline.core.api_key import ApiKey, KeyId, KeySpec, NewKey, digest_of, prefix_of
from drumline.core.audit import REASON
from drumline.core.clock import LATEST, Instant, moment_of, to_instant
from drumline.core.duration import LONGEST, millis, parse_duration
from drumline.core.errors import Conflict, Forbidden, Invalid
from drumline.core.field_schema import Schema, about, given, line, line_schema
from drumline.core.names import LONGEST_NAME, LONGEST_QUEUE, check_text
from drumline.core.rate import Rate, parse_rate
from drumline.core.tenant import TENANT_SCHEMA, check_tenant

LONGEST_KEY_NAME: Final = 100
MOST_PATTERNS: Final = 100
LONGEST_OVERLAP_MS: Final = 30 * 86_400_000
DEFAULT_OVERLAP: Final = "1h"

_RATE: Final = r"^([1-9][0-9]{0,8}/([1-9][0-9]{0,3}(s|m)?|1h|1d)|unlimited)$"
_WAIT: Final = r"^([1-9][0-9]{0,6}(s|m)?|[1-9][0-9]{0,2}(h|d))$"
_QUEUE_PATTERN: Final = re.compile(r"[A-Za-z0-9*][A-Za-z0-9_.:@*-]*")


class KeyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a new key. Absent fields do not restrict it."""

    SCHEMA: ClassVar[Schema] = {"not": {"allOf": [given("expires_at"), given("expires_in")]}}

    name: Annotated[str, line(LONGEST_KEY_NAME, "What people call it.")]
    tenant: Annotated[
        str | None,
        about(
            "Whose it is: the caller's own tenant if left out; `*` for every tenant's.",
            anyOf=[TENANT_SCHEMA, {"const": "*"}],
        ),
    ] = None
    role: Annotated[Role, about("What it may do at most.")] = Role.SUBMITTER
    scopes: Annotated[
        tuple[Permission, ...],
        about(
            "Permissions of its role that it keeps; none named means all.",
            items={"enum": [permission.value for permission in Permission]},
        ),
    ] = ()
    names: Annotated[
        tuple[str, ...],
        about(
            "Names of tasks that it may submit or run; none means all.",
            items=line_schema(LONGEST_NAME) | {"description": "A task name, in which * stands for anything."},
            maxItems=MOST_PATTERNS,
        ),
    ] = ()
    queues: Annotated[
        tuple[str, ...],
        about(
            "Queues that it may submit into or serve; none means all.",
            items={"type": "string", "maxLength": LONGEST_QUEUE, "pattern": "^[A-Za-z0-9*][A-Za-z0-9_.:@*-]*$"},
            maxItems=MOST_PATTERNS,
        ),
    ] = ()
    rate_limit: Annotated[
        str | None,
        about('How often it may ask, such as "100/60s" or "unlimited"; what its role may if left out.', pattern=_RATE),
    ] = None
    expires_at: Annotated[datetime | None, about("When it stops opening anything; not together with expires_in.")] = (
        None
    )
    expires_in: Annotated[
        float | str | None,
        about(
            "The same, counted from now.",
            anyOf=[
                {"type": "number", "exclusiveMinimum": 0, "maximum": int(LONGEST.total_seconds())},
                {"type": "string", "pattern": _WAIT},
            ],
        ),
    ] = None


class RotateKeyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the old key opens beside the new one, and why it is replaced."""

    overlap: Annotated[
        float | str,
        about(
            "How long the old key opens beside the new one, at most 30 days.",
            anyOf=[
                {"type": "number", "minimum": 0, "maximum": 2_592_000},
                {"type": "string", "pattern": "^([0-9]{1,6}s?|[0-9]{1,4}m|[0-9]{1,2}h|[12]?[0-9]d)$"},
            ],
        ),
    ] = DEFAULT_OVERLAP
    reason: Annotated[str | None, REASON] = None


class Asked(Struct, frozen=True):
    """Who asks for a key, when, and under which rules."""

    by: Caller
    now: Instant
    policy: KeyPolicy


def accept_key(request: KeyRequest, key: str, *, id: KeyId, asked: Asked) -> NewKey:
    """Return the request as a key that can be stored, or raise what is wrong with it or not allowed."""
    tenant = _tenant(request.tenant, asked.by)
    spec = KeySpec(
        name=check_text(request.name, field="name", longest=LONGEST_KEY_NAME),
        role=request.role,
        prefix=prefix_of(key),
        scopes=_scopes(request),
        names=_patterns(request.names, field="names", longest=LONGEST_NAME),
        queues=_patterns(request.queues, field="queues", longest=LONGEST_QUEUE),
        rate=_rate(request, asked),
        created_by=asked.by.id,
        is_own=asked.by.is_of_tenant or (tenant is None and asked.by.id != FIRST_KEY),
    )
    check_grant(asked.by, spec, tenant)
    return NewKey(id=id, tenant=tenant, digest=digest_of(key.encode()), spec=spec, expires_at=_expiry(request, asked))


def replace_key(old: ApiKey, key: str, *, id: KeyId, asked: Asked) -> NewKey:
    """Return a key like an old one, to take its place; one that expires lives as long as the old one was to live."""
    if (reason := old.refusal(asked.now)) is not None:
        raise Conflict(f"{reason}; make a new one", field="id")
    check_grant(asked.by, old.spec, old.tenant)
    spec = msgspec.structs.replace(old.spec, prefix=prefix_of(key), created_by=asked.by.id, replaces=old.id)
    ends_at = None if old.expires_at is None else Instant(min(asked.now + old.expires_at - old.created_at, LATEST))
    makers = asked.by.ends_at
    if makers is not None:  # otherwise an expiring key could replace itself forever
        ends_at = makers if ends_at is None else min(ends_at, makers)
    return NewKey(id=id, tenant=old.tenant, digest=digest_of(key.encode()), spec=spec, expires_at=ends_at)


def check_authority(by: Caller, key: ApiKey) -> None:
    """Raise `Forbidden` if a key has rights that the caller has not: then the caller may not change it."""
    try:
        check_grant(by, key.spec, key.tenant)
    except Forbidden as error:
        raise Forbidden("this key may only change keys that can do no more than it can itself", field="id") from error


def check_grant(by: Caller, spec: KeySpec, tenant: str | None) -> None:
    """Raise `Forbidden` if a key would let its holder do what the caller may not do."""
    if by.tenant is not None and tenant != by.tenant:
        raise Forbidden(f"this key can only make keys of its own tenant, {by.tenant}", field="tenant")
    more = permissions_of(spec.role, spec.scopes, tenant) - by.permissions
    if more:
        raise Forbidden(f"this key cannot give what it lacks: {', '.join(sorted(more))}", field="scopes")
    for field, wanted, had in (("names", spec.names, by.names), ("queues", spec.queues, by.queues)):
        if not are_within(wanted, had):
            raise Forbidden(f"this key can only give {' or '.join(had)}", field=field)


def overlap_of(request: RotateKeyRequest) -> int:
    """Return the milliseconds that both keys open."""
    overlap = millis(parse_duration(request.overlap, field="overlap"))
    if overlap > LONGEST_OVERLAP_MS:
        raise Invalid("must be at most 30 days", field="overlap")
    return overlap


def _tenant(wanted: str | None, by: Caller) -> str | None:
    if wanted is None:
        return by.home
    if wanted == EVERY_TENANT:
        if by.tenant is not None:
            raise Forbidden(f"this key can only make keys of its own tenant, {by.tenant}", field="tenant")
        return None
    check_tenant(wanted, field="tenant")
    if by.tenant not in {None, wanted}:
        raise Forbidden(f"this key can only make keys of its own tenant, {by.tenant}", field="tenant")
    return wanted


def _scopes(request: KeyRequest) -> tuple[Permission, ...]:
    for number, scope in enumerate(request.scopes):
        if scope not in ROLES[request.role]:
            raise Invalid(
                f"must be a permission of its role, and {request.role} has no {scope}", field=f"scopes[{number}]"
            )
    return tuple(dict.fromkeys(request.scopes))


def _patterns(patterns: tuple[str, ...], *, field: str, longest: int) -> tuple[str, ...]:
    if len(patterns) > MOST_PATTERNS:
        raise Invalid(f"must be at most {MOST_PATTERNS}", field=field)
    for number, pattern in enumerate(patterns):
        check_text(pattern, field=f"{field}[{number}]", longest=longest)
        if field == "queues" and _QUEUE_PATTERN.fullmatch(pattern) is None:
            raise Invalid("must be letters, digits, _ . : @ - and *", field=f"queues[{number}]")
    return tuple(dict.fromkeys(patterns))


def _rate(request: KeyRequest, asked: Asked) -> str | None:
    usual = asked.policy.rates[request.role]
    makers = asked.by.rate if asked.by.is_bounded else None
    if request.rate_limit is None:
        # A key with a rate of its own cannot have a wider one by making another.
        return str(makers) if _is_more(usual, makers) else None
    rate = parse_rate(request.rate_limit, field="rate_limit")
    if _is_more(rate, makers):
        raise Forbidden(f"this key can only allow the {makers} that it has itself", field="rate_limit")
    if asked.by.tenant is not None and _is_more(rate, usual):
        raise Forbidden(
            f"only a key for every tenant can allow more than the usual {usual} of this role", field="rate_limit"
        )
    return request.rate_limit


def _is_more(rate: Rate | None, bound: Rate | None) -> bool:
    """Tell whether a rate allows more than another in any stretch of time, where none is as often as one likes."""
    if bound is None:
        return False
    return rate is None or rate.per_second > bound.per_second or rate.requests > bound.requests


def _expiry(request: KeyRequest, asked: Asked) -> Instant | None:
    """Return when a new key ends: not after the one that it is made with."""
    wanted, makers = _wanted_expiry(request, asked.now), asked.by.ends_at
    if wanted is None or makers is None:
        return wanted if makers is None else makers
    if wanted > makers:
        field = "expires_at" if request.expires_at is not None else "expires_in"
        raise Forbidden(
            f"a key cannot outlive the one that it is made with, which ends at {moment_of(makers)}", field=field
        )
    return wanted


def _wanted_expiry(request: KeyRequest, now: Instant) -> Instant | None:
    if request.expires_at is not None and request.expires_in is not None:
        raise Invalid("cannot be given together with expires_at", field="expires_in")
    if request.expires_in is not None:
        duration = millis(parse_duration(request.expires_in, field="expires_in"))
        if duration == 0:
            raise Invalid("must be more than zero", field="expires_in")
        return Instant(now + duration)
    if request.expires_at is None:
        return None
    at = to_instant(request.expires_at, field="expires_at")
    if at <= now:
        raise Invalid("must be in the future", field="expires_at")
    return at
