"""Several stores as one: `ports.store.Store` over all shards.

What has an id is asked for in the shard that holds it; lists and searches ask all shards at once and are merged in
order; counts are added up. What is not a task is kept by the directory. An answer that misses a shard says so
(`engine.incomplete`), and a question or change by id in a shard that cannot be reached is `Unavailable`.

API servers read and control tasks by it. Submissions, claims, settlements and heartbeats go through the engine of each
shard, with batches of their own; here they are complete, but one shard waits for the other.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Fenced, Unavailable
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.state import State
from drumline.core.task import ClaimedTask, Lane, NewTask, SubmitAnswer
from drumline.ports.access import AuditLog, Keys
from drumline.ports.alerts import Alerts, Slos
from drumline.ports.claim import Claim, ClaimRequest
from drumline.ports.drain import Drainage
from drumline.ports.execution import LeaseState, Settled, Settlement
from drumline.ports.hint import Hint
from drumline.ports.limit_shares import LimitShares
from drumline.ports.runtime_config import RuntimeConfigs
from drumline.ports.saved_views import SavedViews
from drumline.ports.secrets import Secrets
from drumline.ports.shards import ShardDirectory, SlotEntries
from drumline.ports.sign_ins import SignIns
from drumline.ports.store import Store, StoredLeased
from drumline.ports.triage import Triages
from drumline.shards.asking import Members, Router
from drumline.shards.parts.bulk import Bulks
from drumline.shards.parts.children import Children
from drumline.shards.parts.collapsing import Collapsing
from drumline.shards.parts.dead_letters import DeadLetters
from drumline.shards.parts.deliveries import Deliveries, Subscriptions
from drumline.shards.parts.directory import TaskTypes, Tenants
from drumline.shards.parts.durable import DurableTasks
from drumline.shards.parts.events import Events
from drumline.shards.parts.forks import Forks
from drumline.shards.parts.jobs import Jobs
from drumline.shards.parts.limits import FlowLimits
from drumline.shards.parts.merging import earliest
from drumline.shards.parts.schedules import Firing, Schedules
from drumline.shards.parts.sessions import Sessions
from drumline.shards.parts.signal_exchange import SignalExchange
from drumline.shards.parts.stats import Stats
from drumline.shards.parts.tasks import Control, Expiry, Outputs, TaskQueries
from drumline.shards.parts.waits import Waits


class ShardedStore:
    """`ports.store.Store` over the shards of an installation."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._router = router = Router(members)
        self.queries = TaskQueries(router)
        self.jobs = Jobs(router)
        self.control = Control(router)
        self.durable = DurableTasks(router)
        self.forks = Forks(router)
        self.children = Children(router)
        self.sessions = Sessions(router)
        self.firing = Firing(router)
        self.tenants = Tenants(router)
        self.collapsing = Collapsing(router)
        self.expiry = Expiry(router)
        self.events = Events(router)
        self.subscriptions = Subscriptions(router)
        self.deliveries = Deliveries(router)
        self.schedules = Schedules(router)
        self.task_types = TaskTypes(router)
        self.outputs = Outputs(router)
        self.stats = Stats(router)
        self.limits = FlowLimits(router)
        self.dead_letters = DeadLetters(router)
        self.bulks = Bulks(router)
        self.waits = Waits(router)
        self.signal_exchange = SignalExchange(router)

    @property
    def keys(self) -> Keys:
        """API keys, the directory's."""
        return self._router.directory.keys

    @property
    def audit(self) -> AuditLog:
        """The audit log, the directory's."""
        return self._router.directory.audit

    @property
    def secrets(self) -> Secrets:
        """Tenants' secrets, sealed, the directory's."""
        return self._router.directory.secrets

    @property
    def saved_views(self) -> SavedViews:
        """Views of lists that people keep, the directory's."""
        return self._router.directory.saved_views

    @property
    def alerts(self) -> Alerts:
        """Alert rules, the directory's."""
        return self._router.directory.alerts

    @property
    def slos(self) -> Slos:
        """Service level objectives, the directory's."""
        return self._router.directory.slos

    @property
    def triages(self) -> Triages:
        """What people decided about failure groups, the directory's."""
        return self._router.directory.triages

    @property
    def sign_ins(self) -> SignIns:
        """Sign-ins that ended early, the directory's."""
        return self._router.directory.sign_ins

    @property
    def config(self) -> RuntimeConfigs:
        """The runtime configuration, the directory's."""
        return self._router.directory.config

    @property
    def shards(self) -> ShardDirectory:
        """The list of shards and the map, the directory's."""
        return self._router.directory.shards

    @property
    def slots(self) -> SlotEntries:
        """The entries of the map that concern the directory's database; each shard has its own."""
        return self._router.directory.slots

    @property
    def limit_shares(self) -> LimitShares:
        """What the directory's database has of limits; each shard has its own."""
        return self._router.directory.limit_shares

    @property
    def drainage(self) -> Drainage:
        """Units that move from the directory's database to another, or come from there; each shard has its own."""
        return self._router.directory.drainage

    async def prepare(self) -> None:
        """Prepare what storing the first task needs, in every shard that can be reached."""
        await self._router.others(lambda store: store.prepare())
        await self._router.directory.prepare()

    async def submit(self, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        """Store tasks durably, each in the shard of its id, those of one shard in order."""
        return await self._router.split(tasks, lambda store, part: store.submit(part), key=lambda task: task.id)

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task that is due now and has no key; lease it to a session in the same transaction, if possible."""
        return await self._router.one(task.id, lambda store: store.submit_leased(task, session=session, nonce=nonce))

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run, one shard after the other, each with the room that is left.

        Best score first holds for the tasks of one shard. A shard that cannot be reached is passed over.
        """
        answers: list[list[Claim]] = [[] for _ in requests]
        room = [request.limit for request in requests]
        away: Unavailable | None = None
        for member in self._router.shards:
            asked = [number for number, left in enumerate(room) if left > 0]
            own = [self._part(requests[number], room[number], member.name) for number in asked]
            try:
                claims = await member.store.claim(own) if own else []
            except Unavailable as error:
                self._members.note_away(member.name)
                away = error
                continue
            for number, claim in zip(asked, claims, strict=True):
                answers[number].append(claim)
                room[number] -= len(claim.tasks)
        if away is not None and not any(answers):
            raise away
        return [_one_claim(claims) for claims in answers]

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        return await self._router.split(
            leases, lambda store, part: store.lease_states(part), key=lambda lease: lease.task
        )

    async def settle(
        self, settlements: Sequence[Settlement], *, takers: Sequence[ClaimRequest] = ()
    ) -> list[Settled | Fenced]:
        """Record how attempts ended. Claims that wait may be given tasks of one shard, so that none gets too many."""
        offered = [takers]

        async def settle(store: Store, part: Sequence[Settlement]) -> list[Settled | Fenced]:
            return await store.settle(part, takers=offered.pop() if offered else ())

        return await self._router.split(settlements, settle, key=lambda each: each.lease.task)

    async def upcoming(
        self,
        *,
        due_before: Instant,
        per_lane: int,
        due_after: Instant | None = None,
        lanes: Sequence[Lane] | None = None,
    ) -> list[Hint]:
        """Return the queued tasks due before one time, and from another time on if there is one."""
        found = await self._router.each(
            lambda store: store.upcoming(due_before=due_before, per_lane=per_lane, due_after=due_after, lanes=lanes)
        )
        by_lane: dict[Lane, list[Hint]] = {}
        for hint in (hint for hints in found for hint in hints):
            by_lane.setdefault(hint.lane, []).append(hint)
        return [
            hint
            for hints in by_lane.values()
            for hint in sorted(hints, key=lambda each: (each.due_at, each.task))[:per_lane]
        ]

    async def waiting_tasks(self, *, due_before: Instant, limit: int) -> list[tuple[TaskId, State]]:
        """Return up to `limit` queued tasks due before a time, and up to `limit` that are blocked, in any order."""
        found = await self._router.each(lambda store: store.waiting_tasks(due_before=due_before, limit=limit))
        counts: Counter[State] = Counter()
        waiting: list[tuple[TaskId, State]] = []
        for task, state in (each for part in found for each in part):
            if counts[state] < limit:
                counts[state] += 1
                waiting.append((task, state))
        return waiting

    async def paused_queues(self) -> list[tuple[str, str]]:
        """Return the queues that are paused, as tenant and queue; the directory decides that."""
        return await self._router.directory.paused_queues()

    async def migrate(self) -> None:
        """Bring the schema of every shard to this version, one after the other."""
        for member in self._router.shards:
            await member.store.migrate()

    async def prune(self, *, ended_before: Instant, limit: int) -> int:
        """Delete up to `limit` tasks that ended before a time, with all that belongs to them; return how many."""
        return sum(
            await self._router.in_turn(
                limit, lambda store, left: store.prune(ended_before=ended_before, limit=left), count=int
            )
        )

    async def tidy(self, *, dead: int) -> bool:
        """Make room usable again that more than so many dead rows take up among the tasks that have not ended."""
        return any(await self._router.all(lambda store: store.tidy(dead=dead)))

    async def check(self) -> dict[str, object]:
        """Return the directory's details, or raise `Unavailable`; the other shards are checked by themselves."""
        return await self._router.directory.check()

    async def close(self) -> None:
        """Do nothing: the shards' engines close their stores."""

    def _part(self, request: ClaimRequest, room: int, shard: str) -> ClaimRequest:
        """Return what of a claim is for a shard: its hints."""
        hints = request.hints
        if hints is not None:
            hints = tuple(task for task in hints if self._members.of(task).name == shard)
        return replace(request, limit=room, hints=hints)


def _one_claim(claims: Sequence[Claim]) -> Claim:
    tasks: list[ClaimedTask] = [task for claim in claims for task in claim.tasks]
    return Claim(
        tuple(tasks),
        None if tasks else earliest(claim.next_due for claim in claims),
        tuple(lease for claim in claims for lease in claim.left),
    )
