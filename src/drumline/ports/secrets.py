"""The part of the store that keeps tenants' secrets, sealed: it has no key and cannot read them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from drumline.core.secret import SealedSecret, SecretView


class PutSecret(NamedTuple):
    """A secret whose value was set, and whether there was none of that name before."""

    secret: SecretView
    created: bool


class Resealed(NamedTuple):
    """A secret that was sealed anew: what it was, and what it is to be."""

    old: SealedSecret
    new: SealedSecret


class Secrets(Protocol):
    """Secrets by tenant and name."""

    async def put_secret(self, secret: SealedSecret) -> PutSecret:
        """Keep a secret; a value that there was under its name is replaced, and gone."""
        ...

    async def find_secrets(self, names: Sequence[str], *, tenant: str) -> list[SealedSecret | None]:
        """Return a tenant's secrets by name."""
        ...

    async def list_secrets(
        self, *, tenant: str | None = None, limit: int, after: tuple[str, str] | None = None
    ) -> list[SecretView]:
        """Return secrets by tenant and name, starting above `after`."""
        ...

    async def count_secrets(self, tenant: str) -> int:
        """Return how many secrets a tenant has."""
        ...

    async def delete_secret(self, name: str, *, tenant: str) -> bool:
        """Forget a secret; tell whether there was one."""
        ...

    async def sealed_otherwise(
        self, key_id: str, *, limit: int, after: tuple[str, str] | None = None
    ) -> list[SealedSecret]:
        """Return secrets that are not sealed with a key, by tenant and name, starting above `after`."""
        ...

    async def reseal_secrets(self, resealed: Sequence[Resealed]) -> int:
        """Replace sealed values that still are the old ones, and return how many were. Versions stay as they are."""
        ...
