"""The store, put together from its parts."""

import os
from pathlib import Path
from typing import Self

from drumline.backends.sqlite.bulk import Bulks
from drumline.backends.sqlite.counting import Counting
from drumline.backends.sqlite.database import Database
from drumline.backends.sqlite.firing import Firing
from drumline.backends.sqlite.flow import Flow
from drumline.backends.sqlite.housekeeping import Housekeeping
from drumline.backends.sqlite.lanes import Lanes
from drumline.backends.sqlite.outputs import Outputs
from drumline.backends.sqlite.picking import Picking
from drumline.backends.sqlite.progress import ProgressNotes
from drumline.backends.sqlite.querying import Querying
from drumline.backends.sqlite.querying_jobs import QueryingJobs
from drumline.backends.sqlite.sessions import Sessions
from drumline.backends.sqlite.settling import Settling
from drumline.backends.sqlite.stats import Stats
from drumline.backends.sqlite.submitting_jobs import SubmittingJobs
from drumline.backends.sqlite.submitting_leased import SubmittingLeased
from drumline.backends.sqlite.sweeping import Sweeping
from drumline.backends.sqlite.types import TaskTypes
from drumline.core.clock import Clock, SystemClock
from drumline.core.metrics import Metrics
from drumline.stores.parts.audit import Auditing
from drumline.stores.parts.deliveries import Deliveries
from drumline.stores.parts.keys import Keys
from drumline.stores.parts.runtime_config import RuntimeConfigs
from drumline.stores.parts.secrets import Secrets
from drumline.stores.parts.sign_ins import SignIns
from drumline.stores.parts.subscriptions import Subscriptions
from drumline.stores.parts.tenants import Tenants


class SqliteStore(
    Firing,
    SubmittingLeased,
    Settling,
    Outputs,
    ProgressNotes,
    Sessions,
    Bulks,
    SubmittingJobs,
    QueryingJobs,
    Querying,
    Counting,
    Sweeping,
    Housekeeping,
    Picking,
    Deliveries,
    Subscriptions,
    Keys,
    Tenants,
    Auditing,
    Secrets,
    RuntimeConfigs,
    SignIns,
    Stats,
    Flow,
    TaskTypes,
):
    """`ports.store.Store` on SQLite: durable at every acknowledgement, several processes on one machine allowed."""

    @classmethod
    async def open(cls, path: str | Path, *, clock: Clock | None = None, metrics: Metrics | None = None) -> Self:
        """Open the file at `path`, or a database in memory for `:memory:`, and bring its schema up to date."""
        file = None if str(path) == ":memory:" else Path(path)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Payloads are nobody else's business: the file, and with it the WAL, is readable by its owner only.
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        lanes = Lanes()
        store = cls(Database(file, on_rollback=lanes.forget, metrics=metrics), lanes, clock or SystemClock())
        await store.migrate()
        return store
