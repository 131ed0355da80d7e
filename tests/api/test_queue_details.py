"""One queue through HTTP."""

import httpx

from drumline.api.queue_details import drain_seconds
from drumline.core.outcome import Succeeded
from drumline.engine.engine import Engine
from tests.api.conftest import Ada, problem


async def test_a_queue_has_its_tasks_rates_and_limits(http: httpx.AsyncClient, engine: Engine, ada: Ada) -> None:
    for _ in range(3):
        await http.post("/api/v1/tasks", json={"name": "work", "queue": "mail"})
    await ada.settle(await ada.claim(), Succeeded())
    await http.put("/api/v1/limits/few", json={"queue": "mail", "max_concurrent": 2})
    await http.put("/api/v1/limits/other", json={"queue": "slow", "max_concurrent": 2})
    while (await engine.store.stats.gather_stats(limit=100)).rows:
        pass

    found = (await http.get("/api/v1/queues/mail")).json()

    assert (found["queue"]["name"], found["queue"]["queued"]) == ("mail", 2)
    assert found["submitted_per_second"] > found["ended_per_second"] > 0
    assert found["drain_seconds"] is None
    assert [limit["name"] for limit in found["limits"]] == ["few"]


async def test_a_queue_that_was_never_used_is_empty(http: httpx.AsyncClient) -> None:
    found = (await http.get("/api/v1/queues/none")).json()

    assert (found["queue"]["queued"], found["drain_seconds"], found["limits"]) == (0, 0.0, [])
    problem(await http.get("/api/v1/queues/a%20b"), 422, "invalid", "name")


def test_a_queue_is_empty_when_more_ends_than_comes() -> None:
    assert drain_seconds(100, submitted=1.0, ended=3.0) == 50.0
    assert drain_seconds(100, submitted=3.0, ended=3.0) is None
    assert drain_seconds(0, submitted=3.0, ended=1.0) == 0.0
