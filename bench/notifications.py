"""Measure what the notifier costs per task that ends: when nobody listens, when somebody waits for failures, and so on.

python -m bench.notifications                  PostgreSQL
python -m bench.notifications --tasks 20000    fewer tasks in each round

Costs are processor time, of PostgreSQL and of this process, so that they hold on a busy machine too. Deliveries are
made, not delivered.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

from bench.scale.meter import cpu_seconds
from bench.services import Postgres, postgres
from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource, SessionId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Act
from drumline.core.subscription import EventFilter, NewSubscription, SubscriptionId, check_filter
from drumline.core.target import Target, TargetKind
from drumline.core.task import NotifyTarget, TaskRequest, accept
from drumline.notifier.reader import EVERY, Reader
from drumline.observe.logging import set_up_logging
from drumline.ports.store import ClaimRequest, Settlement
from drumline.stores.postgres import PostgresStore

TASKS = 100_000
BATCH = 500
NAMED = 100
HOOK = Target(TargetKind.WEBHOOK, "https://hooks.example/")
SESSION = SessionId(7)
SPEC = SessionSpec(
    host="bench", pid=os.getpid(), version="0", queues=(), types=(TaskType(name="work"),), capacity=BATCH
)

_random = Random()
_new_id = IdSource(SystemClock().now, _random).next


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=TASKS)
    options = parser.parse_args()
    set_up_logging("warning", "text")
    with postgres() as server:
        costs = asyncio.run(_measure(server, options.tasks))
    json.dump({"load": os.getloadavg(), "cpu_us_per_task": costs}, sys.stdout, indent=2)
    print()


async def _measure(server: Postgres, tasks: int) -> dict[str, float]:
    store = await PostgresStore.open(server.recreate("notifications"))
    await store.migrate()
    await store.sessions.open_session(SESSION, SPEC)
    reader = Reader(store, holder=7, new_id=_new_id, source="/bench")
    costs: dict[str, float] = {}

    async def measure(name: str) -> None:
        await _end(store, tasks)
        costs[name] = await _cost(server, reader, tasks)

    await measure("nobody listens")
    await _subscribe(store, events=("task.failed",))
    await measure("a subscription to failures, none fails")
    await _end(store, NAMED, notify=(NotifyTarget(webhook=HOOK.address),))
    await measure(f"and {NAMED} other tasks name targets")
    await _subscribe(store, events=("task.completed",), task="other")
    await measure("and a subscription to completions of another name")
    await _subscribe(store, events=("task.completed",))
    await measure("a subscription to all completions")
    await store.close()
    return costs


async def _subscribe(store: PostgresStore, **wanted: Any) -> None:
    id_ = SubscriptionId(_new_id())
    wants = check_filter(EventFilter(**wanted))
    await store.subscriptions.create_subscription(
        NewSubscription(id=id_, tenant="default", name=id_, filter=wants, target=HOOK)
    )


async def _end(store: PostgresStore, count: int, **fields: Any) -> None:
    """Submit, claim and complete tasks."""
    request = TaskRequest(name="work", **fields)
    for start in range(0, count, BATCH):
        await store.submit([accept(request, id=_new_id()) for _ in range(min(BATCH, count - start))])
    left = count
    while left:
        claim = ClaimRequest(session=SESSION, nonce=_random.getrandbits(62), limit=BATCH, queues=(), names=("work",))
        (claimed,) = await store.claim([claim])
        await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in claimed.tasks])
        left -= len(claimed.tasks)
    while await store.events.sequence():
        pass


async def _cost(server: Postgres, reader: Reader, tasks: int) -> float:
    """Return the microseconds per task that reading to the end of the log takes."""
    pids: Sequence[int] = (server.pid, os.getpid())
    before = cpu_seconds(pids)
    await reader.pass_once()
    while reader.every != EVERY:
        await reader.pass_once()
    return round((cpu_seconds(pids) - before) / tasks * 1e6, 2)


if __name__ == "__main__":
    main()
