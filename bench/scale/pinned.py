"""Somebody forgot a transaction: no row that was deleted since can be cleaned away, and claims still come through.

Vacuum's horizon is one for each database, so the pinned system and the free one can share a server.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from bench.scale.compare import compare
from bench.scale.rack import Scale, System, drain, submit
from bench.scale.report import say
from bench.services import postgres, redis

CHURN: Final = 300_000
"""Tasks that come and go under the pin before it is measured."""


def run(scale: Scale) -> dict[str, Any]:
    """Measure."""
    with postgres() as server, redis() as one, redis() as other:
        hinted = _measure(
            scale,
            System(name="free", server=server, broker=one),
            System(name="pinned", server=server, broker=other),
        )
        alone = _measure(
            scale,
            System(name="free_alone", server=server, broker=None),
            System(name="pinned_alone", server=server, broker=None),
        )
    holds = {
        "hints_lose_at_most_20_percent": hinted["drain"]["speed_ratio"] >= 0.8,
        "fallback_does_not_collapse": alone["drain"]["speed_ratio"] >= 0.5,
    }
    return {"hinted": hinted, "fallback": alone, "holds": holds}


def _measure(scale: Scale, free: System, pinned: System) -> dict[str, Any]:
    free.create()
    pinned.create()
    churn = scale.of(CHURN)
    with _pin(pinned):
        for system in (free, pinned):
            submit(system, churn)
            drain(system, churn)
            say(f"{system.name}: {churn:,} tasks came and went")
        speed = compare(free, pinned, rounds=4 if scale.quick else 6, tasks=60_000 if scale.quick else 100_000)
        dead = pinned.execute("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'task_live'")
    return speed | {"dead_rows": int(dead)}


@contextmanager
def _pin(system: System) -> Iterator[None]:
    """Keep a transaction open that can see everything as it is now."""
    psql = [str(system.server.binaries / "psql"), "--no-psqlrc", "-qAt", system.store_url]
    with subprocess.Popen(psql, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        assert session.stdin is not None
        assert session.stdout is not None
        session.stdin.write("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT txid_current();\n")
        session.stdin.flush()
        session.stdout.readline()
        try:
            yield
        finally:
            session.stdin.close()
