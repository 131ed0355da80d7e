"""Sealing: what a browser keeps for us comes back as it was, or not at all.

A sealed text can be read by anyone who has it, but made only by servers that share the secret. Each purpose has
a key of its own, so that what was sealed for one is nothing for another.
"""

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

LEAST_SECRET: Final = 16
"""Bytes that a secret must have."""


class Seal:
    """Seals values for a purpose, and opens what was sealed."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < LEAST_SECRET:
            raise ValueError(f"a secret of under {LEAST_SECRET} bytes protects nothing")
        self._secret = secret

    def __repr__(self) -> str:
        return "Seal(***)"

    def derive(self, purpose: str, text: str | bytes = b"") -> str:
        """Return a keyed hash of a text: the same for the same text, and not computable without the secret."""
        told = text.encode() if isinstance(text, str) else text
        return _written(hmac.digest(self._key(purpose), told, "sha256"))

    def seal(self, purpose: str, value: msgspec.Struct) -> str:
        """Return a value as sealed text, fit for a cookie."""
        body = _written(msgspec.json.encode(value))
        return f"{body}.{self.derive(purpose, body)}"

    def open(self, purpose: str, text: str, type: type[T]) -> T | None:
        """Return the value that was sealed for this purpose; None if the seal or the form is wrong."""
        body, _, mark = text.rpartition(".")
        if not body or not hmac.compare_digest(mark.encode(), self.derive(purpose, body).encode()):
            return None
        try:
            return msgspec.json.decode(_read(body), type=type)
        except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError):
            return None

    def _key(self, purpose: str) -> bytes:
        return hmac.digest(self._secret, f"drumline {purpose}".encode(), "sha256")


def _written(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _read(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
