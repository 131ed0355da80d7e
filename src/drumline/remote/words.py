"""The worker protocol as the worker's side reads and writes it (docs/reference/worker-protocol.md)."""

from datetime import datetime
from typing import Any, Final

from msgspec import Raw, Struct, structs

from drumline.core.clock import to_instant
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import Failed, Outcome, Released, Snoozed, Stopped, Succeeded
from drumline.core.progress import ProgressNote
from drumline.core.retry import DEFAULT_BACKOFF, DEFAULT_RETRIES, Backoff
from drumline.core.session import BeatReply
from drumline.core.state import State
from drumline.core.task import DEFAULT_TENANT, ClaimedTask, TaskOptions
from drumline.sdk.problems import Problem


class Opened(Struct, frozen=True):
    """The answer to a registration."""

    session: str
    wants_held: bool = False
    wants_nonce: bool = False
    tells_stops: bool = False


class ChunkWords(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of a log on the wire."""

    task: TaskId
    epoch: int
    seq: int
    text: str
    nonce: str | None = None


class LeaseWords(Struct, frozen=True):
    """A lease on the wire: its nonce is 16 hex digits."""

    task: TaskId
    epoch: int
    nonce: str


class ClaimedWords(Struct, frozen=True, kw_only=True):
    """A claimed task on the wire; what is absent is the default."""

    lease: LeaseWords
    name: str
    queue: str
    payload: Raw
    attempt: int
    priority: int = 0
    tenant: str = DEFAULT_TENANT
    retries: int = DEFAULT_RETRIES
    backoff: Backoff = DEFAULT_BACKOFF
    timeout: float | None = None
    tags: tuple[str, ...] = ()
    fire_time: datetime | None = None
    traceparent: str | None = None

    def task(self) -> ClaimedTask:
        """Return the task as a worker knows it."""
        lease = Lease(self.lease.task, self.lease.epoch, int(self.lease.nonce, 16))
        options = TaskOptions(
            retries=self.retries,
            backoff=self.backoff,
            timeout_ms=None if self.timeout is None else round(self.timeout * 1000),
            tags=self.tags,
            fire_time=None if self.fire_time is None else to_instant(self.fire_time, field="fire_time"),
            trace=self.traceparent,
        )
        return ClaimedTask(
            lease=lease,
            name=self.name,
            queue=self.queue,
            payload=Raw(bytes(self.payload)),  # a copy: the reply it points into is large, and freed with it
            attempt=self.attempt,
            priority=self.priority,
            tenant=self.tenant,
            options=options,
        )


class Claimed(Struct, frozen=True):
    """The answer to a claim."""

    tasks: tuple[ClaimedWords, ...]


class Beaten(Struct, frozen=True):
    """The answer to a beat."""

    is_open: bool
    lost: tuple[TaskId, ...] = ()
    cancelled: tuple[TaskId, ...] = ()
    should_drain: bool = False
    config: int = 0

    def reply(self) -> BeatReply:
        """Return the answer as a worker knows it."""
        return BeatReply(is_open=self.is_open, lost=self.lost, cancelled=self.cancelled, should_drain=self.should_drain)


class Told(Struct, frozen=True):
    """The answer to the question which attempts should stop."""

    lost: tuple[TaskId, ...] = ()
    cancelled: tuple[TaskId, ...] = ()


class Revealed(Struct, frozen=True):
    """The answer to a question for secrets."""

    secrets: dict[str, str] | None = None

    def __repr__(self) -> str:
        return "Revealed(***)"


class WorkerConfig(Struct, frozen=True):
    """What the runtime configuration says about workers."""

    version: int
    settings: dict[str, Any]


_STATES: Final = {state.name.lower(): state for state in State}


class SettledWords(Struct, frozen=True):
    """The answer to one report."""

    state: str | None = None
    error: Problem | None = None


class SettledAnswer(Struct, frozen=True):
    """The answers to reports, in their order."""

    reports: tuple[SettledWords, ...]


def lease_words(lease: Lease) -> LeaseWords:
    """Return a lease as it travels."""
    return LeaseWords(lease.task, lease.epoch, f"{lease.nonce:016x}")


def report_words(lease: Lease, outcome: Outcome) -> dict[str, Any]:
    """Return a report as it travels."""
    report: dict[str, Any] = {"lease": lease_words(lease)}
    match outcome:
        case Succeeded(result=result):
            return report | {"outcome": "succeeded", "result": result}
        case Failed(error=error, permanent=permanent, retry_after=retry_after):
            said = {"kind": error.kind, "message": error.message, "traceback": error.traceback}
            return report | {"outcome": "failed", "error": said, "permanent": permanent, "retry_after": retry_after}
        case Snoozed(seconds=seconds):
            return report | {"outcome": "snoozed", "seconds": seconds}
        case Released():
            return report | {"outcome": "released"}
        case Stopped():
            return report | {"outcome": "stopped"}


def state_of(word: str | None) -> State | None:
    """Return the state behind its word; None if only a later version has it."""
    return _STATES.get(word or "")


def progress_words(note: ProgressNote) -> dict[str, Any]:
    """Return how far an attempt is, as the protocol writes it."""
    return {"lease": lease_words(note.lease), **structs.asdict(note.progress)}
