"""What the second wall around tenants costs on PostgreSQL.

    python -m bench.wall

Medians of looks by the store itself, in microseconds, by turns in one process on one database: *without* as the owner
of the tables, *within* from behind the wall of one tenant, *in turn* from behind those of two that alternate, so that a
connection changes hands each time. Submissions are measured with the policies on and off: the owner passes over them.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from itertools import cycle
from random import Random
from typing import Any

import asyncpg
from msgspec import Raw

from bench.services import postgres
from drumline.core.clock import SystemClock
from drumline.core.ids import IdSource, TaskId
from drumline.core.task import NewTask, Submitted, TaskRequest, accept
from drumline.ports.store import TaskFilter
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.wall import Wall

TENANTS = ("acme", "beta")
EACH = 5_000
BATCH = 500
PAGE = 50
SWITCH = "SELECT format('ALTER TABLE drumline.%I {} ROW LEVEL SECURITY', tablename) FROM pg_policies"

_new_id = IdSource(SystemClock().now, Random(1)).next

Look = Callable[[PostgresStore, str, TaskId], Awaitable[Any]]


async def measure(rounds: int, looks: int) -> None:
    """Measure and print."""
    with postgres() as server:
        store = await PostgresStore.open(server.url())
        await store.migrate()
        bare = await PostgresStore.open(server.url())
        bare._database._wall = NoWall()  # noqa: SLF001 - there is no such setting, and need not be
        ids = {tenant: await _fill(store, tenant) for tenant in TENANTS}
        kinds: dict[str, Look] = {
            "a task": lambda asked, tenant, task: asked.queries.get([task], tenant=tenant),
            f"{PAGE} by id": lambda asked, tenant, _: asked.queries.get(ids[tenant][:PAGE], tenant=tenant),
            f"a list of {PAGE}": lambda asked, tenant, _: asked.queries.list_tasks(
                TaskFilter(tenant=tenant), limit=PAGE
            ),
            "the queues": lambda asked, tenant, _: asked.queries.queues(tenant=tenant),
        }
        for name, look in kinds.items():
            times = await _look(look, {"without": bare, "within": store}, ids, rounds, looks)
            print(f"{name:14}", "  ".join(f"{kind} {statistics.median(took):7.0f} µs" for kind, took in times.items()))
        await _submit(store, server.url(), rounds)
        await store.close()
        await bare.close()


class NoWall(Wall):
    """Is looked for by nobody, and stands nowhere."""

    def is_unsure(self, now: float) -> bool:
        """Say that all is known."""
        del now
        return False


async def _fill(store: PostgresStore, tenant: str) -> list[TaskId]:
    answers = [answer for _ in range(EACH // BATCH) for answer in await store.submit(_tasks(tenant, BATCH))]
    return [answer.id for answer in answers if isinstance(answer, Submitted)]


def _tasks(tenant: str, count: int) -> list[NewTask]:
    request = TaskRequest(name="work", payload=Raw(b'{"a":1}'))
    return [accept(request, id=_new_id(), tenant=tenant) for _ in range(count)]


async def _look(
    look: Look, stores: dict[str, PostgresStore], ids: dict[str, list[TaskId]], rounds: int, looks: int
) -> dict[str, list[float]]:
    turns = {"without": ("acme",), "within": ("acme",), "in turn": TENANTS}
    times: dict[str, list[float]] = {kind: [] for kind in turns}
    for _ in range(rounds):
        for kind, tenants in turns.items():
            asked, whose = stores.get(kind, stores["within"]), cycle(tenants)
            for number in range(looks):
                tenant = next(whose)
                task = ids[tenant][number * 7 % EACH]
                began = time.perf_counter()
                await look(asked, tenant, task)
                times[kind].append((time.perf_counter() - began) * 1e6)
    return times


async def _submit(store: PostgresStore, url: str, rounds: int) -> None:
    connection = await asyncpg.connect(url)
    rates: dict[str, list[float]] = {"DISABLE": [], "ENABLE": []}
    for _ in range(rounds):
        for policies, found in rates.items():
            for (switch,) in await connection.fetch(SWITCH.format(policies)):
                await connection.execute(switch)
            await store.submit(_tasks("acme", BATCH))  # planned anew
            batches = [_tasks("acme", BATCH) for _ in range(10)]
            began = time.perf_counter()
            for batch in batches:
                await store.submit(batch)
            found.append(10 * BATCH / (time.perf_counter() - began))
    await connection.close()
    without, within = (max(rates[policies]) for policies in rates)  # the best: nobody else was busy then
    print(f"submissions    without {without:,.0f} /s   with {within:,.0f} /s   {within / without - 1:+.1%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--looks", type=int, default=50)
    given = parser.parse_args()
    asyncio.run(measure(given.rounds, given.looks))
