"""Sealing: what only the holder of a key may read is kept so that nobody else can."""

from typing import Final, NoReturn, Protocol

from drumline.core.errors import Conflict, Unreadable

NO_KEY: Final = (
    "this installation has no key to seal secrets with: make one with `drumline secrets new-key` and give it to every "
    "server as DRUMLINE_SECRET_KEY, or in the file that DRUMLINE_SECRET_KEY_FILE names"
)

Purpose = tuple[str, ...]
"""What sealed text is bound to, such as ("secret", tenant, name): under another purpose it cannot be opened."""


class Box(Protocol):
    """Seals and opens texts."""

    @property
    def is_ready(self) -> bool:
        """Whether there is a key."""
        ...

    @property
    def key_id(self) -> str:
        """The key that seals; `Conflict` if there is none."""
        ...

    def seal(self, text: str, purpose: Purpose) -> bytes:
        """Return a text sealed with the first key; `Conflict` if there is none."""
        ...

    def open(self, sealed: bytes, purpose: Purpose) -> str:
        """Return what was sealed, with any of the keys; `Unreadable` if no key fits or it was altered."""
        ...

    def key_of(self, sealed: bytes) -> str:
        """Return the id of the key that something is sealed with."""
        ...


class NoBox:
    """What there is without a key: nothing can be sealed, and nothing opened."""

    is_ready = False

    @property
    def key_id(self) -> str:
        """The key that seals: there is none."""
        raise Conflict(NO_KEY, field="secret_key")

    def seal(self, text: str, purpose: Purpose) -> NoReturn:  # noqa: ARG002
        """Raise `Conflict`."""
        raise Conflict(NO_KEY, field="secret_key")

    def open(self, sealed: bytes, purpose: Purpose) -> NoReturn:  # noqa: ARG002
        """Raise `Unreadable`."""
        raise Unreadable("this process has no key", field="secret_key")

    def key_of(self, sealed: bytes) -> NoReturn:  # noqa: ARG002
        """Raise `Unreadable`."""
        raise Unreadable("this process has no key", field="secret_key")
