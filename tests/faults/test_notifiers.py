"""Notifiers may be killed at any moment: everybody is told, and nobody is told one thing in two ways."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest
from standardwebhooks import Webhook

from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until

pytestmark = [pytest.mark.faults, pytest.mark.services, pytest.mark.timeout(300)]

TASKS = 600
KILL_SECONDS = 12.0
TOLD_SECONDS = 150.0


class Receiver:
    """Takes webhooks, refuses some the first time, is slow with others, and remembers all."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._lock = threading.Lock()
        self.bodies: dict[str, set[bytes]] = defaultdict(set)
        """What came under each webhook-id."""
        self.accepted: dict[str, list[str]] = defaultdict(list)
        """Under which webhook-ids each event was accepted."""
        self.unsigned = 0
        self.secrets: list[str] = []

    def take(self, headers: dict[str, str], body: bytes) -> int:
        """Return the status for a message."""
        time.sleep(self._chance.choice((0, 0, 0.05, 0.3)))
        with self._lock:
            is_refused = headers["webhook-id"] not in self.bodies and self._chance.random() < 0.2
            status = 500 if is_refused else 200
            self.bodies[headers["webhook-id"]].add(body)
            self.unsigned += not any(_is_signed(secret, headers, body) for secret in self.secrets)
            if status == 200:
                self.accepted[json.loads(body)["subject"]].append(headers["webhook-id"])
        return status


def _is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
    except Exception:  # noqa: BLE001 - whatever the library says against it
        return False
    return True


@contextmanager
def serving(receiver: Receiver) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            body = self.rfile.read(size)
            if len(body) < size:
                return  # its notifier was killed in the middle of it
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                self.send_response(receiver.take(headers, body))
                self.send_header("content-length", "0")
                self.end_headers()
            except OSError:
                return  # it was killed while it waited for the answer

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hooks"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_notifiers_killed_at_random_lose_nothing_and_tell_nothing_in_two_ways(
    make_fleet: MakeFleet, chance: Random
) -> None:
    receiver = Receiver(chance)
    settings = {"notify_allow": "127.0.0.1", "notify_timeout": "3s", "notify_concurrency": "8"}
    with serving(receiver) as url, make_fleet(apis=1, schedulers=1, near=1, far=0, notifiers=2, **settings) as fleet:
        _, made = fleet.ask(
            "POST", "/api/v1/subscriptions", {"name": "all", "webhook": url, "events": ["task.completed"]}
        )
        _, rotated = fleet.ask("POST", "/api/v1/notify/rotate")
        receiver.secrets = [made["secret"], rotated["secret"]]

        tasks = _submit_and_kill(fleet, chance, f"{url}/own")

        until(
            lambda: all(len(set(receiver.accepted[task])) == 2 for task in tasks),
            TOLD_SECONDS,
            lambda: _missing(receiver, tasks),
        )
        deliveries = _deliveries(fleet)

    ids = [webhook_id for accepted in receiver.accepted.values() for webhook_id in set(accepted)]
    assert len(ids) == len(set(ids)) == 2 * TASKS, "each event once for the subscriber, once for the task's own target"
    assert [bodies for bodies in receiver.bodies.values() if len(bodies) > 1] == [], "a webhook-id with two bodies"
    assert receiver.unsigned == 0
    assert fleet.killed, "nobody was killed"
    assert len(deliveries) == 2 * TASKS


def _submit_and_kill(fleet: Fleet, chance: Random, own_url: str) -> list[str]:
    """Submit tasks in small batches, and kill one notifier after the other meanwhile."""
    tasks: list[str] = []
    began = time.monotonic()
    each = TASKS // 60
    while len(tasks) < TASKS:
        body = [
            {
                "name": "traced.wait",
                "payload": {"file": str(fleet.traces), "key": f"k{len(tasks) + number}", "seconds": 0},
                "notify": [{"on": ["completed"], "webhook": own_url}],
            }
            for number in range(each)
        ]
        status, answer = fleet.ask("POST", "/api/v1/tasks/batch", {"tasks": body})
        assert status == 200, answer
        tasks += [item["id"] for item in answer["tasks"]]
        if chance.random() < 0.3:
            name = chance.choice(("notifier-1", "notifier-2"))
            fleet.kill(name)
            fleet.restart(name)
        time.sleep(max(0.0, began + KILL_SECONDS * len(tasks) / TASKS - time.monotonic()))
    return tasks


def _missing(receiver: Receiver, tasks: list[str]) -> str:
    missing = [task for task in tasks if len(set(receiver.accepted[task])) < 2]
    return f"{len(missing)} tasks were not told to both, such as {missing[:3]}"


def _deliveries(fleet: Fleet) -> list[str]:
    """Return every delivery that the store knows."""
    found: list[str] = []
    cursor = ""
    while True:
        page = fleet.get(f"/api/v1/deliveries?limit=1000{cursor}")
        found += [item["id"] for item in page["items"]]
        if not page["next_cursor"]:
            return found
        cursor = f"&cursor={page['next_cursor']}"
