"""Who is behind a key: found by its digest, remembered for a moment, and counted."""

import asyncio
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog
from msgspec import Struct

from drumline.aio.caching import CachedLookup, Memory
from drumline.core.access import Caller, KeyPolicy
from drumline.core.api_key import ApiKey, KeyId, KeyUse
from drumline.core.clock import Clock
from drumline.core.errors import Unavailable
from drumline.core.rate import parse_rate
from drumline.ports.access import Keys
from drumline.ports.limiter import KeyTurns

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


@dataclass(slots=True)
class CheckedKey:
    """What lets the requests of one key through without a question, for under a second.

    It is found by the key itself, so that nothing has to be hashed and compared for each request. How long that took
    tells nobody anything: Python looks a key up by a hash that is secret to the process.
    """

    caller: Caller
    until: float
    """When the key has to be looked at again, on the monotonic clock."""
    digest: bytes | None = None
    """The digest of the key, if it is one of the store's."""
    uses: list[int] = field(default_factory=lambda: [0])
    """How often the key was used, shared with the count that is written down."""
    turns: KeyTurns | None = None
    """The turns that the key has in hand, if it is limited."""


class Identities:
    """Finds out whose key it is, without asking the store for each request."""

    def __init__(self, store: Keys, *, clock: Clock, policy: KeyPolicy) -> None:
        self.policy = policy
        self._store = store
        self._clock = clock
        self._known: CachedLookup[bytes, Identity] = CachedLookup(self._find, name="API keys", clock=clock)
        self.passes: dict[bytes, CheckedKey] = {}
        self._uses: dict[KeyId, list[int]] = {}
        self._flushing: asyncio.Task[None] | None = None

    def recall(self, digest: bytes) -> Memory[Identity] | None:
        """Return whose key has this digest, if that is known; None if the store has to be asked."""
        return self._known.recall(digest)

    async def find(self, digest: bytes) -> Identity | None:
        """Look whose key has this digest; raises `Unavailable` if that cannot be told."""
        return await self._known.get(digest)

    def forget(self, key: KeyId) -> None:
        """Look again at a key that has changed."""
        self.passes.clear()
        self._known.forget(lambda identity: identity.key.id == key)

    def uses_of(self, key: KeyId) -> list[int]:
        """Return where uses of a key are counted; they are written down together, with the time it is then."""
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(self._flush_later(), name="note uses of keys")
        return self._uses.setdefault(key, [0]) if len(self._uses) < MOST_COUNTED else [0]

    async def flush(self) -> None:
        """Write down how often keys were used, and let go of passes that are not good any more."""
        now = self._clock.monotonic()
        self.passes = {key: each for key, each in self.passes.items() if now < each.until}
        uses = {key: count[0] for key, count in self._uses.items() if count[0]}
        for key in uses:
            self._uses[key][0] = 0
        if not uses:
            self._uses.clear()
            self.passes.clear()  # they count in what was let go
            return
        at = self._clock.now()
        try:
            await self._store.note_uses([KeyUse(key, count, at) for key, count in uses.items()])
        except Unavailable:  # they are written with the next ones
            for key, count in uses.items():
                self._uses.setdefault(key, [0])[0] += count

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
        return Identity(key, key.caller(rate, self.policy.shared_rate(key.spec.role)), is_good)
