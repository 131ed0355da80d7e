"""The blob store: bytes under names, beside the database. A blob is written once and never changed."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant


class BlobEntry(Struct, frozen=True):
    """A blob in a list."""

    name: str
    modified_at: Instant


class BlobStore(Protocol):
    """Keeps blobs. `Unavailable` is raised when it cannot be reached; every call may be repeated."""

    @property
    def place(self) -> str:
        """Where it is, for people; without credentials."""
        ...

    async def put(self, name: str, data: bytes) -> None:
        """Keep bytes under a name; when this returns they are durable."""
        ...

    async def get(self, name: str, *, largest: int) -> bytes | None:
        """Return the bytes of a name, or None if there are none; of more than `largest` only the first so many."""
        ...

    async def list(self, home: str, *, after: str, limit: int) -> list[BlobEntry]:
        """Return up to `limit` blobs whose names begin with `home/`, in the order of their names, after one of them."""
        ...

    async def delete(self, names: Sequence[str]) -> None:
        """Delete blobs; those that there are not are passed over."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
