"""Schedules on real servers: fired on time, made up for after a restart, and on PostgreSQL with Redis too."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.black_box.apart import Apart
from tests.black_box.server import Server, eventually
from tests.harness import postgres, redis

DOWN_SECONDS = 8.0

pytestmark = pytest.mark.timeout(180)

TASK = {"name": "shell", "payload": {"command": ["true"]}}
JOB = {
    "name": "report",
    "tasks": {"extract": {"command": ["true"]}, "load": {"command": ["true"], "needs": ["extract"]}},
}


def create(server: Server, **fields: Any) -> str:
    status, made = server.ask("POST", "/api/v1/schedules", {"interval": 1, "task": TASK, **fields})
    assert status == 201, made
    return str(made["id"])


def runs(server: Server, schedule: str) -> list[dict[str, Any]]:
    """Return the runs of a schedule, oldest first."""
    items: list[dict[str, Any]] = server.ask("GET", f"/api/v1/schedules/{schedule}/runs?limit=1000")[1]["items"]
    return items[::-1]


def seconds(listed: list[dict[str, Any]]) -> list[float]:
    """Return the fire times, in seconds after the first."""
    times = [datetime.fromisoformat(run["fire_time"]).timestamp() for run in listed]
    return [round(time - times[0], 3) for time in times]


def completed(server: Server, schedule: str, count: int) -> bool:
    return len([run for run in runs(server, schedule) if run["status"] == "COMPLETED"]) >= count


def holes(listed: list[dict[str, Any]]) -> int:
    """Return how many seconds between the first fire time and the last have no run."""
    times = seconds(listed)
    return round(times[-1]) + 1 - len(times)


@pytest.mark.faults
def test_after_an_absence_schedules_go_on_by_their_policies(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        # All fall due at the same instants, so that each misses as many as the others.
        rule = {"cron": "* * * * * *", "interval": None}
        ids = {misfire: create(server, name=misfire, misfire=misfire, **rule) for misfire in ("skip", "once", "all")}
        eventually(lambda: all(completed(server, schedule, 2) for schedule in ids.values()), 60)
        server.kill()
        time.sleep(DOWN_SECONDS)
        server.start()

        def has_gone_on(schedule: str) -> bool:
            listed = runs(server, schedule)
            return seconds(listed)[-1] > DOWN_SECONDS + 4 and str(listed[-1]["kind"]) == "scheduled"

        eventually(lambda: all(has_gone_on(schedule) for schedule in ids.values()), 60)
        found = {misfire: runs(server, schedule) for misfire, schedule in ids.items()}

    made_up = {misfire: sum(run["kind"] == "misfire" for run in listed) for misfire, listed in found.items()}
    assert made_up["skip"] == 0
    assert made_up["once"] == 1
    assert made_up["all"] >= DOWN_SECONDS - 2
    assert holes(found["all"]) == 0
    assert holes(found["once"]) == made_up["all"] - 1
    assert holes(found["skip"]) == made_up["all"]
    for listed in found.values():
        assert len({run["task_id"] for run in listed}) == len(listed)


@pytest.fixture
def distributed(tmp_path: Path) -> Iterator[Apart]:
    """API, scheduler and worker on PostgreSQL and Redis."""
    if reason := postgres.missing() or redis.missing():
        pytest.skip(reason)
    database, queue = postgres.PostgresServer(durable=False), redis.RedisServer()
    try:
        settings = {"store_url": database.url(), "queue_url": queue.url(), "allow_shell": "1"}
        server = Apart(tmp_path / "data", **settings)
        server.run("migrate", "migrate")
        assert server.wait_for("migrate") == 0, server.errors
        with server:
            server.run("scheduler", "scheduler")
            server.run_worker("near", remote=False)
            yield server
    finally:
        queue.remove()
        database.remove()


@pytest.mark.services
def test_tasks_and_jobs_are_fired_on_postgresql_with_redis(distributed: Apart) -> None:
    task = create(distributed, name="task", cron="* * * * * *", interval=None)
    job = create(distributed, name="job", task=None, job=JOB, overlap="skip")

    eventually(lambda: completed(distributed, task, 3) and completed(distributed, job, 2), 60)

    check_refusals(distributed)
    fired = runs(distributed, task)
    assert holes(fired) == 0
    assert all(run["job_id"] for run in runs(distributed, job) if run["status"] != "SKIPPED")


def check_refusals(server: Server) -> None:
    """Check that what is wrong is refused by its field, and nothing is stored."""
    before = len(server.ask("GET", "/api/v1/schedules")[1]["items"])
    wrong = {
        "61 * * * *": ("cron", {}),
        "* * 31 2 *": ("cron", {}),
        "@daily": ("timezone", {"timezone": "Mars/Olympus"}),
        "@hourly": ("end", {"start": "2040-01-02T00:00:00Z", "end": "2040-01-01T00:00:00Z"}),
    }
    for cron, (field, more) in wrong.items():
        status, problem = server.ask("POST", "/api/v1/schedules", {"name": "x", "cron": cron, "task": TASK, **more})
        assert (status, problem["field"]) == (422, field)
    assert len(server.ask("GET", "/api/v1/schedules")[1]["items"]) == before
