"""Figures over time, as they are told."""

import httpx

from drumline.engine.engine import Engine
from tests.api.conftest import problem
from tests.api.test_keys import made


async def test_a_tenant_is_told_how_many_of_its_own_tasks_wait(http: httpx.AsyncClient, engine: Engine) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    acme = {"X-API-Key": (await made(http, tenant="acme", role="admin", rate_limit="unlimited"))["key"]}
    await http.post("/api/v1/tasks", json={"name": "work"})
    for queue in ("mail", "mail", "slow"):
        await http.post("/api/v1/tasks", headers=acme, json={"name": "work", "queue": queue})
    await engine.store.stats.sample_depth(apart_ms=0)

    async def depth(headers: dict[str, str], **which: str) -> float:
        body = (await http.get("/api/v1/stats", headers=headers, params=which)).json()
        assert body["points"][0]["depth"] is None
        (known,) = [point["depth"] for point in body["points"] if point["depth"] is not None]
        return float(known)

    assert await depth(acme) == 3
    assert await depth(acme, queue="mail") == 2
    assert await depth(acme, last="6h") == 3
    assert await depth({}) == 4


async def test_only_stretches_that_have_buckets_can_be_asked_for(http: httpx.AsyncClient) -> None:
    reply = await http.get("/api/v1/stats", params={"last": "1y"})

    problem(reply, 422, "invalid", field="last")


async def test_usual_durations_are_told_name_by_name(http: httpx.AsyncClient) -> None:
    reply = await http.get("/api/v1/stats/durations", params={"name": ["work", "other"]})

    assert reply.json()["items"] == [
        {"name": name, "runs": 0, "wait_p50": None, "wait_p95": None, "run_p50": None, "run_p95": None}
        for name in ("work", "other")
    ]
    assert (await http.get("/api/v1/stats/durations")).json() == {"items": []}
    many = ",".join(f"n{number}" for number in range(101))
    problem(await http.get("/api/v1/stats/durations", params={"name": many}), 422, "invalid", field="name")
