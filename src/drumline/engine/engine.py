"""The engine: the services side by side. It does nothing itself."""

from collections.abc import Sequence
from functools import cached_property
from random import Random, SystemRandom

from drumline.core.clock import Clock, SystemClock
from drumline.core.ids import IdSource, SessionId, TaskId
from drumline.core.limits import DEFAULT_LIMITS, Limits
from drumline.core.metrics import Metrics
from drumline.core.redaction import DEFAULT_REDACTION, Redaction
from drumline.core.task import TaskView
from drumline.core.tuning import DEFAULT_TUNING, Tuning
from drumline.engine.access import Access
from drumline.engine.bulk import BulkService
from drumline.engine.claim import Claims, Dispatch
from drumline.engine.configuration import ConfigService
from drumline.engine.control import Control
from drumline.engine.counts import Counts
from drumline.engine.dead_letters import DeadLetterService
from drumline.engine.deliveries import DeliveryService
from drumline.engine.effects import EffectFollower
from drumline.engine.endings import Endings
from drumline.engine.feed import Feed
from drumline.engine.fire import Firings
from drumline.engine.flow import FlowLimits
from drumline.engine.installation import InstallationMetrics
from drumline.engine.job_claims import JobClaims
from drumline.engine.jobs import JobService
from drumline.engine.lease_on_submit import LeaseOnSubmit
from drumline.engine.limited_claims import LimitedClaims
from drumline.engine.offer import Offers
from drumline.engine.query import Queries
from drumline.engine.read_model_notes import ReadModelNotes
from drumline.engine.registering import Registrar
from drumline.engine.returns import Returns
from drumline.engine.runs import RunService
from drumline.engine.schedules import ScheduleService
from drumline.engine.secrets import SecretService
from drumline.engine.sessions import SessionService
from drumline.engine.settle import Settlements
from drumline.engine.shares import Shares
from drumline.engine.stats import Figures
from drumline.engine.stops import StopSignals
from drumline.engine.submit import Submissions
from drumline.engine.submit_jobs import JobSubmissions
from drumline.engine.subscriptions import SubscriptionService
from drumline.engine.task_types import TypeRegistry
from drumline.engine.wait_reasons import WaitReasons
from drumline.engine.waiting import Waiters
from drumline.ports.queue import PausedQueue, Queue
from drumline.ports.read_model import ReadModel
from drumline.ports.sealing import Box
from drumline.ports.store import Hint, Store
from drumline.ports.tracing import NO_TRACER, Tracer


class Engine:
    """All that can be done with tasks, on any backend."""

    tuning: Tuning = DEFAULT_TUNING
    """How it works, as last told by `tune`."""
    tracer: Tracer = NO_TRACER

    def __init__(
        self,
        store: Store,
        queue: Queue,
        *,
        clock: Clock | None = None,
        limits: Limits = DEFAULT_LIMITS,
        poll: float = 1.0,
        parallel: int = 1,
    ) -> None:
        clock = clock or SystemClock()
        # Ids need not be secret, only distinct: a fast generator with a seed from the system is right.
        random = Random(SystemRandom().getrandbits(256))  # noqa: S311
        self.store, self.queue, self.stops = store, queue, StopSignals(store, queue)
        self.clock, self.limits = clock, limits
        self.access = Access(store, clock)
        self.secrets, self.types = SecretService(store), TypeRegistry(store.task_types, clock=clock)
        self._waiters, self._endings = Waiters(poll=poll), Endings()
        self.flow = FlowLimits(store.limits, queue, self._waiters, clock=clock)
        self._offers = Offers(queue, self._waiters, self.flow)
        self._noting = ReadModelNotes(store, clock)
        self.effects = EffectFollower(store, self._offers, self._endings, self.stops, note=self._noting.note_effects)
        self._noting.led_to = self.effects.follow
        ids = IdSource(clock.now, random)
        in_jobs = JobClaims(self._noting, store, limits=limits, follow=self.effects.follow)
        under_limits = LimitedClaims(in_jobs, self.flow)
        returns = Returns(under_limits, self._offers)
        self._hand_over = LeaseOnSubmit(self._noting, queue, self._offers, returns, flow=self.flow, clock=clock)
        self.submissions = Submissions(
            self._noting,
            self._hand_over,
            ids=ids,
            limits=limits,
            quotas=self.access.quotas,
            parallel=parallel,
        )
        self.claims = Claims(
            under_limits,
            queue,
            self._offers,
            Dispatch(Shares(store.tenants, clock=clock), self.flow, returns, self._noting.leased),
            clock=clock,
            new_nonce=lambda: random.getrandbits(63),
        )
        self.settlements = Settlements(
            under_limits,
            self._offers,
            self._endings,
            random=random.random,
            limits=limits,
            parallel=parallel,
        )
        self.sessions = SessionService(
            store, self.types, new_id=lambda: SessionId(SystemRandom().getrandbits(63)), clock=clock, limits=limits
        )
        self.control = Control(self._noting, self._offers, self._waiters, self._endings, self.stops)
        self.dead_letters = DeadLetterService(
            store, self._noting, self.control, limits=limits, quotas=self.access.quotas
        )
        self.bulk = BulkService(store, self._noting, self.control, new_id=ids.next, limits=limits)
        self.queries = Queries(store, self._endings, self._noting, clock=clock, limits=limits)
        job_submissions = JobSubmissions(
            store, self.effects, self._noting, new_id=ids.next, limits=limits, quotas=self.access.quotas
        )
        self.jobs = JobService(
            job_submissions,
            store,
            self.effects,
            self._endings,
            clock=clock,
            limits=limits,
        )
        self.figures, self.configuration = Figures(store), ConfigService(store.config)
        self.whys, self.feed = WaitReasons(store), Feed(store.events)
        self.subscriptions, self.deliveries = (
            SubscriptionService(store, new_id=ids.next), DeliveryService(store.deliveries, limits=limits),
        )  # fmt: skip
        # An id source of its own: SQLite fires in the thread of its writer.
        self.firings = Firings(
            store, self._noting, self.effects, new_id=IdSource(clock.now, random).next, limits=limits
        )
        self.firings.parallel = parallel
        self.schedules = ScheduleService(store, self.types, new_id=ids.next, limits=limits, quotas=self.access.quotas)
        self.runs = RunService(store, self.schedules, self.firings, limits=limits)
        self.registrar = Registrar(store, self.schedules)
        self.redaction = DEFAULT_REDACTION
        # Whatever brings payloads in asks whether the secrets are there that they refer to.
        self.submissions.secrets = job_submissions.secrets = self.schedules.secrets = self.secrets
        self.dead_letters.secrets = self.secrets
        self.submissions.types = job_submissions.types = self.dead_letters.types = self.types
        self.measure(Metrics(clock))

    @cached_property
    def installation(self) -> InstallationMetrics:
        """Figures that are the same at every server."""
        return InstallationMetrics(self.store, self.clock)

    @property
    def counts(self) -> Counts:
        """Counting tasks."""
        return Counts(self.store, self.clock)

    @property
    def board(self) -> ReadModel:
        """The read model."""
        return self._noting.board

    def note_again(self, view: TaskView) -> None:
        """Write a task into the read model that has no note there."""
        self._noting.seen(view, None)

    def attach(self, *, board: ReadModel, pauses: PausedQueue | None = None) -> None:
        """Feed a read model, and tell a queue that keeps hints which tasks are paused. To be called before use."""
        self._noting.board = board
        self._noting.pauses = pauses

    def conceal(self, *, box: Box, redaction: Redaction) -> None:
        """Use a box for secrets, and rules for what people are shown. To be called before use."""
        self.secrets.box = self.subscriptions.box = box
        self.redaction = self.dead_letters.redaction = self.schedules.redaction = redaction

    def trace(self, tracer: Tracer) -> None:
        """Make spans of submissions; to be called before use."""
        self.tracer = self.submissions.tracer = self.jobs.submissions.tracer = tracer

    def measure(self, metrics: Metrics) -> None:
        """Count in these figures; to be called before use."""
        self.metrics = metrics
        for service in (self.submissions, self.claims, self.settlements):
            service.measure(metrics)

    def tune(self, tuning: Tuning) -> None:
        """Work otherwise from now on; whatever is under way goes on as it was begun."""
        self.tuning = tuning
        self.submissions.tune(tuning)
        self.claims.tune(tuning)
        self.jobs.tune(tuning)
        self.firings.tune(tuning)
        self.types.tune(tuning)
        self.whys.paused_names = self.sessions.paused_names = tuning.paused_names

    def offer_freed(self, hints: Sequence[Hint]) -> None:
        """Offer tasks that a scheduler duty has queued again."""
        self._noting.freed(hints)
        self._offers.offer(hints)

    def note_failed(self, tasks: Sequence[TaskId]) -> None:
        """Note tasks that a scheduler duty has failed."""
        self._noting.letters.changed(tasks)

    async def listen(self) -> None:
        """Take wake-ups from other processes, until cancelled."""
        await self.queue.listen(self.stops.hearing(self._waiters.wake), self._waiters.hand, self.claims.lease)

    async def close(self) -> None:
        """Finish what is under way; the store and the queue are closed too."""
        await self.feed.close()
        await self.access.close()
        await self.types.close()
        await self._hand_over.drained()
        await self.claims.drained()
        await self.effects.drained()
        await self.stops.drained()
        await self._offers.drained()
        await self.flow.drained()
        await self._noting.letters.drained()
        await self.board.close()
        await self.queue.close()
        await self.store.close()
