"""What a person who starts `drumline dev` can do with it."""

import json
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from tests.black_box.conftest import Shared
from tests.black_box.server import Server, eventually, lines_of


def test_a_task_completes_and_tells_its_log_attempts_and_status(shared: Shared, tmp_path: Path) -> None:
    task_id = shared.submit("work.trace", payload={"file": str(tmp_path / "traces"), "text": "one"})

    task = shared.until_ended(task_id)
    (attempt,) = shared.attempts(task_id)
    _, log = shared.ask("GET", f"/api/v1/tasks/{task_id}/log")

    assert (task["status"], task["result"], task["attempt"]) == ("COMPLETED", "one", 1)
    assert (attempt["outcome"], attempt["attempt"]) == ("completed", 1)
    assert log == "tracing one\n"


@pytest.mark.parametrize("kind", ["async", "in_thread", "in_process"])
def test_a_task_that_submits_a_task_reaches_the_server_it_came_from(shared: Shared, tmp_path: Path, kind: str) -> None:
    traces = tmp_path / "traces"

    asked = shared.until_ended(shared.submit(f"work.ask_{kind}", payload={"file": str(traces)}))

    assert asked["status"] == "COMPLETED", asked["error"]
    eventually(traces.exists, 30, lambda: shared.errors)


def test_the_printed_url_carries_the_key_that_opens_the_door(shared: Shared) -> None:
    printed = re.search(r"http://\S+(sk_[\w-]+)", shared.banner)

    assert printed
    assert shared.ask("GET", "/api/v1/tasks", key=printed[1])[0] == 200
    assert shared.ask("GET", "/api/v1/tasks", key="sk_wrong")[0] == 401


def test_key_and_data_are_for_their_owner_only(shared: Shared) -> None:
    assert stat.S_IMODE(shared.data.stat().st_mode) == 0o700
    for file in shared.data.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_clients_find_the_server_through_its_data_folder(shared: Shared) -> None:
    note = json.loads((shared.data / "server.json").read_text())

    assert note == {"url": shared.url, "pid": shared.pid}


def test_a_delayed_task_waits(shared: Shared, tmp_path: Path) -> None:
    task_id = shared.submit("work.trace", payload={"file": str(tmp_path / "traces"), "text": "late"}, delay=4)

    before = shared.get(task_id)
    after = shared.until_ended(task_id)

    assert before["status"] == "PENDING"
    assert after["status"] == "COMPLETED"
    assert after["started_at"] >= before["due_at"]


def test_a_waiting_task_is_cancelled_at_once(shared: Shared, tmp_path: Path) -> None:
    task_id = shared.submit("work.trace", payload={"file": str(tmp_path / "traces"), "text": "never"}, delay="1h")

    status, task = shared.ask("POST", f"/api/v1/tasks/{task_id}/cancel")

    assert (status, task["status"]) == (200, "CANCELLED")


def test_a_running_task_is_cancelled_soon(shared: Shared) -> None:
    task_id = shared.submit("work.sleep", payload={"seconds": 300})
    shared.until(task_id, "PROCESSING")

    _, asked = shared.ask("POST", f"/api/v1/tasks/{task_id}/cancel")
    task = shared.until_ended(task_id)

    assert asked["cancel_requested"]
    assert task["status"] == "CANCELLED"


def test_a_rescheduled_task_runs_at_its_new_time(shared: Shared, tmp_path: Path) -> None:
    task_id = shared.submit("work.trace", payload={"file": str(tmp_path / "traces"), "text": "soon"}, delay="1h")

    status, _ = shared.ask("PATCH", f"/api/v1/tasks/{task_id}", {"delay": 0})

    assert status == 200
    assert shared.until_ended(task_id)["status"] == "COMPLETED"


def test_a_task_that_takes_too_long_fails_by_its_timeout(shared: Shared) -> None:
    task_id = shared.submit("work.sleep", payload={"seconds": 300}, timeout=0.5, retries=0)

    task = shared.until_ended(task_id)

    assert task["status"] == "FAILED"
    assert "0.5 s" in task["error"]["message"]


def test_a_permanent_error_is_not_retried(shared: Shared, tmp_path: Path) -> None:
    task_id = shared.submit("work.refuse", payload={"file": str(tmp_path / "traces")})

    task = shared.until_ended(task_id)

    assert (task["status"], task["attempt"]) == ("FAILED", 1)
    assert len(lines_of(tmp_path / "traces")) == 1


@pytest.mark.faults
def test_an_error_is_retried_after_2_and_4_and_8_seconds(shared: Shared) -> None:
    task = shared.until_ended(shared.failing, seconds=40)
    moments = [float(line[2]) for line in lines_of(shared.traces)]
    waits = [after - before for before, after in pairwise(moments)]

    assert task["status"] == "FAILED"
    assert [attempt["outcome"] for attempt in shared.attempts(shared.failing)] == ["retried"] * 3 + ["failed"]
    # A busy machine adds some to each; it never takes so long as the next.
    assert all(due <= wait < 2 * due for wait, due in zip(waits, (2, 4, 8), strict=True)), waits


def test_one_idempotency_key_makes_one_task_however_many_ask_at_once(shared: Shared, tmp_path: Path) -> None:
    task = {
        "name": "work.trace",
        "payload": {"file": str(tmp_path / "traces"), "text": "once"},
        "idempotency_key": str(tmp_path),
    }

    with ThreadPoolExecutor(50) as callers:
        answers = list(callers.map(lambda _: shared.ask("POST", "/api/v1/tasks", task), range(50)))
    other, _ = shared.ask("POST", "/api/v1/tasks", {**task, "payload": {}})

    assert len({body["id"] for _, body in answers}) == 1
    assert {status for status, _ in answers} <= {200, 201}
    assert [status for status, _ in answers].count(201) == 1
    assert other == 422


def test_a_shell_command_runs_on_the_embedded_server(shared: Shared) -> None:
    task_id = shared.submit("shell", payload={"command": ["echo", "hello"]})

    assert shared.until_ended(task_id)["result"]["stdout"] == "hello\n"


def test_the_higher_priority_runs_first_among_due_tasks(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    with Server(tmp_path / "data", "--concurrency", "1") as server:
        server.ask("POST", "/api/v1/queues/default/pause")
        ids = [
            server.submit("work.trace", payload={"file": str(traces), "text": str(priority)}, priority=priority)
            for priority in (0, 10, 5, "critical", "low")
        ]

        server.ask("POST", "/api/v1/queues/default/resume")
        for task_id in ids:
            server.until_ended(task_id)

    assert [line[0] for line in lines_of(traces)] == ["critical", "10", "5", "0", "low"]


def test_a_given_key_is_not_printed_nor_kept(tmp_path: Path) -> None:
    with Server(tmp_path / "data", api_key="sk_my_own_key") as server:
        assert server.ask("GET", "/api/v1/tasks", key="sk_my_own_key")[0] == 200
        assert "sk_my_own_key" not in server.banner
        assert not (server.data / "api-key").exists()
