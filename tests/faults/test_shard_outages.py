"""One of two databases goes away while workers run tasks of both: it costs its own tasks only, and only time."""

from collections.abc import Callable, Iterator

import pytest

from drumline.stores.sealing import new_key_text
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.faults.traces import runs_of
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

PATIENCE = 90.0
RUNNING, LATER = 16, 40


@pytest.fixture
def second() -> Iterator[PostgresServer]:
    server = PostgresServer(durable=True)
    yield server
    server.remove()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    yield server
    server.remove()


@pytest.fixture
def fleet(make_fleet: MakeFleet, second: PostgresServer, redis: RedisServer) -> Iterator[Fleet]:
    with make_fleet(apis=1, schedulers=1, near=1, far=1, secret_key=new_key_text()) as fleet:
        shard = {"name": "pg2", "store_url": second.url(), "queue_url": redis.url()}
        status, answer = fleet.ask("POST", "/api/v1/shards", shard)
        assert status in {200, 201}, answer
        status, answer = fleet.ask("POST", "/api/v1/slots/move", {})
        assert status == 200, answer
        yield fleet


def submit(fleet: Fleet, key: str, seconds: float) -> str | None:
    """Submit a task, and return its id; None if its shard could not be reached."""
    payload = {"file": str(fleet.traces), "key": key, "seconds": seconds}
    status, answer = fleet.ask("POST", "/api/v1/tasks", {"name": "traced.wait", "payload": payload})
    assert status in {201, 503}, answer
    return answer["id"] if status == 201 else None


def ended(fleet: Fleet) -> set[str]:
    lines = [line.split() for line in fleet.traces.read_text().splitlines()]
    return {key for key, _, moment, _ in lines if moment == "end"}


@pytest.mark.parametrize(
    ("cut", "heal"),
    [(PostgresServer.crash, PostgresServer.start), (PostgresServer.freeze, PostgresServer.thaw)],
    ids=["crashed", "frozen"],
)
def test_a_database_that_goes_away_holds_up_its_own_tasks_and_loses_none(
    fleet: Fleet, second: PostgresServer, cut: Callable[[PostgresServer], None], heal: Callable[[PostgresServer], None]
) -> None:
    first = {f"first-{number}": submit(fleet, f"first-{number}", 4.0) for number in range(RUNNING)}
    until(lambda: len(runs_of(fleet.traces)) == RUNNING, PATIENCE, fleet.tasks)
    shards = {key: fleet.get(f"/api/v1/tasks/{task}")["shard"] for key, task in first.items()}
    sessions = fleet.workers()

    cut(second)
    later = {f"later-{number}": submit(fleet, f"later-{number}", 0.01) for number in range(LATER)}
    stored = {key for key, task in later.items() if task is not None}
    near = {key: task for key, task in first.items() if shards[key] == "main"}
    until(lambda: stored <= ended(fleet), PATIENCE, lambda: stored - ended(fleet))
    until(lambda: ended(fleet) >= first.keys(), PATIENCE)
    for task in near.values():
        until(lambda: fleet.get(f"/api/v1/tasks/{task}")["status"] == "COMPLETED", PATIENCE)  # noqa: B023
    heal(second)

    until(lambda: len(fleet.tasks("COMPLETED")) >= RUNNING + len(stored), PATIENCE, fleet.tasks)
    assert set(shards.values()) == {"main", "pg2"}
    # Half of them if none went elsewhere; each look at a database that may be back costs one.
    assert len(stored) >= LATER * 3 / 4, "tasks without a key go elsewhere once the shard is known to be away"
    assert {key: len(runs) for key, runs in runs_of(fleet.traces).items() if len(runs) > 1} == {}
    assert fleet.workers() == sessions, "no worker had to register again"
