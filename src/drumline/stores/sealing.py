"""AES-256-GCM with keys that can be changed: the first one seals, all of them open.

What is sealed says by which key, so that old and new values stand side by side while keys are changed:

    1 byte   the form, 1
    8 bytes  the id of the key: the beginning of its SHA-256 digest
    12 bytes a random nonce
    the rest the ciphertext and its tag, bound to what it is for
"""

import base64
import binascii
import os
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from drumline.core.errors import Conflict, Invalid, Unreadable
from drumline.ports.sealing import Purpose

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES: Final = 32
MOST_KEYS: Final = 2
ID_BYTES: Final = 8
NONCE_BYTES: Final = 12
FORM: Final = b"\x01"
HEAD: Final = len(FORM) + ID_BYTES

_SEPARATOR: Final = re.compile(r"[\s,]+")


def new_key_text() -> str:
    """Return a new key as people copy it."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def parse_keys(text: str, *, field: str = "secret_key") -> tuple[bytes, ...]:
    """Return the keys in a text, the one that seals first; `Invalid` says what is wrong, and nothing of the keys."""
    words = [word for word in _SEPARATOR.split(text) if word]
    if not 1 <= len(words) <= MOST_KEYS:
        raise Invalid("must be one key, or two while they are changed: the new one, then the old one", field=field)
    keys = tuple(_key_of(word, field) for word in words)
    if len(set(keys)) != len(keys):
        raise Invalid("has the same key twice", field=field)
    return keys


def _key_of(word: str, field: str) -> bytes:
    try:
        key = base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Invalid(f"must be {KEY_BYTES} random bytes in base64; `drumline secrets new-key` makes one", field=field)
    return key


class AesBox:
    """`ports.sealing.Box` with AES-GCM."""

    is_ready = True

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = tuple(keys)
        self._ids = tuple(sha256(key).digest()[:ID_BYTES] for key in self._keys)
        self._ciphers: Mapping[bytes, AESGCM] | None = None

    @property
    def key_id(self) -> str:
        """The key that seals."""
        return self._ids[0].hex()

    def seal(self, text: str, purpose: Purpose) -> bytes:
        """Return a text sealed with the first key."""
        id_ = self._ids[0]
        nonce = os.urandom(NONCE_BYTES)
        sealed: bytes = self._cipher(id_).encrypt(nonce, text.encode(), _bound(purpose))
        return FORM + id_ + nonce + sealed

    def open(self, sealed: bytes, purpose: Purpose) -> str:
        """Return what was sealed, with any of the keys; `Unreadable` if no key fits or it was altered."""
        id_ = _id_in(sealed)
        if id_ not in self._ids:
            raise Unreadable(f"it was sealed with the key {id_.hex()}, which is not here", field="secret_key")
        nonce, rest = sealed[HEAD : HEAD + NONCE_BYTES], sealed[HEAD + NONCE_BYTES :]
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - only those who have secrets need it

        try:
            opened: bytes = self._cipher(id_).decrypt(nonce, rest, _bound(purpose))
            return opened.decode()
        except (InvalidTag, ValueError):
            raise Unreadable("it is not what was sealed, or not for this") from None

    def key_of(self, sealed: bytes) -> str:
        """Return the id of the key that something is sealed with."""
        return _id_in(sealed).hex()

    def _cipher(self, id_: bytes) -> Any:
        if self._ciphers is None:
            try:
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
            except ModuleNotFoundError as error:
                reason = "secrets need the package cryptography: pip install 'drumline[server]'"
                raise Conflict(reason, field="secret_key") from error
            self._ciphers = {id_: AESGCM(key) for id_, key in zip(self._ids, self._keys, strict=True)}
        return self._ciphers[id_]


def _id_in(sealed: bytes) -> bytes:
    if len(sealed) <= HEAD + NONCE_BYTES or not sealed.startswith(FORM):
        raise Unreadable("it is not in a form that this version knows")
    return sealed[len(FORM) : HEAD]


def _bound(purpose: Purpose) -> bytes:
    """Return what a ciphertext is bound to; lengths keep ("a", "bc") and ("ab", "c") apart."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in (word.encode() for word in ("drumline", *purpose)))
