"""Canaries: secrets with telling values, used for real in every way, and then looked for in all that is left behind."""

import asyncio
import base64
import json
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import redis
import urllib3

from drumline.stores.sealing import new_key_text
from tests.black_box.apart import Apart
from tests.black_box.server import Server, eventually
from tests.harness import postgres
from tests.harness import redis as redis_harness

pytestmark = pytest.mark.faults

APP = Path(__file__).parent / "apps" / "leaky.py"
CANARY = "canary-7f3a/Zw+9"
"""With characters that are written in many ways."""
PLAIN = "songbird-51c0"
"""In the clear in payloads, under a telling name."""
FORMS = (CANARY, "canary-7f3a", "7f3a%2FZw", base64.b64encode(CANARY.encode()).decode()[:16], PLAIN)
PAGES = (
    "/tasks?payload=true&limit=500", "/failures", "/failures/groups", "/jobs", "/schedules", "/queues", "/workers",
    "/types", "/subscriptions", "/deliveries", "/audit?all=true", "/audit/export", "/secrets", "/stats",
    "/events/consumers", "/bulk", "/me", "/keys", "/tenants",
)  # fmt: skip


class Sink(ThreadingHTTPServer):
    """Gets webhooks and requests of tasks, and says back what it was told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.headers: list[str] = []
        self.bodies: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        told = {"path": self.path, "authorization": self.headers.get("authorization"), "body": body}
        (self.server.headers if self.path.startswith("/task") else self.server.bodies).append(json.dumps(told))
        status = 401 if self.path.startswith("/task/refused") else 200
        answer = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def sink() -> Iterator[Sink]:
    sink = Sink()
    thread = threading.Thread(target=sink.serve_forever)
    thread.start()
    yield sink
    sink.shutdown()
    thread.join()
    sink.server_close()


class Place:
    """A running installation, and how to read all that it keeps."""

    def __init__(self, server: Server, *, store: str | None = None, queue: str | None = None) -> None:
        self.server = server
        self._store = store
        self._queue = queue

    def kept(self) -> Iterator[tuple[str, bytes]]:
        """Yield everything in the store, in the queue and on the disk."""
        for path in self.server.data.rglob("*"):
            if path.is_file() and path.name not in {"secret-key", "api-key"}:
                yield str(path), path.read_bytes()
        if self._store is not None:
            yield "PostgreSQL", asyncio.run(_dump(self._store))
        if self._queue is not None:
            yield "Redis", b"\n".join(_values(redis.Redis.from_url(self._queue)))


async def _dump(url: str) -> bytes:
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'drumline'"
        )
        rows = [row for (table,) in tables for row in await connection.fetch(f"SELECT * FROM {table}")]
    finally:
        await connection.close()
    return b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row.values()
    )


def _values(client: Any) -> Iterator[bytes]:
    for key in client.scan_iter():
        yield key
        yield client.dump(key) or b""


@pytest.fixture(params=["embedded", pytest.param("distributed", marks=pytest.mark.services)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    allowed = {
        "notify_allow": "127.0.0.1",
        "allow_http": "127.0.0.1",
        "log_level": "debug",
        "tasks_payload_check": "warn",
    }
    if request.param == "embedded":
        with Server(tmp_path / "data", app=APP, **allowed) as server:
            yield Place(server)
        return
    if reason := postgres.missing() or redis_harness.missing():
        pytest.skip(reason)
    database = postgres.PostgresServer(durable=False)
    queue = redis_harness.RedisServer()
    try:
        settings = {"store_url": database.url(), "queue_url": queue.url(), "secret_key": new_key_text()}
        apart = Apart(tmp_path / "data", api_key="sk_canaries", allow_shell="true", **settings, **allowed)
        apart.run("migrate", "migrate")
        assert apart.wait_for("migrate") == 0
        with apart:
            apart.run("scheduler", "scheduler")
            apart.run("notifier", "notifier")
            apart.run("near", "worker", str(APP), "--concurrency", "4")
            apart.run("far", "worker", str(APP), "--concurrency", "4", "--url", apart.url)
            eventually(lambda: len(apart.workers()) == 2, 30, lambda: apart.errors)
            yield Place(apart, store=database.url(), queue=queue.url())
    finally:
        queue.remove()
        database.remove()


def use(server: Server, sink: Sink) -> list[str]:
    """Use the secret in every kind of task, and return the tasks."""
    secret = {"$secret": "canary"}
    bearer = {"Authorization": {"$secret": "canary", "format": "Bearer {}"}}
    requests: list[dict[str, Any]] = [
        {"name": f"leaky.{name}", "payload": {"token": secret}, "retries": 0}
        for name in ("leak", "leak_and_fail", "leak_apart")
        for _ in range(4)
    ]
    requests += [
        {
            "name": "http",
            "payload": {"url": f"{sink.url}/task/{path}", "method": "POST", "headers": bearer, "json": {"p": secret}},
        }
        for path in ("ok", "refused")
    ]
    requests += [
        {
            "name": "shell",
            "payload": {"shell": f'echo "$T"; echo "$T" >&2; exit {code}', "env": {"T": secret}},
            "retries": 0,
        }
        for code in (0, 3)
    ]
    requests.append({"name": "leaky.leak_and_fail", "payload": {"token": "x", "db_password": PLAIN}, "retries": 0})
    requests.append({"name": "leaky.leak", "payload": {"token": "x", "nothing": {"apiKey": PLAIN}}, "retries": 0})
    status, answer = server.ask("POST", "/api/v1/tasks/batch", {"tasks": requests})
    assert status in {200, 201, 207}, answer
    return [item["id"] for item in answer["items" if "items" in answer else "tasks"]]


def test_no_canary_is_found_anywhere(place: Place, sink: Sink) -> None:
    server = place.server
    assert server.ask("PUT", "/api/v1/secrets/canary", {"value": CANARY})[0] == 201
    hook = server.ask("POST", "/api/v1/subscriptions", {"name": "all", "webhook": f"{sink.url}/hook"})
    signing = hook[1]["secret"]
    tasks = use(server, sink)
    job = {
        "name": "two", "tasks": {
            "a": {"name": "leaky.leak", "payload": {"token": {"$secret": "canary"}}},
            "b": {"name": "leaky.leak", "needs": ["a"], "payload": {"token": {"$result": "a.echo"}}},
        },
    }  # fmt: skip
    assert server.ask("POST", "/api/v1/jobs", job)[0] == 201
    schedule = {
        "name": "s",
        "interval": 3600,
        "task": {"name": "leaky.leak", "payload": {"token": {"$secret": "canary"}}},
    }
    made = server.ask("POST", "/api/v1/schedules", schedule)[1]
    server.ask("POST", f"/api/v1/schedules/{made['id']}/trigger", {})

    ended = [server.until_ended(task, 60) for task in tasks]
    eventually(lambda: server.count("QUEUED", "PENDING", "PROCESSING") == 0, 60, lambda: server.errors)
    eventually(lambda: any("leak_and_fail" in body for body in sink.bodies), 60, lambda: sink.bodies)
    said = dict(_said(server, tasks))
    said["webhooks"] = "\n".join(sink.bodies)
    said["log of the processes"] = server.errors
    said |= {where: data.decode("latin-1") for where, data in place.kept()}

    assert any(CANARY in header for header in sink.headers), "the secret was never used"
    assert {task["status"] for task in ended} == {"COMPLETED", "FAILED"}
    assert sum("***" in json.dumps(task) for task in ended) >= 12
    payloads = {where: text for where, text in said.items() if not _is_store(where)}
    found = [(where, form) for where, text in payloads.items() for form in FORMS if form in text]
    found += [(where, form) for where, text in said.items() for form in (*FORMS[:-1], signing) if form in text]
    assert found == []


def _is_store(where: str) -> bool:
    """Tell whether it is where payloads themselves are kept, with what stands in them in the clear."""
    return ".db" in where or where in {"PostgreSQL", "Redis"}


def _said(server: Server, tasks: list[str]) -> Iterator[tuple[str, str]]:
    paths = [f"/api/v1{page}" for page in PAGES] + ["/metrics", "/"]
    for task in tasks:
        paths += [f"/api/v1/tasks/{task}{part}" for part in ("", "/attempts", "/log", "/why", "/artifacts")]
        paths.append(f"/api/v1/failures/{task}")
    http = urllib3.PoolManager(retries=False, timeout=30)
    for path in paths:
        yield path, http.request("GET", server.url + path, headers={"X-API-Key": server.key}).data.decode()


def test_the_store_of_one_machine_holds_no_value_in_any_table(tmp_path: Path) -> None:
    with Server(tmp_path / "data", app=APP) as server:
        server.ask("PUT", "/api/v1/secrets/canary", {"value": CANARY})
        server.ask("PUT", "/api/v1/secrets/canary", {"value": CANARY * 2})

    connection = sqlite3.connect(tmp_path / "data" / "drumline.db")
    dump = "\n".join(connection.iterdump())
    connection.close()
    assert "canary" in dump
    assert "7f3a" not in dump
    assert (tmp_path / "data" / "secret-key").stat().st_mode & 0o777 == 0o600
