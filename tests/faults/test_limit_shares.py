"""A limit and a rate over three databases, with real processes that are killed: neither is ever exceeded.

The databases are on one server, so that the times of all attempts are of one clock: what ran at once is told afterwards
from the attempts themselves.
"""

import asyncio
import time
from random import Random
from typing import Any

import asyncpg
import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

SECRET_KEY = "zYl1mWm6b7q3y0V0o3m0cWm2f4m8s1u5q7t9w2e4r6Y="
MORE = ("pg2", "pg3")
MOST, RATE = 3, 5
TASKS, RATED = 300, 40
SECONDS = 12.0


def test_a_limit_and_a_rate_hold_over_three_databases_while_processes_are_killed(
    make_fleet: MakeFleet, chance: Random
) -> None:
    with make_fleet(apis=1, schedulers=2, near=2, far=1, secret_key=SECRET_KEY, poison_after="1000") as fleet:
        _do(fleet, "PUT", "/api/v1/limits/three", {"task": "traced.wait", "max_concurrent": MOST})
        _add_databases(fleet)
        _do(fleet, "PUT", "/api/v1/limits/rated", {"task": "traced.block", "rate": f"{RATE}/s"})
        _submit(fleet)

        workers_and_schedulers = [name for name in fleet.members if not name.startswith("api-")]
        began = time.monotonic()
        while time.monotonic() < began + SECONDS:
            time.sleep(chance.uniform(0.5, 2.0))
            killed = chance.choice(workers_and_schedulers)
            fleet.kill(killed)
            fleet.restart(killed)
        until(lambda: _left(fleet) == 0, 150, lambda: _explain(fleet))

        attempts = asyncio.run(_attempts(fleet))
        print(f"{len(attempts)} attempts, {len(fleet.killed)} kills, by shard {_counts(attempts)}")  # noqa: T201
        assert _most_at_once([each for each in attempts if each["name"] == "traced.wait"]) == MOST
        starts = sorted(each["started_at"] for each in attempts if each["name"] == "traced.block")
        assert [late - early for early, late in zip(starts, starts[RATE:], strict=False) if late - early < 1000] == []
        assert set(_counts(attempts)) == {"main", *MORE}
        shares = _do(fleet, "GET", "/api/v1/limits/three")["shards"]
        assert sum(share["max_concurrent"] for share in shares) <= MOST


def _add_databases(fleet: Fleet) -> None:
    for name in MORE:
        asyncio.run(_create(fleet, name))
        url = fleet.postgres.url(name)
        _do(fleet, "POST", "/api/v1/shards", {"name": name, "store_url": url, "queue_url": fleet.redis.url()})
    _do(fleet, "POST", "/api/v1/slots/move", {})


def _submit(fleet: Fleet) -> None:
    """Submit tasks with keys, which are spread over all slots."""
    payload = {"file": str(fleet.traces), "seconds": 0.02}
    tasks = [
        {"name": "traced.wait", "payload": {**payload, "key": f"k{number}"}, "idempotency_key": f"k{number}"}
        for number in range(TASKS)
    ]
    tasks += [
        {"name": "traced.block", "payload": {**payload, "key": f"r{number}"}, "idempotency_key": f"r{number}"}
        for number in range(RATED)
    ]
    status, answer = fleet.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks})
    assert status in {200, 201}, answer


def _left(fleet: Fleet) -> int:
    counts = fleet.get("/api/v1/tasks/counts")["items"]
    return sum(each["count"] for each in counts if each["status"] != "COMPLETED")


def _explain(fleet: Fleet) -> Any:
    return fleet.get("/api/v1/limits"), fleet.get("/api/v1/tasks/counts")


def _do(fleet: Fleet, method: str, path: str, body: Any = None) -> Any:
    """Ask until it is done: processes that have just begun may not have all shards yet."""
    answers: list[Any] = []

    def is_done() -> bool:
        answers.append(fleet.ask(method, path, body))
        return bool(answers[-1][0] < 300)

    until(is_done, 60, lambda: answers[-1])
    return answers[-1][1]


async def _create(fleet: Fleet, name: str) -> None:
    connection = await asyncpg.connect(fleet.postgres.url())
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    await connection.close()


async def _attempts(fleet: Fleet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for shard in ("main", *MORE):
        connection = await asyncpg.connect(fleet.postgres.url() if shard == "main" else fleet.postgres.url(shard))
        rows = await connection.fetch(
            "SELECT a.started_at, a.finished_at, lane.name"
            " FROM drumline.attempt AS a INNER JOIN drumline.lane ON a.lane = lane.id"
        )
        found += [{**row, "shard": shard} for row in rows]
        await connection.close()
    return found


def _most_at_once(attempts: list[dict[str, Any]]) -> int:
    """Return how many attempts there were at once at most; one that ends in the millisecond of a start is before it."""
    moments = sorted([(each["started_at"], 1) for each in attempts] + [(each["finished_at"], -1) for each in attempts])
    most = running = 0
    for _, change in moments:
        running += change
        most = max(most, running)
    return most


def _counts(attempts: list[dict[str, Any]]) -> dict[str, int]:
    return {shard: sum(each["shard"] == shard for each in attempts) for shard in sorted({a["shard"] for a in attempts})}
