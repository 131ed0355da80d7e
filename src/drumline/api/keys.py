"""The keys that a server is started with, as digests compared in constant time; all others are in the store."""

import hmac
from collections.abc import Iterable
from typing import NamedTuple

from drumline.core.access import Caller
from drumline.core.api_key import digest_of

FIRST = Caller("first key")
"""Whoever comes with a key that the server was started with: an administrator of the whole installation."""


class KeyRing:
    """The keys that open the door whatever the store says. Only their digests are kept in memory."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = tuple(digest_of(key.encode()) for key in keys)
        if not self._digests:
            raise ValueError("a key ring without keys would let nobody in")

    def has(self, digest: bytes) -> bool:
        """Tell whether it is the digest of one of them; the time taken says nothing about how near a guess was."""
        is_known = False
        for ours in self._digests:
            is_known |= hmac.compare_digest(digest, ours)
        return is_known


class Presented(NamedTuple):
    """What a request says of its sender."""

    key: bytes | None = None
    tenant: bytes | None = None
    """The tenant to act for, where the key is for every tenant."""


def presented(headers: Iterable[tuple[bytes, bytes]]) -> Presented:
    """Return the key that a request carries in `X-API-Key` or `Authorization: Bearer`, and its `X-Tenant`, if any."""
    key = tenant = None
    for name, value in headers:
        if name == b"x-api-key":
            key = value if key is None else key
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            key = value[7:].strip() if key is None else key
        elif name == b"x-tenant":
            tenant = value
    return Presented(key, tenant)
