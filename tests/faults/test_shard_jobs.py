"""Jobs of several databases wait for each other, while processes are killed, a database crashes and slots move."""

import time
from random import Random
from typing import Any

import pytest

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.harness.postgres import PostgresServer

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

SECRET_KEY = "zYl1mWm6b7q3y0V0o3m0cWm2f4m8s1u5q7t9w2e4r6Y="
LAYERS = 5
WIDTH = 6
"""Each job of a layer waits for two of the layer before."""


def test_jobs_of_two_databases_run_in_order_while_everybody_is_killed(make_fleet: MakeFleet, chance: Random) -> None:
    other = PostgresServer(durable=True)
    try:
        with make_fleet(secret_key=SECRET_KEY, poison_after="50") as fleet:
            shard = {"name": "pg2", "store_url": other.url(), "queue_url": fleet.redis.url()}
            ask_until_done(fleet, "POST", "/api/v1/shards", shard)
            ask_until_done(fleet, "POST", "/api/v1/slots/move", {"taker": "pg2"})
            assert {each["slots"] for each in fleet.get("/api/v1/shards")["items"]} == {2048}
            needs = _submit_all(fleet, chance)
            for _ in range(4):
                kill_one(fleet, chance)
            other.crash()
            time.sleep(1.0)
            other.start()
            ask_until_done(fleet, "POST", "/api/v1/slots/move", {"taker": "main"})
            until(lambda: _statuses(fleet, list(needs)) == {"COMPLETED"}, 120, lambda: _statuses(fleet, list(needs)))

            _check_order(fleet, needs)
    finally:
        other.remove()


def _submit_all(fleet: Fleet, chance: Random) -> dict[str, list[str]]:
    """Submit jobs by layers, killing processes in between, and return by id the ids of those that each waits for."""
    needs: dict[str, list[str]] = {}
    layer: list[str] = []
    for depth in range(LAYERS):
        before, layer = layer, []
        for place in range(WIDTH):
            awaited = chance.sample(before, 2) if before else []
            job = _submit(fleet, f"j{depth}-{place}", awaited)
            needs[job] = awaited
            layer.append(job)
        if depth in {1, 3}:
            kill_one(fleet, chance)
    return needs


def _submit(fleet: Fleet, key: str, depends_on: list[str]) -> str:
    payload = {"file": str(fleet.traces), "key": key, "seconds": 0.2}
    body = {
        "name": key,
        "tasks": {"only": {"name": "traced.wait", "payload": payload}},
        "depends_on": depends_on,
        "idempotency_key": key,
    }
    return str(ask_until_done(fleet, "POST", "/api/v1/jobs", body)["id"])


def _jobs(fleet: Fleet, jobs: list[str]) -> dict[str, dict[str, Any]]:
    return {job: fleet.get(f"/api/v1/jobs/{job}") for job in jobs}


def _statuses(fleet: Fleet, jobs: list[str]) -> set[str]:
    return {body["status"] for body in _jobs(fleet, jobs).values()}


def _check_order(fleet: Fleet, needs: dict[str, list[str]]) -> None:
    """See that no task began before the jobs that it waits for had ended, by what the tasks themselves wrote."""
    keys = {job: body["name"] for job, body in _jobs(fleet, list(needs)).items()}
    lines = [line.split() for line in fleet.traces.read_text().splitlines()]
    first: dict[tuple[str, str], int] = {}
    for number, (key, _, moment, _) in enumerate(lines):
        first.setdefault((key, moment), number)
    for job, awaited in needs.items():
        for other in awaited:
            order = first[keys[other], "end"], first[keys[job], "begin"]
            assert order == tuple(sorted(order)), f"{keys[job]} began before {keys[other]} had ended"


def ask_until_done(fleet: Fleet, method: str, path: str, body: object) -> dict[str, Any]:
    """Ask until it is done: a server may have just been killed."""
    answers: list[dict[str, Any]] = []

    def is_done() -> bool:
        try:
            status, answer = fleet.ask(method, path, body, api=int(time.monotonic() * 10) % len(fleet.apis))
        except Exception as error:  # noqa: BLE001 - the server was killed
            print(f"{method} {path}: {error}")  # noqa: T201
            return False
        assert status not in {400, 404, 405, 422}, answer
        answers.append(answer)
        return status < 300 or (status == 409 and "already" in str(answer))

    until(is_done, 60)
    return answers[-1]


def kill_one(fleet: Fleet, chance: Random) -> None:
    """Kill a process at random, and start it again a bit later."""
    name = chance.choice(list(fleet.members))
    print(f"{time.time():.3f} kill {name}: {fleet.kill(name)}")  # noqa: T201
    time.sleep(chance.uniform(0.2, 1.5))
    fleet.restart(name)
