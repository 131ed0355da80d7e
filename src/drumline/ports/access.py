"""The part of the store that says who may come in, whose things are whose, and who did what.

A `tenant` of None means every tenant's, as everywhere.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.api_key import ApiKey, KeyId, KeyUse, NewKey
from drumline.core.audit import AuditEntry, AuditHead, AuditRow
from drumline.core.clock import Instant
from drumline.core.tenant import Quotas, Tenant


class KeyChange(Struct, frozen=True, kw_only=True):
    """What to change of a key; a revocation is final."""

    is_enabled: bool | None = None
    is_revoked: bool = False

    @property
    def verb(self) -> str:
        """What was done to the key, in the past tense."""
        if self.is_revoked:
            return "revoked"
        return "enabled" if self.is_enabled else "disabled"


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which rows of the audit log to list; what is None does not narrow."""

    tenant: str | None = None
    act: str | None = None
    key: str | None = None
    target: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    every: bool = False
    """Whether to list what was asked even where its answer is listed too."""


class Keys(Protocol):
    """API keys. Only digests are kept."""

    async def add_key(self, key: NewKey) -> ApiKey:
        """Keep a new key; the same one added again is kept once."""
        ...

    async def find_keys(self, digests: Sequence[bytes]) -> list[ApiKey | None]:
        """Return whose keys these are the digests of, whether they still open anything or not."""
        ...

    async def get_key(self, key: KeyId, *, tenant: str | None = None) -> ApiKey | None:
        """Return a key by its id."""
        ...

    async def list_keys(self, *, tenant: str | None = None, limit: int, before: KeyId | None = None) -> list[ApiKey]:
        """Return keys, newest first, starting below `before`."""
        ...

    async def change_key(self, key: KeyId, change: KeyChange, *, tenant: str | None = None) -> ApiKey:
        """Change a key and return it; raises `NotFound`, or `Conflict` for one that was revoked.

        What is asked for already holds, such as revoking it twice, is no conflict.
        """
        ...

    async def rotate_key(self, key: KeyId, new: NewKey, *, overlap_ms: int, tenant: str | None = None) -> ApiKey:
        """Keep a new key in the place of an old one, which expires after `overlap_ms`; both open until then.

        Raises `NotFound`, or `Conflict` for a key that was revoked or has expired.
        """
        ...

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        """Add to how often keys were used, and when last."""
        ...


class Tenants(Protocol):
    """Tenants. The default one belongs to every installation; it may have no row, and then it is not found here."""

    async def add_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Keep a new tenant; raises `Conflict` if there is one of that name."""
        ...

    async def find_tenants(self, names: Sequence[str]) -> list[Tenant | None]:
        """Return tenants by name."""
        ...

    async def list_tenants(self, *, limit: int, after: str | None = None) -> list[Tenant]:
        """Return tenants by name, starting above `after`."""
        ...

    async def change_tenant(self, name: str, quotas: Quotas) -> Tenant:
        """Give a tenant other quotas; raises `NotFound`."""
        ...

    async def weights(self) -> dict[str, int]:
        """Return the weight of each tenant that has one; the others' is 1."""
        ...

    async def count_queued(self, tenant: str, *, most: int) -> int:
        """Return how many tasks of a tenant wait to be run, counting no further than `most`."""
        ...

    async def count_schedules(self, tenant: str) -> int:
        """Return how many schedules a tenant has."""
        ...


class AuditLog(Protocol):
    """The audit log: rows are added, and never changed or taken away."""

    async def append_audit(self, entries: Sequence[AuditEntry]) -> list[AuditRow]:
        """Write entries into the chains of their tenants, in order, at the store's time; one already there stays once.

        Whoever appends at the same time comes before or after, never in between.
        """
        ...

    async def list_audit(self, which: AuditFilter, *, limit: int, before: str | None = None) -> list[AuditRow]:
        """Return rows, newest first, starting below the id `before`."""
        ...

    async def audit_chain(self, tenant: str, *, after: int, limit: int) -> list[AuditRow]:
        """Return a stretch of a tenant's chain, in its order, starting above the place `after`."""
        ...

    async def audit_heads(self, *, tenant: str | None = None) -> list[AuditHead]:
        """Return how each chain ends, as it is kept beside the rows, by tenant."""
        ...
