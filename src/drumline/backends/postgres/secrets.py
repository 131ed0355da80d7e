"""Tenants' secrets, sealed."""

from collections.abc import Sequence

import msgspec

from drumline.backends.postgres.access import Access, tell_facts
from drumline.backends.postgres.database import Line, Transaction
from drumline.backends.secret_rows import after_of, by_name, put_of, sealed_of, secret_of
from drumline.core.secret import SealedSecret, SecretView, secret_fact
from drumline.ports.secrets import PutSecret, Resealed


class Secrets(Access):
    """`ports.secrets.SecretKeeping` on PostgreSQL."""

    async def put_secret(self, secret: SealedSecret) -> PutSecret:
        """Keep a secret; a value that there was under its name is replaced, and gone."""

        async def act(transaction: Transaction) -> PutSecret:
            (row,) = await transaction.fetch("put_secret", **msgspec.structs.asdict(secret), now=self._now())
            await tell_facts(transaction, [secret_fact("set", secret.tenant, secret.name)], now=self._now())
            return put_of(row)

        return await self._database.transact(Line.DESK, act, within=secret.tenant)

    async def find_secrets(self, names: Sequence[str], *, tenant: str) -> list[SealedSecret | None]:
        """Return a tenant's secrets by name."""
        rows = await self._database.fetch(
            Line.DESK, "find_secrets", repeat=True, within=tenant, names=list(names), tenant=tenant
        )
        return by_name(rows, names)

    async def list_secrets(
        self, *, tenant: str | None = None, limit: int, after: tuple[str, str] | None = None
    ) -> list[SecretView]:
        """Return secrets by tenant and name, starting above `after`."""
        rows = await self._database.fetch(
            Line.BROAD, "list_secrets", repeat=True, within=tenant, tenant=tenant, limit=limit, **after_of(after)
        )
        return [secret_of(row) for row in rows]

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

        return await self._database.transact(Line.DESK, act, within=tenant)

    async def sealed_otherwise(
        self, key_id: str, *, limit: int, after: tuple[str, str] | None = None
    ) -> list[SealedSecret]:
        """Return secrets that are not sealed with a key, by tenant and name, starting above `after`."""
        rows = await self._database.fetch(
            Line.BROAD, "sealed_otherwise", repeat=True, key_id=key_id, limit=limit, **after_of(after)
        )
        return [sealed_of(row) for row in rows]

    async def reseal_secrets(self, resealed: Sequence[Resealed]) -> int:
        """Replace sealed values that still are the old ones, and return how many were."""
        rows = await self._database.fetch(
            Line.DESK,
            "reseal_secrets",
            tenants=[old.tenant for old, _ in resealed],
            names=[old.name for old, _ in resealed],
            olds=[old.sealed for old, _ in resealed],
            sealed=[new.sealed for _, new in resealed],
            key_ids=[new.key_id for _, new in resealed],
        )
        return len(rows)
