"""Signatures of webhooks, as Standard Webhooks has them: HMAC-SHA256 over id, time and body, under a shared secret.

While a secret is being changed, two are active and a message carries a signature under each, so that a receiver can
move from one to the other without refusing anything in between.
"""

import base64
import binascii
import hmac
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid

PREFIX: Final = "whsec_"
VERSION: Final = "v1"
LEAST_BYTES: Final = 24
MOST_BYTES: Final = 64
MOST_SECRETS: Final = 2


class SigningSecret(Struct, frozen=True, omit_defaults=True):
    """A secret, and until when it signs; None is for good."""

    text: str
    until: Instant | None = None

    def __repr__(self) -> str:
        return "Secret(***)"


Secrets = tuple[SigningSecret, ...]
"""The newest first."""


def secret_text(key: bytes) -> str:
    """Return key material as the text that people copy."""
    return PREFIX + base64.b64encode(key).decode()


def check_secret(text: str, *, field: str) -> str:
    """Return a signing secret that the caller gives, or raise `Invalid` naming `field`."""
    if not LEAST_BYTES <= len(_key_of(text) or b"") <= MOST_BYTES:
        raise Invalid(
            f"must be {PREFIX} and {LEAST_BYTES} to {MOST_BYTES} random bytes in base64; leave it out to get one",
            field=field,
        )
    return text


def rotated(secrets: Secrets, text: str, *, until: Instant) -> Secrets:
    """Return the secrets with a new one in front; the one that was newest signs until a time, any older no more."""
    return (SigningSecret(text), *(SigningSecret(old.text, until) for old in secrets[: MOST_SECRETS - 1]))


def active(secrets: Secrets, now: Instant) -> tuple[str, ...]:
    """Return those that sign at a time."""
    return tuple(secret.text for secret in secrets if secret.until is None or secret.until > now)


def signature(secrets: Iterable[str], *, id: str, seconds: int, body: bytes) -> str:
    """Return the value of the header `webhook-signature`: a signature under each secret."""
    signed = f"{id}.{seconds}.".encode() + body
    return " ".join(f"{VERSION},{_sign(secret, signed)}" for secret in secrets)


def _sign(secret: str, signed: bytes) -> str:
    return base64.b64encode(hmac.digest(_key_of(secret) or b"", signed, "sha256")).decode()


def _key_of(secret: str) -> bytes | None:
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True) if secret.startswith(PREFIX) else None
    except (binascii.Error, ValueError):
        return None
