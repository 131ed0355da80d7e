"""The read model: copies of where tasks stand, for those who ask often. Never decisive, and never waited for."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobOptions, JobStatus
from drumline.core.state import Status
from drumline.core.task import TaskOptions
from drumline.ports.store import LogChunk


class Moment(StrEnum):
    """When in a task's life it was seen; notes of several processes arrive in any order."""

    SUBMITTED = "submitted"  # or merely looked at: whatever is known already is newer
    CLAIMED = "claimed"  # newer than anything but its end
    SETTLED = "settled"  # the newest of its epoch
    RENEWED = "renewed"  # by an operator, who begins a new epoch, even after an end


class Facts(Struct, frozen=True):
    """What does not change while a task lives."""

    name: str
    command: str
    options: TaskOptions


class Note(Struct, frozen=True, kw_only=True):
    """Where a task was seen to stand. What is None is not known here."""

    task: TaskId
    moment: Moment
    status: Status
    facts: Facts | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    epoch: int = 0
    """The task's epoch at that moment, if it is known: a note of an older one comes too late."""
    waits_ms: int = 0
    """How long the task has to wait until it is due."""


class JobFacts(Struct, frozen=True, kw_only=True):
    """What does not change while a job lives."""

    name: str
    owner: str | None
    created_at: Instant
    options: JobOptions
    schedule_id: str | None
    fire_time: Instant | None
    needs: Mapping[str, tuple[str, ...]]
    """The keys that each of its tasks needs."""
    tasks: Mapping[str, TaskId]
    """The ids of its tasks by key."""


class JobNote(Struct, frozen=True, kw_only=True):
    """Where a job was seen to stand; with the facts when it is new."""

    job: JobId
    status: JobStatus
    facts: JobFacts | None = None
    renews: bool = False
    """Whether it had ended before, and goes on."""
    version: int = 0
    """The job's version at that moment, if it is known: a note of an older one comes too late."""


class LetterNote(Struct, frozen=True, kw_only=True):
    """Whether a task has a dead letter."""

    task: TaskId
    job: JobId | None
    is_there: bool


class ReadModel(Protocol):
    """Keeps notes for a while: as long as a task is worth looking at, and some minutes after its end."""

    def note(self, notes: Iterable[Note]) -> None:
        """Write where tasks stand, in the background. Under pressure notes are left out: `status` then says less."""
        ...

    def renew(self, note: Note) -> None:
        """Write what an operator changed, in the background. This is never left out: it may undo an end."""
        ...

    def note_job(self, note: JobNote) -> None:
        """Write the status of a job, in the background. There are few, so this is not left out."""
        ...

    def note_letters(self, notes: Sequence[LetterNote]) -> None:
        """Write which tasks have a dead letter, in the background."""
        ...

    async def caught_up(self) -> None:
        """Wait while so much that must not be left out waits to be written that there is hardly room for more."""
        ...

    def keep(self, tasks: Sequence[TaskId]) -> None:
        """Keep the notes of tasks that are still being run."""
        ...

    async def keep_waiting(self, tasks: Sequence[tuple[TaskId, Status]]) -> list[TaskId] | None:
        """Keep the notes of tasks that wait, and return those of which nothing is known; None if that is not known."""
        ...

    async def keep_jobs(self, jobs: Sequence[JobId]) -> None:
        """Keep the notes of jobs that have not ended."""
        ...

    async def may_keep(self, seconds: float) -> bool:
        """Tell whether no other process has renewed the notes of what waits in the last so many seconds."""
        ...

    async def check(self) -> None:
        """Raise `Unavailable` if the read model takes no notes."""
        ...

    def log(self, chunks: Sequence[LogChunk]) -> None:
        """Copy pieces of logs, in the background; the store has them all."""
        ...

    async def status(self, tasks: Sequence[TaskId]) -> list[Status | None]:
        """Return where tasks stand, as far as that is known here and likely still true; else None: ask the store."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...
