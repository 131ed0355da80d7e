"""A second database is added as deployments add it, and every process, metric and check knows of it."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from drumline.stores.sealing import new_key_text
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import KEY, Fleet, until
from tests.harness.exposed import Exposed
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

STEP = Path(__file__).parents[2] / "deploy" / "compose" / "add_shard.sh"
PATIENCE = 60.0
TASKS = 40


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer(durable=True)
    yield server
    server.remove()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture
def fleet(make_fleet: MakeFleet) -> Iterator[Fleet]:
    with make_fleet(
        apis=1, schedulers=1, near=1, far=1, notifiers=1, monitored=True, secret_key=new_key_text()
    ) as fleet:
        yield fleet


def run(words: list[str], **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a command where `drumline` is the one that is tested."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ours = {name: value for name, value in os.environ.items() if not name.startswith("DRUMLINE_")}
    return subprocess.run(
        words, env={**ours, "PATH": path, **variables}, capture_output=True, text=True, timeout=120, check=False
    )


def add_shard(fleet: Fleet, addresses: Path) -> str:
    """Do what the step `shards` of compose.shards.yaml does."""
    step = run(["sh", str(STEP), "pg2", str(addresses)], DRUMLINE_URL=fleet.apis[0].url, DRUMLINE_API_KEY=KEY)
    assert step.returncode == 0, step.stdout + step.stderr
    return step.stdout


def unreported(fleet: Fleet) -> list[str]:
    """Return the metrics that processes do not report for both shards."""
    names = (
        "drumline_shard_slots",
        "drumline_sessions",
        "drumline_stock_taken_timestamp_seconds",
        "drumline_tasks_completed_total",
    )
    ports = [int(member.environment["DRUMLINE_MONITOR_PORT"]) for member in fleet.members.values()]
    exposed = Exposed.by(ports)
    return [name for name in names if exposed.labels[name].get("shard") != {"main", "pg2"}]


def test_a_shard_that_is_added_by_the_step_of_compose_is_taken_up_by_everybody(
    fleet: Fleet, postgres: PostgresServer, redis: RedisServer, tmp_path: Path
) -> None:
    addresses = tmp_path / "pg2"
    addresses.write_text(f"{postgres.url()}\n{redis.url()}\n")

    add_shard(fleet, addresses)
    again = add_shard(fleet, addresses)

    assert "is there already" in again
    shards = {shard["name"]: shard["slots"] for shard in fleet.get("/api/v1/shards")["items"]}
    assert shards == {"main": 2048, "pg2": 2048}
    payload = {"file": str(fleet.traces), "seconds": 0.01}
    for number in range(TASKS):
        task = {"name": "traced.wait", "payload": {**payload, "key": f"k{number}"}}
        assert fleet.ask("POST", "/api/v1/tasks", task)[0] == 201
    until(lambda: len(fleet.tasks("COMPLETED")) == TASKS, PATIENCE, lambda: Counter(_statuses(fleet)))
    with Redis.from_url(redis.url(), decode_responses=True) as client:
        until(lambda: client.exists("drumline:{queue:pg2}:generation") == 1, PATIENCE)
        assert not client.keys("drumline:{queue}:*"), "the directory's hints are not in the shard's Redis"
    until(lambda: not unreported(fleet), PATIENCE, lambda: unreported(fleet))
    assert fleet.health()["shards"] == "UP"


def _statuses(fleet: Fleet) -> list[str]:
    return [task["status"] for task in fleet.tasks().values()]


def test_the_doctor_finds_a_shard_well_and_then_away(
    fleet: Fleet, postgres: PostgresServer, redis: RedisServer, tmp_path: Path
) -> None:
    addresses = tmp_path / "pg2"
    addresses.write_text(f"{postgres.url()}\n{redis.url()}\n")
    add_shard(fleet, addresses)

    well = doctor(fleet)
    postgres.crash()
    away = doctor(fleet)

    assert {check: severity for check, severity in well.items() if check.startswith("shard")} == {
        "shard.store": "ok",
        "shard.slots": "ok",
    }
    assert away["shard.store"] == "problem"
    until(lambda: fleet.health().get("shards") == "DEGRADED", PATIENCE, fleet.health)


def doctor(fleet: Fleet) -> dict[str, str]:
    """Return what the doctor finds with the settings of a scheduler."""
    settings = {
        name: value for name, value in fleet.members["scheduler-1"].environment.items() if name.startswith("DRUMLINE_")
    }
    report = run(["drumline", "doctor", "--json"], **settings)
    return {finding["check"]: finding["severity"] for finding in json.loads(report.stdout)["findings"]}
