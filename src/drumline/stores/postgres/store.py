"""The store, put together from its parts."""

from typing import Self

from drumline.core.clock import Clock
from drumline.core.metrics import Metrics
from drumline.stores.parts.events import EventLog
from drumline.stores.parts.signal_exchange import SignalExchange
from drumline.stores.postgres.acts import ACT_OF
from drumline.stores.postgres.children import PostgresChildren
from drumline.stores.postgres.collapsing import PostgresCollapsing
from drumline.stores.postgres.database import DEFAULT_BUDGET, Budget, Database
from drumline.stores.postgres.drain import Drainage
from drumline.stores.postgres.durable import PostgresDurableTasks
from drumline.stores.postgres.forks import PostgresForks
from drumline.stores.postgres.housekeeping import Housekeeping
from drumline.stores.postgres.jobs import PostgresJobs
from drumline.stores.postgres.limit_shares import LimitShares, PostgresFlowLimits
from drumline.stores.postgres.migrating import check_major
from drumline.stores.postgres.part import PostgresPart
from drumline.stores.postgres.schedules import PostgresFiring, PostgresSchedules
from drumline.stores.postgres.sessions import Sessions
from drumline.stores.postgres.settling import Settling
from drumline.stores.postgres.shards import ShardDirectory, SlotEntries
from drumline.stores.postgres.stats import Stats
from drumline.stores.postgres.submitting import Submitting
from drumline.stores.postgres.sweeping import Sweeping
from drumline.stores.shared import SharedParts


class PostgresStore(
    Submitting,
    Settling,
    Sweeping,
    Housekeeping,
    SharedParts,
):
    """`ports.store.Store` on PostgreSQL, directly or through PgBouncer, for any number of processes."""

    def __init__(self, database: Database, clock: Clock | None) -> None:
        PostgresPart.__init__(self, database, clock)
        self.jobs = PostgresJobs(database, clock, self._lanes, self._following)
        SharedParts.__init__(self, database, clock, self._lanes, following=self._following, jobs=self.jobs)
        self.durable = PostgresDurableTasks(database, clock, self._lanes, self._following, self.settle_in)
        self.signal_exchange = SignalExchange(database, clock, self._lanes, self._following, self.durable)
        self.forks = PostgresForks(database, clock, self._lanes, submit=self.submit_in)
        self.children = PostgresChildren(database, clock, self._lanes, control=self.control, submit=self.submit_in)
        self.limits = PostgresFlowLimits(database, clock, self._lanes)
        self.limit_shares = LimitShares(database, clock, self._lanes)
        self.schedules = PostgresSchedules(database, clock, self._lanes)
        self.firing = PostgresFiring(
            database, clock, self._lanes, jobs=self.jobs, control=self.control, submit=self.submit_in
        )
        self.collapsing = PostgresCollapsing(
            database, clock, self._lanes, submit=self.submit_in, following=self._following
        )
        self.sessions = Sessions(database, clock, self._lanes, self._following, self._cursors)
        self.shards = ShardDirectory(database, clock, self._lanes)
        self.drainage = Drainage(database, clock, self._lanes)
        self.slots = SlotEntries(database, clock, self._lanes)
        self.stats = Stats(database, clock, self._lanes)
        self.events = EventLog(database, clock, self._lanes, ACT_OF)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        clock: Clock | None = None,
        budget: Budget = DEFAULT_BUDGET,
        metrics: Metrics | None = None,
    ) -> Self:
        """Reach the database at `url`, or raise `Unavailable`. Its schema is left as it is: see `migrate`.

        Raises `Conflict` if that schema is of a major that this version does not know.
        """
        database = Database(url, budget=budget, metrics=metrics)
        await database.is_direct()
        try:
            await check_major(database)
        except BaseException:
            await database.close()
            raise
        return cls(database, clock)
