"""Tenants' secrets, sealed."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from drumline.core.clock import Instant
from drumline.core.secret import SealedSecret, SecretView, secret_fact
from drumline.ports.secrets import PutSecret, Resealed
from drumline.stores.driver import Line, Part, Transaction, tell_facts


class Secrets(Part):
    """`ports.secrets.Secrets`."""

    async def put_secret(self, secret: SealedSecret) -> PutSecret:
        """Keep a secret; a value that there was under its name is replaced, and gone."""

        async def act(transaction: Transaction) -> PutSecret:
            (row,) = await transaction.fetch("put_secret", **msgspec.structs.asdict(secret), now=self._now())
            await tell_facts(transaction, [secret_fact("set", secret.tenant, secret.name)], now=self._now())
            return _put(row)

        return await self._database.transact(Line.REQUEST, act, within=secret.tenant)

    async def find_secrets(self, names: Sequence[str], *, tenant: str) -> list[SealedSecret | None]:
        """Return a tenant's secrets by name."""
        rows = await self._database.fetch(
            Line.REQUEST, "find_secrets", repeat=True, within=tenant, names=list(names), tenant=tenant
        )
        return _by_name(rows, names)

    async def list_secrets(
        self, *, tenant: str | None = None, limit: int, after: tuple[str, str] | None = None
    ) -> list[SecretView]:
        """Return secrets by tenant and name, starting above `after`."""
        rows = await self._database.fetch(
            Line.BROAD, "list_secrets", repeat=True, within=tenant, tenant=tenant, limit=limit, **_after(after)
        )
        return [_secret(row) for row in rows]

    async def count_secrets(self, tenant: str) -> int:
        """Return how many secrets a tenant has."""
        ((count,),) = await self._database.fetch(Line.BROAD, "count_secrets", repeat=True, within=tenant, tenant=tenant)
        return int(count)

    async def delete_secret(self, name: str, *, tenant: str) -> bool:
        """Forget a secret; tell whether there was one."""

        async def act(transaction: Transaction) -> bool:
            gone = bool(await transaction.fetch("delete_secret", tenant=tenant, name=name))
            if gone:
                await tell_facts(transaction, [secret_fact("deleted", tenant, name)], now=self._now())
            return gone

        return await self._database.transact(Line.REQUEST, act, within=tenant)

    async def sealed_otherwise(
        self, key_id: str, *, limit: int, after: tuple[str, str] | None = None
    ) -> list[SealedSecret]:
        """Return secrets that are not sealed with a key, by tenant and name, starting above `after`."""
        rows = await self._database.fetch(
            Line.BROAD, "sealed_otherwise", repeat=True, key_id=key_id, limit=limit, **_after(after)
        )
        return [_sealed(row) for row in rows]

    async def reseal_secrets(self, resealed: Sequence[Resealed]) -> int:
        """Replace sealed values that still are the old ones, and return how many were."""
        rows = await self._database.fetch(
            Line.REQUEST,
            "reseal_secrets",
            tenants=[old.tenant for old, _ in resealed],
            names=[old.name for old, _ in resealed],
            olds=[old.sealed for old, _ in resealed],
            sealed=[new.sealed for _, new in resealed],
            key_ids=[new.key_id for _, new in resealed],
        )
        return len(rows)


def _secret(row: Iterable[Any]) -> SecretView:
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


def _put(row: Iterable[Any]) -> PutSecret:
    """Return a secret whose value was just set."""
    secret = _secret(row)
    return PutSecret(secret, created=secret.version == 1)


def _sealed(row: Iterable[Any]) -> SealedSecret:
    """Return a secret as it is kept."""
    tenant, name, key_id, sealed = row
    return SealedSecret(tenant=tenant, name=name, key_id=key_id, sealed=bytes(sealed))


def _by_name(rows: Iterable[Iterable[Any]], names: Sequence[str]) -> list[SealedSecret | None]:
    """Return the secrets in the order of the names that were asked for."""
    found = {secret.name: secret for secret in map(_sealed, rows)}
    return [found.get(name) for name in names]


def _after(after: tuple[str, str] | None) -> dict[str, str | None]:
    """Return the place that a list goes on from, as parameters."""
    tenant, name = after or (None, None)
    return {"after_tenant": tenant, "after_name": name}
