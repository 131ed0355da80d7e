"""Signals by correlation between databases: each is taken once, while processes are killed, one crashes, slots move."""

import time
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.faults.test_shard_jobs import SECRET_KEY, ask_until_done, kill_one
from tests.harness.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(600)]

APP = Path(__file__).parent / "apps" / "durable.py"
TASKS = 30
EACH = 5
KILLS = 5


def test_signals_between_two_databases_are_taken_once_while_everybody_is_killed(
    make_fleet: MakeFleet, chance: Random
) -> None:
    other = PostgresServer(durable=True)
    try:
        with make_fleet(secret_key=SECRET_KEY, poison_after="1000", app=APP) as fleet:
            shard = {"name": "pg2", "store_url": other.url(), "queue_url": fleet.redis.url()}
            ask_until_done(fleet, "POST", "/api/v1/shards", shard)
            ask_until_done(fleet, "POST", "/api/v1/slots/move", {"taker": "pg2"})
            wanted = {_submit(fleet, n): list(range(n * EACH, (n + 1) * EACH)) for n in range(TASKS)}
            sender = Thread(target=_send_all, args=(fleet, chance), daemon=True)
            sender.start()
            for _ in range(KILLS):
                kill_one(fleet, chance)
            other.crash()
            time.sleep(1.0)
            other.start()
            ask_until_done(fleet, "POST", "/api/v1/slots/move", {"taker": "main"})
            kill_one(fleet, chance)
            sender.join(240)
            assert not sender.is_alive(), "some signals are not accepted"
            until(lambda: _results(fleet, wanted) == wanted, 180, lambda: _results(fleet, wanted))
            places = {fleet.get(f"/api/v1/tasks/{task}")["shard"] for task in wanted}
    finally:
        other.remove()

    assert places == {"main", "pg2"}


def _submit(fleet: Fleet, number: int) -> str:
    payload = {"count": EACH, "seconds": 2.0, "correlation": f"order-{number}"}
    body = {"name": "collect", "payload": payload, "idempotency_key": f"collect-{number}"}
    return str(ask_until_done(fleet, "POST", "/api/v1/tasks", body)["id"])


def _send_all(fleet: Fleet, chance: Random) -> None:
    """Send each signal until it is accepted, and some once more."""
    numbers = list(range(TASKS * EACH))
    Random(chance.random()).shuffle(numbers)
    for number in numbers:
        body = {"payload": number, "id": f"signal-{number}", "key": f"order-{number // EACH}"}
        for _ in range(1 + number % 3 // 2):
            ask_until_done(fleet, "POST", "/api/v1/signals/go", body)


def _results(fleet: Fleet, tasks: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return what completed tasks have taken."""
    done = fleet.tasks("COMPLETED")
    return {task: sorted(fleet.get(f"/api/v1/tasks/{task}")["result"]) for task in tasks if task in done}
