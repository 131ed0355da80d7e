"""An API server over three databases: lists, counts and searches are those of one system."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.event_interest import EventInterest
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.shards.front import FrontEngine
from tests.shards.world import World, front, opened

pytestmark = pytest.mark.services

KEY = "sk_test_key"
COUNT = 30
ADA = SessionSpec(host="ada", pid=7, version="1", queues=(), types=(TaskType(name="work"),), capacity=100)


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    async with opened(shard_urls) as made:
        await made.add_all(shard_urls)
        yield made


@pytest.fixture
def engine(world: World) -> FrontEngine:
    return front(world)


@pytest.fixture
async def http(engine: FrontEngine, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app: Any = create_app(
        engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)), stop=StopEvent()
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://drumline", headers={"X-API-Key": KEY}) as client:
        yield client


@pytest.fixture
async def tasks(world: World, http: httpx.AsyncClient) -> list[str]:
    """Tasks in all three shards, each with a key of its own, oldest first."""
    found = []
    for number in range(COUNT):
        answer = await http.post("/api/v1/tasks", json={"name": "work", "idempotency_key": f"k{number}"})
        assert answer.status_code == 201
        found.append(answer.json()["id"])
    assert {world.shards.of(task).name for task in found} == {shard.name for shard in world.shards}
    return sorted(found)


async def listed(http: httpx.AsyncClient, path: str, **query: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = (await http.get(path, params={**query, **({"cursor": cursor} if cursor else {})})).json()
        assert "incomplete" not in page
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return items


async def test_pages_of_tasks_come_from_all_shards_in_order(http: httpx.AsyncClient, tasks: list[str]) -> None:
    assert [item["id"] for item in await listed(http, "/api/v1/tasks", limit=7)] == tasks[::-1]


async def test_a_task_is_found_by_id_and_by_key_wherever_it_is(http: httpx.AsyncClient, tasks: list[str]) -> None:
    for task in tasks:
        assert (await http.get(f"/api/v1/tasks/{task}")).json()["id"] == task
    found = await listed(http, "/api/v1/tasks", idempotency_key="k7")
    assert len(found) == 1


async def test_counts_and_queues_add_up(http: httpx.AsyncClient, tasks: list[str]) -> None:
    counts = {item["status"]: item["count"] for item in (await http.get("/api/v1/tasks/counts")).json()["items"]}
    (queue,) = await listed(http, "/api/v1/queues")

    assert counts["QUEUED"] == len(tasks)
    assert queue["queued"] == len(tasks)


async def test_a_pause_holds_in_every_shard(world: World, http: httpx.AsyncClient, tasks: list[str]) -> None:
    assert tasks
    assert (await http.post("/api/v1/queues/default/pause", json={"reason": "full"})).status_code == 200

    for shard in world.shards:
        assert await shard.store.paused_queues() == [("default", "default")]


async def test_a_bulk_operation_over_all_shards_is_one(
    engine: FrontEngine, http: httpx.AsyncClient, tasks: list[str]
) -> None:
    answers = await engine.store.control.cancel(tasks, force=True)  # type: ignore[arg-type]
    assert [getattr(answer, "state", None) for answer in answers] == [State.CANCELLED] * len(tasks)

    body = {"act": "retry", "filter": {"status": ["CANCELLED"]}}
    began = (await http.post("/api/v1/bulk", json=body)).json()

    assert began["total"] == len(tasks)
    (seen,) = await listed(http, "/api/v1/bulk")
    assert seen["id"] == began["id"]
    assert len(await listed(http, f"/api/v1/bulk/{began['id']}/items", limit=7)) == len(tasks)


async def test_a_worker_is_one_in_the_list(engine: FrontEngine, http: httpx.AsyncClient) -> None:
    assert engine.gateway is not None
    await engine.gateway.open_session(ADA)

    (worker,) = (await http.get("/api/v1/workers")).json()["items"]

    assert worker["host"] == "ada"


async def test_events_of_all_shards_are_streamed(engine: FrontEngine, http: httpx.AsyncClient) -> None:
    async with engine.feed.following(EventInterest(tenant=None)) as follower:
        made = {(await http.post("/api/v1/tasks", json={"name": "work"})).json()["id"] for _ in range(COUNT)}
        text = b""
        async with asyncio.timeout(60):
            while sum(task.encode() in text for task in made) < COUNT:
                text += await follower.take(30)

    assert all(text.count(b'"subject":"%b"' % task.encode()) == 1 for task in made)


async def test_lists_go_on_without_a_shard_that_is_away(
    world: World, http: httpx.AsyncClient, tasks: list[str]
) -> None:
    await world.shards.named("pg3").store.close()

    answer = (await http.get("/api/v1/tasks", params={"limit": 100})).json()

    assert answer["incomplete"] == ["pg3"]
    assert [item["id"] for item in answer["items"]] == [
        task for task in reversed(tasks) if world.shards.of(task).name != "pg3"
    ]
