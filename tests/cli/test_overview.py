"""The state of an installation in one screen, once or kept up to date."""

import os
import pty
import sys

import pytest

from drumline.cli.overview import _rates
from tests.black_box.server import Server
from tests.cli.conftest import Drumline


def point(**counts: float | None) -> dict[str, float | None]:
    return {"submitted": 0, "completed": 0, "failed": 0, "retried": 0, "wait_p95": None, **counts}


def test_rates_are_those_of_the_last_whole_minute() -> None:
    points = [point(submitted=999), *[point(submitted=10, wait_p95=0.5)] * 6, point(submitted=500)]

    rates = _rates(points, step=10)

    assert (rates["submitted"], rates["wait_p95"]) == (1.0, 0.5)


def test_without_a_whole_bucket_rates_are_unknown() -> None:
    assert _rates([point()], step=10)["completed"] is None
    assert _rates([], step=0)["completed"] is None


def test_status_shows_a_queue_with_what_waits_in_it(online: Drumline) -> None:
    online("submit", "nothing.runs.this", "--queue", "overviewed")

    shown = online("status")
    data = online("status", "--json").json

    assert "overviewed" in shown.out
    (queue,) = [queue for queue in data["queues"] if queue["name"] == "overviewed"]
    assert queue["queued"] >= 1
    assert data["workers"]["open"] >= 1


def test_top_says_that_it_needs_a_terminal(online: Drumline) -> None:
    refused = online("top")

    assert refused.code == 2
    assert "drumline status" in refused.err


@pytest.mark.skipif(not hasattr(pty, "fork"), reason="there are no pseudo-terminals here")
@pytest.mark.timeout(60)
def test_top_shows_the_queues_on_a_terminal_and_q_ends_it(online: Drumline, server: Server) -> None:
    online("submit", "nothing.runs.this", "--queue", "overviewed")
    words = ["-m", "drumline.cli.main", "top", "--url", server.url, "--api-key", server.key]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, *words], {**os.environ, "TERM": "xterm"})

    shown = b""
    while b"overviewed" not in shown:
        shown += os.read(terminal, 65_536)
    os.write(terminal, b"q")
    while _read(terminal):
        pass

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux tells so that the other side has gone
        return b""
