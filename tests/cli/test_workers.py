"""Draining and keeping workers on the command line."""

from pathlib import Path

import pytest

from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline


def test_a_worker_is_shown_with_the_memory_and_processor_time_that_it_uses(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(tmp_path / "own") as server:
        monkeypatch.setenv("DRUMLINE_DATA", str(server.data))
        _, opened = server.ask("POST", "/api/v1/worker/sessions", {"types": [{"name": "by-hand"}], "capacity": 1})
        path, worker = f"/api/v1/worker/sessions/{opened['session']}", opened["session"]
        unknown = drumline("workers", "get", worker)
        server.ask("POST", f"{path}/beat", {"usage": {"memory": 88_080_384, "cpu": 1.5}})

        listed = drumline("workers", "list")
        (raw,) = [each for each in drumline("workers", "list", "--json").json if each["id"] == worker]
        got = drumline("workers", "get", worker)
        as_json = drumline("workers", "get", worker, "--json").json
        none = drumline("workers", "get", "w-00c0ffee00c0ffee")

    (line,) = [line for line in listed.out.splitlines() if worker in line]
    assert "84.0 MiB" in line
    assert "150%" in line
    assert (raw["memory"], raw["cpu"]) == (88_080_384, 1.5)
    assert as_json == raw
    assert "memory     84.0 MiB\ncpu        150% of one core\n" in got.out
    assert "memory     not known\ncpu        not known\n" in unknown.out
    assert "there is no worker w-00c0ffee00c0ffee" in none.err


def test_a_worker_is_shown_with_the_version_of_its_application_that_its_environment_says(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(tmp_path / "own", app_version="3f2a1bc") as server:
        monkeypatch.setenv("DRUMLINE_DATA", str(server.data))
        eventually(lambda: len(drumline("workers", "list", "--json").json) == 1, 60, lambda: server.errors)
        (worker,) = drumline("workers", "list", "--json").json
        _, opened = server.ask("POST", "/api/v1/worker/sessions", {"types": [{"name": "by-hand"}], "capacity": 1})

        listed = drumline("workers", "list", "--wide").out.splitlines()
        got = drumline("workers", "get", worker["id"]).out
        unknown = drumline("workers", "get", opened["session"]).out

    assert worker["app_version"].endswith(" 3f2a1bc")
    assert "APP_VERSION" in listed[0]
    assert worker["app_version"] in next(line for line in listed if worker["id"] in line)
    assert f"app        {worker['app_version']}\n" in got
    assert "app  " not in unknown


def test_draining_the_last_worker_says_that_nothing_runs_and_how_to_go_on(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server(tmp_path / "own") as server:
        monkeypatch.setenv("DRUMLINE_DATA", str(server.data))
        eventually(lambda: len(drumline("workers", "list", "--json").json) == 1, 60, lambda: server.errors)
        (worker,) = drumline("workers", "list", "--json").json

        drained = drumline("workers", "drain", worker["id"], "--yes")
        eventually(lambda: "worker.drained" in server.errors, 60, lambda: server.errors)
        undrained = drumline("workers", "undrain", worker["id"])
        task = drumline("submit", "shell", "--arg", "shell=echo a").out.strip()
        why = drumline("tasks", "why", task)

    assert drained.out == f"{worker['id']}  draining\n"
    assert "Warning: no other worker takes tasks" in drained.err
    assert f"drumline workers undrain {worker['id']}" in drained.err
    assert "has left already" in undrained.err
    assert why.out == "No worker is running.\n"
