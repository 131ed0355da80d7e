"""Reading what came: places in broken JSON, depth, limits, slow clients, clients that leave."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.locate import path_at, path_of_deepest
from drumline.api.operation import Info
from drumline.api.reading import Bounds, ClientGone, read_body
from drumline.api.refusals import Refusals
from drumline.api.request_bytes import HeldBytes, RequestBytes
from drumline.api.routes import OPERATIONS
from drumline.api.stopping import each_unless_stopped, unless_stopped
from drumline.core.clock import SystemClock
from drumline.core.codec import is_deeper
from drumline.core.errors import Invalid, Overloaded, Unavailable
from drumline.core.limits import DEFAULT_LIMITS, HttpLimits
from drumline.core.metrics import Metrics
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, Ada, problem, submitted


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b'{"a": !}', "a"),
        (b'{"a": 1, "b": {"c": [1, {"d": 2}, !]}}', "b.c[2]"),
        (b'{"a,": "}{", "b\\"": [[], [1, !]]}', 'b\\"[1][1]'),
        (b"[1, 2, !]", "[2]"),
        (b'{"a": 1} !', None),
        (b'{"a": 1, !', None),
        (b"!", None),
        (b'{"a": {"b": {"c": {"d": {"e": {"f": !', "a.b.c.d.e"),
    ],
)
def test_a_byte_in_broken_json_is_found_by_its_path(text: bytes, path: str | None) -> None:
    assert path_at(text, text.index(b"!")) == path


def test_a_byte_far_into_a_text_is_not_looked_for() -> None:
    assert path_at(b'{"a": "' + b"x" * 1_000_000, 900_000) is None


def test_the_field_that_nests_too_deeply_is_named() -> None:
    deep = b"[" * 500

    assert path_of_deepest(b'{"a": 1, "payload": ' + deep) == "payload"
    assert path_of_deepest(b'{"tasks": [{}, {"x": 1, "payload": ' + deep) == "tasks[1].payload"
    assert path_of_deepest(deep) is None
    assert path_of_deepest(b'{"a": [1, 2]}') is None


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def depth_of(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max((depth_of(it) for it in inner), default=0)


@given(Json)
def test_depth_is_told_without_building_the_value(value: Any) -> None:
    raw = msgspec.json.encode(value)
    depth = depth_of(value)

    assert not is_deeper(raw, depth)
    assert depth == 0 or is_deeper(raw, depth - 1)


def held(most: int = 1000) -> HeldBytes:
    metrics = Metrics()
    return RequestBytes(most, metrics=metrics, refusals=Refusals(metrics, SystemClock())).holding("ada")


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://drumline", headers={"X-API-Key": KEY}
    )


async def test_a_client_that_leaves_while_it_sends_gets_no_answer() -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    with pytest.raises(ClientGone):
        await read_body(receive, Bounds(100), length=None, held=held())


async def test_a_size_that_is_announced_is_refused_before_anything_is_read() -> None:
    async def receive() -> Any:
        raise AssertionError("nothing should be read")

    with pytest.raises(Invalid, match="at most 100"):
        await read_body(receive, Bounds(100), length=b"101", held=held())


LARGE = {
    "POST /api/v1/tasks", "POST /api/v1/tasks/batch", "POST /api/v1/jobs", "POST /tasks", "POST /scheduleTask",
    "POST /api/v1/schedules", "POST /api/v1/schedules/register", "PATCH /api/v1/schedules/{id}",
    "POST /api/v1/failures/{id}/retry", "PUT /api/v1/secrets/{name}",
    "POST /api/v1/worker/sessions", "POST /api/v1/worker/sessions/{session}/settle",
    "POST /api/v1/worker/sessions/{session}/beat", "POST /api/v1/worker/sessions/{session}/log",
    "POST /api/v1/worker/sessions/{session}/progress", "POST /api/v1/worker/sessions/{session}/stops",
    "PUT /api/v1/worker/sessions/{session}/artifacts/{task}/{name}",
    "POST /api/v1/worker/sessions/{session}/records", "POST /api/v1/worker/sessions/{session}/waits",
    "POST /api/v1/tasks/{id}/signals/{name}", "POST /api/v1/signals/{name}",
    "POST /api/v1/tasks/{id}/fork", "POST /api/v1/worker/sessions/{session}/children",
    "POST /api/v1/worker/sessions/{session}/restarts",
}  # fmt: skip
LISTS = {
    "POST /api/v1/keys", "POST /api/v1/subscriptions", "PATCH /api/v1/subscriptions/{id}", "POST /api/v1/bulk",
    "POST /api/v1/failures/retry", "POST /api/v1/failures/discard", "PATCH /api/v1/config",
    "POST /api/v1/worker/sessions/{session}/claim",
    "PATCH /api/v1/worker/sessions/{session}",
}  # fmt: skip


def test_only_named_operations_take_more_than_the_small_default() -> None:
    sizes = {f"{each.method} {each.path}": each.largest(DEFAULT_LIMITS) for each in OPERATIONS if each.body is not None}

    assert {name for name, size in sizes.items() if size > DEFAULT_LIMITS.request} == LARGE | LISTS
    assert all(sizes[name] == DEFAULT_LIMITS.request_lists for name in LISTS)
    assert sizes["POST /api/v1/sign-in"] < DEFAULT_LIMITS.request


async def test_a_large_body_is_refused_where_nothing_large_is_expected(
    http: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 10_000
        raise AssertionError("read on although it was too large")

    problem(await stranger.post("/api/v1/sign-in", content=b" " * 9000), 413, "too_large", "body")
    problem(await stranger.post("/api/v1/sign-in", content=endless()), 413, "too_large", "body")
    problem(await http.post("/api/v1/tenants", content=endless()), 413, "too_large", "body")
    problem(await http.post("/api/v1/tenants", content=b" " * 70_000), 413, "too_large", "body")


async def test_bodies_of_all_requests_together_are_bounded(engine: Engine) -> None:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", http=HttpLimits(request_bytes=200_000)))
    reading = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b" " * 90_000
        reading.set()
        await asyncio.Event().wait()

    async with client_of(app) as http:
        first = asyncio.create_task(http.post("/api/v1/tasks", content=slow()))
        await reading.wait()
        refused = await http.post("/api/v1/tasks", json={"name": "a", "payload": "x" * 50_000})
        small = await http.post("/api/v1/tasks", json={"name": "a"})
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        again = await http.post("/api/v1/tasks", json={"name": "a", "payload": "x" * 50_000})

    problem(refused, 503, "overloaded")
    assert refused.headers["retry-after"] == "2"
    assert (small.status_code, again.status_code) == (201, 201)
    assert engine.metrics.http_refused.values["request_bytes",] == 1


def test_a_tenant_holds_half_of_the_bytes_and_a_caller_without_a_key_an_eighth() -> None:
    metrics = Metrics()
    all_ = RequestBytes(1600, metrics=metrics, refusals=Refusals(metrics, SystemClock()))
    ada, bob, nobody = all_.holding("ada"), all_.holding("bob"), all_.holding(None)

    ada.add(800)
    nobody.add(200)
    bob.add(600)

    for one in (ada, bob, nobody):
        with pytest.raises(Overloaded):
            one.add(1)
    ada.release()
    bob.add(200)


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever(engine: Engine) -> None:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", http=HttpLimits(body_timeout=0.01)))

    async def stalled() -> AsyncIterator[bytes]:
        yield b'{"name":'
        await asyncio.Event().wait()

    async with client_of(app) as http:
        problem(await http.post("/api/v1/tasks", content=stalled()), 408, "too_slow", "body")


class Hanging:
    """A client that hangs up when told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def test_waiting_ends_with_the_client_and_the_work_is_cancelled() -> None:
    client = Hanging()
    cancelled = asyncio.Event()

    async def work() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return 1

    waiting = asyncio.create_task(unless_stopped(work(), stop=StopEvent(), receive=client.receive))
    await asyncio.sleep(0)
    client.gone.set()

    assert await waiting is None
    assert cancelled.is_set()


async def test_an_error_in_the_work_is_the_waiters_error() -> None:
    async def work() -> int:
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        await unless_stopped(work(), stop=StopEvent(), receive=Hanging().receive)


async def test_nothing_is_begun_when_the_server_is_stopping() -> None:
    stop = StopEvent()
    stop.set()

    async def items() -> AsyncIterator[int]:
        yield 1

    assert [item async for item in each_unless_stopped(items(), stop=stop, receive=Hanging().receive)] == []


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(
    http: httpx.AsyncClient, ada: Ada, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await submitted(http)
    await ada.claim()

    async def broken(*_args: Any, **_options: Any) -> AsyncIterator[str]:
        yield "so far\n"
        raise Unavailable("away")

    monkeypatch.setattr(engine.queries, "follow_log", broken)

    with pytest.raises(Unavailable):
        await http.get(f"/api/v1/tasks/{task}/log?follow=true")


async def test_an_answer_to_a_client_that_has_just_left_is_no_error(app: Any) -> None:
    scope = {
        "type": "http", "method": "GET", "path": "/livez", "query_string": b"", "headers": [], "root_path": "",
    }  # fmt: skip

    async def send(_message: Any) -> None:
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")

    await app(scope, Hanging().receive, send)
