"""The engine: its services side by side, put together. It does nothing itself."""

from collections.abc import Sequence
from functools import cached_property
from random import Random, SystemRandom

from drumline.core.ids import IdSource, SessionId
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import OpenSlots
from drumline.core.tuning import DEFAULT_TUNING, Tuning
from drumline.engine.access import Access
from drumline.engine.alerts import AlertService, SloService
from drumline.engine.blobs import BlobInputs
from drumline.engine.bulk import BulkService
from drumline.engine.checks import RequestChecks
from drumline.engine.children import ChildService
from drumline.engine.claim import Claims, Dispatch
from drumline.engine.configuration import ConfigService
from drumline.engine.control import TaskControl
from drumline.engine.counts import TaskCounts
from drumline.engine.dead_letters import DeadLetterService
from drumline.engine.deliveries import DeliveryService
from drumline.engine.durable import DurableService
from drumline.engine.effects import EffectFollower
from drumline.engine.expiry import ExpiredClaims
from drumline.engine.feed import EventFeed, Feed
from drumline.engine.filtering import TaskFilters
from drumline.engine.fire import Firings
from drumline.engine.flow import FlowLimits
from drumline.engine.forks import ForkService
from drumline.engine.inputs import JobInputs
from drumline.engine.installation import InstallationMetrics
from drumline.engine.job_wait_reasons import JobWaitReasons
from drumline.engine.jobs import JobService
from drumline.engine.lane_limit import LaneLimit
from drumline.engine.lease_on_submit import LeaseOnSubmit
from drumline.engine.log_search import LogSearches
from drumline.engine.offer import Offers
from drumline.engine.one_shard import OneShard
from drumline.engine.options import EngineOptions
from drumline.engine.query import Queries
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.engine.registering import Registrar
from drumline.engine.runs import RunService
from drumline.engine.schedules import ScheduleService
from drumline.engine.secrets import SecretService
from drumline.engine.sessions import SessionService
from drumline.engine.settle import Settlements
from drumline.engine.shares import Shares
from drumline.engine.stats import StatsService
from drumline.engine.stops import StopSignals
from drumline.engine.submit import Submissions
from drumline.engine.submit_jobs import JobSubmissions
from drumline.engine.subscriptions import SubscriptionService
from drumline.engine.task_types import TypeRegistry
from drumline.engine.triage import FailureInbox
from drumline.engine.wait_reasons import WaitReasons
from drumline.engine.waiting import Waiters
from drumline.ports.gateway import ServerGateway
from drumline.ports.queue import Queue
from drumline.ports.shards import ShardOperations
from drumline.ports.store import Hint, Store


class Engine:
    """All that can be done with tasks, on any store and queue."""

    tuning: Tuning = DEFAULT_TUNING
    """The values that `tune` has set last."""
    gateway: ServerGateway | None = None
    """How workers reach the tasks, where that takes more than this engine: over all shards."""

    def __init__(self, store: Store, queue: Queue, options: EngineOptions | None = None) -> None:
        options = options or EngineOptions()
        clock, limits = options.clock, options.limits
        # Ids need not be secret, only distinct: a fast generator with a seed from the system is right.
        random = Random(SystemRandom().getrandbits(256))  # noqa: S311
        ids = IdSource(clock.now, random)
        self.store, self.queue, self.clock, self.limits = store, queue, clock, limits
        self.metrics, self.tracer, self.redaction = options.metrics, options.tracer, options.redaction
        self.read_model, self.notes = options.read_model, ReadModelNotes(store, options.read_model, clock)
        self.access, self.blobs = Access(store, options), options.blobs
        self.secrets, self.types = (
            SecretService(store, options.box, options.blobs),
            TypeRegistry(store.task_types, clock=clock),
        )
        checks = RequestChecks(
            limits, self.access.quotas, self.secrets, self.types, options.redaction,
            LaneLimit(store.queries, limits, clock),
        )  # fmt: skip

        self._waiters, self._endings = Waiters(poll=options.poll), options.endings
        self.stops = StopSignals(store, queue)
        self.flow = FlowLimits(store.limits, queue, self._waiters, clock=clock)
        self._offers = Offers(queue, self._waiters, self.flow)
        self.effects = EffectFollower(store.jobs, self._offers, self._endings, self.notes)
        self.settlements = Settlements(
            store, self.effects, self.flow, self._waiters, random=random.random, options=options
        )
        self.durable = DurableService(store, self.settlements, checks=checks, options=options)
        self.claims = Claims(
            store,
            Dispatch(queue, self._waiters, Shares(store.tenants, clock=clock), self.flow),
            (
                ExpiredClaims(store.expiry, self.settlements, clock=clock).cancel,
                BlobInputs(options.blobs, self.settlements).fill,
                JobInputs(store.jobs, self.settlements, blobs=options.blobs, limits=limits).fill,
                self.durable.fill,
            ),
            self.settlements,
            new_nonce=lambda: random.getrandbits(63),
            options=options,
        )
        self._lease_on_submit = LeaseOnSubmit(store, queue, self.settlements, flow=self.flow, clock=clock)
        self.submissions = Submissions(
            store, self._lease_on_submit, self.effects, checks=checks, ids=ids, options=options
        )
        self.sessions = SessionService(
            store.sessions,
            self.types,
            new_id=lambda: SessionId(SystemRandom().getrandbits(63)),
            clock=clock,
            limits=limits,
        )

        self.control = TaskControl(store.control, queue, self.effects, self._waiters, self.stops)
        self.dead_letters = DeadLetterService(store, self.control, self.notes, checks, options.blobs)
        self.bulk = BulkService(
            store, self.control, self.notes, TaskFilters(options.redaction, clock), new_id=ids.next, limits=limits
        )
        self.queries = Queries(store, self._endings, self.notes, blobs=options.blobs, clock=clock, limits=limits)
        self.forks = ForkService(store, self.queries, self.effects, checks=checks, ids=ids, blobs=options.blobs)
        job_submissions = JobSubmissions(store.jobs, self.effects, checks=checks, ids=ids, options=options)
        self.jobs = JobService(job_submissions, store, self.effects, self.stops, options=options)
        # An id source of its own: SQLite fires in the thread of its writer.
        firing_ids = IdSource(clock.now, random)
        self._ids = (ids, firing_ids)
        self.firings = Firings(store, self.effects, ids=firing_ids, limits=limits, parallel=options.parallel)
        self.schedules = ScheduleService(store, checks, ids=ids)
        self.runs = RunService(store, self.schedules, self.firings, limits=limits)
        self.registrar = Registrar(store, self.schedules)
        self.subscriptions = SubscriptionService(store, options.box, new_id=ids.next)
        self.deliveries = DeliveryService(store.deliveries, limits=limits)
        self.figures, self.configuration = StatsService(store), ConfigService(store.config, options.check_setting)
        self.shards: ShardOperations = OneShard(store.queries)
        self.wait_reasons = WaitReasons(store)
        self.feed: Feed = EventFeed(store.events, source=options.source)

    @cached_property
    def children(self) -> ChildService:
        """Tasks that durable tasks start and wait for."""
        parts = self.store, self.submissions, self.control, self.effects
        return ChildService(*parts, blobs=self.blobs, limits=self.limits, metrics=self.metrics)

    @cached_property
    def job_wait_reasons(self) -> JobWaitReasons:
        """Why jobs have not ended."""
        return JobWaitReasons(self.jobs, self.wait_reasons)

    @cached_property
    def alerts(self) -> AlertService:
        """Alert rules."""
        return AlertService(self.store, new_id=self._ids[0].next)

    @cached_property
    def slos(self) -> SloService:
        """Service level objectives."""
        return SloService(self.store, new_id=self._ids[0].next)

    @cached_property
    def inbox(self) -> FailureInbox:
        """Groups of failures, and what people decide about them."""
        return FailureInbox(self.store, self.dead_letters, self.clock)

    @cached_property
    def installation(self) -> InstallationMetrics:
        """Metrics that are the same at every server."""
        return InstallationMetrics(lambda: {DIRECTORY: self.store}, self.clock)

    @property
    def filters(self) -> TaskFilters:
        """Reading filters of tasks."""
        return TaskFilters(self.redaction, self.clock)

    @property
    def log_search(self) -> LogSearches:
        """Searching the logs of tasks."""
        return LogSearches(self.store, self.limits)

    @property
    def counts(self) -> TaskCounts:
        """Counting tasks."""
        return TaskCounts(self.store.queries, self.clock)

    def tune(self, tuning: Tuning) -> None:
        """Apply other values from now on; what is under way goes on with those that it began with."""
        self.tuning = tuning
        self.submissions.tune(tuning)
        self.claims.tune(tuning)
        self.jobs.submissions.tune(tuning)
        self.firings.tune(tuning)
        self.types.tune(tuning)
        self.wait_reasons.paused_names = self.sessions.paused_names = tuning.paused_names

    def use_slots(self, open_slots: OpenSlots) -> None:
        """Make new ids in these slots from now on."""
        for source in self._ids:
            source.open = open_slots

    def offer(self, hints: Sequence[Hint]) -> None:
        """Offer tasks that were queued by way of another engine of this process."""
        self._offers.offer(hints)

    def offer_freed(self, hints: Sequence[Hint]) -> None:
        """Offer tasks that a scheduler duty has queued again."""
        self.notes.queued(hints)
        self._offers.offer(hints)

    async def listen(self) -> None:
        """Take wake-ups from other processes, until cancelled."""
        await self.queue.listen(self.stops.hearing(self._waiters.wake), self._waiters.hand, self.claims.lease)

    async def close(self) -> None:
        """Finish what is under way, and close the store, the queue and the read model."""
        await self.finish()
        await self.queue.close()
        await self.store.close()
        await self.blobs.close()

    async def finish(self) -> None:
        """Finish what is under way."""
        await self.feed.close()
        await self.access.close()
        await self.types.close()
        await self._lease_on_submit.drained()
        await self.claims.drained()
        await self.effects.drained()
        await self.stops.drained()
        await self._offers.drained()
        await self.flow.drained()
        await self.notes.close()
