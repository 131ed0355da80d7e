"""What every seed needs and none changes: made once, before a process is forked for each of them.

That is code which has run before, types that msgspec has looked at, and connections to databases whose schema is read
and whose statements are parsed. A seed gives the same trace with and without: it only costs less.
"""

import contextlib
import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from drumline.testing.database import DatabaseServer, connect
from tests.simulation import determinism, watch
from tests.simulation.loop import LeanLoop
from tests.simulation.simulate import simulate
from tests.simulation.workload import plan_of

CONNECTIONS: Final = 3
"""One for each database that a seed may have."""
SEEDS_TRIED: Final = 100

_statements: dict[str, None] = {}
_kept: list[Any] = []
"""What the seeds that ran to warm up have left: if it were collected, the `finally` of killed processes would run."""


class _NotingConnection(sqlite3.Connection):
    """A connection that notes which statements it is given."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        _statements[sql] = None
        return super().execute(sql, *parameters)

    def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        _statements[sql] = None
        return super().executemany(sql, *parameters)


def warm_up() -> None:
    """Run a seed with one database and one with several, and prepare connections by what they have asked."""
    fleets = [plan_of(seed) for seed in range(SEEDS_TRIED)]
    lone = next(plan for plan in fleets if not plan.fleet.shards and plan.fleet.remote_workers)
    sharded = next(plan for plan in fleets if plan.fleet.shards)
    for plan in (lone, sharded):
        DatabaseServer.waiting += [connect(_NotingConnection) for _ in range(CONNECTIONS)]
        loop = LeanLoop()
        _kept.append((loop, simulate(plan, loop)))
        DatabaseServer.waiting.clear()
    determinism.end()
    DatabaseServer.waiting += [_prepared(_statements) for _ in range(CONNECTIONS)]


def _prepared(statements: Iterable[str]) -> sqlite3.Connection:
    """Return a connection that has parsed statements."""
    connection = connect()
    watch.begin(connection)
    for text in statements:
        if ":" in text or "?" in text:  # without what it needs it is parsed and not run
            with contextlib.suppress(sqlite3.ProgrammingError):
                connection.execute(text, {})
    return connection
