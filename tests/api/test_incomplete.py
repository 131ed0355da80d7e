"""Lists and counts that miss a shard say so; what belongs to that shard is unavailable, and the rest is served."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.api.routes import OPERATIONS
from drumline.core.clock import SystemClock
from drumline.core.ids import TaskId
from drumline.engine.engine import Engine
from drumline.shards.store import ShardedStore
from drumline.stores.no_queue import NoQueue
from tests.api.conftest import KEY
from tests.factories import submit
from tests.harness.sharded import OpenShards, open_shards


@pytest.fixture
async def shards(tmp_path: Path) -> AsyncIterator[OpenShards]:
    opened = await open_shards(tmp_path, SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def tasks(shards: OpenShards) -> list[TaskId]:
    """Six tasks, two in each shard."""
    return [await submit(ShardedStore(shards)) for _ in range(6)]


@pytest.fixture
async def http(shards: OpenShards, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    engine = Engine(ShardedStore(shards), NoQueue())
    app: Any = create_app(
        engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)), stop=StopEvent()
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://drumline", headers={"X-API-Key": KEY}) as client:
        yield client
    await engine.close()


@pytest.fixture
async def away(shards: OpenShards, tasks: list[TaskId]) -> str:
    """Let a shard that has tasks answer no more, and return its name."""
    assert tasks
    await next(shard for shard in shards if shard.name == "pg2").store.close()
    return "pg2"


async def test_every_list_of_all_shards_says_which_it_misses(http: httpx.AsyncClient, away: str) -> None:
    await http.put("/api/v1/limits/mail", json={"queue": "mail", "max_concurrent": 1})
    lists = [each.path for each in OPERATIONS if each.merges and each.method == "GET" and "{" not in each.path]

    needed = {"/api/v1/logs": {"text": "x"}}
    answers = {path: (await http.get(path, params=needed.get(path))).json().get("incomplete") for path in lists}

    assert answers == {path: [away] for path in lists}


async def test_a_complete_list_says_nothing_of_it(http: httpx.AsyncClient, tasks: list[TaskId]) -> None:
    answer = (await http.get("/api/v1/tasks")).json()

    assert "incomplete" not in answer
    assert [item["id"] for item in answer["items"]] == tasks[::-1]


async def test_tasks_of_a_shard_that_is_away_are_unavailable_and_others_are_not(
    http: httpx.AsyncClient, shards: OpenShards, tasks: list[TaskId], away: str
) -> None:
    for task in tasks:
        answer = await http.get(f"/api/v1/tasks/{task}")

        is_away = shards.map.holder(task) == away
        assert answer.status_code == (503 if is_away else 200)
        assert ("retry-after" in answer.headers) is is_away


async def test_a_queue_is_paused_while_a_shard_is_away(http: httpx.AsyncClient, away: str) -> None:
    answer = await http.post("/api/v1/queues/default/pause", json={})

    assert answer.status_code == 200
    assert answer.json()["is_paused"] is True
    assert answer.json()["incomplete"] == [away]
