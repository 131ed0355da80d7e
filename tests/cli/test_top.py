"""`drumline top`: what keys do to the screen, and what they do to the server."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from types import TracebackType
from typing import Any, Self

import pytest

from drumline.cli.overview import _sum_known
from drumline.cli.top_screen import GENERAL, Screen, Wanted
from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline

QUEUE = {"pending": 0, "oldest_due_at": None, "is_paused": False}
FOUND: dict[str, Any] = {
    "server": "http://here",
    "rates": {"submitted": 1.0, "completed": 1.0, "failed": 0.0, "retried": 0.0, "wait_p95": None},
    "workers": {"open": 1, "busy": 1, "capacity": 4, "memory": 88_080_384, "cpu": 1.5},
    "queues": [
        {**QUEUE, "name": "mail", "queued": 1, "processing": 2},
        {**QUEUE, "name": "reports", "queued": 7, "processing": 0, "is_paused": True},
    ],
    "failures": [
        {"fingerprint": "f1", "count": 3, "last_at": "2026-11-18T05:00:00Z", "kind": "Permanent", "message": "no money"}
    ],
    "slowest": [{"id": "t1", "name": "charge", "started_at": "2026-11-18T05:00:00Z"}],
}


def press(screen: Screen, *keys: str) -> list[tuple[str, str]]:
    """Press keys; return what they asked for, with the names of the rows."""
    asked = [wanted for key in keys if (wanted := screen.press(key)) is not None]
    return [(wanted.act, wanted.row.name if wanted.row else "") for wanted in asked]


def test_a_cause_is_shown_with_the_class_of_its_error() -> None:
    screen = Screen(FOUND)

    assert any("Permanent: no money" in line for line in screen.lines(100, 30))


def test_the_cursor_goes_through_all_sections_and_stays_with_its_row() -> None:
    screen = Screen(FOUND)

    press(screen, "j", "j")
    chosen = screen.chosen
    screen.show({**FOUND, "queues": []})

    assert chosen == screen.chosen == ("failure", "f1")
    press(screen, "\t")
    assert screen.chosen == ("task", "t1")


def test_workers_are_shown_with_what_they_use_where_that_is_known() -> None:
    untold = {**FOUND, "workers": {**FOUND["workers"], "memory": None, "cpu": None}}

    assert "workers 1   busy 1 of 4   memory 84.0 MiB   cpu 150%" in Screen(FOUND).lines(80, 24)
    assert "workers 1   busy 1 of 4" in Screen(untold).lines(80, 24)


def test_what_workers_use_is_added_up_of_those_that_tell_it() -> None:
    workers: list[dict[str, Any]] = [
        {"memory": 5, "cpu": 0.5},
        {"memory": None, "cpu": None},
        {"memory": 7, "cpu": 1.0},
    ]

    assert [_sum_known(workers, name) for name in ("memory", "cpu")] == [12, 1.5]
    assert _sum_known(workers[1:2], "memory") is None


def test_the_page_of_a_row_has_its_name_as_one_segment() -> None:
    screen = Screen({**FOUND, "queues": [{**QUEUE, "name": "mail/eu 100%?", "queued": 1, "processing": 0}]})

    assert screen.row is not None
    assert screen.row.page == "/queues/mail%2Feu%20100%25%3F"


def test_a_queue_is_paused_or_resumed() -> None:
    screen = Screen(FOUND)

    assert press(screen, "p", "\x1b[B", "p") == [("pause", "mail"), ("resume", "reports")]


def test_a_key_of_another_kind_of_row_does_nothing() -> None:
    assert press(Screen(FOUND), "c", "r", "R", "a") == []


def test_cancelling_and_retrying_all_are_asked_for_and_only_y_is_a_yes() -> None:
    screen = Screen(FOUND)

    assert press(screen, "\t", "R", "n", "R", "y") == [("retry all", "f1")]
    assert press(screen, "\t", "c", "\x1b", "c", "y") == [("cancel", "t1")]


def test_on_a_production_server_every_change_is_asked_for() -> None:
    screen = Screen(FOUND, production="prod")

    assert press(screen, "p") == []
    assert "prod is production. Pause queue mail? y/n" in screen.lines(80, 24)[-1]
    assert press(screen, "y", "p", "x", "o") == [("pause", "mail"), ("open", "mail")]


def test_queues_are_sorted_and_rows_filtered() -> None:
    screen = Screen(FOUND)

    press(screen, "s")
    names = [row.name for row in screen.rows if row.kind == "queue"]
    press(screen, "/", "R", "e", "p", "x", "\x7f", "\r")
    filtered = [row.name for row in screen.rows]
    press(screen, "\x1b")

    assert (names, filtered) == (["reports", "mail"], ["reports"])
    assert len(screen.rows) == 4


def test_no_line_is_wider_and_there_are_no_more_lines_than_the_terminal_has() -> None:
    many = {**FOUND, "queues": [{**QUEUE, "name": f"q{n}" * 9, "queued": n, "processing": 0} for n in range(30)]}
    screen = Screen(many)
    press(screen, *"j" * 29)

    lines = screen.lines(60, 12)

    assert len(lines) == 12
    assert max(map(len, lines)) <= 60
    assert any(line.startswith("> q9") for line in lines)


def test_help_is_shown_until_the_next_key_which_does_nothing_else() -> None:
    screen = Screen(FOUND)
    press(screen, "?")

    assert "retry its latest task" in "\n".join(screen.lines(80, 24))
    assert press(screen, "q") == []
    assert screen.lines(120, 24)[-1].endswith(GENERAL)
    assert screen.press("q") == Wanted("quit")


def test_top_says_that_it_needs_a_terminal(online: Drumline) -> None:
    refused = online("top")

    assert refused.code == 2
    assert "drumline status" in refused.err


class Terminal:
    """`drumline top` on a pseudo-terminal of 100 columns and 40 lines."""

    def __init__(self, server: Server) -> None:
        words = ["-m", "drumline.cli.main", "top", "--url", server.url, "--api-key", server.key, "--every", "0.5"]
        self._pid, self._file = pty.fork()
        if self._pid == 0:
            nowhere = {"TERM": "xterm", "BROWSER": "false", "NO_COLOR": "1"}
            os.execve(sys.executable, [sys.executable, *words], {**os.environ, **nowhere})
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self._seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    def shows(self, pattern: str) -> None:
        """Read until it has drawn a screen with this since the last key."""
        while not re.search(pattern, self._seen):
            self._seen += os.read(self._file, 65_536).decode()

    def press(self, *keys: str) -> None:
        self._seen = ""
        for key in keys:
            os.write(self._file, key.encode())

    def ended(self) -> int:
        """Return its exit status."""
        try:
            while text := os.read(self._file, 65_536).decode():
                self._seen += text
        except OSError:  # Linux tells so that the other side has gone
            assert "\x1b[?1049l" in self._seen, "the terminal was not given back as it was"
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


@pytest.mark.skipif(not hasattr(pty, "fork"), reason="there are no pseudo-terminals here")
@pytest.mark.timeout(90)
def test_keys_act_on_the_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Server(tmp_path_factory.mktemp("top") / "data") as server:
        server.ask("POST", "/api/v1/queues/aaa/pause", {"reason": "full"})
        failed = server.submit("shell", payload={"shell": "exit 3"}, retries=0)
        server.until(failed, "FAILED")
        running = server.submit("shell", payload={"shell": "sleep 3600"})
        server.until(running, "PROCESSING")
        with Terminal(server) as terminal:
            terminal.shows(r"> aaa .* paused")
            terminal.press("p")
            terminal.shows("Queue aaa is running")
            terminal.press("\t", "r")
            terminal.shows(f"Task {failed} runs again")
            server.until(failed, "FAILED")
            terminal.press("/", *running[-8:], "\r")
            terminal.shows(f"> .*{running}")
            terminal.press("o")
            terminal.shows(f"Open {re.escape(server.url)}/ui/tasks/{running}")
            terminal.press("c")
            terminal.shows(f"Cancel task {running}")
            terminal.press("y")
            terminal.shows(f"Task {running} is cancelled")
            terminal.press("q")
            code = terminal.ended()

        assert code == 0
        assert server.until(running, "CANCELLED")
        eventually(lambda: server.ask("GET", "/api/v1/queues/aaa")[1]["queue"]["is_paused"] is False, 10)
