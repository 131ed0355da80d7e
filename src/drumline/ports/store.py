"""The store: the durable truth about tasks, leases, attempts and sessions.

Every intent takes a list and is one transaction. What an intent returns has been committed. `Unavailable` is raised
when the store cannot be reached; then nothing is known, and every intent may be repeated safely.

The store's clock decides what is due. A store is given a `Clock` by tests; without one it uses its own.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Raw, Struct

from drumline.core.attempt import AttemptView
from drumline.core.clock import Instant
from drumline.core.dead_letter import Cause
from drumline.core.errors import Conflict, Fenced, KeyReused, NotFound
from drumline.core.ids import JobId, SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.progress import Progress, ProgressNote
from drumline.core.session import Beat, BeatReply, SessionSpec, SessionView
from drumline.core.shares import Share
from drumline.core.state import Act, State, Status
from drumline.core.task import ClaimedTask, Lane, NewTask, Submitted, TaskOptions, TaskView
from drumline.ports.access import AccessStore
from drumline.ports.bulk import Bulks
from drumline.ports.changed import Changed as Changed  # noqa: PLC0414 - given on, like hints
from drumline.ports.counting import Counting
from drumline.ports.dead_letters import DeadLetters
from drumline.ports.flow import Flow
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.hint import Hint as Hint  # noqa: PLC0414 - given on: it belongs to half of these answers
from drumline.ports.jobs import Jobs
from drumline.ports.notifications import Notifications
from drumline.ports.outbox import Outbox
from drumline.ports.runtime_config import RuntimeConfigs
from drumline.ports.schedules import Schedules
from drumline.ports.secrets import SecretKeeping
from drumline.ports.sign_ins import SignIns
from drumline.ports.stats import Stats


class ClaimRequest(Struct, frozen=True, kw_only=True):
    """A session asks for up to `limit` tasks.

    `nonce` is random and new for each claim; a claim whose answer was lost is repeated with the same nonce and
    `again` set, and gets the same tasks. `hints` narrows the choice to these tasks; without hints the store
    chooses by itself, and among tenants by their `shares`.
    """

    session: SessionId
    nonce: int
    limit: int
    queues: tuple[str, ...]
    names: tuple[str, ...]
    tenant: str | None = None
    hints: tuple[TaskId, ...] | None = None
    again: bool = False
    shares: tuple[Share, ...] = ()
    waits: bool = False
    """Whether the session will wait if there is nothing: the queue may then hand it the next task."""
    limited: bool = False
    """Ask for tasks under flow limits, and for no others; without it, for those that are under none."""


class Claim(Struct, frozen=True):
    """The answer to a claim: tasks, best first, and when the next one will be due if none is."""

    tasks: tuple[ClaimedTask, ...]
    next_due: Instant | None = None
    left: tuple[Lease, ...] = ()
    """What was leased besides and would have made the answer too large: whoever claimed has to release it."""


class Standing(Struct, frozen=True):
    """What the engine needs to decide about a failed attempt."""

    failures: int
    """How many attempts had failed before this one."""
    options: TaskOptions


class Settlement(Struct, frozen=True, kw_only=True, gc=False):
    """How an attempt ended, decided: `act` is one of `core.state.SETTLING`."""

    lease: Lease
    act: Act
    delay_ms: int = 0
    """For `back_off` and `snooze`: how far from now the task is due again."""
    result: Raw | None = None
    error: ErrorInfo | None = None
    job: JobId | None = None
    """The job that the task belongs to, if whoever settles it knows: then it need not be looked for."""
    cause: Cause | None = None
    """For `fail`: what the dead letter says; made from the error if nobody has decided it."""


class Settled(Struct, frozen=True, gc=False):
    """A settlement that holds: the task's state after it, the hint if it was queued again, and what it led to."""

    state: State
    hint: Hint | None = None
    effects: Effects = NO_EFFECTS


class Change(Struct, frozen=True, kw_only=True):
    """A reschedule: what is None stays as it is."""

    task: TaskId
    run_at: Instant | None = None
    delay_ms: int | None = None
    priority: int | None = None


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to list; what is None does not narrow."""

    tenant: str | None = None
    statuses: frozenset[Status] = frozenset()
    queue: str | None = None
    name: str | None = None
    tag: str | None = None
    idempotency_key: str | None = None
    worker: SessionId | None = None
    job: JobId | None = None


class QueueView(Struct, frozen=True, kw_only=True):
    """A queue as it stands."""

    tenant: str
    name: str
    pending: int
    queued: int
    processing: int
    oldest_due_at: Instant | None
    is_paused: bool
    reason: str | None = None


class LogChunk(Struct, frozen=True, kw_only=True):
    """A piece of an attempt's log; `seq` counts from 0 within the attempt."""

    task: TaskId
    epoch: int
    seq: int
    text: str


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


class Reaped(Struct, frozen=True, kw_only=True):
    """What a reap did: sessions closed, tasks queued again, tasks failed as poison, ghosts given back."""

    sessions: tuple[SessionId, ...] = ()
    requeued: tuple[Hint, ...] = ()
    poisoned: tuple[TaskId, ...] = ()
    ghosts: int = 0
    effects: Effects = NO_EFFECTS


class Submitting(Protocol):
    """Bringing tasks in."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[Submitted | KeyReused]:
        """Store tasks durably, in order.

        A task whose (tenant, idempotency key) is known gives the id of the first one and `created` false, or
        `KeyReused` if the fingerprint differs; that holds among concurrent callers and within one list.
        """
        ...


class Executing(Protocol):
    """What workers do with tasks."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run, best score first, and lease them to its session.

        Where several tenants have due tasks, those of whoever stands lowest come first (`core.shares`), each tenant's
        own by their score. A task is leased to one session at a time: its state becomes running, its epoch rises, its
        attempt number rises. A session that is not open gets nothing. Paused queues, other workers' names, and lanes
        under flow limits are passed over.

        A `limited` request is given tasks under flow limits instead, each with a slot in every limit that it is under.
        No limit ever has more valid leases than it allows, nor more starts in any stretch of its period.
        """
        ...

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands; None for a lease that is not current."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended.

        Accepted only from the task's current lease, so a late worker can never overwrite a newer attempt. The
        same settlement repeated gets the first answer again. An act that would queue a task whose cancellation
        was asked for ends it as cancelled. `release` and `snooze` give the attempt number back.
        """
        ...

    async def append_log(self, chunks: Sequence[LogChunk]) -> None:
        """Keep pieces of logs; a piece that is there already is kept once."""
        ...

    async def put_progress(self, notes: Sequence[ProgressNote]) -> None:
        """Note how far attempts are, each lease once; of one that is not current nothing is kept."""
        ...

    async def put_artifact(self, artifact: Artifact) -> None:
        """Keep a file under its task and name; a later one replaces it."""
        ...


class Sessions(Protocol):
    """The registry of workers."""

    async def open_session(self, session: SessionId, spec: SessionSpec) -> None:
        """Register a worker under an id that was never used before."""
        ...

    async def beat(self, beats: Sequence[Beat]) -> list[BeatReply]:
        """Note signs of life, and tell each session which leases it lost and which tasks should stop."""
        ...

    async def change_session(self, session: SessionId, *, queues: Sequence[str], capacity: int) -> None:
        """Note what a worker serves from now on, and how much; one that is not open is left as it is."""
        ...

    async def drain_session(self, session: SessionId) -> None:
        """Ask a worker to finish what it holds and take nothing more; raises `NotFound`."""
        ...

    async def close_session(self, session: SessionId) -> None:
        """Note that a worker has left in order."""
        ...

    async def sessions(self, *, closed: bool = False, tenant: str | None = None) -> list[SessionView]:
        """Return the open sessions, and with `closed` those that ended lately too; of a tenant, those that serve it."""
        ...

    async def session_specs(self, sessions: Sequence[SessionId]) -> list[SessionSpec | None]:
        """Return what each of these sessions can run; None for one that is not open."""
        ...

    async def beat_numbers(self) -> dict[SessionId, int]:
        """Return the beat number of every open session."""
        ...

    async def reap(self, dead: Sequence[tuple[SessionId, int]], *, poison_after: int) -> Reaped:
        """Close the sessions whose beat number is still the one given, and free what no live session holds.

        Running tasks of sessions that died are queued again with one crash more, or failed as poison when that
        makes `poison_after`. Tasks that a session closed in order without settling, and tasks that an open session
        was given but did not list in its last beat although it has beaten twice since, are released without
        counting: their claim's answer was lost.
        """
        ...


class Controlling(Protocol):
    """What people do to tasks and queues. A `tenant` of None means every tenant's."""

    async def cancel(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, force: bool = False
    ) -> list[Changed | NotFound | Conflict]:
        """Cancel waiting tasks at once and ask running ones to stop; `force` ends running ones too, now."""
        ...

    async def reschedule(
        self, changes: Sequence[Change], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Change when queued tasks are due, or their priority."""
        ...

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Changed | NotFound | Conflict]:
        """Queue ended tasks again, due now, with their retries to spend anew; epochs go on rising."""
        ...

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None) -> None:
        """Hand out no more tasks of a queue; running ones go on."""
        ...

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Hand out a paused queue's tasks again."""
        ...


class Querying(Protocol):
    """Looking. Never changes anything. A `tenant` of None sees every tenant's; another's things are not there."""

    async def now(self) -> Instant:
        """Return the store's time."""
        ...

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks as they stand; None for those that do not exist (for this tenant)."""
        ...

    async def list_tasks(
        self, which: TaskFilter, *, limit: int, before: TaskId | None = None, payload: bool = False
    ) -> list[TaskView]:
        """Return tasks, newest first, starting below `before`."""
        ...

    async def progress(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Progress | None]:
        """Return how far the attempts are that run now; None where nothing runs, or nothing was said."""
        ...

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first, the running one included."""
        ...

    async def read_log(
        self, task: TaskId, *, after: tuple[int, int] = (0, -1), epoch: int | None = None, tenant: str | None = None
    ) -> LogPage:
        """Return what was logged after a cursor, of one attempt or of all."""
        ...

    async def artifacts(self, task: TaskId, *, tenant: str | None = None) -> list[ArtifactView]:
        """Return what files a task made."""
        ...

    async def artifact(self, task: TaskId, name: str, *, tenant: str | None = None) -> Artifact | None:
        """Return one file."""
        ...

    async def queues(self, *, tenant: str | None = None) -> list[QueueView]:
        """Return the queues that have tasks or are paused."""
        ...

    async def count_ahead(self, task: TaskView, *, limit: int) -> int:
        """Return how many due tasks of a queued task's queue come before it, counting up to `limit`."""
        ...


class Sweeping(Protocol):
    """What a queue that has lost its hints is made whole from."""

    async def upcoming(
        self,
        *,
        due_before: Instant,
        per_lane: int,
        due_after: Instant | None = None,
        lanes: Sequence[Lane] | None = None,
    ) -> list[Hint]:
        """Return the queued tasks due before one time, and from another time on if there is one.

        Of every lane, or of those named, at most `per_lane`: the earliest, in their order, lane by lane. Lanes under
        flow limits are left out: nobody is hinted at their tasks.
        """
        ...

    async def paused_queues(self) -> list[tuple[str, str]]:
        """Return the queues that are paused, as tenant and queue."""
        ...


class Housekeeping(Protocol):
    """Keeping the store itself in order."""

    async def migrate(self) -> None:
        """Bring the schema to this version; safe to run anywhere, any number of times."""
        ...

    async def prune(self, *, ended_before: Instant, limit: int) -> int:
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many."""
        ...

    async def check(self) -> dict[str, object]:
        """Return details for the health page, or raise `Unavailable`."""
        ...

    async def close(self) -> None:
        """Finish what is under way and let go of every connection."""
        ...


class Store(
    Submitting,
    Executing,
    Sessions,
    Controlling,
    Querying,
    Counting,
    Sweeping,
    Jobs,
    Schedules,
    DeadLetters,
    Bulks,
    Housekeeping,
    Outbox,
    Notifications,
    AccessStore,
    SecretKeeping,
    RuntimeConfigs,
    SignIns,
    Stats,
    Flow,
    Protocol,
):
    """The whole store, as the engine sees it."""
