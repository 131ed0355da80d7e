"""Requests without a key that is good: each address may make so many, and no neighbour with a key suffers."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.api.anonymous import MOST_ADDRESSES, AnonymousRateLimiter
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.access import KeyPolicy
from drumline.core.clock import ManualClock
from drumline.core.errors import RateLimited
from drumline.core.rate import Rate
from drumline.engine.engine import Engine
from tests.api.conftest import KEY

THREE = Rate(3, 60.0)


@pytest.fixture
def app(engine: Engine, tmp_path: Path) -> Any:
    engine.access.use_policy(KeyPolicy(anonymous_rate=THREE, proxies=("10.0.0.0/8",)))
    return create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))


def client_of(app: Any, address: str, **headers: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, client=(address, 1234))
    return httpx.AsyncClient(transport=transport, base_url="http://drumline", headers=headers)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/tasks", {}, 401), ("/api/v1/tasks", {"X-API-Key": "wrong"}, 401), ("/no/such/path", {}, 401),
        ("/actuator/health", {}, 200), ("/actuator/info", {"X-API-Key": "wrong"}, 200),
    ],
)  # fmt: skip
async def test_an_address_without_a_good_key_is_stopped_after_its_turns(
    app: Any, path: str, headers: dict[str, str], status: int
) -> None:
    async with client_of(app, "192.0.2.1", **headers) as client:
        replies = [await client.get(path) for _ in range(5)]

    assert [reply.status_code for reply in replies] == [status] * 3 + [429] * 2
    assert replies[-1].json()["code"] == "rate_limited"
    assert 1 <= int(replies[-1].headers["retry-after"]) <= 20


async def test_neighbours_and_good_keys_are_not_concerned(app: Any) -> None:
    async with client_of(app, "192.0.2.1") as client, client_of(app, "192.0.2.2") as other:
        for _ in range(5):
            await client.get("/api/v1/tasks")

        assert (await client.get("/api/v1/tasks", headers={"X-API-Key": KEY})).status_code == 200
        assert (await client.get("/actuator/health", headers={"X-API-Key": KEY})).status_code == 200
        assert (await other.get("/api/v1/tasks")).status_code == 401


async def test_probes_are_always_answered(app: Any) -> None:
    async with client_of(app, "192.0.2.1") as client:
        statuses = {(await client.get(path)).status_code for _ in range(10) for path in ("/livez", "/readyz")}

    assert statuses == {200}


async def test_behind_a_trusted_proxy_each_client_has_turns_of_its_own(app: Any) -> None:
    async with client_of(app, "10.0.0.1") as proxy:
        for _ in range(4):
            await proxy.get("/api/v1/tasks", headers={"X-Forwarded-For": "192.0.2.1"})
        spent = await proxy.get("/api/v1/tasks", headers={"X-Forwarded-For": "192.0.2.1"})
        fresh = await proxy.get("/api/v1/tasks", headers={"X-Forwarded-For": "192.0.2.2"})

    assert (spent.status_code, fresh.status_code) == (429, 401)


def test_turns_come_back_with_time_and_nothing_is_remembered_without_end() -> None:
    clock = ManualClock()
    turns = AnonymousRateLimiter(THREE, clock)
    for _ in range(3):
        turns.take("192.0.2.1")
    with pytest.raises(RateLimited) as caught:
        turns.take("192.0.2.1")

    clock.advance(20.0)
    turns.take("192.0.2.1")
    for number in range(MOST_ADDRESSES + 10):
        turns.take(f"198.18.{number // 256}.{number % 256}")

    assert caught.value.retry_after == pytest.approx(20.0)
    assert len(turns._paced_to) == MOST_ADDRESSES


def test_one_network_of_ipv6_is_one_address() -> None:
    turns = AnonymousRateLimiter(THREE, ManualClock())
    for number in range(3):
        turns.take(f"2001:db8::{number}")

    with pytest.raises(RateLimited):
        turns.take("2001:db8::ffff")


def test_without_a_rate_nobody_is_counted() -> None:
    turns = AnonymousRateLimiter(None, ManualClock())

    for _ in range(5000):
        turns.take("192.0.2.1")

    assert not turns._paced_to
