"""API keys: only their digests are kept."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from drumline.backends.sqlite.access import Access, batch_of, tell_facts
from drumline.backends.sqlite.statements import SQL
from drumline.core.api_key import ApiKey, KeyId, KeySpec, KeyUse, NewKey, key_fact
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.ports.access import KeyChange


class Keys(Access):
    """`ports.access.Keys` on SQLite."""

    async def add_key(self, key: NewKey) -> ApiKey:
        """Keep a new key; the same one added again is kept once."""
        return await self._database.write(lambda connection: self._add_key(connection, key))

    async def find_keys(self, digests: Sequence[bytes]) -> list[ApiKey | None]:
        """Return whose keys these are the digests of, whether they still open anything or not."""

        def look(connection: sqlite3.Connection) -> list[ApiKey | None]:
            rows = (connection.execute(SQL["find_key"], {"digest": digest}).fetchone() for digest in digests)
            return [None if row is None else _key(row) for row in rows]

        return await self._database.read(look)

    async def get_key(self, key: KeyId, *, tenant: str | None = None) -> ApiKey | None:
        """Return a key by its id."""
        return await self._database.read(lambda connection: _get(connection, key, tenant))

    async def list_keys(self, *, tenant: str | None = None, limit: int, before: KeyId | None = None) -> list[ApiKey]:
        """Return keys, newest first, starting below `before`."""
        span = {"tenant": tenant, "limit": limit, "before": before}
        rows = await self._database.read(lambda connection: connection.execute(SQL["list_keys"], span).fetchall())
        return [_key(row) for row in rows]

    async def change_key(self, key: KeyId, change: KeyChange, *, tenant: str | None = None) -> ApiKey:
        """Change a key and return it; raises `NotFound`, or `Conflict` for one that was revoked."""

        def act(connection: sqlite3.Connection) -> ApiKey:
            before = _found(connection, key, tenant)
            if before.revoked_at is not None:
                if change.is_revoked:
                    return before
                raise Conflict(f"key {key} was revoked, and that is final", field="id")
            now = self._now()
            row = {"id": key, "is_enabled": change.is_enabled, "revoked_at": now if change.is_revoked else None}
            connection.execute(SQL["change_key"], row)
            after = _found(connection, key, tenant)
            if after != before:
                tell_facts(connection, now, [key_fact(change.verb, after)])
            return after

        return await self._database.write(act)

    async def rotate_key(self, key: KeyId, new: NewKey, *, overlap_ms: int, tenant: str | None = None) -> ApiKey:
        """Keep a new key in the place of an old one, which expires after `overlap_ms`; both open until then."""

        def act(connection: sqlite3.Connection) -> ApiKey:
            now = self._now()
            old = _found(connection, key, tenant)
            if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
                raise Conflict(f"key {key} opens nothing any more; make a new one", field="id")
            connection.execute(SQL["expire_key"], {"id": key, "expires_at": now + overlap_ms})
            return self._add_key(connection, new)

        return await self._database.write(act)

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        """Add to how often keys were used, and when last."""
        await self._change("note_uses", {"batch": batch_of([(use.key, use.count, use.last_at) for use in uses])})

    def _add_key(self, connection: sqlite3.Connection, key: NewKey) -> ApiKey:
        now = self._now()
        row = msgspec.structs.asdict(key) | {"spec": encode(key.spec).decode(), "now": now}
        is_new = connection.execute(SQL["add_key"], row).rowcount
        added = _found(connection, key.id, None)
        if is_new:
            tell_facts(connection, now, [key_fact("rotated" if key.spec.replaces else "created", added)])
        return added


def _get(connection: sqlite3.Connection, key: KeyId, tenant: str | None) -> ApiKey | None:
    row = connection.execute(SQL["get_key"], {"id": key, "tenant": tenant}).fetchone()
    return None if row is None else _key(row)


def _found(connection: sqlite3.Connection, key: KeyId, tenant: str | None) -> ApiKey:
    found = _get(connection, key, tenant)
    if found is None:
        raise NotFound(f"there is no key {key}", field="id")
    return found


def _key(row: tuple[Any, ...]) -> ApiKey:
    id_, tenant, digest, spec, created_at, expires_at, revoked_at, last_used_at, is_enabled, uses = row
    return ApiKey(
        id=KeyId(id_), tenant=tenant, digest=digest, spec=decode(spec, KeySpec), created_at=Instant(created_at),
        expires_at=expires_at, revoked_at=revoked_at, last_used_at=last_used_at, is_enabled=bool(is_enabled), uses=uses,
    )  # fmt: skip
