"""What survives when processes are killed, stopped or joined by others."""

import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import urllib3

from tests.black_box.server import Server, eventually, lines_of

pytestmark = pytest.mark.faults

TASKS = 1000
UNENDED = ("PENDING", "QUEUED", "PROCESSING")


class Submitter:
    """Submits tasks one by one from several threads and remembers which were acknowledged."""

    def __init__(self, server: Server, traces: Path) -> None:
        self._server = server
        self._traces = traces
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(4)]
        self.acknowledged: dict[str, str] = {}
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, thread: int) -> None:
        for number in range(TASKS // len(self._threads)):
            if self._stop.is_set():
                return
            text = f"{thread}-{number}"
            try:
                task_id = self._server.submit("work.trace", payload={"file": str(self._traces), "text": text})
            except urllib3.exceptions.HTTPError:
                return
            self.acknowledged[task_id] = text


def await_stopping(server: Server) -> None:
    """Wait until it knows that it should stop."""
    eventually(lambda: server.ask("GET", "/readyz")[0] == 503, 20)


@pytest.mark.timeout(180)
def test_a_kill_in_the_middle_loses_no_acknowledged_task_and_repeats_no_completed_one(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    with Server(tmp_path / "data", "--concurrency", "16") as server:
        # They take a moment, so that many are left to do whenever the kill comes.
        payloads = [{"file": str(traces), "text": f"b-{number}", "seconds": 0.02} for number in range(TASKS)]
        bulk = [{"name": "work.trace_late", "payload": payload} for payload in payloads]
        answers = server.ask("POST", "/api/v1/tasks/batch", {"tasks": bulk})[1]["tasks"]
        acknowledged = {answer["id"]: f"b-{number}" for number, answer in enumerate(answers)}
        submitter = Submitter(server, traces)
        eventually(lambda: len(lines_of(traces)) > TASKS // 5, 30)
        completed = server.ids("COMPLETED")
        server.kill()
        submitter.stop()
        acknowledged |= submitter.acknowledged
        assert len({line[0] for line in lines_of(traces)}) < len(acknowledged), "it was killed too late"

        server.start()
        # What was stored and not acknowledged runs too.
        eventually(lambda: server.count(*UNENDED) == 0, 90, lambda: server.count(*UNENDED))

        assert server.count("FAILED", "CANCELLED") == 0
        assert server.count("COMPLETED") >= len(acknowledged)
        runs = Counter(line[0] for line in lines_of(traces))
        assert all(runs[text] >= 1 for text in acknowledged.values())
        assert all(runs[acknowledged[task_id]] == 1 for task_id in completed if task_id in acknowledged)
        for task_id, text in acknowledged.items():
            if runs[text] > 1:
                assert [attempt["outcome"] for attempt in server.attempts(task_id)] == ["crashed", "completed"]


def test_two_processes_share_one_data_folder(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    with Server(tmp_path / "data", "--concurrency", "2") as one, Server(tmp_path / "data", "--concurrency", "2") as two:
        servers = (one, two)
        with ThreadPoolExecutor(8) as callers:
            payloads = [{"file": str(traces), "text": str(number), "seconds": 0.01} for number in range(300)]
            ids = list(
                callers.map(lambda p: servers[int(p["text"]) % 2].submit("work.trace_late", payload=p), payloads)
            )
        eventually(lambda: one.count("COMPLETED") == len(ids), 60)

        runs = lines_of(traces)
        assert sorted(int(line[0]) for line in runs) == list(range(300))
        assert {int(line[1]) for line in runs} == {one.pid, two.pid}
        assert "was first" in two.banner
        assert two.get(ids[0]) == one.get(ids[0])


def test_a_stopped_server_finishes_what_runs(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    with Server(tmp_path / "data") as server:
        payload = {"file": str(traces), "text": "done", "gate": str(tmp_path / "gate")}
        ids = [server.submit("work.trace_once_let", payload=payload) for _ in range(3)]
        for task_id in ids:
            server.until(task_id, "PROCESSING")

        server.signal(signal.SIGTERM)
        await_stopping(server)
        (tmp_path / "gate").touch()

        assert server.wait() == 0
        assert len(lines_of(traces)) == 3
        assert not (server.data / "server.json").exists()
        server.start()
        assert [server.get(task_id)["status"] for task_id in ids] == ["COMPLETED"] * 3


def test_a_stopped_server_gives_back_what_takes_longer_than_its_grace(tmp_path: Path) -> None:
    with Server(tmp_path / "data", worker_grace="1s") as server:
        task_id = server.submit("work.sleep", payload={"seconds": 300})
        server.until(task_id, "PROCESSING")

        began = time.monotonic()
        assert server.terminate() == 0
        took = time.monotonic() - began
        server.start()
        server.until(task_id, "PROCESSING")

        assert took < 60, "it did not wait for the task"
        assert server.get(task_id)["attempt"] == 1
        assert [attempt["outcome"] for attempt in server.attempts(task_id)] == ["released", "running"]


def test_a_second_signal_hurries(tmp_path: Path) -> None:
    with Server(tmp_path / "data", worker_grace="10m") as server:
        task_id = server.submit("work.sleep", payload={"seconds": 300})
        server.until(task_id, "PROCESSING")

        server.signal(signal.SIGINT)
        await_stopping(server)  # of two signals at once a process sees one
        server.signal(signal.SIGINT)

        assert server.wait(20) == 0


@pytest.mark.timeout(180)
def test_a_task_that_kills_its_worker_is_failed_as_poison(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    with Server(tmp_path / "data", poison_after="1") as server:
        task_id = server.submit("work.die", payload={"file": str(traces)})
        server.wait(30)

        server.start()
        task = server.until_ended(task_id, seconds=60)

        assert task["status"] == "FAILED"
        assert len(lines_of(traces)) == 1


def test_a_server_that_was_killed_does_not_stand_in_the_way_of_the_next(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        server.kill()
        assert (server.data / "server.json").exists()

        server.start()

        assert "was first" not in server.banner
        assert str(server.pid) in (server.data / "server.json").read_text()
