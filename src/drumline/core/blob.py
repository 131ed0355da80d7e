"""References to blobs: what a database keeps in the place of a large payload or result.

A reference is JSON behind a space. No payload or result begins with one: `without_space` removes it where they come in,
so that nothing that a caller sends is taken for a reference.
"""

import re
from hashlib import sha256
from typing import Final

from msgspec import Raw, Struct

from drumline.core.codec import decode, encode
from drumline.core.ids import TaskId

SPACE: Final = b" "
"""What a reference begins with, and no payload or result."""
MARK: Final = b' {"blob":"'
_NAME: Final = re.compile(r"[0-9A-Za-z_-]{1,64}/[0-9a-f-]{36}/[0-9a-f]{64}")
_WHITE: Final = b" \t\r\n"


class BlobReference(Struct, frozen=True):
    """The name of a blob, which ends with the SHA-256 digest of its bytes, and how many bytes it has."""

    blob: str
    size: int

    def fits(self, data: bytes) -> bool:
        """Tell whether some bytes are those that were kept."""
        return len(data) == self.size and self.blob.rpartition("/")[2] == sha256(data).hexdigest()


def blob_name(home: str, task: TaskId, data: bytes) -> str:
    """Return the name of a blob: whose it is, of which task, and the digest of its bytes."""
    return f"{home}/{task}/{sha256(data).hexdigest()}"


def task_of(name: str) -> TaskId | None:
    """Return the task that a blob belongs to; None for a name that is no blob's."""
    return TaskId(name.split("/")[1]) if _NAME.fullmatch(name) else None


def write_reference(name: str, size: int) -> bytes:
    """Return a reference as it is stored."""
    return b" " + encode(BlobReference(name, size))


def is_reference(stored: bytes | Raw) -> bool:
    """Tell whether something stored is a reference."""
    return bytes(memoryview(stored)[: len(MARK)]) == MARK


def read_reference(stored: bytes | Raw) -> BlobReference | None:
    """Return a stored reference; None for what is stored itself."""
    return decode(bytes(stored)[1:], BlobReference) if is_reference(stored) else None


def full_size(stored: bytes) -> int:
    """Return the bytes of what is stored, or of the blob that it refers to."""
    reference = read_reference(stored)
    return len(stored) if reference is None else reference.size


def without_space(data: bytes) -> bytes:
    """Return JSON without white space in front of it."""
    return data.lstrip(_WHITE) if data[:1] <= b" " else data
