"""A real Prometheus looks at every role while work goes on: each chart has data, and faults raise their alerts."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from scripts.generate_dashboards import DASHBOARDS, RULES
from tests.faults.conftest import MakeFleet
from tests.faults.fleet import Fleet, until
from tests.harness.exposed import Asked, Exposed
from tests.harness.prometheus import Prometheus, load_rules, metric_names, missing

pytestmark = [
    pytest.mark.faults,
    pytest.mark.services,
    pytest.mark.timeout(900),
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]

PATIENCE = 240.0
SOONER = {"> 300 ": "> 3 ", "> 120": "> 3"}
"""Nobody waits for minutes in a test."""
FAULTS = {
    "DrumlineWorkerGone",
    "DrumlineNoWorkers",
    "DrumlineQueueStuck",
    "DrumlineProcessDown",
    "DrumlineOutboxGrowing",
    "DrumlineRedisDown",
}


UNSEEN = {
    'drumline_http_request_seconds_count has no status="5xx"',
    'drumline_duty_passes_total has no outcome="failed"',
}
"""What only faults show; everything else has to be there while all is well."""


class Ears(BaseHTTPRequestHandler):
    """Takes webhooks."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ears)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def fleet(make_fleet: MakeFleet) -> Iterator[Fleet]:
    with make_fleet(
        apis=1, schedulers=1, near=1, far=1, notifiers=1, monitored=True, notify_allow="*", notify_mail_every="1s"
    ) as fleet:
        yield fleet


@pytest.fixture
def prometheus(fleet: Fleet) -> Iterator[Prometheus]:
    targets: dict[str, list[int]] = {}
    for name, member in fleet.members.items():
        role = {"near": "worker", "far": "worker"}.get(name.partition("-")[0], name.partition("-")[0])
        targets.setdefault(f"drumline-{role}", []).append(int(member.environment["DRUMLINE_MONITOR_PORT"]))
    rules = yaml.safe_load(RULES.read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule.pop("for", None)
            for slow, soon in SOONER.items():
                rule["expr"] = rule["expr"].replace(slow, soon)
    server = Prometheus(targets, yaml.safe_dump(rules))
    yield server
    server.remove()


def load(fleet: Fleet, count: int = 30) -> None:
    """Submit tasks of many kinds: some fail, some are repeated, some are cancelled."""
    file = str(fleet.traces)
    tasks: list[dict[str, Any]] = [
        {"name": f"traced.{name}", "queue": queue, "payload": {"file": file, "key": f"k{number}", "seconds": 0.01}}
        for number in range(count)
        for name, queue in (("wait", "fast"), ("block", "slow"), ("stumble", "fast"))
    ]
    nowhere = {"file": "/nowhere/at/all", "key": "k", "seconds": 0.01}
    tasks += [{"name": "traced.wait", "queue": "fast", "retries": 0, "payload": nowhere}]
    status, _ = fleet.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks})
    assert status in {200, 201, 207}
    later = fleet.ask("POST", "/api/v1/tasks", {"name": "unknown", "delay": 3600, "queue": "fast"})[1]["id"]
    fleet.ask("POST", f"/api/v1/tasks/{later}/cancel", {})


def panels() -> list[tuple[str, str]]:
    """Return title and expression of everything that dashboards show."""
    return [
        (
            f"{dashboard.stem}: {panel['title']}",
            target["expr"].replace("$__rate_interval", "30s").replace("$queue", ".*").replace("$shard", ".*"),
        )
        for dashboard in sorted(DASHBOARDS.glob("*.json"))
        for panel in json.loads(dashboard.read_text())["panels"]
        for target in panel.get("targets", ())
    ]


def questions() -> Iterator[tuple[str, Asked]]:
    """Yield what every alert and every chart asks for, with the labels that its words show."""
    for alert, rule in load_rules(RULES).items():
        words = rule["annotations"]["summary"].replace("$labels.", "").replace("$value", "")
        yield alert, Asked.of(rule["expr"], words)
    for dashboard in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(dashboard.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield f"{dashboard.stem}: {panel['title']}", Asked.of(target["expr"], target.get("legendFormat", ""))


def test_every_chart_has_data_and_faults_raise_their_alerts(fleet: Fleet, prometheus: Prometheus, hook: str) -> None:
    every = {"events": ["task.completed", "task.failed"]}
    assert fleet.ask("POST", "/api/v1/subscriptions", {"name": "hook", "webhook": hook, **every})[0] == 201
    assert fleet.ask("POST", "/api/v1/subscriptions", {"name": "post", "email": "ada@example.com", **every})[0] == 201
    empty = dict(panels())

    def all_show() -> bool:
        load(fleet, 5)
        time.sleep(0.5)
        for title, expression in tuple(empty.items()):
            if prometheus.values(expression):
                del empty[title]
        return not empty

    until(all_show, PATIENCE, lambda: f"no data: {empty}")
    for alert, rule in load_rules(RULES).items():
        for name in metric_names(rule["expr"]):
            assert prometheus.values(f"count(last_over_time({name}[2m]))"), (alert, name)
    exposed = Exposed.by(int(member.environment["DRUMLINE_MONITOR_PORT"]) for member in fleet.members.values())
    strange = [(where, fault) for where, asked in questions() for fault in exposed.faults(asked)]
    assert [each for each in strange if each[1] not in UNSEEN] == []
    # Once nothing is submitted any more; a busy machine may be late with the last of it.
    quiet = FAULTS - {"DrumlineOutboxGrowing"}
    until(lambda: not prometheus.firing() & quiet, PATIENCE, lambda: f"in vain: {prometheus.firing() & quiet}")

    for name in ("near-1", "far-1", "notifier-1"):
        fleet.kill(name)
    fleet.redis.kill()
    load(fleet)

    fired: set[str] = set()

    def all_fire() -> bool:
        fired.update(prometheus.firing())
        return fired >= FAULTS

    until(all_fire, PATIENCE, lambda: f"silent: {FAULTS - fired}")
