"""Filters in lists, counts and bulk operations."""

import httpx
import pytest

from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.engine import bulk
from drumline.stores.parts import task_search, tasks
from drumline.stores.parts.task_search import Effort
from tests.api.conftest import Ada, problem, submitted

TASKS = "/api/v1/tasks"


async def found(http: httpx.AsyncClient, text: str, path: str = TASKS) -> list[str]:
    reply = await http.get(path, params={"filter": text})
    assert reply.status_code == 200, reply.text
    return [item["id"] for item in reply.json()["items"]]


async def fail(ada: Ada, message: str) -> None:
    await ada.settle(await ada.claim(), Failed(ErrorInfo("IOError", message), permanent=True))


async def test_a_list_is_narrowed_by_terms(http: httpx.AsyncClient, ada: Ada) -> None:
    slow = await submitted(http, payload={"order": {"id": 17}}, tags=["vip"])
    await fail(ada, "Timed out")
    other = await submitted(http, name="other", queue="bulk", payload={"order": {"id": 18}})

    assert await found(http, 'status:failed error:"timed out" tag:vip payload.order.id=17 created:1h') == [slow]
    assert await found(http, "-queue:bulk") == [slow]
    assert await found(http, "payload.order.id>16") == [other, slow]
    assert await found(http, "oth") == [other]
    assert await found(http, f"id:{slow[:13]}") == [task for task in (other, slow) if task.startswith(slow[:13])]


async def test_terms_and_other_filters_hold_together(http: httpx.AsyncClient) -> None:
    work = await submitted(http, queue="a")
    await submitted(http, queue="b")

    reply = await http.get(TASKS, params={"queue": "a", "status": "QUEUED", "filter": "name:w* status:queued,failed"})

    assert [task["id"] for task in reply.json()["items"]] == [work]


async def test_what_is_wrong_with_a_filter_is_told(http: httpx.AsyncClient) -> None:
    for path in (TASKS, "/api/v1/jobs", "/api/v1/failures", "/api/v1/failures/groups", f"{TASKS}/counts"):
        reply = await http.get(path, params={"filter": "name:a colour:red"})
        told = problem(reply, 422, "invalid", "filter")
        assert "at character 8, colour:red: there is no field colour" in told["detail"]


async def test_redacted_values_cannot_be_searched_for(http: httpx.AsyncClient) -> None:
    await submitted(http, payload={"user": {"password": "hunter2"}})

    told = problem(await http.get(TASKS, params={"filter": "payload.user.password>h"}), 422, "invalid", "filter")

    assert "values under password are redacted" in told["detail"]


async def test_a_search_that_stopped_says_so_and_goes_on_by_its_cursor(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "EFFORT", Effort(candidates=5))
    monkeypatch.setattr(task_search, "FIRST_AT_ONCE", 5)
    needle = await submitted(http, payload={"n": 1})
    for _ in range(12):
        await submitted(http, payload={"n": 2})

    ids: list[str] = []
    cursor, pages = None, 0
    while True:
        params = {"filter": "payload.n=1", **({} if cursor is None else {"cursor": cursor})}
        page = (await http.get(TASKS, params=params)).json()
        ids, cursor, pages = ids + [task["id"] for task in page["items"]], page["next_cursor"], pages + 1
        assert page["is_partial"] is (cursor is not None)
        if cursor is None:
            break

    assert ids == [needle]
    assert pages > 1


async def test_pages_with_payloads_have_them(http: httpx.AsyncClient) -> None:
    for n in range(5):
        await submitted(http, payload={"n": n, "password": "x"})

    page = (await http.get(TASKS, params={"filter": "payload.n>1", "payload": "true", "limit": 2})).json()

    assert [task["payload"] for task in page["items"]] == [
        {"n": 4, "password": "[redacted]"},
        {"n": 3, "password": "[redacted]"},
    ]
    assert page["next_cursor"] == page["items"][-1]["id"]


@pytest.mark.parametrize("which", [{}, {"filter": "payload.n>1"}])
async def test_pages_have_payloads_up_to_a_size(http: httpx.AsyncClient, which: dict[str, str]) -> None:
    for n in range(4):
        await submitted(http, payload={"n": n, "password": "x", "text": "long" * (n == 3)})

    page = (await http.get(TASKS, params={**which, "payload_up_to": 35, "limit": 2})).json()

    assert "payload" not in page["items"][0]
    assert page["items"][1]["payload"] == {"n": 2, "password": "[redacted]", "text": ""}
    assert "result" not in page["items"][1]
    assert page["next_cursor"] == page["items"][-1]["id"]
    refused = await http.get(TASKS, params={"payload_up_to": 65_537})
    assert (refused.status_code, refused.json()["field"]) == (422, "payload_up_to")


async def test_counts_are_of_what_matches(http: httpx.AsyncClient) -> None:
    for n in range(3):
        await submitted(http, payload={"n": n})

    counts = (await http.get(f"{TASKS}/counts", params={"filter": "payload.n>0"})).json()["items"]

    assert {count["status"]: count["count"] for count in counts if count["count"]} == {"QUEUED": 2}


async def test_a_bulk_operation_is_about_what_its_expression_means(http: httpx.AsyncClient, ada: Ada) -> None:
    first = await submitted(http, payload={"n": 1})
    second = await submitted(http, payload={"n": 2})
    done = await submitted(http, payload={"n": 2})
    for task in (first, second, done):
        claimed = await ada.claim()
        assert claimed.lease.task == task
        outcome = Succeeded() if task == done else Failed(ErrorInfo("E", f"no {task}"), permanent=True)
        await ada.settle(claimed, outcome)

    async def dry(act: str, expression: str, **more: object) -> list[str]:
        body = {"act": act, "filter": {"expression": expression}, "dry_run": True, **more}
        reply = await http.post("/api/v1/bulk", json=body)
        assert reply.status_code == 200, reply.text
        return list(reply.json()["sample"])

    assert await dry("retry", "payload.n=2") == [second]
    assert await dry("retry", f"error:{first}") == [first]
    assert await dry("cancel", "payload.n=2") == []
    assert await dry("reschedule", "name:w*", delay=60) == []
    begun = await http.post("/api/v1/bulk", json={"act": "retry", "filter": {"expression": "payload.n=2"}})
    assert begun.status_code == 202
    assert begun.json()["total"] == 1
    assert begun.json()["filter"] == {"expression": "payload.n=2"}


@pytest.mark.parametrize(
    ("which", "field"), [({"expression": "-name:zzz"}, "filter.expression"), ({"status": ["QUEUED"]}, "filter")]
)
async def test_a_restricted_key_does_not_search_all_tasks_of_others_for_its_own(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, which: dict[str, object], field: str
) -> None:
    monkeypatch.setattr(bulk, "PAGE", 1)
    monkeypatch.setattr(bulk, "MOST_SEARCHES", 3)
    monkeypatch.setattr(bulk, "MOST_OTHERS", 3)
    key = await http.post("/api/v1/keys", json={"name": "k", "role": "operator", "names": ["a*"]})
    restricted = {"X-API-Key": key.json()["key"]}
    for _ in range(2):
        await submitted(http, name="bank.pay")
    body = {"act": "cancel", "filter": which, "dry_run": True}

    few = await http.post("/api/v1/bulk", json=body, headers=restricted)
    for _ in range(2):
        await submitted(http, name="bank.pay")
    many = await http.post("/api/v1/bulk", json=body, headers=restricted)

    assert few.json()["total"] == 0
    assert "too many tasks" in problem(many, 422, "invalid", field)["detail"]


async def test_a_bad_expression_of_a_bulk_operation_is_named(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/bulk", json={"act": "cancel", "filter": {"expression": "foo:1"}})

    assert "there is no field foo" in problem(reply, 422, "invalid", "filter.expression")["detail"]


async def test_jobs_are_found_by_terms_and_by_time(http: httpx.AsyncClient) -> None:
    async def job(name: str, **fields: object) -> str:
        reply = await http.post("/api/v1/jobs", json={"name": name, "tasks": {"a": {"name": "work"}}, **fields})
        return str(reply.json()["id"])

    nightly = await job("nightly report", owner="ada", tags=["eu"])
    other = await job("import")

    assert await found(http, "nightly", "/api/v1/jobs") == [nightly]
    assert await found(http, "-owner:ada", "/api/v1/jobs") == [other]
    assert await found(http, 'name:"nightly report" tag:e* tasks:1 status:pending created:1h', "/api/v1/jobs") == [
        nightly
    ]
    assert await found(http, "status:failed", "/api/v1/jobs") == []
    since = (await http.get("/api/v1/jobs", params={"since": "2020-01-01T00:00:00Z"})).json()["items"]
    until = (await http.get("/api/v1/jobs", params={"until": "2020-01-01T00:00:00Z"})).json()["items"]
    assert [item["id"] for item in since] == [other, nightly]
    assert until == []


async def test_failures_and_their_groups_are_found_by_terms_and_by_time(http: httpx.AsyncClient, ada: Ada) -> None:
    slow, refused = await submitted(http), await submitted(http)
    await fail(ada, "Timed out")
    await fail(ada, "card refused")

    async def kinds(**params: str) -> list[str]:
        reply = await http.get("/api/v1/failures/groups", params=params)
        assert reply.status_code == 200, reply.text
        return [group["message"] for group in reply.json()["items"]]

    assert await found(http, "error:timed", "/api/v1/failures") == [slow]
    assert await found(http, "-error:timed attempts>0 failed:1h", "/api/v1/failures") == [refused]
    assert await kinds(filter="error:refused count>0") == ["card refused"]
    assert sorted(await kinds(since="2020-01-01T00:00:00Z")) == ["Timed out", "card refused"]
    assert await kinds(since="2090-01-01T00:00:00Z") == []
    assert await kinds(until="2020-01-01T00:00:00Z") == []
