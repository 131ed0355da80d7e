"""What attempts leave behind besides their result: logs and files."""

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.lease import Lease


class LogChunk(Struct, frozen=True, kw_only=True):
    """A piece of an attempt's log; `seq` counts from 0 within the attempt."""

    task: TaskId
    epoch: int
    seq: int
    text: str
    nonce: int | None = None
    """The nonce of the lease, while it is on its way: it shows that the sender runs the attempt."""


class LogPage(Struct, frozen=True):
    """A stretch of a task's log, and the cursor after it: (epoch, seq) of the last chunk."""

    text: str
    after: tuple[int, int]


class Artifact(Struct, frozen=True, kw_only=True):
    """A file that a task made."""

    task: TaskId
    name: str
    content_type: str
    data: bytes
    lease: Lease | None = None
    """The attempt that made it, while it is on its way: a late one must not replace the file of a newer."""


class ArtifactView(Struct, frozen=True, kw_only=True):
    """What is known of an artifact without reading it."""

    name: str
    content_type: str
    size: int
    created_at: Instant
