"""Tenants: made, looked at, and kept within their quotas."""

import asyncio
from typing import Any

import httpx
import pytest

from drumline.core.outcome import ErrorInfo, Failed
from drumline.core.tenant import Quotas
from drumline.engine.engine import Engine
from drumline.engine.quota_counts import SHORTEST_AGE
from tests.api.conftest import Ada, problem
from tests.api.test_keys import made


@pytest.fixture
async def acme(http: httpx.AsyncClient) -> dict[str, str]:
    """The headers of a tenant's administrator."""
    await http.post("/api/v1/tenants", json={"name": "acme", "quotas": {"queued": 5, "payload_bytes": 50}})
    return {"X-API-Key": (await made(http, tenant="acme", role="admin", rate_limit="unlimited"))["key"]}


async def submit(http: httpx.AsyncClient, headers: dict[str, str], **fields: Any) -> httpx.Response:
    return await http.post("/api/v1/tasks", headers=headers, json={"name": "work", **fields})


async def test_tenants_are_made_listed_and_changed(http: httpx.AsyncClient) -> None:
    made_ = await http.post("/api/v1/tenants", json={"name": "acme", "quotas": {"queued": 5}})
    changed = await http.patch("/api/v1/tenants/acme", json={"schedules": 2, "queued": None})
    default = await http.patch("/api/v1/tenants/default", json={"queued": 1_000_000})
    listed = (await http.get("/api/v1/tenants")).json()["items"]

    assert (made_.status_code, made_.headers["location"]) == (201, "/api/v1/tenants/acme")
    assert made_.json()["quotas"] == {"queued": 5, "payload_bytes": None, "schedules": None, "weight": None}
    assert changed.json()["quotas"] == {"queued": None, "payload_bytes": None, "schedules": 2, "weight": None}
    assert [(tenant["name"], tenant["quotas"]["queued"]) for tenant in listed] == [
        ("acme", None), ("default", 1_000_000),
    ]  # fmt: skip
    assert default.json()["created_at"] is not None
    assert (await http.get("/api/v1/tenants/acme")).json() == changed.json()
    problem(await http.post("/api/v1/tenants", json={"name": "acme"}), 409, "conflict", "name")
    problem(await http.post("/api/v1/tenants", json={"name": "default"}), 409, "conflict", "name")
    problem(await http.post("/api/v1/tenants", json={"name": "A B"}), 422, "invalid", "name")
    problem(await http.post("/api/v1/tenants", json={"name": "*"}), 422, "invalid", "name")
    problem(await http.get("/api/v1/tenants/nobody"), 404, "not_found", "name")
    problem(await http.patch("/api/v1/tenants/nobody", json={}), 404, "not_found", "name")
    problem(await http.patch("/api/v1/tenants/acme", json={"queued": -1}), 422, "invalid", "queued")


async def test_the_default_tenant_is_there_from_the_first_day(http: httpx.AsyncClient) -> None:
    for name in ("a", "z"):
        await http.post("/api/v1/tenants", json={"name": name})

    names = []
    cursor = ""
    while True:
        page = (await http.get(f"/api/v1/tenants?limit=1{cursor}")).json()
        names += [tenant["name"] for tenant in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert names == ["a", "default", "z"]


async def test_a_tenants_key_sees_its_tenant_and_no_other(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    listed = (await http.get("/api/v1/tenants", headers=acme)).json()["items"]
    own = await http.get("/api/v1/tenants/acme", headers=acme)

    assert [tenant["name"] for tenant in listed] == ["acme"]
    assert own.json()["quotas"]["queued"] == 5
    strange = await http.get("/api/v1/tenants/default", headers=acme)
    absent = await http.get("/api/v1/tenants/nobody", headers=acme)
    assert (strange.status_code, absent.status_code) == (404, 404)
    problem(await http.patch("/api/v1/tenants/acme", headers=acme, json={"queued": 9}), 403, "forbidden")


async def test_no_more_tasks_wait_than_the_quota_says(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    statuses = [(await submit(http, acme, delay=number)).status_code for number in range(5)]
    refused = await submit(http, acme)

    assert statuses == [201] * 5
    body = problem(refused, 429, "quota_exceeded")
    assert body["detail"] == "tenant acme has 5 tasks waiting, its quota; some have to be run first"
    assert int(refused.headers["retry-after"]) >= 1
    assert (await submit(http, {})).status_code == 201  # others have theirs


async def test_many_at_once_get_no_more_than_the_quota(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    replies = await asyncio.gather(*(submit(http, acme) for _ in range(40)))

    assert sorted(reply.status_code for reply in replies) == [201] * 5 + [429] * 35


async def test_of_a_batch_the_first_are_taken(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    tasks: list[dict[str, Any]] = [{"name": "work"} for _ in range(8)]
    tasks[1]["payload"] = "x" * 100

    answers = (await http.post("/api/v1/tasks/batch", headers=acme, json={"tasks": tasks})).json()["tasks"]

    told = [answer["error"]["code"] if "error" in answer else "stored" for answer in answers]
    assert told == ["stored", "too_large", *["stored"] * 4, *["quota_exceeded"] * 2]
    assert answers[1]["error"]["field"] == "tasks[1].payload"


async def test_a_job_is_taken_as_a_whole_or_not_at_all(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    tasks = {f"t{number}": {"name": "work"} for number in range(6)}

    refused = await http.post("/api/v1/jobs", headers=acme, json={"name": "j", "tasks": tasks})
    del tasks["t5"]
    taken = await http.post("/api/v1/jobs", headers=acme, json={"name": "j", "tasks": tasks})

    problem(refused, 429, "quota_exceeded")
    assert taken.status_code == 201


async def test_a_payload_is_no_larger_than_the_quota(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    body = problem(await submit(http, acme, payload="x" * 60), 413, "too_large", "payload")

    assert body["detail"] == "payload: is 62 bytes of JSON; the quota of tenant acme is 50"
    assert (await submit(http, acme, payload="x" * 48)).status_code == 201


async def test_what_schedules_make_is_no_larger_than_the_quota(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    small, large = {"name": "work"}, {"name": "work", "payload": "x" * 60}
    timing = {"interval": 60}
    made_ = await http.post("/api/v1/schedules", headers=acme, json={"name": "a", **timing, "task": small})

    edited = await http.patch(f"/api/v1/schedules/{made_.json()['id']}", headers=acme, json={"task": large})
    as_task = await http.post("/api/v1/schedules", headers=acme, json={"name": "b", **timing, "task": large})
    job = {"name": "j", "tasks": {"one": large}}
    as_job = await http.post("/api/v1/schedules", headers=acme, json={"name": "c", **timing, "job": job})
    schedule = {"name": "d", **timing, "task": large}
    code = {"app": "shop", "modules": ["shop"], "schedules": [{"module": "shop", "schedule": schedule}]}
    registered = await http.post("/api/v1/schedules/register", headers=acme, json=code)

    problem(edited, 413, "too_large", "task.payload")
    problem(as_task, 413, "too_large", "task.payload")
    problem(as_job, 413, "too_large", "job.tasks.one.payload")
    problem(registered, 413, "too_large", "schedules[0].schedule.task.payload")


async def test_a_payload_that_was_edited_is_no_larger_than_the_quota(
    http: httpx.AsyncClient, acme: dict[str, str], ada: Ada
) -> None:
    task = (await submit(http, acme)).json()["id"]
    await ada.settle(await ada.claim(), Failed(ErrorInfo("Oops", ""), permanent=True))

    reply = await http.post(f"/api/v1/failures/{task}/retry", headers=acme, json={"payload": "x" * 60})

    problem(reply, 413, "too_large", "payload")


async def test_no_more_schedules_are_kept_than_the_quota_says(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    await http.patch("/api/v1/tenants/acme", json={"schedules": 2})

    async def schedule(name: str, headers: dict[str, str]) -> httpx.Response:
        body = {"name": name, "interval": 60, "task": {"name": "work"}}
        return await http.post("/api/v1/schedules", headers=headers, json=body)

    replies = [await schedule(f"s{number}", acme) for number in range(3)]
    elsewhere = await schedule("s0", {})
    await http.delete(f"/api/v1/schedules/{replies[0].json()['id']}", headers=acme)
    again = await schedule("s2", acme)

    assert [reply.status_code for reply in replies] == [201, 201, 429]
    body = problem(replies[2], 429, "quota_exceeded")
    assert body["detail"] == "tenant acme has 2 schedules, its quota; some have to be deleted first"
    assert (elsewhere.status_code, again.status_code) == (201, 201)


@pytest.mark.faults
async def test_room_that_was_made_is_found_soon(http: httpx.AsyncClient, acme: dict[str, str]) -> None:
    ids = [(await submit(http, acme)).json()["id"] for _ in range(5)]
    assert (await submit(http, acme)).status_code == 429

    await http.post(f"/api/v1/tasks/{ids[0]}/cancel", headers=acme)
    await asyncio.sleep(SHORTEST_AGE + 0.1)

    assert (await submit(http, acme)).status_code == 201


async def test_quotas_that_are_changed_hold_at_once_on_the_same_server(
    http: httpx.AsyncClient, acme: dict[str, str]
) -> None:
    for _ in range(5):
        await submit(http, acme)
    await http.patch("/api/v1/tenants/acme", json={"queued": 6})

    assert [(await submit(http, acme)).status_code for _ in range(2)] == [201, 429]


async def test_a_tenant_without_quotas_is_never_counted(
    http: httpx.AsyncClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def counted(tenant: str, *, most: int) -> int:
        raise AssertionError((tenant, most))

    monkeypatch.setattr(engine.store.tenants, "count_queued", counted)

    assert [(await submit(http, {})).status_code for _ in range(20)] == [201] * 20
    assert await engine.access.quotas.of("default") == Quotas()
