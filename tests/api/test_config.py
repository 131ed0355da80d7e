"""The runtime configuration over HTTP."""

from typing import Any

import httpx
import pytest

from drumline.engine.engine import Engine
from drumline.settings.sources import check_runtime
from tests.api.conftest import problem
from tests.api.test_keys import made

CONFIG = "/api/v1/config"


@pytest.fixture(autouse=True)
def _knows_settings(engine: Engine) -> None:
    engine.configuration._check = check_runtime


async def change(http: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await http.patch(CONFIG, json=body)


async def test_settings_are_set_unset_and_looked_back_at(http: httpx.AsyncClient) -> None:
    first = await change(http, set={"worker.concurrency": "20", "worker.queues@gpu": ["a=2", "b"]}, reason="rush hour")
    second = await change(http, set={"log.level": "debug"}, unset=["worker.concurrency"])
    same = await change(http, set={"log.level": "debug"})

    assert first.json()["settings"] == {"worker.concurrency": 20, "worker.queues@gpu": ["a=2", "b"]}
    assert (first.json()["version"], first.json()["reason"], first.json()["changed_by"]) == (
        1,
        "rush hour",
        "first key",
    )
    assert second.json()["settings"] == {"worker.queues@gpu": ["a=2", "b"], "log.level": "debug"}
    assert same.json() == second.json() == (await http.get(CONFIG)).json()
    page = (await http.get(f"{CONFIG}/history?limit=1")).json()
    rest = (await http.get(f"{CONFIG}/history?limit=5&cursor={page['next_cursor']}")).json()
    assert page["items"] == [second.json()]
    assert rest == {"items": [first.json()], "next_cursor": None}


async def test_nothing_is_set_at_first(http: httpx.AsyncClient) -> None:
    nothing = {"version": 0, "settings": {}, "changed_at": None, "changed_by": None, "reason": None}

    assert (await http.get(CONFIG)).json() == nothing


async def test_what_cannot_be_is_refused_by_its_name(http: httpx.AsyncClient) -> None:
    unknown = await change(http, set={"worker.concurency": 1})
    fixed = await change(http, set={"port": 1})
    wrong = await change(http, set={"worker.concurrency": 0})

    problem(unknown, 422, "invalid", "key")
    assert "did you mean worker.concurrency?" in unknown.json()["detail"]
    problem(fixed, 422, "invalid", "key")
    problem(wrong, 422, "invalid", "worker.concurrency")
    problem(await change(http), 422, "invalid", "body")
    problem(await change(http, unset=["tune.poll"]), 422, "invalid", "unset")
    problem(await change(http, set={"tune.poll": 1}, unset=["tune.poll"]), 422, "invalid", "unset")
    problem(await http.get(f"{CONFIG}/history?cursor=x"), 422, "invalid", "cursor")
    assert (await http.get(CONFIG)).json()["version"] == 0


async def test_a_change_of_a_version_that_was_overtaken_is_refused(http: httpx.AsyncClient) -> None:
    await change(http, set={"tasks.retries": 1})

    problem(await change(http, set={"tasks.retries": 2}, version=0), 409, "conflict", "version")
    assert (await change(http, set={"tasks.retries": 2}, version=1)).json()["version"] == 2


async def test_it_is_the_installations_business_and_written_down(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    acme = {"X-API-Key": (await made(http, tenant="acme", role="admin"))["key"]}
    viewer = {"X-API-Key": (await made(http, tenant="*", role="viewer"))["key"]}
    await change(http, set={"tasks.retries": 9}, reason="flaky")

    assert (await http.get(CONFIG, headers=acme)).status_code == 403
    assert (await http.patch(CONFIG, headers=acme, json={"set": {"tasks.retries": 1}})).status_code == 403
    assert (await http.get(CONFIG, headers=viewer)).json()["settings"] == {"tasks.retries": 9}
    assert (await http.patch(CONFIG, headers=viewer, json={"set": {"tasks.retries": 1}})).status_code == 403
    (row,) = (await http.get("/api/v1/audit?act=config.change")).json()["items"]
    assert (row["reason"], row["before"], row["after"]) == ("flaky", {"tasks.retries": None}, {"tasks.retries": 9})
