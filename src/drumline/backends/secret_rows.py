"""What the stores make of the rows of secrets, which have the same columns in both."""

from collections.abc import Iterable, Sequence
from typing import Any

from drumline.core.clock import Instant
from drumline.core.secret import SealedSecret, SecretView
from drumline.ports.secrets import PutSecret


def secret_of(row: Iterable[Any]) -> SecretView:
    """Return what people may know of a secret."""
    tenant, name, version, key_id, created_at, updated_at = row
    return SecretView(
        tenant=tenant,
        name=name,
        version=version,
        key_id=key_id,
        created_at=Instant(created_at),
        updated_at=Instant(updated_at),
    )


def put_of(row: Iterable[Any]) -> PutSecret:
    """Return a secret whose value was just set."""
    secret = secret_of(row)
    return PutSecret(secret, created=secret.version == 1)


def sealed_of(row: Iterable[Any]) -> SealedSecret:
    """Return a secret as it is kept."""
    tenant, name, key_id, sealed = row
    return SealedSecret(tenant=tenant, name=name, key_id=key_id, sealed=bytes(sealed))


def by_name(rows: Iterable[Iterable[Any]], names: Sequence[str]) -> list[SealedSecret | None]:
    """Return the secrets in the order of the names that were asked for."""
    found = {secret.name: secret for secret in map(sealed_of, rows)}
    return [found.get(name) for name in names]


def after_of(after: tuple[str, str] | None) -> dict[str, str | None]:
    """Return the place that a list goes on from, as parameters."""
    tenant, name = after or (None, None)
    return {"after_tenant": tenant, "after_name": name}
