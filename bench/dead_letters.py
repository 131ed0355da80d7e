"""Measure dead letters and bulk operations on many failures: writing, listing, grouping, freezing, carrying out.

python -m bench.dead_letters                 SQLite, then PostgreSQL with Redis
python -m bench.dead_letters embedded        SQLite alone
python -m bench.dead_letters distributed     PostgreSQL with Redis alone
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Raw

from bench.services import postgres, redis
from drumline.core.bulk import BulkAct, BulkRequest
from drumline.core.clock import SystemClock
from drumline.core.dead_letter import Reason
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.task import TaskRequest
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.lifecycle.processes import run
from drumline.ports.dead_letters import DeadLetterFilter, GroupOrder
from drumline.ports.gateway import Report
from drumline.scheduler.bulk import BulkDuty
from drumline.settings import Settings
from drumline.settings.fields import Secret
from drumline.wiring import open_engine

FAILURES = 200_000
CAUSES = 100
QUEUES = 20
BATCH = 500
LOOKS = 5
SPEC = SessionSpec(
    host="bench", pid=os.getpid(), version="0", queues=(), types=(TaskType(name="fail"),), capacity=BATCH
)
KINDS = [f"Error{chr(65 + n // 26)}{chr(65 + n % 26)}" for n in range(CAUSES)]

Look = Callable[[], Awaitable[Any]]


def main() -> None:
    """Measure what the command line asks for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["embedded", "distributed"])
    parser.add_argument("--failures", type=int, default=FAILURES)
    options = parser.parse_args()
    results: dict[str, Any] = {}

    async def both() -> None:
        if options.which != "distributed":
            async with _embedded() as engine:
                results["embedded"] = await _measure(engine, options.failures)
        if options.which != "embedded":
            async with _distributed() as engine:
                results["distributed"] = await _measure(engine, options.failures)

    run(both())
    json.dump({"load": os.getloadavg(), **results}, sys.stdout, indent=2)
    print()


@asynccontextmanager
async def _embedded() -> AsyncIterator[Engine]:
    with tempfile.TemporaryDirectory() as folder:
        engine = await open_engine(Settings(data=Path(folder)))
        yield engine
        await engine.close()


@asynccontextmanager
async def _distributed() -> AsyncIterator[Engine]:
    with postgres() as store, redis() as queue:
        url = store.recreate("dead_letters")
        engine = await open_engine(Settings(store_url=Secret(url), queue_url=Secret(queue.url)))
        await engine.store.migrate()
        yield engine
        await engine.close()


async def _measure(engine: Engine, count: int) -> dict[str, Any]:
    gateway = LocalGateway(engine)
    session = await gateway.open_session(SPEC)

    async def drain(outcome: Callable[[int], Outcome], total: int) -> float:
        """Submit, claim and settle so many tasks, and return how many were settled in a second."""
        settling = 0.0
        for start in range(0, total, BATCH):
            requests = [
                TaskRequest(
                    name="fail", queue=f"q{n % QUEUES}", payload=Raw(b"{}"), tags=("rare",) if not n % 1000 else ()
                )
                for n in range(start, min(start + BATCH, total))
            ]
            await engine.submissions.submit_many(requests)
            tasks = await gateway.claim(session, limit=BATCH, wait=1)
            began = time.perf_counter()
            await gateway.settle([Report(task.lease, outcome(start + n)) for n, task in enumerate(tasks)])
            settling += time.perf_counter() - began
        return round(total / settling)

    completed = await drain(lambda _: Succeeded(), min(count, 20_000))
    failed = await drain(_failure, count)
    groups = await engine.dead_letters.groups(DeadLetterFilter(), limit=CAUSES)
    some = groups.items[0].fingerprint
    middle = await _page(engine, DeadLetterFilter(), 20)
    looks: dict[str, Look] = {
        "first page of 100": lambda: engine.dead_letters.list(DeadLetterFilter()),
        "page 21": lambda: engine.dead_letters.list(DeadLetterFilter(), cursor=middle),
        "first page of a group": lambda: engine.dead_letters.list(DeadLetterFilter(fingerprint=some)),
        "first page of a queue": lambda: engine.dead_letters.list(DeadLetterFilter(queue="q7")),
        "first page of a rare tag": lambda: engine.dead_letters.list(DeadLetterFilter(tag="rare")),
        "a reason that nothing has": lambda: engine.dead_letters.list(DeadLetterFilter(reason=Reason.POISON)),
        "groups, last seen first": lambda: engine.dead_letters.groups(DeadLetterFilter()),
        "groups, largest first": lambda: engine.dead_letters.groups(DeadLetterFilter(), order=GroupOrder.COUNT),
        "dry run of everything": lambda: engine.bulk.survey(BulkRequest(act=BulkAct.RETRY, all=True)),
    }
    milliseconds = {name: await _timed(look) for name, look in looks.items()}
    return {
        "dead_letters": count,
        "settled_per_second": {"completed": completed, "failed": failed},
        "milliseconds": milliseconds,
        "bulk": {act: await _carry_out(engine, act) for act in (BulkAct.RETRY,)},
    }


def _failure(number: int) -> Outcome:
    error = ErrorInfo(KINDS[number % CAUSES], f"order {number} of customer {number * 7} was refused", "")
    return Failed(error, permanent=True)


async def _page(engine: Engine, which: DeadLetterFilter, pages: int) -> str | None:
    cursor = None
    for _ in range(pages):
        cursor = (await engine.dead_letters.list(which, cursor=cursor)).next_cursor
    return cursor


async def _timed(look: Look) -> float:
    took = []
    for _ in range(LOOKS):
        began = time.perf_counter()
        await look()
        took.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(took), 1)


async def _carry_out(engine: Engine, act: BulkAct) -> dict[str, Any]:
    duty = BulkDuty(engine, clock=SystemClock(), retention=timedelta(days=7))
    began = time.perf_counter()
    view = await engine.bulk.begin(BulkRequest(act=act, all=True))
    frozen = time.perf_counter()
    while view.left:
        await duty.pass_once()
        view = await engine.store.bulks.get_bulk(view.id)
    return {
        "tasks": view.total,
        "seconds_to_freeze": round(frozen - began, 2),
        "tasks_per_second": round(view.total / (time.perf_counter() - frozen)),
    }


if __name__ == "__main__":
    main()
