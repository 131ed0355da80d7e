"""Failures and bulk operations through HTTP."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from drumline.core.clock import SystemClock
from drumline.core.outcome import ErrorInfo, Failed
from drumline.engine.engine import Engine
from drumline.scheduler.bulk import BulkDuty
from tests.api.conftest import Ada

OOPS = ErrorInfo("ValueError", "order 7 is odd")


async def fail(http: httpx.AsyncClient, ada: Ada, error: ErrorInfo = OOPS, **options: Any) -> str:
    """Let a task fail for good, and return its id."""
    reply = await http.post("/api/v1/tasks", json={"name": "work", "payload": {"order": 7}, **options})
    await ada.settle(await ada.claim(), Failed(error, permanent=True))
    return str(reply.json()["id"])


async def get(http: httpx.AsyncClient, path: str, status: int = 200) -> Any:
    reply = await http.get(f"/api/v1{path}")
    assert reply.status_code == status, reply.text
    return reply.json()


async def post(http: httpx.AsyncClient, path: str, body: Any = None, status: int = 200) -> Any:
    reply = await http.post(f"/api/v1{path}", json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


@pytest.fixture
def duty(engine: Engine) -> BulkDuty:
    return BulkDuty(engine, clock=SystemClock(), retention=timedelta(days=1))


async def test_a_failure_is_listed_with_what_went_wrong(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await fail(http, ada)

    (failure,) = (await get(http, "/failures"))["items"]

    assert failure["id"] == task
    assert (failure["name"], failure["queue"], failure["tenant"]) == ("work", "default", "default")
    assert (failure["reason"], failure["kind"], failure["message"]) == ("permanent", "ValueError", "order 7 is odd")
    assert (failure["attempts"], failure["job"]) == (1, None)
    assert len(failure["fingerprint"]) == 12
    assert failure["failed_at"].endswith("Z")


async def test_one_failure_is_shown_with_payload_and_history(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await fail(http, ada)

    file = await get(http, f"/failures/{task}")

    assert file["failure"]["id"] == file["task"]["id"] == task
    assert file["task"]["payload"] == {"order": 7}
    assert [attempt["outcome"] for attempt in file["attempts"]] == ["failed"]
    assert file["edits"] == []


async def test_pages_continue_where_they_end(http: httpx.AsyncClient, ada: Ada) -> None:
    tasks = [await fail(http, ada) for _ in range(5)]

    seen, cursor, page = [], "", {}
    for _ in range(3):
        page = await get(http, f"/failures?limit=2{cursor}")
        seen += [failure["id"] for failure in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"

    assert page["next_cursor"] is None
    assert sorted(seen) == sorted(tasks)


async def test_groups_tell_causes_apart(http: httpx.AsyncClient, ada: Ada) -> None:
    for number in range(3):
        await fail(http, ada, ErrorInfo("ValueError", f"order {number} is odd"))
    await fail(http, ada, ErrorInfo("KeyError", "'x'"))

    groups = (await get(http, "/failures/groups?sort=count&trend=true"))["items"]

    assert [(group["kind"], group["message"], group["count"]) for group in groups] == [
        ("ValueError", "order <n> is odd", 3),
        ("KeyError", "'x'", 1),
    ]
    one = await get(http, f"/failures/groups/{groups[0]['fingerprint']}")
    assert one == groups[0]
    listed = await get(http, f"/failures?fingerprint={groups[0]['fingerprint']}")
    assert len(listed["items"]) == 3
    assert (await get(http, "/failures/groups/000000000000", status=404))["field"] == "fingerprint"


async def test_a_failure_is_retried_with_another_payload(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await fail(http, ada)

    answer = await post(http, f"/failures/{task}/retry", {"payload": {"order": 8}})

    assert (answer["status"], answer["payload"]) == ("QUEUED", {"order": 8})
    assert (await get(http, "/failures"))["items"] == []
    again = await ada.claim()
    assert bytes(again.payload) == b'{"order":8}'
    await ada.settle(again, Failed(OOPS, permanent=True))
    (edit,) = (await get(http, f"/failures/{task}"))["edits"]
    assert edit["payload"] == {"order": 7}


async def test_a_payload_that_cannot_be_accepted_changes_nothing(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await fail(http, ada)
    deep = "[" * 200 + "]" * 200

    reply = await http.post(f"/api/v1/failures/{task}/retry", content=f'{{"payload": {deep}}}')

    assert reply.status_code == 422
    assert reply.json()["field"] == "payload"
    assert (await get(http, f"/failures/{task}"))["task"]["payload"] == {"order": 7}


async def test_null_is_a_payload_and_absent_is_the_old_one(http: httpx.AsyncClient, ada: Ada) -> None:
    first, second = await fail(http, ada), await fail(http, ada)

    assert (await post(http, f"/failures/{first}/retry", {"payload": None}))["payload"] is None
    assert (await post(http, f"/failures/{second}/retry"))["payload"] == {"order": 7}


async def test_a_discarded_failure_is_gone_and_its_task_failed(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await fail(http, ada)

    answer = await post(http, f"/failures/{task}/discard")

    assert answer["status"] == "FAILED"
    assert (await get(http, "/failures"))["items"] == []
    for act in ("discard", "retry"):
        problem = await post(http, f"/failures/{task}/{act}", status=404)
        assert "no dead letter" in problem["detail"]


async def test_a_task_that_has_not_failed_is_no_failure(http: httpx.AsyncClient) -> None:
    task = (await post(http, "/tasks", {"name": "work"}, status=201))["id"]

    problem = await get(http, f"/failures/{task}", status=404)

    assert "queued" in problem["detail"]


async def test_a_filtered_set_is_retried(http: httpx.AsyncClient, ada: Ada, duty: BulkDuty) -> None:
    mine = [await fail(http, ada, queue="mail") for _ in range(3)]
    other = await fail(http, ada)

    began = await post(http, "/failures/retry", {"filter": {"queue": "mail"}, "reason": "fixed"}, status=202)
    late = await fail(http, ada, queue="mail")
    await duty.pass_once()

    ended = await get(http, f"/bulk/{began['id']}")
    assert (began["state"], began["total"], began["done"]) == ("running", 3, 0)
    assert (ended["state"], ended["total"], ended["done"]) == ("completed", 3, 3)
    assert (ended["act"], ended["filter"], ended["reason"]) == ("retry", {"queue": "mail"}, "fixed")
    assert {failure["id"] for failure in (await get(http, "/failures"))["items"]} == {other, late}
    assert {(await get(http, f"/tasks/{task}"))["status"] for task in mine} == {"QUEUED"}


async def test_the_answer_says_where_the_operation_is(http: httpx.AsyncClient, ada: Ada) -> None:
    await fail(http, ada)

    reply = await http.post("/api/v1/failures/discard", json={"all": True})

    assert reply.headers["location"] == f"/api/v1/bulk/{reply.json()['id']}"
    assert (await http.get(reply.headers["location"])).json()["act"] == "discard"


async def test_a_dry_run_tells_and_changes_nothing(http: httpx.AsyncClient, ada: Ada, duty: BulkDuty) -> None:
    tasks = [await fail(http, ada) for _ in range(7)]

    found = await post(http, "/failures/retry", {"all": True, "dry_run": True})
    await duty.pass_once()

    assert (found["id"], found["state"], found["total"]) == (None, None, 7)
    assert len(found["sample"]) == 5
    assert set(found["sample"]) <= set(tasks)
    assert found["oldest_at"] <= found["newest_at"]
    assert len((await get(http, "/failures"))["items"]) == 7
    assert (await get(http, "/bulk"))["items"] == []


async def test_old_failures_are_purged(http: httpx.AsyncClient, ada: Ada, duty: BulkDuty) -> None:
    await fail(http, ada)

    assert (await post(http, "/failures/purge", {"older_than": "1d", "dry_run": True}))["total"] == 0
    await post(http, "/failures/purge", {"older_than": 0}, status=202)
    await duty.pass_once()

    assert (await get(http, "/failures"))["items"] == []


async def test_waiting_tasks_are_cancelled_in_bulk(http: httpx.AsyncClient, duty: BulkDuty) -> None:
    for number in range(4):
        await post(http, "/tasks", {"name": "work", "tags": ["old"] if number else []}, status=201)

    began = await post(http, "/bulk", {"act": "cancel", "filter": {"tag": "old"}}, status=202)
    await duty.pass_once()

    assert (await get(http, f"/bulk/{began['id']}"))["done"] == 3
    assert len((await get(http, "/tasks?status=CANCELLED"))["items"]) == 3


async def test_waiting_tasks_are_rescheduled_in_bulk(http: httpx.AsyncClient, duty: BulkDuty) -> None:
    task = (await post(http, "/tasks", {"name": "work"}, status=201))["id"]

    await post(http, "/bulk", {"act": "reschedule", "all": True, "priority": "high", "delay": "1h"}, status=202)
    await duty.pass_once()

    view = await get(http, f"/tasks/{task}")
    assert (view["status"], view["priority"]) == ("PENDING", 50)


async def test_cancelled_tasks_are_retried_by_their_status(http: httpx.AsyncClient, duty: BulkDuty) -> None:
    task = (await post(http, "/tasks", {"name": "work"}, status=201))["id"]
    await post(http, f"/tasks/{task}/cancel")

    await post(http, "/bulk", {"act": "retry", "filter": {"status": ["CANCELLED"]}}, status=202)
    await duty.pass_once()

    assert (await get(http, f"/tasks/{task}"))["status"] == "QUEUED"


async def test_what_was_passed_over_says_why(http: httpx.AsyncClient, ada: Ada, duty: BulkDuty) -> None:
    task = await fail(http, ada)
    nobodys = "01890a5d-ac96-774b-bcce-b302099a8057"

    began = await post(http, "/bulk", {"act": "retry", "ids": [task, nobodys]}, status=202)
    await duty.pass_once()

    view = await get(http, f"/bulk/{began['id']}")
    items = (await get(http, f"/bulk/{began['id']}/items"))["items"]
    assert (view["done"], view["failed"], view["skipped"]) == (1, 1, 0)
    assert [(item["id"], item["outcome"]) for item in items] == [(task, "done"), (nobodys, "failed")]
    assert "there is no task" in items[1]["error"]
    refused = await get(http, f"/bulk/{began['id']}/items?outcome=failed,skipped")
    assert [item["seq"] for item in refused["items"]] == [2]


async def test_a_paced_operation_is_aborted(http: httpx.AsyncClient, ada: Ada, duty: BulkDuty) -> None:
    for _ in range(5):
        await fail(http, ada)

    began = await post(http, "/failures/retry", {"all": True, "rate": 0.001}, status=202)
    await duty.pass_once()
    aborted = await post(http, f"/bulk/{began['id']}/abort")
    await duty.pass_once()

    assert (aborted["state"], aborted["done"]) == ("aborted", 1)
    assert len((await get(http, "/failures"))["items"]) == 4
    assert "aborted" in (await post(http, f"/bulk/{began['id']}/abort", status=409))["detail"]
    assert [view["id"] for view in (await get(http, "/bulk?state=aborted"))["items"]] == [began["id"]]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/bulk", {"act": "retry"}, "filter"),
        ("/bulk", {"act": "retry", "filter": {}}, "filter"),
        ("/bulk", {"act": "retry", "filter": {"queue": None}}, "filter"),
        ("/bulk", {"act": "retry", "all": True, "filter": {"queue": "a"}}, "filter"),
        ("/bulk", {"act": "retry", "filter": {"kueue": "a"}}, "filter.kueue"),
        ("/bulk", {"act": "retry", "filter": {"queue": "a b"}}, "filter.queue"),
        ("/bulk", {"act": "retry", "filter": {"reason": "bad luck"}}, "filter.reason"),
        ("/bulk", {"act": "retry", "filter": {"worker": "w-00c0ffee00c0ffee"}}, "filter.worker"),
        ("/bulk", {"act": "cancel", "filter": {"fingerprint": "abc"}}, "filter.fingerprint"),
        ("/bulk", {"act": "retry", "ids": ["x"]}, "ids[0]"),
        ("/bulk", {"act": "explode", "all": True}, "act"),
        ("/bulk", {"act": "retry", "all": True, "rate": 0}, "rate"),
        ("/bulk", {"act": "retry", "all": True, "rate": 1e9}, "rate"),
        ("/bulk", {"act": "retry", "all": True, "force": True}, "force"),
        ("/bulk", {"act": "retry", "all": True, "priority": 5}, "priority"),
        ("/bulk", {"act": "reschedule", "all": True}, "body"),
        ("/bulk", {"act": "reschedule", "all": True, "delay": 1, "run_at": "2030-01-01T00:00:00Z"}, "delay"),
        ("/failures/retry", {"act": "retry", "all": True}, "act"),
        ("/failures/retry", {"filter": {"job": "x"}}, "filter.job"),
        ("/failures/purge", {}, "older_than"),
        ("/failures/purge", {"older_than": "soon"}, "older_than"),
    ],
)
async def test_a_request_that_makes_no_sense_names_its_field(
    http: httpx.AsyncClient, path: str, body: Any, field: str
) -> None:
    problem = await post(http, path, body, status=422)

    assert problem["field"] == field
    assert (await get(http, "/bulk"))["items"] == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("since=yesterday", "since"),
        ("until=null", "until"),
        ("until=0.5", "until"),
        ("reason=null", "reason"),
        ("queue=a%20b", "queue"),
        ("cursor=x", "cursor"),
        ("cursor=1.x", "cursor"),
        ("limit=0", "limit"),
        ("kueue=a", "kueue"),
    ],
)
async def test_a_filter_that_makes_no_sense_is_never_left_out(http: httpx.AsyncClient, query: str, field: str) -> None:
    assert (await get(http, f"/failures?{query}", status=422))["field"] == field


async def test_the_failure_of_one_task_is_found_by_its_id(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await fail(http, ada)
    await fail(http, ada)

    assert [each["id"] for each in (await get(http, f"/failures?id={task}"))["items"]] == [task]
    await post(http, f"/failures/{task}/discard")
    assert (await get(http, f"/failures?id={task}"))["items"] == []
    assert (await get(http, f"/failures?id={task}&queue=default", 422))["field"] == "id"
