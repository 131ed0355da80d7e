"""Who may come in: API keys, kept as digests and compared in constant time."""

import hmac
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from drumline.core.task import DEFAULT_TENANT


class Caller(Struct, frozen=True):
    """Whose key it was. A `tenant` of None sees every tenant's tasks."""

    name: str
    tenant: str | None = None

    @property
    def home(self) -> str:
        """The tenant under which its tasks and queues are kept."""
        return self.tenant or DEFAULT_TENANT


ADMIN = Caller("admin")


class KeyRing:
    """The keys that open the door. Only their digests are kept in memory."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = tuple(sha256(key.encode()).digest() for key in keys)
        if not self._digests:
            raise ValueError("a key ring without keys would let nobody in")

    def caller(self, key: bytes) -> Caller | None:
        """Return whose key it is, or None; the time taken says nothing about how near a guess was."""
        digest = sha256(key).digest()
        known = False
        for ours in self._digests:
            known |= hmac.compare_digest(digest, ours)
        return ADMIN if known else None


def presented_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return the key that a request carries in `X-API-Key` or `Authorization: Bearer`, if any."""
    for name, value in headers:
        if name == b"x-api-key":
            return value
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
    return None
