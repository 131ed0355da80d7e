"""Two API servers on one database and one Redis: what one is told, the other goes by."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.access import KeyPolicy
from drumline.core.rate import Rate
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.redis import RedisLimiter
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from scripts.programs import missing
from tests.harness.fixtures import through
from tests.harness.redis import RedisServer

KEY = "the operator's own key"
DEADLINE = 2.0
"""Seconds in which every server has heard of a revocation."""


@pytest.fixture
def redis_of_its_own() -> Iterator[RedisServer]:
    if reason := missing("redis"):
        pytest.skip(reason)
    server = RedisServer()
    yield server
    server.remove()


class Listening:
    """An app that notes when it listens to a client: with a question that has no body, when it was let in and waits."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.began = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def listen() -> Message:
            self.began.set()
            return await receive()

        await self._app(scope, listen, send)


class Servers:
    """Two API servers, each with an engine of its own."""

    def __init__(self, apps: list[Listening], engines: list[Engine]) -> None:
        self.apps = apps
        self.clients = [httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") for app in apps]
        self.engines = engines

    async def begin(self, server: int, key: str, path: str) -> asyncio.Task[httpx.Response]:
        """Ask for what is answered later, and return when the server waits for it."""
        self.apps[server].began.clear()
        asking = asyncio.create_task(self.ask(server, key, path))
        await asyncio.wait_for(self.apps[server].began.wait(), 10)
        return asking

    async def key(self, **fields: Any) -> tuple[str, str]:
        """Make a key at the first server, and return its id and the key."""
        reply = await self.clients[0].post("/api/v1/keys", headers={"X-API-Key": KEY}, json={"name": "k", **fields})
        assert reply.status_code == 201, reply.text
        return reply.json()["id"], reply.json()["key"]

    async def ask(self, server: int, key: str, path: str = "/api/v1/me") -> httpx.Response:
        return await self.clients[server].get(path, headers={"X-API-Key": key})

    async def do(self, server: int, path: str) -> None:
        reply = await self.clients[server].post(path, headers={"X-API-Key": KEY})
        assert reply.status_code == 200, reply.text


async def opened(postgres_url: str, redis_url: str, tmp_path: Path) -> Servers:
    apps, engines = [], []
    for _ in range(2):
        engine = Engine(
            await PostgresStore.open(postgres_url), NoQueue(), EngineOptions(limiter=await RedisLimiter.open(redis_url))
        )
        app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
        apps.append(Listening(app))
        engines.append(engine)
    return Servers(apps, engines)


async def closed(servers: Servers) -> None:
    for client, engine in zip(servers.clients, servers.engines, strict=True):
        await client.aclose()
        await engine.close()


@pytest.fixture
async def servers(postgres_url: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Servers]:
    made = await opened(postgres_url, redis_url, tmp_path)
    yield made
    await closed(made)


async def test_a_hundred_requests_pass_through_two_servers_and_the_next_does_not(servers: Servers) -> None:
    _, key = await servers.key(role="viewer")

    replies = [await servers.ask(number % 2, key) for number in range(100)]
    refused = [await servers.ask(server, key) for server in (0, 1)]

    assert [reply.status_code for reply in replies] == [200] * 100
    assert [reply.headers["ratelimit-policy"] for reply in (replies[0], replies[99])] == ['"key";q=100;w=60'] * 2
    left = [re.fullmatch(r'"key";r=(\d+);t=(\d+)', reply.headers["ratelimit"]) for reply in replies]
    assert [found and int(found[1]) for found in left] == list(range(99, -1, -1))
    for reply in refused:
        assert reply.status_code == 429
        assert reply.json()["code"] == "rate_limited"
        assert 50 <= int(reply.headers["retry-after"]) <= 60
        assert reply.headers["ratelimit"].startswith('"key";r=0;t=')
        told = f"this key may ask 100 times in 60 seconds; try again in {reply.headers['retry-after']} s"
        assert reply.json()["detail"] == told


@pytest.mark.faults
async def test_retry_after_is_right_to_the_second(servers: Servers) -> None:
    _, key = await servers.key(role="viewer", rate_limit="5/2s")
    for _ in range(5):
        await servers.ask(0, key)
    refused = await servers.ask(1, key)
    seconds = int(refused.headers["retry-after"])

    still = await servers.ask(0, key)
    await asyncio.sleep(seconds)
    again = await servers.ask(1, key)

    assert (refused.status_code, still.status_code, again.status_code) == (429, 429, 200)
    assert 1 <= seconds <= 2


async def test_the_first_key_has_no_limit_and_hears_of_none(servers: Servers) -> None:
    replies = [await servers.ask(number % 2, KEY) for number in range(150)]

    assert {reply.status_code for reply in replies} == {200}
    assert not [reply for reply in replies if "ratelimit" in reply.headers or "ratelimit-policy" in reply.headers]


async def test_workers_are_limited_differently_and_keys_as_they_say(servers: Servers) -> None:
    _, worker = await servers.key(role="worker")
    _, tight = await servers.key(role="viewer", rate_limit="2/1m")
    _, free = await servers.key(role="viewer", rate_limit="unlimited")

    worked = await servers.ask(0, worker)
    tightly = [(await servers.ask(number % 2, tight)).status_code for number in range(3)]
    freely = {(await servers.ask(number % 2, free)).status_code for number in range(120)}

    assert worked.json()["rate_limit"] == "60000/1m"
    assert "ratelimit" not in worked.headers  # of so many there is nothing to tell before they run short
    assert tightly == [200, 200, 429]
    assert freely == {200}


async def test_the_first_key_can_be_limited_too(postgres_url: str, redis_url: str, tmp_path: Path) -> None:
    options = EngineOptions(limiter=await RedisLimiter.open(redis_url), policy=KeyPolicy(first_rate=Rate(1, 60.0)))
    engine = Engine(await PostgresStore.open(postgres_url), NoQueue(), options)
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") as client:
        replies = [await client.get("/api/v1/me", headers={"X-API-Key": KEY}) for _ in range(2)]
        health = await client.get("/actuator/health", headers={"X-API-Key": KEY})

    assert [reply.status_code for reply in replies] == [200, 429]
    assert health.status_code == 200
    await engine.close()


@pytest.mark.faults
@pytest.mark.parametrize("act", ["revoke", "disable"])
async def test_a_key_stops_within_two_seconds_on_the_other_server(servers: Servers, act: str) -> None:
    id_, key = await servers.key(role="viewer", rate_limit="unlimited")
    assert [(await servers.ask(server, key)).status_code for server in (0, 1)] == [200, 200]

    await servers.do(0, f"/api/v1/keys/{id_}/{act}")
    began = time.monotonic()
    here = await servers.ask(0, key)
    there = await servers.ask(1, key)
    while there.status_code == 200 and time.monotonic() - began < DEADLINE:
        await asyncio.sleep(0.02)
        there = await servers.ask(1, key)

    assert (here.status_code, there.status_code) == (401, 401)


@pytest.mark.faults
async def test_a_stream_ends_with_its_key(servers: Servers) -> None:
    id_, key = await servers.key(role="operator", rate_limit="unlimited")
    task = await servers.clients[0].post("/api/v1/tasks", headers={"X-API-Key": key}, json={"name": "never run"})
    path = f"/api/v1/tasks/{task.json()['id']}/log?follow=true"
    following = await servers.begin(1, key, path)

    await servers.do(0, f"/api/v1/keys/{id_}/revoke")
    began = time.monotonic()
    await asyncio.wait_for(following, 5)

    assert time.monotonic() - began < DEADLINE + 1.0
    assert following.result().status_code == 200


@pytest.mark.faults
async def test_a_long_poll_gives_nothing_to_a_key_revoked_meanwhile(servers: Servers) -> None:
    id_, key = await servers.key(role="operator", rate_limit="unlimited")
    task = await servers.clients[0].post("/api/v1/tasks", headers={"X-API-Key": key}, json={"name": "never run"})
    waiting = await servers.begin(1, key, f"/api/v1/tasks/{task.json()['id']}?wait=2.5")

    await servers.do(0, f"/api/v1/keys/{id_}/revoke")
    reply = await asyncio.wait_for(waiting, 10)

    assert reply.status_code == 401


@pytest.mark.faults
async def test_with_redis_stopped_the_limit_holds_for_each_process(
    postgres_url: str, redis_of_its_own: RedisServer, tmp_path: Path
) -> None:
    servers = await opened(postgres_url, redis_of_its_own.url(), tmp_path)
    _, key = await servers.key(role="viewer")
    assert [(await servers.ask(number % 2, key)).status_code for number in range(40)] == [200] * 40

    redis_of_its_own.kill()
    here = [(await servers.ask(0, key)).status_code for _ in range(120)]
    there = [(await servers.ask(1, key)).status_code for _ in range(120)]

    # Twenty of each had passed while Redis still counted; none is forgotten with it.
    assert here == [200] * 80 + [429] * 40
    assert there == [200] * 80 + [429] * 40
    await closed(servers)


async def _passes_soon(servers: Servers, key: str) -> bool:
    """Tell whether a key passes within a time that is long enough for new connections."""
    for _ in range(200):
        if (await servers.ask(0, key)).status_code == 200:
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.faults
@pytest.mark.parametrize("fault", ["refuse", "stall"])
async def test_while_the_store_is_away_known_keys_pass_the_door_and_unknown_ones_are_not_called_wrong(
    postgres_url: str, redis_url: str, tmp_path: Path, fault: str
) -> None:
    proxy = through(postgres_url)
    await proxy.start()
    servers = await opened(proxy.url(postgres_url), redis_url, tmp_path)
    _, known = await servers.key(role="viewer", rate_limit="unlimited")
    _, fresh = await servers.key(role="viewer", rate_limit="unlimited")
    assert (await servers.ask(0, known)).status_code == 200

    getattr(proxy, fault)()
    if fault == "refuse":
        proxy.reset()
    await asyncio.sleep(DEADLINE)  # longer than anything is believed unasked
    lately = await servers.ask(0, known)
    first = await servers.ask(0, KEY)
    unknown = await servers.ask(0, fresh)

    assert (lately.status_code, first.status_code) == (200, 200)
    assert (unknown.status_code, unknown.json()["code"]) == (503, "unavailable")
    assert "retry-after" in unknown.headers
    proxy.heal()
    assert await _passes_soon(servers, fresh)
    await closed(servers)
    await proxy.close()
