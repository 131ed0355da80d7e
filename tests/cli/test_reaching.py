"""Servers that are silent, strange, or restarted while a command follows something."""

import http.server
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


class Strange(http.server.BaseHTTPRequestHandler):
    """Answers whatever its server was told to."""

    server: "StrangeServer"

    def do_GET(self) -> None:
        status, media, body = self.server.answer
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - the name in the standard library

    def log_message(self, *_: object) -> None:
        """Be quiet."""


class StrangeServer(http.server.ThreadingHTTPServer):
    """A server that is not Drumline's."""

    answer = (200, "text/html", b"")


@pytest.fixture(scope="module")
def strange() -> Iterator[StrangeServer]:
    with StrangeServer(("127.0.0.1", 0), Strange) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("words", [("tasks", "list"), ("queues", "list"), ("tasks", "cancel", "x", "--yes")])
def test_a_silent_server_is_given_up_with_a_message(drumline: Drumline, silent: str, words: tuple[str, ...]) -> None:
    ran = drumline(*words, "--url", silent, "--timeout", "0.3")

    assert ran.code == ExitCode.UNREACHABLE
    assert "did not answer within 0.3 s" in ran.err
    assert "--timeout" in ran.err
    assert ("may have been done" in ran.err) is ("cancel" in words)


def test_every_command_that_talks_to_a_server_has_a_timeout(drumline: Drumline) -> None:
    for words in (("tasks", "list"), ("logs",), ("queues", "pause"), ("failures", "retry"), ("keys", "create")):
        assert "--timeout SECONDS" in drumline(*words, "--help").out


@pytest.mark.parametrize(
    "answer",
    [
        (200, "text/html", b"<html>hello</html>"),
        (404, "text/html", b"<html>not here</html>"),
        (500, "text/plain", b"oops"),
        (503, "text/html", b"<html>no server is available</html>"),
        (401, "text/html", b"<html>sign in</html>"),
        (404, "application/json", b'{"message": "no route"}'),
        (404, "application/json", b"[]"),
        (200, "application/json", b"[1, 2]"),
        (200, "application/json", b'"text"'),
        (200, "application/json", b'{"hello": "world"}'),
        (302, "text/html", b"<html>elsewhere</html>"),
        (204, "text/plain", b""),
    ],
)
@pytest.mark.parametrize("words", [("tasks", "list"), ("tasks", "get", "x"), ("submit", "x")])
def test_an_address_that_is_not_drumline_is_said_to_be_so(
    drumline: Drumline,
    strange: StrangeServer,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    answer: tuple[int, str, bytes],
) -> None:
    monkeypatch.setattr("drumline.cli.client.PAUSES", (0.0, 0.0))
    strange.answer = answer

    ran = drumline(*words, "--url", f"http://127.0.0.1:{strange.server_port}")

    assert ran.code == ExitCode.UNREACHABLE
    assert "not answer like a Drumline server" in ran.err or "not a Drumline server" in ran.err
    assert "<" not in ran.err


def test_a_server_that_does_not_speak_http_is_said_to_be_so(drumline: Drumline) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            for _ in range(3):
                connection, _ = listening.accept()
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                connection.recv(1000)
                connection.close()

        threading.Thread(target=greet, daemon=True).start()
        ran = drumline("tasks", "list", "--url", f"http://127.0.0.1:{listening.getsockname()[1]}")

    assert ran.code == ExitCode.UNREACHABLE
    assert "does not speak HTTP" in ran.err


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A server that comes back at its address when it is started again."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Server(tmp_path / "data", "--port", str(port)) as server:
        yield server


class Following:
    """A command that goes on for long, with its output in files."""

    def __init__(self, server: Server, folder: Path, *words: str) -> None:
        command = [sys.executable, "-m", "drumline.cli.main", *words, "--url", server.url, "--api-key", server.key]
        name = "-".join(words[:2])
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self._process = subprocess.Popen(command, stdout=out, stderr=err)

    def begun(self) -> None:
        """Wait until it has printed something."""
        eventually(lambda: self._out.stat().st_size > 0, 30, self._err.read_text)

    def noticed(self) -> None:
        """Wait until it has said that the server is away."""
        eventually(lambda: "trying again until it is back" in self._err.read_text(), 60, self._out.read_text)

    def ended(self) -> tuple[int, str, str]:
        """Return its status and what it said where."""
        code = self._process.wait(60)
        return code, self._out.read_text(), self._err.read_text()


def test_watching_and_following_go_on_when_the_server_was_restarted(own: Server, tmp_path: Path) -> None:
    command = ["sh", "-c", f"echo attempt; test -e {tmp_path}/go"]
    options = {"payload": {"command": command}, "retries": 50, "backoff": {"base": 3, "factor": 1}}
    flaky = own.submit("shell", **options)
    own.until(flaky, "PENDING")
    status, job = own.ask("POST", "/api/v1/jobs", {"name": "j", "tasks": {"a": {"name": "shell", **options}}})
    assert status == 201, job
    watched = Following(own, tmp_path, "watch", flaky, "--exit-status", "--jsonl")
    followed = Following(own, tmp_path, "logs", "-f", flaky)
    job_watched = Following(own, tmp_path, "jobs", "watch", job["id"], "--exit-status", "--jsonl")
    for process in (watched, job_watched, followed):
        process.begun()

    assert own.terminate() == 0
    for process in (watched, job_watched):
        process.noticed()
    (tmp_path / "go").touch()
    own.start()

    own.until_ended(flaky)
    for process in (watched, job_watched):
        code, out, err = process.ended()
        assert code == 0, err
        assert json.loads(out.splitlines()[-1])["status"] == "COMPLETED"
        assert "is back" in err
    code, out, err = followed.ended()
    assert code == 0, err
    assert out == own.ask("GET", f"/api/v1/tasks/{flaky}/log")[1]


def test_waiting_ends_by_its_time_although_the_server_is_away(own: Server, tmp_path: Path) -> None:
    task = own.submit("work.sleep", payload={"seconds": 0}, delay="1h")
    watched = Following(own, tmp_path, "watch", task, "--timeout", "3", "--jsonl")
    watched.begun()

    own.kill()

    code, _, err = watched.ended()
    assert code == ExitCode.TIMED_OUT, err


def test_who_cannot_be_reached_at_first_is_not_waited_for(drumline: Drumline) -> None:
    for words in (("watch", "x"), ("logs", "-f", "x"), ("jobs", "watch", "x"), ("events",), ("bulk", "watch", "x")):
        assert drumline(*words, "--url", "http://127.0.0.1:1").code == ExitCode.UNREACHABLE
