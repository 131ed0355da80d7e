"""What attempts leave behind besides their result: logs and files."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.log_lines import LogPiece, LogPlace


class LogChunk(Struct, frozen=True, kw_only=True):
    """A piece of an attempt's log; `seq` counts from 0 within the attempt."""

    task: TaskId
    epoch: int
    seq: int
    text: str
    nonce: int | None = None
    """The nonce of the lease, while it is on its way: it shows that the sender runs the attempt."""


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


class Outputs(Protocol):
    """Logs, files and progress of tasks."""

    async def append_log(self, chunks: Sequence[LogChunk]) -> None:
        """Keep pieces of logs; a piece that is there already is kept once."""
        ...

    async def first_logs(
        self, tasks: Sequence[TaskId], *, pieces: int, longest: int, tenant: str | None = None
    ) -> list[tuple[LogPiece, ...]]:
        """Return how the log of each task begins: its first pieces, each up to `longest` characters."""
        ...

    async def log_from(
        self, task: TaskId, place: LogPlace, *, pieces: int, longest: int, tenant: str | None = None
    ) -> tuple[LogPiece, ...]:
        """Return how the log of a task goes on at a place: the next pieces, each up to `longest` characters."""
        ...

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file under its task and name; a later one replaces it."""
        ...

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        ...

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact | None:
        """Return one file."""
        ...

    async def put_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Note how far attempts are, each lease once; of one that is not current nothing is kept."""
        ...

    async def progress(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Progress | None]:
        """Return how far the attempts are that run now; None where nothing runs, or nothing was said."""
        ...
