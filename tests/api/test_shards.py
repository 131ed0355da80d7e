"""Shards through the API: on SQLite there is one; on PostgreSQL databases are added, given slots and changed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.slots import SLOTS
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, problem
from tests.api.test_keys import made
from tests.shards.world import World, opened


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    async with opened(shard_urls) as found:
        yield found


@pytest.fixture
async def sharded(world: World, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a server whose engine manages shards."""
    engine: Engine = world.shards.directory.engine
    engine.shards = world.service
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://drumline", headers={"X-API-Key": KEY}) as client:
        yield client


async def add(http: httpx.AsyncClient, name: str, url: str, **more: Any) -> httpx.Response:
    return await http.post("/api/v1/shards", json={"name": name, "store_url": url, **more})


async def test_sqlite_is_one_shard_that_has_everything(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/tasks", json={"name": "work"})

    (shard,) = (await http.get("/api/v1/shards")).json()["items"]

    assert (shard["name"], shard["state"], shard["slots"]) == ("main", "active", SLOTS)
    assert (shard["queued"], shard["running"], shard["is_away"], shard["left"]) == (1, 0, False, None)
    assert (await http.get("/api/v1/shards/main")).json() == shard
    problem(await http.get("/api/v1/shards/pg2"), 404, "not_found", "name")


async def test_sqlite_refuses_all_that_needs_several_databases(http: httpx.AsyncClient) -> None:
    refused = [
        await add(http, "pg2", "postgresql://ada:s3cret@pg2.example/drumline"),
        await http.patch("/api/v1/shards/main", json={"queue_url": None}),
        await http.post("/api/v1/slots/move", json={}),
        await http.post("/api/v1/shards/main/drain"),
        await http.delete("/api/v1/shards/main/drain"),
        await http.delete("/api/v1/shards/main"),
    ]

    for reply in refused:
        assert "PostgreSQL" in problem(reply, 409, "conflict")["detail"]
        assert "s3cret" not in reply.text


async def test_a_database_is_added_and_given_slots(sharded: httpx.AsyncClient, shard_urls: tuple[str, ...]) -> None:
    added = await add(sharded, "pg2", shard_urls[1], reason="more room")
    moved = await sharded.post("/api/v1/slots/move", json={"taker": "pg2", "slots": 64})
    evenly = await sharded.post("/api/v1/slots/move", json={})
    listed = (await sharded.get("/api/v1/shards")).json()["items"]

    assert (added.status_code, added.headers["location"]) == (201, "/api/v1/shards/pg2")
    assert (added.json()["slots"], added.json()["state"], added.json()["unfinished"]) == (0, "active", 0)
    assert (moved.json(), evenly.json()) == ({"slots": 64}, {"slots": SLOTS // 2 - 64})
    assert [(shard["name"], shard["slots"]) for shard in listed] == [("main", SLOTS // 2), ("pg2", SLOTS // 2)]
    assert listed[0]["added_at"] is None
    assert listed[1]["added_at"] is not None


async def test_a_task_shows_its_shard_to_those_who_may_see_shards(
    sharded: httpx.AsyncClient, shard_urls: tuple[str, ...]
) -> None:
    task = (await sharded.post("/api/v1/tasks", json={"name": "work"})).json()["id"]
    viewer = {"X-API-Key": (await made(sharded, tenant="default", role="viewer"))["key"]}

    lone = (await sharded.get(f"/api/v1/tasks/{task}")).json()
    await add(sharded, "pg2", shard_urls[1])

    assert "shard" not in lone
    assert (await sharded.get(f"/api/v1/tasks/{task}")).json()["shard"] == "main"
    assert "shard" not in (await sharded.get(f"/api/v1/tasks/{task}", headers=viewer)).json()
    assert "shard" not in (await sharded.get("/api/v1/tasks")).json()["items"][0]


async def test_what_cannot_be_done_names_its_field(sharded: httpx.AsyncClient, shard_urls: tuple[str, ...]) -> None:
    await add(sharded, "pg2", shard_urls[1])

    problem(await add(sharded, "PG 3", shard_urls[2]), 422, "invalid", "name")
    problem(await add(sharded, "main", shard_urls[2]), 409, "conflict", "name")
    problem(await add(sharded, "pg3", ""), 422, "invalid", "store_url")
    problem(await sharded.post("/api/v1/slots/move", json={"taker": "pg9"}), 404, "not_found", "taker")
    problem(await sharded.post("/api/v1/slots/move", json={"taker": "pg2", "slots": 0}), 422, "invalid", "slots")
    problem(await sharded.post("/api/v1/slots/move", json={"slots": 7}), 422, "invalid", "taker")
    problem(await sharded.post("/api/v1/shards/main/drain"), 409, "conflict", "name")
    problem(await sharded.delete("/api/v1/shards/main"), 409, "conflict", "name")


async def test_addresses_go_in_and_never_come_out(
    sharded: httpx.AsyncClient, shard_urls: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """Not in answers, not in the audit log, not in refusals, not in logs."""
    secret = "s3cret-of-the-database"
    scheme, _, rest = shard_urls[1].partition("://")
    url = f"{scheme}://{rest.replace('@', f':{secret}@')}"

    replies = [
        await add(sharded, "pg2", url, queue_url=f"redis://:{secret}@redis.example:6379/0"),
        await sharded.get("/api/v1/shards"),
        await sharded.patch("/api/v1/shards/pg2", json={"store_url": url, "queue_url": None}),
        await add(sharded, "pg3", f"postgresql://ada:{secret}@127.0.0.1:1/nowhere"),
        await add(sharded, "pg3", f"mysql://ada:{secret}@127.0.0.1/nowhere"),
        await sharded.get("/api/v1/audit"),
    ]

    assert [reply.status_code for reply in replies[:3]] == [201, 200, 200]
    assert [reply.status_code // 100 for reply in replies[3:5]] != [2, 2]
    assert replies[0].json()["queue_address"]
    assert replies[2].json()["queue_address"] is None
    acts = {entry["act"]: entry for entry in replies[5].json()["items"] if entry["phase"] == "done"}
    assert {"shard.add", "shard.change"} <= set(acts)
    assert acts["shard.change"]["before"]["queue_address"]
    assert secret not in "".join(reply.text for reply in replies) + caplog.text


async def test_only_a_key_of_the_installation_sees_shards_and_only_an_admin_changes_them(
    http: httpx.AsyncClient,
) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    tenant = {"X-API-Key": (await made(http, tenant="acme", role="admin"))["key"]}
    operator = {"X-API-Key": (await made(http, tenant="*", role="operator"))["key"]}

    problem(await http.get("/api/v1/shards", headers=tenant), 403, "forbidden")
    problem(await http.get("/api/v1/shards", headers={**tenant, "X-Tenant": "acme"}), 403, "forbidden")
    assert (await http.get("/api/v1/shards", headers=operator)).status_code == 200
    problem(await http.post("/api/v1/slots/move", headers=operator, json={}), 403, "forbidden")
    problem(await http.post("/api/v1/shards/main/drain", headers=operator), 403, "forbidden")


async def test_the_health_page_tells_of_each_shard_and_is_degraded_by_one_that_is_away(
    sharded: httpx.AsyncClient, world: World, shard_urls: tuple[str, ...]
) -> None:
    alone = (await sharded.get("/actuator/health")).json()
    await add(sharded, "pg2", shard_urls[1])
    await add(sharded, "pg3", shard_urls[2])
    well = (await sharded.get("/actuator/health")).json()

    await world.shards.named("pg3").store.close()
    answer = await sharded.get("/actuator/health")

    assert "shards" not in alone["components"]
    assert well["components"]["shards"] == {"status": "UP", "details": {"pg2": "UP", "pg3": "UP"}}
    assert (answer.status_code, answer.json()["status"]) == (200, "DEGRADED")
    shards = answer.json()["components"]["shards"]
    assert (shards["status"], shards["details"]["pg2"]) == ("DEGRADED", "UP")
    assert shards["details"]["pg3"] != "UP"
