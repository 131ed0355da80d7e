"""The store, put together from its parts."""

import os
from pathlib import Path
from typing import Self

from drumline.core.clock import Clock, SystemClock
from drumline.core.metrics import Metrics
from drumline.stores.lone_limits import LoneLimitShares
from drumline.stores.lone_shard import LoneDrainage, LoneShard
from drumline.stores.parts.children import Children
from drumline.stores.parts.collapsing import Collapsing
from drumline.stores.parts.durable import DurableTasks
from drumline.stores.parts.events import EventLog
from drumline.stores.parts.forks import Forks
from drumline.stores.parts.signal_exchange import SignalExchange
from drumline.stores.shared import SharedParts
from drumline.stores.sqlite.database import Database
from drumline.stores.sqlite.firing import SqliteFiring
from drumline.stores.sqlite.housekeeping import Housekeeping
from drumline.stores.sqlite.jobs import SqliteJobs
from drumline.stores.sqlite.part import SqlitePart
from drumline.stores.sqlite.sessions import Sessions
from drumline.stores.sqlite.settling import Settling
from drumline.stores.sqlite.stats import Stats
from drumline.stores.sqlite.submitting import ACT_OF, Submitting
from drumline.stores.sqlite.sweeping import Sweeping


class SqliteStore(
    Submitting,
    Settling,
    Sweeping,
    Housekeeping,
    SharedParts,
):
    """`ports.store.Store` on SQLite: durable at every acknowledgement, several processes on one machine allowed."""

    def __init__(self, database: Database, clock: Clock) -> None:
        SqlitePart.__init__(self, database, clock)
        self.jobs = SqliteJobs(database, clock, self._lanes, self._following)
        SharedParts.__init__(self, database, clock, self._lanes, following=self._following, jobs=self.jobs)
        self.durable = DurableTasks(database, clock, self._lanes, self._following, self.settle_in)
        self.signal_exchange = SignalExchange(database, clock, self._lanes, self._following, self.durable)
        self.forks = Forks(database, clock, self._lanes, submit=self.submit_in)
        self.children = Children(database, clock, self._lanes, control=self.control, submit=self.submit_in)
        self.firing = SqliteFiring(
            database, clock, self._lanes, jobs=self.jobs, control=self.control, submit=self.submit_in
        )
        self.collapsing = Collapsing(database, clock, self._lanes, submit=self.submit_in, following=self._following)
        self.sessions = Sessions(database, clock, self._lanes, self._following)
        self.shards = self.slots = LoneShard()
        self.drainage = LoneDrainage()
        self.limit_shares = LoneLimitShares()
        self.stats = Stats(database, clock, self._lanes)
        self.events = EventLog(database, clock, self._lanes, ACT_OF)

    @classmethod
    async def open(cls, path: str | Path, *, clock: Clock | None = None, metrics: Metrics | None = None) -> Self:
        """Open the file at `path`, or a database in memory for `:memory:`, and bring its schema up to date."""
        file = None if str(path) == ":memory:" else Path(path)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Payloads are nobody else's business: the file, and with it the WAL, is readable by its owner only.
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        store = cls(Database(file, metrics=metrics), clock or SystemClock())
        await store.migrate()
        return store
