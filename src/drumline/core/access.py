"""Who may do what: roles, the permissions under them, and the caller behind a request.

A role is a set of permissions; a key's scopes narrow it, and so do the task names and queues it is meant for. Nothing
widens it. Which operation needs which permission stands in `rules.py`.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Forbidden
from drumline.core.globs import globs_of
from drumline.core.rate import Rate
from drumline.core.task import DEFAULT_TENANT

EVERY_TENANT: Final = "*"
"""Whose key it is when it is for the whole installation."""
FIRST_KEY: Final = "first"
"""The id of the key that the server was started with; it is in no table."""


class Role(StrEnum):
    """What a key is for."""

    ADMIN = "admin"
    OPERATOR = "operator"
    SUBMITTER = "submitter"
    WORKER = "worker"
    VIEWER = "viewer"


class Permission(StrEnum):
    """What may be done; the names are the scopes of keys."""

    TASKS_READ = "tasks:read"
    TASKS_SUBMIT = "tasks:submit"
    TASKS_CONTROL = "tasks:control"
    TASKS_SIGNAL = "tasks:signal"
    QUEUES_READ = "queues:read"
    QUEUES_CONTROL = "queues:control"
    WORKERS_READ = "workers:read"
    WORKERS_CONTROL = "workers:control"
    WORKERS_PROTOCOL = "workers:protocol"
    SCHEDULES_READ = "schedules:read"
    SCHEDULES_WRITE = "schedules:write"
    EVENTS_READ = "events:read"
    SUBSCRIPTIONS_READ = "subscriptions:read"
    SUBSCRIPTIONS_WRITE = "subscriptions:write"
    ALERTS_READ = "alerts:read"
    ALERTS_WRITE = "alerts:write"
    SECRETS_READ = "secrets:read"
    SECRETS_WRITE = "secrets:write"
    METRICS_READ = "metrics:read"
    SYSTEM_READ = "system:read"
    AUDIT_READ = "audit:read"
    KEYS_MANAGE = "keys:manage"
    TENANTS_READ = "tenants:read"
    TENANTS_MANAGE = "tenants:manage"
    CONFIG_READ = "config:read"
    CONFIG_WRITE = "config:write"
    SHARDS_READ = "shards:read"
    SHARDS_MANAGE = "shards:manage"


_LOOKING: Final = frozenset(
    {
        Permission.TASKS_READ,
        Permission.QUEUES_READ,
        Permission.WORKERS_READ,
        Permission.SCHEDULES_READ,
        Permission.EVENTS_READ,
        Permission.SUBSCRIPTIONS_READ,
        Permission.ALERTS_READ,
        Permission.METRICS_READ,
        Permission.SYSTEM_READ,
        Permission.TENANTS_READ,
        Permission.CONFIG_READ,
        Permission.SHARDS_READ,
    }
)
_OPERATING: Final = frozenset(
    {
        Permission.TASKS_SUBMIT,
        Permission.TASKS_CONTROL,
        Permission.TASKS_SIGNAL,
        Permission.QUEUES_CONTROL,
        Permission.WORKERS_CONTROL,
        Permission.SCHEDULES_WRITE,
        Permission.SUBSCRIPTIONS_WRITE,
        Permission.ALERTS_WRITE,
        Permission.SECRETS_READ,
        Permission.SECRETS_WRITE,
        Permission.AUDIT_READ,
        Permission.CONFIG_WRITE,
    }
)

ROLES: Final[Mapping[Role, frozenset[Permission]]] = MappingProxyType(
    {
        Role.ADMIN: frozenset(Permission),
        Role.OPERATOR: _LOOKING | _OPERATING,
        Role.SUBMITTER: frozenset(
            {
                Permission.TASKS_SUBMIT,
                Permission.TASKS_SIGNAL,
                Permission.TASKS_READ,
                Permission.QUEUES_READ,
                Permission.WORKERS_READ,
            }
        ),
        Role.WORKER: frozenset({Permission.WORKERS_PROTOCOL}),
        Role.VIEWER: _LOOKING,
    }
)
"""What each role may do."""

INSTALLATION: Final = frozenset(
    {
        Permission.SYSTEM_READ,
        Permission.TENANTS_MANAGE,
        Permission.CONFIG_READ,
        Permission.CONFIG_WRITE,
        Permission.SHARDS_READ,
        Permission.SHARDS_MANAGE,
    }
)
"""What only a key for every tenant may do, whatever its role."""


def permissions_of(role: Role, scopes: tuple[Permission, ...], tenant: str | None) -> frozenset[Permission]:
    """Return what a key may do: what its role may, narrowed by its scopes and to its tenant."""
    held = ROLES[role].intersection(scopes) if scopes else ROLES[role]
    return held if tenant is None else held - INSTALLATION


class Caller(Struct, frozen=True):
    """Whose key it was, and what it may do. A `tenant` of None sees every tenant's things."""

    name: str
    tenant: str | None = None
    id: str = FIRST_KEY
    role: Role = Role.ADMIN
    permissions: frozenset[Permission] = ROLES[Role.ADMIN]
    names: tuple[str, ...] = ()
    """Patterns of the task names it is meant for; none means all."""
    queues: tuple[str, ...] = ()
    """Patterns of queues, likewise."""
    rate: Rate | None = None
    """How often it may ask; nothing means as often as it likes."""
    ends_at: Instant | None = None
    """When it ends, and with it every key that it makes."""
    shared: Rate | None = None
    """How often all keys of its role that its tenant made itself may ask together, if it is one of those."""
    is_bounded: bool = False
    """Whether it has a rate of its own, and not that of its role."""
    replaces: str | None = None
    """The id of the key that it was rotated from."""
    is_of_tenant: bool = False
    """Whether it is the key of one tenant, and not one of the installation's that acts for a tenant."""

    @property
    def home(self) -> str:
        """The tenant under which its tasks and queues are kept."""
        return self.tenant or DEFAULT_TENANT

    @property
    def is_narrowed(self) -> bool:
        """Whether it may submit and run some tasks only."""
        return bool(self.names or self.queues)

    def acting_for(self, tenant: str) -> "Caller":
        """Return the caller as one of a tenant, and nothing more."""
        return msgspec.structs.replace(self, tenant=tenant, permissions=self.permissions - INSTALLATION)

    def check(self, permission: Permission) -> None:
        """Raise `Forbidden` with the reason if it may not do this."""
        if permission in self.permissions:
            return
        if permission in ROLES[self.role]:
            why = "this key is for one tenant only" if permission in INSTALLATION else "its scopes leave that out"
        else:
            able = ", ".join(role for role in Role if permission in ROLES[role])
            why = f"its role is {self.role}; {able} may" if able else f"its role is {self.role}"
        raise Forbidden(f"this key lacks the permission {permission}: {why}")

    def covers(self, name: str, queue: str) -> bool:
        """Tell whether it is meant for tasks of this name in this queue."""
        return (not self.names or is_any(self.names, name)) and (not self.queues or is_any(self.queues, queue))

    def check_reach(self, name: str, queue: str) -> None:
        """Raise `Forbidden` if it is not meant for tasks of this name in this queue."""
        if self.names and not is_any(self.names, name):
            raise Forbidden(f"this key is for tasks named {_listed(self.names)} only, not {name}")
        if self.queues and not is_any(self.queues, queue):
            raise Forbidden(f"this key is for queues named {_listed(self.queues)} only, not {queue}")

    def check_whole(self) -> None:
        """Raise `Forbidden` if it is meant for some tasks only: for what is about all of them."""
        if self.is_narrowed:
            raise Forbidden("this key is for some tasks only, and this is about all of them")

    def check_submission(self, name: str, queue: str, *, field: str = "") -> None:
        """Raise `Forbidden` if it may not submit tasks of this name into this queue."""
        if self.names and not is_any(self.names, name):
            raise Forbidden(
                f"this key may only submit tasks named {_listed(self.names)}, not {name}", field=f"{field}name"
            )
        if self.queues and not is_any(self.queues, queue):
            raise Forbidden(
                f"this key may only submit into queues named {_listed(self.queues)}, not {queue}", field=f"{field}queue"
            )

    def narrow_queues(self, queues: tuple[str, ...]) -> tuple[str, ...]:
        """Return the queues that a worker with this key serves when it asks for some, or with none for all."""
        if not self.queues:
            return queues
        if not queues:
            if any("*" in pattern for pattern in self.queues):
                raise Forbidden(
                    f"this key may only serve queues named {_listed(self.queues)}: name those to serve", field="queues"
                )
            return self.queues
        for queue in queues:
            if not is_any(self.queues, queue):
                raise Forbidden(
                    f"this key may only serve queues named {_listed(self.queues)}, not {queue}", field="queues"
                )
        return queues

    def may_serve(self, queue: str) -> bool:
        """Tell whether a worker with this key may serve a queue."""
        return not self.queues or is_any(self.queues, queue)

    def may_run(self, name: str) -> bool:
        """Tell whether a worker with this key may run tasks of a name."""
        return not self.names or is_any(self.names, name)


def is_any(patterns: tuple[str, ...], text: str) -> bool:
    """Tell whether a text matches one of some patterns, in which `*` matches any text."""
    return globs_of(patterns).match(text)


def are_within(patterns: tuple[str, ...], wider: tuple[str, ...]) -> bool:
    """Tell whether everything that `patterns` match is matched by `wider`, where none means all.

    A star can be covered only by a star, so a pattern read as a text is matched by every pattern that is as wide.
    """
    return not wider or (bool(patterns) and all(is_any(wider, pattern) for pattern in patterns))


def _listed(patterns: tuple[str, ...]) -> str:
    return " or ".join(patterns)


USUAL: Final = Rate(100, 60.0)
"""The rate of a key that has none of its own."""
WORKING: Final = Rate(60_000, 60.0)
"""The same for workers: a fleet shares a key, and each of its members claims, beats and reports."""

DEFAULT_RATES: Final[Mapping[Role, Rate | None]] = MappingProxyType(
    {role: WORKING if role is Role.WORKER else USUAL for role in Role}
)


class KeyPolicy(Struct, frozen=True, kw_only=True):
    """How keys are made, and how often they may be used."""

    environment: str = "live"
    """The word in the middle of new keys."""
    rates: Mapping[Role, Rate | None] = DEFAULT_RATES
    """How often the keys of each role may ask that have no rate of their own; None means as often as they like."""
    first_rate: Rate | None = None
    """The same for the key that the server was started with."""
    anonymous_rate: Rate | None = Rate(1000, 60.0)
    """How often an address may ask an API server without anything that is good; None means as often as it likes."""
    tenant_keys: int = 10
    """The keys that a tenant made itself may together ask as often as so many keys of their role."""
    proxies: tuple[str, ...] = ()
    """Networks whose word is taken on where a request came from."""

    def shared_rate(self, role: Role) -> Rate | None:
        """Return how often the keys of a role that a tenant made itself may ask together."""
        usual = self.rates[role]
        return None if usual is None else Rate(usual.requests * self.tenant_keys, usual.seconds)


DEFAULT_POLICY: Final = KeyPolicy()
