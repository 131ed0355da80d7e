"""No input makes a 500, and no reply is without its security headers: every place of every operation is tried."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info, Operation
from drumline.api.routes import OPERATIONS
from drumline.core import audit
from drumline.engine.engine import Engine
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.api import hostile
from tests.api.hostile import Request
from tests.api.neighbours import UNLIMITED, Tenancy
from tests.api.test_matrix import KEY, path_of

ALL = bool(os.environ.get("DRUMLINE_TEST_EXPLORE"))
AT_ONCE = 20
PARTS = 4
HEADERS = (b"content-security-policy", b"x-content-type-options", b"x-frame-options", b"referrer-policy")
EVERYWHERE = (
    "/nothing",
    "//",
    "/%00",
    "/%ff",
    "/%",
    "/..%2f..%2fetc/passwd",
    "/ui/assets/" + "x" * 300,
    "/ui/" + "x" * 5000,
    "/ui/%00",
    "/ui/assets/%00",
    "/ui/assets/..%2f..%2fx.js",
    "/docs/" + "x" * 5000,
    "/docs/%00",
    "/docs/..%2f..%2fx",
    "/errors/%00",
    "/errors/" + "x" * 300,
    "/api/v1/tasks/",
    "/api/v1/" + "x/" * 2000,
    "/openapi.json/x",
    "/sign-in/%00/callback",
)


TOGETHER: Final = {
    "a task that would expire after the year 9999": (
        ("POST /tasks", {"name": "far", "run_at": "9999-12-31T00:00:00Z", "expires": "366d"}),
    ),
    "a task of a job that would": (
        ("POST /jobs", {"name": "j", "tasks": {"far": {"run_at": "9999-12-31T00:00:00Z", "expires": "366d"}}}),
    ),
    "tasks of a batch that would": (
        ("POST /tasks/batch", {"tasks": [{"name": "far", "run_at": "9999-12-31T00:00:00Z", "expires": "366d"}]}),
    ),
    "a task with every far time": (
        ("POST /tasks", {
            "name": "far", "run_at": "9999-12-31T00:00:00Z", "expires": "23h", "timeout": "36600d", "retries": 1000,
            "backoff": {"base": "36600d", "max": "36600d"},
        }),
        ("POST /tasks/{id}/cancel", {}),
    ),
    "a task that expires and is put off to the last second": (
        ("POST /tasks", {"name": "far", "delay": 60, "expires": "366d"}),
        ("PATCH /tasks/{id}", {"run_at": "9999-12-31T23:59:59.999Z"}),
    ),
    "tasks that collapse for the longest time": (
        ("POST /tasks", {"name": "far", "collapse": {"debounce": "36600d"}}),
        ("POST /tasks", {"name": "far", "collapse": {"debounce": "36600d"}}),
    ),
    "a schedule whose tasks start and expire as late as they can": (
        ("POST /schedules", {"name": "late", "cron": "* * * * *", "task": {
            "name": "far", "delay": "36600d", "expires": "366d"}}),
        ("POST /schedules/{id}/trigger", {}),
    ),
    "a schedule whose job has a task that would expire too late": (
        ("POST /schedules", {"name": "late job", "cron": "* * * * *", "job": {
            "name": "j", "tasks": {"far": {"run_at": "9999-12-31T00:00:00Z", "expires": "366d"}}}}),
    ),
    "a backfill that would last for millions of years": (
        ("POST /schedules", {"name": "slow", "cron": "* * * * *", "task": {"name": "far"}}),
        *(
            ("POST /schedules/{id}/backfill", {
                "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:05:00Z", "rate": rate, "dry_run": is_dry})
            for rate in (1e-320, 1e-300, 1e-12, 0.001) for is_dry in (True, False)
        ),
    ),
    "a key that ends in the last second, rotated": (
        ("POST /keys", {"name": "k", "role": "viewer", "expires_at": "9999-12-31T23:59:59.999Z"}),
        ("POST /keys/{id}/rotate", {"overlap": 60}),
    ),
    "a schedule of the last second with jitter": (
        ("POST /schedules", {
            "name": "last", "run_at": "9999-12-31T23:59:59Z", "jitter": "24h", "task": {"name": "far"}}),
        ("POST /schedules/{id}/trigger", {"fire_time": "9999-12-31T23:59:59Z"}),
    ),
    "a schedule that begins at the last second, every hundred years": (
        ("POST /schedules", {
            "name": "rare", "interval": "36600d", "start": "9999-12-31T23:59:59Z", "task": {"name": "far"}}),
        ("POST /schedules/{id}/trigger", {}),
    ),
}  # fmt: skip
"""Requests of fields that are harmless one by one; `{id}` is that of what the first one made."""
QUERIES: Final = {
    "/api/v1/logs": (b"text=hello",),
    "/api/v1/schedules": (b"", b"next=5", b"days=5"),
    "/api/v1/schedules/{id}": (b"next=1000",),
    "/api/v1/tasks/export": (b"format=csv", b"format=jsonl"),
}
"""What operations are asked for that have more to tell."""


@dataclass
class Target:
    """An application with something of everything in it."""

    app: Any
    tenancy: Tenancy

    async def send(self, requests: Iterable[Request], *, key: str | None = KEY) -> list[str]:
        """Send requests, some at once, and return what is wrong with the answers."""
        waiting, wrong = list(requests), []
        for start in range(0, len(waiting), AT_ONCE):
            wrong += await asyncio.gather(*(self._one(each, key) for each in waiting[start : start + AT_ONCE]))
        return [each for each in wrong if each]

    async def _one(self, request: Request, key: str | None) -> str:
        answer = await hostile.answer(self.app, request, key=key)
        missing = [name for name in HEADERS if name not in answer.headers]
        # What only the store refuses should have been refused by its field; others may have been in the same batch.
        is_late = b"the store cannot keep" in answer.body
        if answer.status >= 500 or missing or is_late:
            return f"{request} -> {answer.status} {missing} {answer.body[:300]!r}"
        return ""

    def path(self, operation: Operation) -> str:
        return path_of(operation, self.tenancy)


def everything(id: str) -> Iterator[Request]:
    """Yield requests for all that there is to read, and for what a thing of an id has to read."""
    for operation in OPERATIONS:
        path = operation.path.replace("{id}", id)
        if operation.method == "GET" and "{" not in path:
            yield from (Request("GET", path, query) for query in QUERIES.get(operation.path, (b"",)))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def store_url(request: pytest.FixtureRequest) -> str | None:
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return url


@pytest.fixture
async def target(store_url: str | None, tmp_path: Path) -> AsyncIterator[Target]:
    store: Store = await (PostgresStore.open(store_url) if store_url else SqliteStore.open(":memory:"))
    engine = Engine(store, NoQueue())
    engine.access.use_policy(UNLIMITED)
    info = Info(version="1", disk=str(tmp_path), longest_wait=0.01, longest_stream=0.01)
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=info, write_metrics=lambda _accept: (b"", "text/plain"))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://x", headers={"X-API-Key": KEY}
    ) as http:
        tenancy = Tenancy(engine, http)
        await tenancy.furnish()
        yield Target(app, tenancy)
    await engine.close()


@pytest.mark.parametrize("part", range(PARTS))
async def test_no_field_of_any_body_makes_a_500(target: Target, part: int) -> None:
    texts, raws = (hostile.TEXTS, hostile.RAW) if ALL else (hostile.FEW_TEXTS, hostile.FEW_RAW)
    wrong = []
    for operation in OPERATIONS[part::PARTS]:
        path = target.path(operation)
        wrong += await target.send(
            Request(operation.method, path, body=body, headers=((b"content-type", b"application/json"),))
            for body in hostile.bodies(operation, texts, raws)
        )

    assert wrong == []


async def test_no_word_of_any_path_or_query_makes_a_500_and_the_audit_log_stays_readable(target: Target) -> None:
    wrong = []
    for operation in OPERATIONS:
        path, body = target.path(operation), b"{}" if operation.body is not None else b""
        words = hostile.paths(operation, path)
        wrong += await target.send(Request(operation.method, word, body=body) for word in words)
        queries = hostile.queries(operation)
        wrong += await target.send(Request(operation.method, path, query, body) for query in queries)
        wrong += await target.send(hostile.method_requests(path))
    wrong += await target.send(Request(method, path) for path in EVERYWHERE for method in ("GET", "POST", "PATCH"))

    assert wrong == []
    for query in (b"act=queue.pause", b"key=first", b"target=/x", b"since=2020-01-01T00:00:00Z", b"all=true"):
        answer = await hostile.answer(target.app, Request("GET", "/api/v1/audit", query), key=KEY)
        assert answer.status == 200
    verified = await hostile.answer(target.app, Request("GET", "/api/v1/audit/verify"), key=KEY)
    assert b'"is_sound":true' in verified.body


@pytest.mark.parametrize("which", TOGETHER)
async def test_no_fields_that_go_together_make_a_500_in_what_is_read_back(target: Target, which: str) -> None:
    made, wrong = "", []
    for act, body in TOGETHER[which]:
        method, path = act.split(" ")
        request = Request(method, f"/api/v1{path.replace('{id}', made)}", body=json.dumps(body).encode())
        if made or "{id}" not in path:
            answer = await hostile.answer(target.app, request, key=KEY)
            wrong += [f"{request} -> {answer.status} {answer.body[:300]!r}"] if answer.status >= 500 else []
            made = made or json.loads(answer.body).get("id", "")

    assert wrong + await target.send(everything(made)) == []


async def test_no_header_makes_a_500(target: Target) -> None:
    wrong = []
    for number, operation in enumerate(OPERATIONS):
        path, each = target.path(operation), list(hostile.header_requests(operation, target.path(operation)))
        # Headers are read by the same few lines whatever the path: each path gets a part of them.
        wrong += await target.send(each if ALL else each[number % 23 :: 23])
        wrong += await target.send(each[number % 41 :: 41], key=None)
        wrong += await target.send([Request(operation.method, path)], key="x" * 9000)

    assert wrong == []


async def test_rows_of_the_audit_log_that_have_nul_in_them_can_be_read(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "NUL", b"never in any text \xff")  # as earlier versions wrote them
    refused = await hostile.answer(target.app, Request("POST", "/api/v1/queues/a%00b/pause"), key=KEY)
    monkeypatch.undo()

    lists = [
        await hostile.answer(target.app, Request("GET", "/api/v1/audit", query), key=KEY)
        for query in (b"", b"act=queue.pause", b"key=first", b"target=/x", b"until=2199-01-01T00:00:00Z", b"all=true")
    ]

    assert refused.status == 422
    assert [each.status for each in lists] == [200] * 6
    assert b"a\\u0000b" in lists[1].body
    assert b"a\\\\u0000b" in (await hostile.answer(target.app, Request("GET", "/api/v1/audit/export"), key=KEY)).body


async def test_what_a_worker_says_of_its_tasks_breaks_nobodys_lists(target: Target) -> None:
    types = rb'[{"name": "work", "doc": "a\u0000b", "schema": {"a\u0000": {"title": "\u0000", "\\u0000": 1}}}]'
    opened = await hostile.answer(
        target.app, Request("POST", "/api/v1/worker/sessions", body=b'{"capacity": 1, "types": %b}' % types), key=KEY
    )

    own = target.tenancy.keys["beta operator"]
    looks = [
        await hostile.answer(target.app, Request("GET", f"/api/v1/{noun}"), key=own)
        for noun in ("workers", "queues", "types", "tasks", "me")
    ]
    submitted = await hostile.answer(target.app, Request("POST", "/api/v1/tasks", body=b'{"name": "work"}'), key=own)

    assert opened.status == 201
    assert [each.status for each in looks] == [200] * 5
    assert submitted.status == 201
