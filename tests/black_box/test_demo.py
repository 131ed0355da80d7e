"""`drumline demo`: something on every screen, on a server of its own and on one that was there before."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.black_box.server import Server, eventually

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

LISTS = (
    "/tasks?status=COMPLETED", "/tasks?status=FAILED", "/tasks?status=CANCELLED", "/tasks?status=SKIPPED",
    "/tasks?status=PENDING", "/tasks?status=QUEUED", "/failures/groups", "/jobs?status=FAILED",
    "/jobs?status=COMPLETED", "/schedules", "/queues", "/workers", "/types", "/bulk", "/subscriptions",
    "/deliveries?state=delivered", "/keys", "/secrets", "/audit", "/alerts", "/slos", "/alert-incidents",
)  # fmt: skip
"""What must not be empty."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("demo")
    with Server(folder / "data", "--seed", "7", "--rate", "0", app=None, program="demo") as started:
        yield started


def _has_items(server: Server, path: str) -> bool:
    return bool(server.ask("GET", f"/api/v1{path}")[1]["items"])


def _words(server: Server, path: str, field: str) -> set[str]:
    return {item[field] for item in server.ask("GET", f"/api/v1{path}")[1]["items"]}


def test_the_demo_fills_every_screen_of_a_server_of_its_own(server: Server) -> None:
    for path in LISTS:
        eventually(partial(_has_items, server, path), 60.0, partial(str, path))
    eventually(lambda: len(_words(server, "/failures/groups", "kind")) >= 5, 60.0)
    eventually(lambda: _words(server, "/bulk", "act") == {"retry", "cancel"}, 60.0)
    eventually(lambda: {"shop 1.4.2", "shop 1.5.0"} <= _words(server, "/workers", "app_version"), 60.0)


def test_a_demo_may_come_twice_and_ends_when_its_time_is_up(server: Server) -> None:
    program = [sys.executable, "-m", "drumline.cli.main", "demo", "--rate", "5", "--for", "1s"]

    done = subprocess.run(
        [*program, "--url", server.url, "--api-key", server.key],
        capture_output=True, text=True, timeout=100, check=False, env=server.environment,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert len(server.ask("GET", "/api/v1/schedules")[1]["items"]) == 5


def test_a_demo_makes_no_webhooks_that_its_server_would_refuse(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "drumline.cli.main", "demo", "--rate", "5", "--for", "1s"]
    with Server(tmp_path / "data") as strict:
        done = subprocess.run(
            [*program, "--url", strict.url, "--api-key", strict.key],
            capture_output=True, text=True, timeout=200, check=False, env=strict.environment,
        )  # fmt: skip
        deliveries = strict.ask("GET", "/api/v1/deliveries")[1]["items"]

    assert done.returncode == 0, done.stderr
    assert "DRUMLINE_NOTIFY_ALLOW" in done.stderr
    assert [delivery["target"].rpartition("/")[2] for delivery in deliveries] in ([], ["probe"])


def test_a_demo_is_stopped_like_any_server(tmp_path: Path) -> None:
    with Server(tmp_path / "data", app=None, program="demo") as server:
        assert server.terminate() == 0
