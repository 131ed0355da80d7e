"""The store: the durable truth about tasks, leases, attempts and sessions.

A store is made of aggregates, each behind a small port: `store.keys`, `store.jobs`, `store.events` … Tasks are its own.

Every method that takes a list is one transaction. What a method returns has been committed. `Unavailable` is raised
when the store cannot be reached; then nothing is known, and every call may be repeated safely.

The store's clock decides what is due. A store is given a `Clock` by tests; without one it uses its own.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import SessionId, TaskId
from drumline.core.state import State
from drumline.core.task import ClaimedTask, Lane, NewTask, SubmitAnswer, Submitted
from drumline.ports.access import AuditLog, Keys, Tenants
from drumline.ports.alerts import Alerts, Slos
from drumline.ports.bulk import Bulks
from drumline.ports.changed import Changed
from drumline.ports.children import Children
from drumline.ports.claim import Claim, ClaimRequest
from drumline.ports.collapsing import Collapsing
from drumline.ports.control import Change, Controlling
from drumline.ports.dead_letters import DeadLetters
from drumline.ports.drain import Drainage
from drumline.ports.durable import DurableTasks
from drumline.ports.execution import Executing, LeaseState, Settled, Settlement
from drumline.ports.expiry import Expiry
from drumline.ports.flow import FlowLimitStore
from drumline.ports.forks import Forks
from drumline.ports.hint import Hint
from drumline.ports.jobs import Jobs
from drumline.ports.limit_shares import LimitShares
from drumline.ports.notifications import Deliveries, Subscriptions
from drumline.ports.outbox import EventLog
from drumline.ports.outputs import Artifact, ArtifactView, LogChunk, Outputs
from drumline.ports.query import Found, Querying, QueueView, TaskFilter
from drumline.ports.runtime_config import RuntimeConfigs
from drumline.ports.saved_views import SavedViews
from drumline.ports.schedules import Firing, Schedules
from drumline.ports.secrets import Secrets
from drumline.ports.sessions import Reaped, Sessions
from drumline.ports.shards import ShardDirectory, SlotEntries
from drumline.ports.sign_ins import SignIns
from drumline.ports.signal_exchange import SignalExchange
from drumline.ports.stats import Stats
from drumline.ports.task_types import TaskTypes
from drumline.ports.triage import Triages
from drumline.ports.waits import Waits

__all__ = (
    "Artifact",
    "ArtifactView",
    "Change",
    "Changed",
    "Claim",
    "ClaimRequest",
    "Controlling",
    "Executing",
    "Found",
    "Hint",
    "Housekeeping",
    "LeaseState",
    "LogChunk",
    "Querying",
    "QueueView",
    "Reaped",
    "Sessions",
    "Settled",
    "Settlement",
    "Store",
    "StoredLeased",
    "Submitting",
    "Sweeping",
    "TaskFilter",
)
"""Everything that is said to a store is given on here, so that whoever talks to one need not know its parts."""


class StoredLeased(Struct, frozen=True):
    """A task that was stored: as by `submit`, and with the lease if it has been given to a session already."""

    submitted: Submitted
    claimed: ClaimedTask | None


class Submitting(Protocol):
    """Bringing tasks in."""

    async def prepare(self) -> None:
        """Prepare what storing the first task needs, such as a connection."""
        ...

    async def submit(self, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        """Store tasks durably, in order.

        A task whose (tenant, idempotency key) is known gives the id of the first one and `created` false, or
        `KeyReused` if the fingerprint differs; that holds among concurrent callers and within one list. `Moved` is the
        answer for a task that is not stored, and whose slot is not open here by the entry of the map that it names.
        """
        ...

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task that is due now and has no key; lease it to a session in the same transaction, if that may be.

        It is what `submit` and a `claim` of that nonce would have done one after the other, or, where the claim would
        have been given nothing (the session is not open, drains, or cannot run it; the queue is paused; the lane is
        under a limit), what `submit` does alone. A store may do so always. Repeated, it finds the task stored and tells
        of no lease: if there is one, it is a claim whose answer was lost.
        """
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
        flow limits are left out: there are no hints for their tasks.
        """
        ...

    async def waiting_tasks(self, *, due_before: Instant, limit: int) -> list[tuple[TaskId, State]]:
        """Return up to `limit` queued tasks due before a time, and up to `limit` that are blocked, in any order."""
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
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many.

        The oldest first, and none whose events a consumer has yet to read. A call with the same time goes on from where
        the last full batch ended; tasks that were locked then are found when pruning begins anew.
        """
        ...

    async def tidy(self, *, dead: int) -> bool:
        """Make room usable again that more than so many dead rows take up among the tasks that have not ended.

        Nothing is lost if it is never called: a store does it by itself, sooner or later. Return whether there was any.
        """
        ...

    async def check(self) -> dict[str, object]:
        """Return details for the health page, or raise `Unavailable`."""
        ...

    async def close(self) -> None:
        """Finish what is under way and close every connection."""
        ...


class Store(
    Submitting,
    Executing,
    Sweeping,
    Housekeeping,
    Protocol,
):
    """The store: tasks, and one attribute for each other aggregate."""

    @property
    def queries(self) -> Querying:
        """Reading tasks and queues."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Jobs and their graphs."""
        ...

    @property
    def control(self) -> Controlling:
        """Cancelling, rescheduling and retrying tasks, pausing queues."""
        ...

    @property
    def sessions(self) -> Sessions:
        """Workers, and the leases that they hold."""
        ...

    @property
    def durable(self) -> DurableTasks:
        """Records of durable tasks, and what they wait for."""
        ...

    @property
    def forks(self) -> Forks:
        """Tasks that are made from others."""
        ...

    @property
    def children(self) -> Children:
        """Tasks that durable tasks start and wait for."""
        ...

    @property
    def firing(self) -> Firing:
        """Firing schedules."""
        ...

    @property
    def keys(self) -> Keys:
        """API keys."""
        ...

    @property
    def tenants(self) -> Tenants:
        """Tenants and their quotas."""
        ...

    @property
    def audit(self) -> AuditLog:
        """The audit log."""
        ...

    @property
    def collapsing(self) -> Collapsing:
        """Submissions that may collapse into earlier ones."""
        ...

    @property
    def expiry(self) -> Expiry:
        """When tasks expire that have not started."""
        ...

    @property
    def alerts(self) -> Alerts:
        """Alert rules."""
        ...

    @property
    def slos(self) -> Slos:
        """Service level objectives."""
        ...

    @property
    def triages(self) -> Triages:
        """What people decided about failure groups."""
        ...

    @property
    def saved_views(self) -> SavedViews:
        """Views of lists that people keep."""
        ...

    @property
    def secrets(self) -> Secrets:
        """Tenants' secrets, sealed."""
        ...

    @property
    def sign_ins(self) -> SignIns:
        """Sign-ins that ended early."""
        ...

    @property
    def config(self) -> RuntimeConfigs:
        """The runtime configuration."""
        ...

    @property
    def events(self) -> EventLog:
        """The log of events."""
        ...

    @property
    def subscriptions(self) -> Subscriptions:
        """Who is notified of what."""
        ...

    @property
    def deliveries(self) -> Deliveries:
        """Notifications to send."""
        ...

    @property
    def schedules(self) -> Schedules:
        """Schedules and their runs."""
        ...

    @property
    def task_types(self) -> TaskTypes:
        """Types of tasks, as workers publish them."""
        ...

    @property
    def outputs(self) -> Outputs:
        """Logs, files and progress of tasks."""
        ...

    @property
    def stats(self) -> Stats:
        """Figures over time."""
        ...

    @property
    def limits(self) -> FlowLimitStore:
        """How many tasks of a kind run at once, and how often they start."""
        ...

    @property
    def shards(self) -> ShardDirectory:
        """The list of shards and the map, as the directory keeps them."""
        ...

    @property
    def slots(self) -> SlotEntries:
        """The entries of the map that concern this database."""
        ...

    @property
    def drainage(self) -> Drainage:
        """Units that move from this database to another, or come from there."""
        ...

    @property
    def limit_shares(self) -> LimitShares:
        """What this database has of limits, where there are several."""
        ...

    @property
    def dead_letters(self) -> DeadLetters:
        """Tasks that failed for good and were not resolved yet."""
        ...

    @property
    def bulks(self) -> Bulks:
        """Acts on many tasks."""
        ...

    @property
    def signal_exchange(self) -> SignalExchange:
        """Signals by correlation between shards."""
        ...

    @property
    def waits(self) -> Waits:
        """Waits between jobs of different shards."""
        ...
