"""One installation grows from one database to four and shrinks to three, under load, while processes are killed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.faults.load import Load
from tests.faults.verdict import judge
from tests.harness.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(420)]

SECRET_KEY = "zYl1mWm6b7q3y0V0o3m0cWm2f4m8s1u5q7t9w2e4r6Y="
NAMES = ("pg2", "pg3", "pg4")
SLOTS = 4096


@contextmanager
def servers() -> Iterator[dict[str, PostgresServer]]:
    """Give three more PostgreSQL servers, each with its data on disk."""
    made: dict[str, PostgresServer] = {}
    try:
        for name in NAMES:
            made[name] = PostgresServer(durable=True)
        yield made
    finally:
        for server in made.values():
            server.remove()


def test_an_installation_grows_to_four_databases_and_shrinks_to_three_while_everybody_is_killed(
    make_fleet: MakeFleet, chance: Random
) -> None:
    with servers() as more, make_fleet(secret_key=SECRET_KEY, poison_after="50") as fleet:
        with Load(fleet, chance) as load:
            load.hold(4, seconds=1.0)
            for name, server in more.items():
                _do(
                    fleet,
                    "POST",
                    "/api/v1/shards",
                    {"name": name, "store_url": server.url(), "queue_url": fleet.redis.url()},
                )
                _do(fleet, "POST", "/api/v1/slots/move", {"taker": name})
                _kill_one(fleet, chance)
            until(lambda: all(shard["slots"] == SLOTS // 4 for shard in _shards(fleet)), 60, lambda: _shards(fleet))
            more["pg3"].crash()
            more["pg3"].start()
            _do(fleet, "POST", "/api/v1/shards/pg3/drain")
            for _ in range(3):
                _kill_one(fleet, chance)
            until(lambda: _left(fleet, "pg3") == 0, 120, lambda: _shards(fleet))
            _do(fleet, "DELETE", "/api/v1/shards/pg3")
            more["pg3"].stop()
            load.hold(4, seconds=0.5)
        verdict = judge(fleet, load, within=90)

        print(verdict)  # noqa: T201
        assert verdict.tasks > 500
        assert sorted(shard["name"] for shard in _shards(fleet)) == ["main", "pg2", "pg4"]


def test_a_database_that_is_away_costs_only_its_own_tasks(make_fleet: MakeFleet, chance: Random) -> None:
    with servers() as more, make_fleet(secret_key=SECRET_KEY) as fleet:
        server = more["pg2"]
        _do(fleet, "POST", "/api/v1/shards", {"name": "pg2", "store_url": server.url(), "queue_url": fleet.redis.url()})
        _do(fleet, "POST", "/api/v1/slots/move", {"taker": "pg2"})
        time.sleep(2)  # every process has seen the map
        with Load(fleet, chance) as load:
            load.hold(4, seconds=0.5)
            server.crash()
            until(lambda: fleet.ask("GET", "/api/v1/tasks")[1].get("incomplete") == ["pg2"], 30)
            for _ in range(20):
                until(lambda: fleet.ask("POST", "/api/v1/tasks", {"name": "traced.none"})[0] == 201, 10)
            server.start()
        judge(fleet, load, within=90)

        assert "incomplete" not in fleet.ask("GET", "/api/v1/tasks")[1]


def _do(fleet: Fleet, method: str, path: str, body: object = None) -> None:
    """Ask until it is done: a server may have just been killed."""

    def is_done() -> bool:
        try:
            status, answer = fleet.ask(method, path, body, api=int(time.monotonic() * 10) % len(fleet.apis))
        except Exception as error:  # noqa: BLE001 - the server was killed
            print(f"{method} {path}: {error}")  # noqa: T201
            return False
        print(f"{method} {path}: {status} {answer}")  # noqa: T201
        assert status not in {400, 404, 405, 422} or method == "DELETE", answer
        return status < 300 or (status == 409 and "already" in str(answer)) or (status == 404 and method == "DELETE")

    until(is_done, 60)


def _kill_one(fleet: Fleet, chance: Random) -> None:
    """Kill a process at random, and start it again a bit later."""
    name = chance.choice(list(fleet.members))
    print(f"{time.time():.3f} kill {name}: {fleet.kill(name)}")  # noqa: T201
    time.sleep(chance.uniform(0.2, 1.5))
    fleet.restart(name)


def _shards(fleet: Fleet) -> list[dict[str, Any]]:
    return list(fleet.get("/api/v1/shards")["items"])


def _left(fleet: Fleet, name: str) -> int | None:
    return next((shard.get("left") for shard in _shards(fleet) if shard["name"] == name), None)
