import asyncio

import httpx
from msgspec import Raw

from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from tests.api.conftest import Ada, problem, submitted

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


async def test_a_list_is_newest_first_and_goes_on_by_its_cursor(http: httpx.AsyncClient) -> None:
    ids = [await submitted(http, payload={"n": n}) for n in range(5)]

    first = (await http.get("/api/v1/tasks", params={"limit": 3})).json()
    rest = (await http.get("/api/v1/tasks", params={"limit": 3, "cursor": first["next_cursor"]})).json()

    assert [task["id"] for task in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next_cursor"] is None
    assert "payload" not in first["items"][0]


async def test_a_list_has_payloads_only_if_asked(http: httpx.AsyncClient) -> None:
    await submitted(http, payload={"n": 1})

    page = (await http.get("/api/v1/tasks?payload=true")).json()

    assert page["items"][0]["payload"] == {"n": 1}


async def test_a_list_has_tracebacks_only_if_asked(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http, retries=0)
    error_info = ErrorInfo("ValueError", "no such order", "line 1\nline 2")
    await ada.settle(await ada.claim(), Failed(error_info, permanent=True))

    async def error(path: str) -> dict[str, str]:
        body = (await http.get(path)).json()
        return dict((body["items"][0] if "items" in body else body)["error"])

    brief = {"kind": "ValueError", "message": "no such order", "traceback": ""}
    assert await error("/api/v1/tasks") == brief
    assert await error("/api/v1/tasks?traceback=true") == {**brief, "traceback": "line 1\nline 2"}
    assert await error(f"/api/v1/tasks/{task}") == {**brief, "traceback": "line 1\nline 2"}


async def test_a_list_is_narrowed_by_every_filter(http: httpx.AsyncClient, ada: Ada) -> None:
    mail = await submitted(http, queue="mail", tags=["vip"], idempotency_key="k 1")
    late = await submitted(http, delay=60)
    other = await submitted(http, name="other thing")
    await ada.claim()

    async def found(query: str) -> set[str]:
        reply = await http.get(f"/api/v1/tasks?{query}")
        assert reply.status_code == 200, reply.text
        return {task["id"] for task in reply.json()["items"]}

    assert await found("queue=mail") == {mail}
    assert await found("tag=vip") == {mail}
    assert await found("idempotency_key=k%201") == {mail}
    assert await found("name=other+thing") == {other}
    assert await found("status=PENDING") == {late}
    assert await found("status=PENDING&status=QUEUED") == {late, other}
    assert await found("status=PENDING,PROCESSING") == {late, mail}
    assert await found(f"worker=w-{ada.session:016x}") == {mail}


async def test_a_wrong_query_parameter_is_named(http: httpx.AsyncClient) -> None:
    wrong = {
        "limit=x": "limit",
        "limit=0": "limit",
        "limit=1001": "limit",
        "cursor=abc": "cursor",
        "status=DONE": "status[0]",
        "queue=a%2Fb": "queue",
        "name=%00": "name",
        "worker=7": "worker",
        "payload=perhaps": "payload",
        "queue=a&queue=b": "queue",
    }
    for query, field in wrong.items():
        problem(await http.get(f"/api/v1/tasks?{query}"), 422, "invalid", field)
    problem(await http.get("/api/v1/tasks?queue=%ff"), 400, "malformed", "query")


async def test_an_unknown_query_parameter_is_answered_with_the_right_one(http: httpx.AsyncClient) -> None:
    reply = await http.get("/api/v1/tasks?statu=FAILED")

    assert problem(reply, 422, "invalid", "statu")["detail"].endswith("did you mean status?")


async def test_a_task_that_is_not_there_is_not_found(http: httpx.AsyncClient) -> None:
    for method, path in (
        ("GET", ""), ("POST", "/cancel"), ("POST", "/retry"), ("GET", "/attempts"), ("GET", "/status"), ("GET", "/log"),
        ("GET", "/log?follow=true"), ("GET", "/artifacts"), ("GET", "/artifacts/a.pdf"),
    ):  # fmt: skip
        problem(await http.request(method, f"/api/v1/tasks/{NOWHERE}{path}"), 404, "not_found", "id")
    problem(await http.patch(f"/api/v1/tasks/{NOWHERE}", json={"delay": 1}), 404, "not_found", "id")


async def test_an_id_that_is_no_uuid_is_refused(http: httpx.AsyncClient) -> None:
    for path in ("7", "7/log", "01890a5dac96774bbcceb302099a8057", f"{NOWHERE}0/attempts", "é"):
        problem(await http.get(f"/api/v1/tasks/{path}"), 422, "invalid", "id")


async def test_an_id_may_be_written_in_capitals(http: httpx.AsyncClient) -> None:
    task = await submitted(http)

    assert (await http.get(f"/api/v1/tasks/{task.upper()}")).json()["id"] == task


async def test_a_completed_task_shows_its_result_and_who_ran_it(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.settle(await ada.claim(), Succeeded(Raw(b'{"rows": 12345678901234567890}')))

    reply = await http.get(f"/api/v1/tasks/{task}")

    body = reply.json()
    assert (body["status"], body["attempt"], body["worker"]) == ("COMPLETED", 1, f"w-{ada.session:016x}")
    assert body["started_at"] <= body["finished_at"]
    assert b'"result":{"rows": 12345678901234567890}' in reply.content


async def test_a_failed_task_shows_its_error_and_history(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.settle(await ada.claim(), Failed(ErrorInfo("ValueError", "no such order"), permanent=True))

    body = (await http.get(f"/api/v1/tasks/{task}")).json()
    history = (await http.get(f"/api/v1/tasks/{task}/attempts")).json()

    error = {"kind": "ValueError", "message": "no such order", "traceback": ""}
    assert (body["status"], body["error"]) == ("FAILED", error)
    (attempt,) = history["items"]
    assert set(attempt) == {"attempt", "epoch", "outcome", "worker", "started_at", "finished_at", "error"}
    assert (attempt["attempt"], attempt["outcome"], attempt["error"]) == (1, "failed", error)
    assert history["next_cursor"] is None


async def test_a_wait_ends_with_the_task(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    claimed = await ada.claim()
    waiting = asyncio.create_task(http.get(f"/api/v1/tasks/{task}?wait=30"))
    await asyncio.sleep(0)

    await ada.settle(claimed, Succeeded())

    async with asyncio.timeout(5):
        assert (await waiting).json()["status"] == "COMPLETED"


async def test_a_wait_that_runs_out_shows_the_task_as_it_stands(http: httpx.AsyncClient) -> None:
    task = await submitted(http)

    assert (await http.get(f"/api/v1/tasks/{task}?wait=0.01")).json()["status"] == "QUEUED"
    for seconds in ("-1", "61", "nan", "inf", "long"):
        problem(await http.get(f"/api/v1/tasks/{task}?wait={seconds}"), 422, "invalid", "wait")


async def test_a_wait_ends_at_once_when_the_server_stops(http: httpx.AsyncClient, stop: asyncio.Event) -> None:
    task = await submitted(http)
    waiting = asyncio.create_task(http.get(f"/api/v1/tasks/{task}?wait=60"))
    await asyncio.sleep(0)

    stop.set()

    async with asyncio.timeout(5):
        assert (await waiting).json()["status"] == "QUEUED"


async def test_a_waiting_task_is_rescheduled(http: httpx.AsyncClient) -> None:
    task = await submitted(http)

    later = await http.patch(f"/api/v1/tasks/{task}", json={"run_at": "2031-01-01T00:00:00Z", "priority": "critical"})
    sooner = await http.patch(f"/api/v1/tasks/{task}", json={"delay": 0})

    assert later.status_code == 200
    assert (later.json()["due_at"], later.json()["priority"]) == ("2031-01-01T00:00:00.000Z", 100)
    assert (sooner.json()["status"], sooner.json()["priority"]) == ("QUEUED", 100)


async def test_a_reschedule_that_makes_no_sense_is_refused(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    path = f"/api/v1/tasks/{task}"

    problem(await http.patch(path, json={}), 422, "invalid", "body")
    problem(await http.patch(path, json={"delay": -1}), 422, "invalid", "delay")
    problem(await http.patch(path, json={"delay": 1, "run_at": "2031-01-01T00:00:00Z"}), 422, "invalid", "delay")
    problem(await http.patch(path, json={"name": "x"}), 422, "invalid", "name")
    await ada.claim()
    problem(await http.patch(path, json={"delay": 1}), 409, "conflict")


async def test_a_waiting_task_is_cancelled_at_once_and_the_act_can_be_repeated(http: httpx.AsyncClient) -> None:
    task = await submitted(http)

    first = await http.post(f"/api/v1/tasks/{task}/cancel")
    again = await http.post(f"/api/v1/tasks/{task}/cancel", json={})

    assert (first.status_code, first.json()["status"]) == (200, "CANCELLED")
    assert (again.status_code, again.json()["status"]) == (200, "CANCELLED")


async def test_a_running_task_is_asked_to_stop_or_ended_by_force(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.claim()

    asked = (await http.post(f"/api/v1/tasks/{task}/cancel")).json()
    forced = (await http.post(f"/api/v1/tasks/{task}/cancel", json={"force": True})).json()

    assert (asked["status"], asked["cancel_requested"]) == ("PROCESSING", True)
    assert forced["status"] == "CANCELLED"


async def test_force_may_stand_in_the_query(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.claim()

    assert (await http.post(f"/api/v1/tasks/{task}/cancel?force=true")).json()["status"] == "CANCELLED"


async def test_a_completed_task_cannot_be_cancelled_or_retried(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.settle(await ada.claim(), Succeeded())

    problem(await http.post(f"/api/v1/tasks/{task}/cancel"), 409, "conflict")
    problem(await http.post(f"/api/v1/tasks/{task}/retry"), 409, "conflict")


async def test_a_failed_task_is_run_again(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.settle(await ada.claim(), Failed(ErrorInfo("E", "x"), permanent=True))

    body = (await http.post(f"/api/v1/tasks/{task}/retry")).json()

    assert body["status"] == "QUEUED"
    assert (await ada.claim()).lease.task == task


async def test_a_status_can_be_asked_for_alone(http: httpx.AsyncClient) -> None:
    task = (await http.post("/api/v1/tasks", json={"name": "a", "delay": 60})).json()["id"]

    assert (await http.get(f"/api/v1/tasks/{task}/status")).json() == {"id": task, "status": "PENDING"}
    await http.post(f"/api/v1/tasks/{task}/cancel")
    assert (await http.get(f"/api/v1/tasks/{task}/status")).json() == {"id": task, "status": "CANCELLED"}


async def test_a_task_that_never_ran_has_no_executions(http: httpx.AsyncClient, ada: Ada) -> None:
    never = await submitted(http, delay=3600)
    await http.post(f"/api/v1/tasks/{never}/cancel")
    once = await submitted(http)
    await ada.settle(await ada.claim(), Failed(ErrorInfo("ValueError", "oops")))
    await http.post(f"/api/v1/tasks/{once}/cancel")
    job = (await http.post("/api/v1/jobs", json={"name": "j", "tasks": {"a": {"name": "never"}}})).json()["id"]
    await http.post(f"/api/v1/jobs/{job}/cancel")

    executions = [(await http.get(f"/api/v1/tasks/{task}/attempts")).json()["items"] for task in (never, once)]

    assert executions[0] == []
    assert [(each["attempt"], each["outcome"]) for each in executions[1]] == [(1, "retried")]
    assert (await http.get(f"/api/v1/jobs/{job}/attempts")).json()["items"] == []


async def test_queues_come_in_pages(http: httpx.AsyncClient) -> None:
    names = [f"q{number}" for number in range(7)] + ["Q", "a.b", "a-b", "a_b"]
    for name in names:
        await submitted(http, queue=name)

    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await http.get("/api/v1/queues", params={"limit": 3, **cursor})).json()
        assert len(page["items"]) <= 3
        seen += [item["name"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert sorted(seen) == sorted(names)
    problem(await http.get("/api/v1/queues?limit=1001"), 422, "invalid", "limit")
    problem(await http.get("/api/v1/queues?cursor=nonsense"), 422, "invalid", "cursor")
