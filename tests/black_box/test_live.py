"""Configuration that changes under running processes: the file, the Parameter Store, and the fleet's own."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.black_box.apart import Apart
from tests.black_box.server import APP, eventually
from tests.harness.parameters import Parameters

SOON = 20.0
"""Seconds within which a change must be seen: five are promised, and a busy machine may need more."""
TOLD = 30.0
"""Seconds within which a worker's new capacity is shown: its beats tell it, and they come every five seconds."""


def submit_sleepers(apart: Apart, count: int) -> None:
    tasks = [{"name": "work.sleep", "payload": {"seconds": 120}, "retries": 0} for _ in range(count)]
    status, body = apart.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks})
    assert status in {200, 201, 207}, body


def seconds_until_running(apart: Apart, count: int) -> float:
    began = time.monotonic()
    eventually(lambda: apart.count("PROCESSING") == count, 30, lambda: (apart.count("PROCESSING"), apart.errors))
    return time.monotonic() - began


def capacities(apart: Apart) -> list[int]:
    return sorted(worker["capacity"] for worker in apart.ask("GET", "/api/v1/workers")[1]["items"])


def config_health(apart: Apart) -> dict[str, Any]:
    return dict(apart.ask("GET", "/actuator/health")[1]["components"]["config"])


def replace_file(file: Path, text: str) -> None:
    """Change a file as an editor or a mounted volume does: whole, at once."""
    other = file.with_suffix(".new")
    other.write_text(text)
    other.replace(file)


@pytest.mark.faults
def test_a_file_changes_running_processes_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "drumline.yaml"
    file.write_text("worker: {concurrency: 2}\n")
    with Apart(tmp_path / "data", config=str(file)) as apart:
        apart.run("ada", "worker", str(APP))
        eventually(lambda: capacities(apart) == [2], 30, lambda: apart.errors)
        submit_sleepers(apart, 40)
        seconds_until_running(apart, 2)

        replace_file(file, "worker: {concurrency: 20}\n")
        more = seconds_until_running(apart, 20)
        eventually(lambda: capacities(apart) == [20], TOLD, lambda: capacities(apart))

        replace_file(file, "worker: {concurrency: 30, queues: [bad queue]}\n")
        eventually(lambda: "refused" in config_health(apart).get("details", {}), SOON, lambda: config_health(apart))
        assert config_health(apart)["status"] == "DEGRADED"
        assert "worker.queues in" in config_health(apart)["details"]["refused"]
        refused = '"message": "settings.refused"'
        eventually(lambda: apart.errors.count(refused) == 2, SOON, lambda: apart.errors)  # both processes
        assert capacities(apart) == [20]

        replace_file(file, "worker: {concurrency: 22}\nretention: 1d\n")
        seconds_until_running(apart, 22)
        eventually(lambda: config_health(apart)["status"] == "UP", SOON, lambda: config_health(apart))
        assert config_health(apart)["details"]["needs_restart"] == ["retention"]
        assert apart.count("PROCESSING") == 22

    assert more < SOON


@pytest.mark.faults
def test_parameters_and_the_fleets_configuration_change_a_remote_worker(tmp_path: Path, parameters: Parameters) -> None:
    parameters.put({"worker/concurrency": "2"})
    with Apart(tmp_path / "data") as apart:
        apart.run("ada", "worker", str(APP), "--url", apart.url, "--config", parameters.config)
        eventually(lambda: capacities(apart) == [2], 30, lambda: apart.errors)
        submit_sleepers(apart, 40)
        seconds_until_running(apart, 2)

        parameters.put({"worker/concurrency": "20"})
        more = seconds_until_running(apart, 20)

        parameters.put({"worker/concurrency": "none"})
        eventually(lambda: "must be a whole number" in apart.errors, SOON, lambda: apart.errors)
        status, body = apart.ask("PATCH", "/api/v1/config", {"set": {"worker.concurrency": 25}})
        assert (status, body["version"]) == (200, 1), body
        # Beats come every five seconds, and the API looks each second.
        parameters.put({"worker/concurrency": "20"})
        seconds_until_running(apart, 25)
        eventually(lambda: capacities(apart) == [25], TOLD, lambda: capacities(apart))

    assert more < SOON
