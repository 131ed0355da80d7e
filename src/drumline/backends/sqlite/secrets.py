"""Tenants' secrets, sealed."""

import sqlite3
from collections.abc import Sequence

import msgspec

from drumline.backends.secret_rows import after_of, by_name, put_of, sealed_of, secret_of
from drumline.backends.sqlite.access import Access, batch_of, tell_facts
from drumline.backends.sqlite.statements import SQL
from drumline.core.secret import SealedSecret, SecretView, secret_fact
from drumline.ports.secrets import PutSecret, Resealed


class Secrets(Access):
    """`ports.secrets.SecretKeeping` on SQLite."""

    async def put_secret(self, secret: SealedSecret) -> PutSecret:
        """Keep a secret; a value that there was under its name is replaced, and gone."""

        def act(connection: sqlite3.Connection) -> PutSecret:
            now = self._now()
            row = connection.execute(SQL["put_secret"], msgspec.structs.asdict(secret) | {"now": now}).fetchone()
            tell_facts(connection, now, [secret_fact("set", secret.tenant, secret.name)])
            return put_of(row)

        return await self._database.write(act)

    async def find_secrets(self, names: Sequence[str], *, tenant: str) -> list[SealedSecret | None]:
        """Return a tenant's secrets by name."""
        which = {"tenant": tenant, "names": batch_of(names)}
        rows = await self._database.read(lambda connection: connection.execute(SQL["find_secrets"], which).fetchall())
        return by_name(rows, names)

    async def list_secrets(
        self, *, tenant: str | None = None, limit: int, after: tuple[str, str] | None = None
    ) -> list[SecretView]:
        """Return secrets by tenant and name, starting above `after`."""
        span = {"tenant": tenant, "limit": limit, **after_of(after)}
        rows = await self._database.read(lambda connection: connection.execute(SQL["list_secrets"], span).fetchall())
        return [secret_of(row) for row in rows]

    async def count_secrets(self, tenant: str) -> int:
        """Return how many secrets a tenant has."""
        whose = {"tenant": tenant}
        (count,) = await self._database.read(
            lambda connection: connection.execute(SQL["count_secrets"], whose).fetchone()
        )
        return int(count)

    async def delete_secret(self, name: str, *, tenant: str) -> bool:
        """Forget a secret; tell whether there was one."""

        def act(connection: sqlite3.Connection) -> bool:
            gone = connection.execute(SQL["delete_secret"], {"tenant": tenant, "name": name}).rowcount > 0
            if gone:
                tell_facts(connection, self._now(), [secret_fact("deleted", tenant, name)])
            return gone

        return await self._database.write(act)

    async def sealed_otherwise(
        self, key_id: str, *, limit: int, after: tuple[str, str] | None = None
    ) -> list[SealedSecret]:
        """Return secrets that are not sealed with a key, by tenant and name, starting above `after`."""
        span = {"key_id": key_id, "limit": limit, **after_of(after)}
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["sealed_otherwise"], span).fetchall()
        )
        return [sealed_of(row) for row in rows]

    async def reseal_secrets(self, resealed: Sequence[Resealed]) -> int:
        """Replace sealed values that still are the old ones, and return how many were."""

        def act(connection: sqlite3.Connection) -> int:
            rows = [msgspec.structs.asdict(new) | {"old": old.sealed} for old, new in resealed]
            return sum(connection.execute(SQL["reseal_secret"], row).rowcount for row in rows)

        return await self._database.write(act)
