"""The keys that a server is started with, as digests compared in constant time; all others are in the store."""

import hmac
from collections.abc import Callable, Iterable

from drumline.core.access import Caller
from drumline.core.api_key import digest_of, is_strong

FIRST = Caller("first key")
"""The caller of a key that the server was started with: an administrator of the whole installation."""


class ConfiguredKeys:
    """The keys that a server was started with, valid whatever the store says. Only their digests are kept in memory."""

    def __init__(self, keys: Iterable[str]) -> None:
        given = tuple(keys)
        self._digests = tuple(digest_of(key.encode()) for key in given)
        self._guessable = frozenset(digest_of(key.encode()) for key in given if not is_strong(key))
        if not self._digests:
            raise ValueError("a server without keys would accept no request")

    def has(self, digest: bytes) -> bool:
        """Tell whether it is the digest of one of them; the time taken says nothing about how near a guess was."""
        is_known = False
        for ours in self._digests:
            is_known |= hmac.compare_digest(digest, ours)
        return is_known

    def is_guessable(self, digest: bytes) -> bool:
        """Tell whether it is a configured key weak enough to be guessed."""
        return digest in self._guessable

    def vouches(self, proof: str, proof_of: Callable[[bytes], str]) -> bool:
        """Tell whether a proof is that of one of them."""
        is_known = False
        for ours in self._digests:
            is_known |= hmac.compare_digest(proof.encode(), proof_of(ours).encode())
        return is_known


def presented(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes | None, bytes | None]:
    """Return the key that a request carries in `X-API-Key` or `Authorization: Bearer`, and its `X-Tenant`, if any."""
    given = dict(headers)
    key = given.get(b"x-api-key")
    if key is None and (token := given.get(b"authorization")) is not None and token[:7].lower() == b"bearer ":
        key = token[7:].strip()
    return key, given.get(b"x-tenant")
