"""API keys: only their digests are kept."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from drumline.core.api_key import ApiKey, KeyId, KeySpec, KeyUse, NewKey, key_fact
from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.ports.access import KeyChange
from drumline.stores.driver import Line, Part, Transaction, tell_facts


class Keys(Part):
    """`ports.access.Keys`."""

    async def add_key(self, key: NewKey) -> ApiKey:
        """Keep a new key; the same one added again is kept once."""
        return await self._database.transact(
            Line.REQUEST, lambda transaction: self._add_key(transaction, key), repeat=True
        )

    async def find_keys(self, digests: Sequence[bytes]) -> list[ApiKey | None]:
        """Return whose keys these are the digests of, whether they still open anything or not."""
        rows = await self._database.fetch(Line.REQUEST, "find_keys", repeat=True, digests=list(digests))
        found = {key.digest: key for key in map(_key, rows)}
        return [found.get(digest) for digest in digests]

    async def get_key(self, key: KeyId, *, tenant: str | None = None) -> ApiKey | None:
        """Return a key by its id."""
        rows = await self._database.fetch(Line.REQUEST, "get_key", repeat=True, within=tenant, id=key, tenant=tenant)
        return _key(rows[0]) if rows else None

    async def list_keys(self, *, tenant: str | None = None, limit: int, before: KeyId | None = None) -> list[ApiKey]:
        """Return keys, newest first, starting below `before`."""
        rows = await self._database.fetch(
            Line.BROAD, "list_keys", repeat=True, within=tenant, tenant=tenant, limit=limit, before=before
        )
        return [_key(row) for row in rows]

    async def change_key(self, key: KeyId, change: KeyChange, *, tenant: str | None = None) -> ApiKey:
        """Change a key and return it; raises `NotFound`, or `Conflict` for one that was revoked."""

        async def act(transaction: Transaction) -> ApiKey:
            before, now = await self._lock_key(transaction, key, tenant)
            if before.revoked_at is not None:
                if change.is_revoked:
                    return before
                raise Conflict(f"key {key} was revoked, and that is final", field="id")
            revoked_at = now if change.is_revoked else None
            await transaction.fetch("change_key", id=key, is_enabled=change.is_enabled, revoked_at=revoked_at)
            (row,) = await transaction.fetch("get_key", id=key, tenant=tenant)
            after = _key(row)
            if after != before:
                await tell_facts(transaction, [key_fact(change.verb, after)], now=self._now())
            return after

        return await self._database.transact(Line.REQUEST, act, repeat=True, within=tenant)

    async def rotate_key(self, key: KeyId, new: NewKey, *, overlap_ms: int, tenant: str | None = None) -> ApiKey:
        """Keep a new key in the place of an old one, which expires after `overlap_ms`; both open until then."""

        async def act(transaction: Transaction) -> ApiKey:
            old, now = await self._lock_key(transaction, key, tenant)
            if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
                raise Conflict(f"key {key} opens nothing any more; make a new one", field="id")
            await transaction.fetch("expire_key", id=key, expires_at=now + overlap_ms)
            return await self._add_key(transaction, new)

        return await self._database.transact(Line.REQUEST, act, repeat=True, within=tenant)

    async def note_uses(self, uses: Sequence[KeyUse]) -> None:
        """Add to how often keys were used, and when last."""
        await self._database.fetch(
            Line.REQUEST,
            "note_uses",
            keys=[use.key for use in uses],
            counts=[use.count for use in uses],
            times=[use.last_at for use in uses],
        )

    async def _add_key(self, transaction: Transaction, key: NewKey) -> ApiKey:
        values = msgspec.structs.asdict(key) | {"spec": encode(key.spec).decode()}
        is_new = await transaction.fetch("add_key", **values, now=self._now())
        (row,) = await transaction.fetch("get_key", id=key.id, tenant=None)
        added = _key(row)
        if is_new:
            verb = "rotated" if key.spec.replaces else "created"
            await tell_facts(transaction, [key_fact(verb, added)], now=self._now())
        return added

    async def _lock_key(self, transaction: Transaction, key: KeyId, tenant: str | None) -> tuple[ApiKey, Instant]:
        rows = await transaction.fetch("lock_key", id=key, tenant=tenant, now=self._now())
        if not rows:
            raise NotFound(f"there is no key {key}", field="id")
        *row, now = rows[0]
        return _key(row), Instant(now)


def _key(row: Iterable[Any]) -> ApiKey:
    id_, tenant, digest, spec, created_at, expires_at, revoked_at, last_used_at, is_enabled, uses = row
    return ApiKey(
        id=KeyId(str(id_)), tenant=tenant, digest=digest, spec=decode(spec, KeySpec), created_at=Instant(created_at),
        expires_at=expires_at, revoked_at=revoked_at, last_used_at=last_used_at, is_enabled=bool(is_enabled), uses=uses,
    )  # fmt: skip
