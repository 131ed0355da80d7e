"""API keys: their syntax, and what is stored of them.

    sk_live_6Qm…43 characters…zX4f0Kd2
    │  │    │                   └ 6 characters: CRC-32 of all before, so that a mistyped key is recognised at once
    │  │    └ 256 random bits in base 62
    │  └ the environment, so that keys of the test system are not taken for those of production
    └ what secret scanners look for

Only the SHA-256 digest of a key is kept: it is random enough that nothing slower is needed.
"""

import re
from hashlib import sha256
from typing import Final, NewType
from zlib import crc32

from msgspec import Struct

from drumline.core.access import EVERY_TENANT, Caller, Permission, Role, permissions_of
from drumline.core.clock import Instant, moment_of
from drumline.core.errors import Invalid
from drumline.core.event import Fact
from drumline.core.rate import Rate

KeyId = NewType("KeyId", str)

SECRET_BYTES: Final = 32
ENVIRONMENT_PATTERN: Final = r"[a-z0-9]{1,16}"

LEAST_LENGTH: Final = 8
"""The minimum length of a first key that an operator chooses."""
STRONG_LENGTH: Final = 24
"""The length from which a key cannot be guessed, if enough of its characters differ."""
STRONG_CHARACTERS: Final = 10

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_LENGTH: Final = 43
_CHECK_LENGTH: Final = 6
_SHOWN: Final = 6
_LIKE_OURS: Final = re.compile(rf"sk_{ENVIRONMENT_PATTERN}_[0-9A-Za-z]{{40,60}}")


class KeySpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a key was made for; it never changes."""

    name: str
    role: Role
    prefix: str
    """How the key begins, to recognise it by."""
    scopes: tuple[Permission, ...] = ()
    names: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    rate: str | None = None
    """How often it may ask, where that is not what its role says."""
    created_by: str = ""
    """The key that it was made with."""
    replaces: KeyId | None = None
    """The key that it was rotated from."""
    is_own: bool = False
    """Whether its tenant made it itself, and not the installation; or, of one for every tenant, whether another such
    key made it, and not the first."""


class NewKey(Struct, frozen=True, kw_only=True):
    """A key on its way into the store."""

    id: KeyId
    tenant: str | None
    digest: bytes
    spec: KeySpec
    expires_at: Instant | None = None


class ApiKey(Struct, frozen=True, kw_only=True):
    """A stored key. A `tenant` of None means every tenant."""

    id: KeyId
    tenant: str | None
    digest: bytes
    spec: KeySpec
    created_at: Instant
    expires_at: Instant | None = None
    revoked_at: Instant | None = None
    last_used_at: Instant | None = None
    is_enabled: bool = True
    uses: int = 0

    def refusal(self, now: Instant) -> str | None:
        """Return why it opens nothing at this time; None if it does."""
        if self.revoked_at is not None:
            return "the API key was revoked"
        if not self.is_enabled:
            return "the API key is disabled"
        if self.expires_at is not None and self.expires_at <= now:
            return "the API key has expired"
        return None

    def caller(self, rate: Rate | None, shared: Rate | None = None) -> Caller:
        """Return who comes with it; `rate` is how often it may ask, `shared` how often all that its tenant made may."""
        spec = self.spec
        return Caller(
            spec.name,
            self.tenant,
            self.id,
            spec.role,
            permissions_of(spec.role, spec.scopes, self.tenant),
            spec.names,
            spec.queues,
            rate,
            ends_at=self.expires_at,
            shared=shared if spec.is_own else None,
            is_bounded=spec.rate is not None,
            replaces=spec.replaces,
            is_of_tenant=self.tenant is not None,
        )


class KeyUse(Struct, frozen=True):
    """How often a key was used lately, and when last."""

    key: KeyId
    count: int
    last_at: Instant


def key_fact(verb: str, key: ApiKey) -> Fact:
    """Return the fact that a key was created, disabled, enabled, revoked or rotated; it opens nothing."""
    data = {
        "id": key.id,
        "name": key.spec.name,
        "prefix": key.spec.prefix,
        "role": key.spec.role,
        "tenant": key.tenant or EVERY_TENANT,
        "expires_at": None if key.expires_at is None else moment_of(key.expires_at),
        "replaces": key.spec.replaces,
    }
    return Fact(f"drumline.key.{verb}", key.id, key.tenant or "", data)


def make_key(environment: str, secret: bytes) -> str:
    """Return a key of 32 random bytes."""
    body = f"sk_{environment}_{_base62(int.from_bytes(secret), _SECRET_LENGTH)}"
    return body + _check(body)


def check_first_key(key: str) -> str:
    """Return a key that a server is to start with, or raise `Invalid` if it could be guessed in no time."""
    if len(key) < LEAST_LENGTH or len(set(key)) < LEAST_LENGTH // 2:
        raise Invalid(
            f"is too easy to guess: it must have at least {LEAST_LENGTH} characters, {LEAST_LENGTH // 2} of them "
            f"different; leave it out to have one made, or take the output of `openssl rand -hex 32`",
            field="api_key",
        )
    if not (key.isascii() and key.isprintable() and key == key.strip()):
        raise Invalid("must be printable ASCII characters, since it travels in a header", field="api_key")
    return key


def is_strong(key: str) -> bool:
    """Tell whether a key is too long to be guessed."""
    return len(key) >= STRONG_LENGTH and len(set(key)) >= STRONG_CHARACTERS


def is_mistyped(key: bytes) -> bool:
    """Tell whether a text has the form of our keys, but a wrong checksum."""
    text = key.decode("latin-1")
    if _LIKE_OURS.fullmatch(text) is None:
        return False
    body = text[:-_CHECK_LENGTH]
    return len(body.rpartition("_")[2]) != _SECRET_LENGTH or _check(body) != text[-_CHECK_LENGTH:]


def prefix_of(key: str) -> str:
    """Return how a key begins: enough to recognise it, too little to guess it."""
    head, _, secret = key.rpartition("_")
    return f"{head}_{secret[:_SHOWN]}"


def digest_of(key: bytes) -> bytes:
    """Return what is kept of a key."""
    return sha256(key).digest()


def _check(body: str) -> str:
    return _base62(crc32(body.encode()), _CHECK_LENGTH)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
