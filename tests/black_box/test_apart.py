"""API, scheduler and workers as processes of their own, on every store."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.black_box.apart import Apart
from tests.black_box.server import eventually, lines_of
from tests.harness import postgres

pytestmark = pytest.mark.faults

ELSEWHERE_SECONDS = 20.0


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def apart(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Apart]:
    """An API and a scheduler."""
    if request.param == "sqlite":
        with Apart(tmp_path / "data") as processes:
            processes.run("scheduler", "scheduler")
            yield processes
        return
    if reason := postgres.missing():
        pytest.skip(reason)
    server = postgres.PostgresServer(durable=False)
    try:
        with_key = Apart(tmp_path / "data", store_url=server.url(), api_key="sk_apart")
        with_key.run("migrate", "migrate")
        assert with_key.wait_for("migrate") == 0
        with with_key as processes:
            processes.run("scheduler", "scheduler")
            yield processes
    finally:
        server.stop()
        server.remove()


def test_workers_share_the_work_on_the_store_and_through_the_api(apart: Apart, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    pids = {apart.run_worker("near", remote=False), apart.run_worker("far", remote=True)}

    for number in range(100):
        payload = {"file": str(traces), "text": str(number), "seconds": 0.1}  # long enough that one cannot do all
        apart.submit("work.trace_late", payload=payload)
    eventually(lambda: apart.count("COMPLETED") == 100, 60, lambda: apart.errors)

    runs = lines_of(traces)
    assert sorted(int(line[0]) for line in runs) == list(range(100))
    assert {int(line[1]) for line in runs} == pids
    assert apart.terminate_all() == [0, 0, 0, 0]


def test_a_map_over_a_result_is_run_by_workers_on_the_store_and_through_the_api(apart: Apart, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    apart.run_worker("near", remote=False)
    apart.run_worker("far", remote=True)
    each = {"name": "work.trace", "payload": {"file": str(traces)}}
    tasks = {
        "list": {"name": "map", "payload": {"items": list("abcdef"), "each": each, "into": "text"}},
        "again": {
            "name": "map",
            "needs": ["list"],
            "payload": {"items": {"$result": "list"}, "each": each, "into": "text", "window": 2},
        },
    }

    status, job = apart.ask("POST", "/api/v1/jobs", {"name": "maps", "tasks": tasks})
    assert status == 201
    eventually(
        lambda: apart.ask("GET", f"/api/v1/jobs/{job['id']}")[1]["status"] == "COMPLETED", 60, lambda: apart.errors
    )

    graph = apart.ask("GET", f"/api/v1/jobs/{job['id']}/graph")[1]
    assert [node["items"] for node in graph["nodes"]] == [{"total": 6, "ended": 6, "failed": 0}] * 2
    assert len(lines_of(traces)) == 12


def test_tasks_of_killed_workers_start_elsewhere_within_20_seconds(apart: Apart, tmp_path: Path) -> None:
    apart.run_worker("near", remote=False)
    apart.run_worker("far", remote=True)
    payload = {"file": str(tmp_path / "traces"), "text": "done", "gate": str(tmp_path / "gate")}
    tasks = [apart.submit("work.trace_once_let", payload=payload) for _ in range(8)]  # as many as both take
    for task in tasks:
        apart.until(task, "PROCESSING")

    apart.kill_one("near")
    apart.kill_one("far")
    killed_at = time.time()
    next_one = apart.run_worker("next", remote=True)
    (tmp_path / "gate").touch()
    for task in tasks:
        apart.until(task, "COMPLETED", seconds=60)

    histories = [apart.attempts(task) for task in tasks]
    assert all([one["outcome"] for one in history] == ["crashed", "completed"] for history in histories)
    starts = [datetime.fromisoformat(history[-1]["started_at"]).timestamp() for history in histories]
    assert max(starts) - killed_at <= ELSEWHERE_SECONDS, [start - killed_at for start in starts]
    assert apart.workers() == {next_one}


def test_a_drained_worker_finishes_and_leaves(apart: Apart, tmp_path: Path) -> None:
    apart.run_worker("worker", remote=True)
    payload = {"file": str(tmp_path / "traces"), "text": "done", "gate": str(tmp_path / "gate")}
    task = apart.submit("work.trace_once_let", payload=payload)
    apart.until(task, "PROCESSING")
    (worker,) = apart.ask("GET", "/api/v1/workers")[1]["items"]

    apart.ask("POST", f"/api/v1/workers/{worker['id']}/drain")
    (tmp_path / "gate").touch()

    assert apart.wait_for("worker") == 0
    assert apart.get(task)["status"] == "COMPLETED"
    assert apart.workers() == set()
