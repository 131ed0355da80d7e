"""Tenants: whose things are whose, and how much each may have."""

import re
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.field_schema import Schema
from drumline.core.task import DEFAULT_TENANT

LONGEST_TENANT: Final = 63
TENANT_PATTERN: Final = r"[a-z0-9][a-z0-9_.-]*"

TENANT_SCHEMA: Final[Schema] = {"type": "string", "maxLength": LONGEST_TENANT, "pattern": f"^{TENANT_PATTERN}$"}

_TENANT = re.compile(TENANT_PATTERN)


class Quotas(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much a tenant may have; None means as much as it likes."""

    queued: int | None = None
    """Tasks that wait to be run."""
    payload_bytes: int | None = None
    """Bytes of JSON in the payload of one task."""
    schedules: int | None = None
    """Schedules."""
    weight: int | None = None
    """Its share of the workers that serve all tenants, where another tenant's is 1."""

    @property
    def are_about_tasks(self) -> bool:
        """Whether something has to be counted or weighed when tasks come in."""
        return self.queued is not None or self.payload_bytes is not None


NO_QUOTAS: Final = Quotas()


class Tenant(Struct, frozen=True, kw_only=True):
    """A tenant: its tasks, jobs and keys are invisible to other tenants."""

    name: str
    created_at: Instant
    quotas: Quotas = NO_QUOTAS


def check_tenant(name: str, *, field: str = "name") -> str:
    """Return a tenant's name: lower-case letters, digits and `_ . -`, since it is part of URLs and Redis keys."""
    if len(name) > LONGEST_TENANT:
        raise Invalid(f"must be at most {LONGEST_TENANT} characters", field=field)
    if _TENANT.fullmatch(name) is None:
        raise Invalid(
            "must be lower-case letters, digits and _ . - only, and start with a letter or digit", field=field
        )
    return name


def is_default(name: str) -> bool:
    """Tell whether it is the tenant that every installation has from its first day."""
    return name == DEFAULT_TENANT
