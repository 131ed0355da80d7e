"""Who is behind a key: found by its digest, remembered for a moment, and counted."""

import asyncio
import hmac
from collections.abc import Sequence
from typing import Final

import structlog
from msgspec import Struct

from drumline.core.access import Caller
from drumline.core.api_key import ApiKey, KeyId, KeyUse
from drumline.core.clock import Clock
from drumline.core.errors import Unavailable
from drumline.core.policy import DEFAULT_POLICY, Policy
from drumline.core.rate import parse_rate
from drumline.engine.remembering import Memory, Remembered
from drumline.ports.access import Keys

FLUSH_EVERY: Final = 5.0
"""Seconds between two writes of how often keys were used."""
MOST_COUNTED: Final = 100_000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Identity(Struct, frozen=True):
    """A key, and the caller who comes with it."""

    key: ApiKey
    caller: Caller
    is_good: bool
    """Whether it surely opens, at any time."""


class Identities:
    """Finds out whose key it is, without asking the store for each request."""

    def __init__(self, store: Keys, *, clock: Clock) -> None:
        self.policy: Policy = DEFAULT_POLICY
        self._store = store
        self._clock = clock
        self._known: Remembered[bytes, Identity] = Remembered(self._find, name="API keys", clock=clock)
        self._uses: dict[KeyId, int] = {}
        self._flushing: asyncio.Task[None] | None = None

    def recall(self, digest: bytes) -> Memory[Identity] | None:
        """Return whose key has this digest, if that is known; None if somebody has to look."""
        return self._known.recall(digest)

    async def find(self, digest: bytes) -> Identity | None:
        """Look whose key has this digest; raises `Unavailable` if that cannot be told."""
        return await self._known.get(digest)

    def forget(self, key: KeyId) -> None:
        """Look again at a key that has changed."""
        self._known.forget(lambda identity: identity.key.id == key)

    def used(self, key: KeyId) -> None:
        """Count a use of a key; it is written down with others some seconds later, with the time it is then."""
        uses = self._uses.get(key, 0)
        if uses or len(self._uses) < MOST_COUNTED:
            self._uses[key] = uses + 1
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(self._flush_later(), name="note uses of keys")

    async def flush(self) -> None:
        """Write down how often keys were used."""
        uses, self._uses = self._uses, {}
        if not uses:
            return
        now = self._clock.now()
        try:
            await self._store.note_uses([KeyUse(key, count, now) for key, count in uses.items()])
        except Unavailable:  # they are written with the next ones
            for key, count in uses.items():
                self._uses[key] = self._uses.get(key, 0) + count

    async def close(self) -> None:
        """Write down what is left, and ask nothing more."""
        if self._flushing is not None:
            self._flushing.cancel()
            await asyncio.gather(self._flushing, return_exceptions=True)
        await self.flush()
        await self._known.close()

    async def _flush_later(self) -> None:
        try:
            while self._uses:
                await asyncio.sleep(FLUSH_EVERY)
                await self.flush()
        except Exception:
            log.exception("key_uses.lost")
        finally:
            self._flushing = None

    async def _find(self, digests: list[bytes]) -> Sequence[Identity | None]:
        found = await self._store.find_keys(digests)
        return [self._identity(digest, key) for digest, key in zip(digests, found, strict=True)]

    def _identity(self, digest: bytes, key: ApiKey | None) -> Identity | None:
        if key is None or not hmac.compare_digest(digest, key.digest):
            return None
        rate = self.policy.rates[key.spec.role]
        if key.spec.rate is not None:
            rate = parse_rate(key.spec.rate, field="rate")
        is_good = key.is_enabled and key.revoked_at is None and key.expires_at is None
        return Identity(key, key.caller(rate), is_good)
