"""Stopping: a signal ends every kind of process, whatever has become of its output."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROLES = ("dev", "api", "scheduler", "worker", "notifier", "demo")
END_SECONDS = 60.0
LISTENING = "monitor.listening"
"""What every role logs once signals stop it in order."""


class Process:
    """A process of one role, whose output can be taken away from it."""

    def __init__(self, role: str, data: Path, *, closed: bool = False, **settings: str) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DRUMLINE_", "DATABASE_URL"))},
            "DRUMLINE_MONITOR_PORT": "0",
            "DRUMLINE_LOG_LEVEL": "debug",
            "DRUMLINE_DATA": str(data),
            **settings,
        }
        words = [role, *(["--log-level", "debug"] if role == "demo" else [])]
        words += ["--port", "0"] if role in {"dev", "api", "demo"} else []
        command = [sys.executable, "-m", "drumline.cli.main", *words]
        if closed:
            command = ["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", *command]
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=data.parent
        )
        assert self.popen.stdout is not None
        self.output = self.popen.stdout

    def until(self, text: str) -> None:
        """Read until a line has a text in it."""
        seen = []
        for line in self.output:
            seen.append(line.decode())
            if text in seen[-1]:
                return
        raise AssertionError("".join(seen))

    def take_output_away(self) -> None:
        self.output.close()

    def end(self, number: int) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(END_SECONDS)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def started() -> Iterator[list[Process]]:
    processes: list[Process] = []
    yield processes
    for process in processes:
        process.popen.kill()
        process.popen.wait()
        process.output.close()


def migrate(data: Path) -> None:
    command = [sys.executable, "-m", "drumline.cli.main", "migrate", "--data", str(data)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("role", "number"), [*((role, signal.SIGTERM) for role in ROLES), ("dev", signal.SIGINT), ("worker", signal.SIGINT)]
)
def test_a_process_whose_readers_have_gone_stops_when_asked(
    role: str, number: int, data: Path, started: list[Process]
) -> None:
    if role not in {"dev", "demo"}:
        migrate(data)
    process = Process(role, data)
    started.append(process)
    process.until(LISTENING)
    process.take_output_away()

    assert process.end(number) == 0


@pytest.mark.parametrize("role", ["worker", "scheduler"])
def test_a_process_that_waits_for_its_database_stops_when_asked(role: str, data: Path, started: list[Process]) -> None:
    process = Process(role, data, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    started.append(process)
    process.until("store.awaited")

    assert process.end(signal.SIGTERM) == 0
    assert b"Traceback" not in process.output.read()


def test_ctrl_c_ends_a_process_that_starts_with_its_own_status(data: Path, started: list[Process]) -> None:
    process = Process("worker", data, DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    started.append(process)
    process.until("store.awaited")

    assert process.end(signal.SIGINT) == 130
