"""Jobs over HTTP: what is taken, what is refused and by which name, and what is told."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from msgspec import Raw

from drumline.api.reading import members_of
from drumline.core.errors import Invalid
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from tests.api.conftest import Ada, problem

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"
DIAMOND: dict[str, Any] = {
    "a": {"name": "work", "payload": {"n": 1}},
    "b": {"name": "work", "needs": ["a"]},
    "c": {"name": "work", "needs": ["a"]},
    "d": {"name": "work", "needs": ["b", "c"], "payload": {"sum": [{"$result": "b"}, {"$result": "c.n"}]}},
}


async def submitted_job(http: httpx.AsyncClient, tasks: Any = None, **fields: Any) -> dict[str, Any]:
    reply = await http.post("/api/v1/jobs", json={"name": "nightly", "tasks": tasks or DIAMOND, **fields})
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def shown(http: httpx.AsyncClient, job: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = (await http.get(f"/api/v1/jobs/{job['id']}")).json()
    return body


async def statuses(http: httpx.AsyncClient, job: dict[str, Any]) -> dict[str, str]:
    nodes = (await http.get(f"/api/v1/jobs/{job['id']}/graph")).json()["nodes"]
    return {node["key"]: node["status"] for node in nodes}


async def run(ada: Ada, *results: bytes) -> list[Any]:
    """Complete as many tasks as there are results, and return what they were given."""
    payloads = []
    for result in results:
        task = await ada.claim()
        payloads.append(json.loads(bytes(task.payload)))
        await ada.settle(task, Succeeded(Raw(result)))
    return payloads


async def fail(ada: Ada) -> None:
    await ada.settle(await ada.claim(), Failed(ErrorInfo("ValueError", "boom"), permanent=True))


# -- submit


async def test_a_job_is_stored_with_all_its_tasks(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/jobs", json={"name": "nightly", "tasks": DIAMOND})

    body = reply.json()
    assert reply.headers["location"] == f"/api/v1/jobs/{body['id']}"
    assert (body["status"], body["created"]) == ("PENDING", True)
    assert list(body["tasks"]) == ["a", "b", "c", "d"]
    for key, task_id in body["tasks"].items():
        task = (await http.get(f"/api/v1/tasks/{task_id}")).json()
        assert (task["job_id"], task["key"]) == (body["id"], key)
    assert await statuses(http, body) == {"a": "QUEUED", "b": "PENDING", "c": "PENDING", "d": "PENDING"}


async def test_a_job_shows_every_field(http: httpx.AsyncClient) -> None:
    first = await submitted_job(http)
    job = await submitted_job(
        http, owner="ada", retries=5, backoff=3, tags=["a", "b"], depends_on=[first["id"]], idempotency_key="once",
        notify=[{"email": "ada@example.org"}],
    )  # fmt: skip

    body = await shown(http, job)

    created_at = body.pop("created_at")
    assert created_at.endswith("Z")
    assert body == {
        "id": job["id"],
        "name": "nightly",
        "owner": "ada",
        "status": "PENDING",
        "counts": {"total": 4, "completed": 0, "failed": 0, "cancelled": 0, "skipped": 0, "running": 0},
        "started_at": None,
        "finished_at": None,
        "reason": None,
        "cancel_requested": False,
        "depends_on": [first["id"]],
        "waits_for": 1,
        "retries": 5,
        "backoff": {"base": 3.0, "factor": 2.0, "cap": 3600.0, "jitter": 0.0},
        "notify": [{"on": ["completed", "failed"], "webhook": None, "email": "ada@example.org"}],
        "tags": ["a", "b"],
        "idempotency_key": "once",
        "schedule_id": None,
        "fire_time": None,
    }


async def test_the_policy_of_the_job_holds_for_tasks_that_say_nothing_else(http: httpx.AsyncClient) -> None:
    tasks = {"plain": {"name": "work"}, "own": {"name": "work", "retries": 1, "backoff": 9}}
    job = await submitted_job(http, tasks, retries=7, backoff=3)

    bodies = {key: (await http.get(f"/api/v1/tasks/{task}")).json() for key, task in job["tasks"].items()}

    assert {key: (task["retries"], task["backoff"]["base"]) for key, task in bodies.items()} == {
        "plain": (7, 3.0),
        "own": (1, 9.0),
    }


async def test_a_command_is_short_for_a_shell_task(http: httpx.AsyncClient) -> None:
    job = await submitted_job(http, {"list": {"command": ["date", "-u"]}, "text": {"command": "date | wc"}})

    bodies = [(await http.get(f"/api/v1/tasks/{task}")).json() for task in job["tasks"].values()]

    assert [(task["name"], task["payload"]) for task in bodies] == [
        ("shell", {"command": ["date", "-u"]}),
        ("shell", {"shell": "date | wc"}),
    ]


async def test_a_key_makes_one_job(http: httpx.AsyncClient) -> None:
    body = {"name": "nightly", "tasks": DIAMOND}

    first = await http.post("/api/v1/jobs", json=body, headers={"Idempotency-Key": "once"})
    again = await http.post("/api/v1/jobs", json={**body, "idempotency_key": "once"})
    other = await http.post("/api/v1/jobs", json={**body, "name": "else"}, headers={"Idempotency-Key": "once"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {**first.json(), "created": False}
    problem(other, 422, "idempotency_key_reused", "idempotency_key")
    assert len((await http.get("/api/v1/jobs")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("fields", "code", "field", "words"),
    [
        ({"tasks": {}}, "invalid", "tasks", "at least one task"),
        ({"tasks": []}, "invalid", "tasks", "must be an object"),
        ({"tasks": {"a": {}}, "name": ""}, "invalid", "name", "must not be blank"),
        ({"tasks": {"a": {}}, "onwer": "x"}, "invalid", "onwer", "did you mean owner?"),
        ({"tasks": {"a": {"needs": ["b"]}}}, "invalid", "tasks.a.needs[0]", "there is no task 'b'"),
        ({"tasks": {"a": {"needs": ["a"]}}}, "invalid", "tasks.a.needs[0]", "is the task itself"),
        ({"tasks": {"a": {}, "b": {"needs": ["a", "a"]}}}, "invalid", "tasks.b.needs[1]", "names 'a' twice"),
        ({"tasks": {"a": {}, "load": {"needs": "a"}}}, "invalid", "tasks.load.needs", "must be a list, not a text"),
        ({"tasks": {"a": {"run_if": "never"}}}, "invalid", "tasks.a.run_if", "must be one of all_succeeded"),
        ({"tasks": {"a": {"priorty": 1}}}, "invalid", "tasks.a.priorty", "did you mean priority?"),
        ({"tasks": {"a": {"delay": -1}}}, "invalid", "tasks.a.delay", "must be zero or more"),
        ({"tasks": {"a": {"queue": "no space"}}}, "invalid", "tasks.a.queue", "letters, digits"),
        ({"tasks": {"a": 5}}, "invalid", "tasks.a", "must be an object"),
        ({"tasks": {"a": {"notify": [{}]}}}, "invalid", "tasks.a.notify[0]", "either webhook or email"),
        ({"tasks": {"a": {"payload": {"$result": "b"}}}}, "invalid", "tasks.a.payload", "one of the task's needs"),
        ({"tasks": {"a": {"command": "x", "name": "y"}}}, "invalid", "tasks.a.command", "short for a shell task"),
        ({"tasks": {"a": {}}, "depends_on": [NOWHERE]}, "invalid", "depends_on[0]", "there is no job"),
        ({"tasks": {"a": {}}, "depends_on": ["x"]}, "invalid", "depends_on[0]", "must be a UUID"),
        ({"tasks": {"a": {}}, "retries": -1}, "invalid", "retries", "must be from 0 to 1000"),
        (
            {"tasks": {"a": {"needs": ["c"]}, "b": {"needs": ["a"]}, "c": {"needs": ["b"]}, "x": {}}},
            "cycle", "tasks", "form a cycle: a → b → c → a",
        ),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_named_and_nothing_is_stored(
    http: httpx.AsyncClient, fields: dict[str, Any], code: str, field: str, words: str
) -> None:
    reply = await http.post("/api/v1/jobs", json={"name": "nightly", **fields})

    assert words in problem(reply, 422, code, field)["detail"]
    assert (await http.get("/api/v1/jobs")).json()["items"] == []
    assert (await http.get("/api/v1/tasks")).json()["items"] == []


async def test_a_key_that_is_there_twice_is_refused_by_name(http: httpx.AsyncClient) -> None:
    body = (
        b'{"name": "x", "tasks": {"a": {"payload": {"k": 1, "k": 2}}, "load": {}, "b": {}, "load": {"needs": ["a"]}}}'
    )

    reply = await http.post("/api/v1/jobs", content=body)

    assert "has 'load' twice" in problem(reply, 422, "duplicate_key", "tasks.load")["detail"]


def test_a_name_that_is_escaped_is_the_same_name() -> None:
    with pytest.raises(Invalid, match="has 'load' twice"):
        members_of(Raw(b'{"load": 1, "\\u006coad": 2}'), field="tasks")


async def test_too_many_tasks_are_refused(http: httpx.AsyncClient) -> None:
    tasks: dict[str, Any] = {str(number): {} for number in range(10_001)}

    reply = await http.post("/api/v1/jobs", json={"name": "x", "tasks": tasks})

    assert "10,001 tasks; at most 10,000" in problem(reply, 422, "too_many", "tasks")["detail"]


async def test_as_many_tasks_as_are_allowed_are_taken(http: httpx.AsyncClient) -> None:
    tasks = {str(number): {"name": "work"} for number in range(10_000)}

    job = await submitted_job(http, tasks)

    assert len(job["tasks"]) == 10_000
    assert (await shown(http, job))["counts"]["total"] == 10_000


# -- run


async def test_tasks_are_released_when_those_they_need_have_ended(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)

    await run(ada, b"1")
    after_a = await statuses(http, job)
    await run(ada, b"2", b'{"n": 3}')
    (given,) = await run(ada, b"5")

    assert after_a == {"a": "COMPLETED", "b": "QUEUED", "c": "QUEUED", "d": "PENDING"}
    assert given == {"sum": [2, 3]}
    body = await shown(http, job)
    assert (body["status"], body["counts"]["completed"]) == ("COMPLETED", 4)
    assert body["started_at"] <= body["finished_at"]


async def test_what_hangs_on_a_failed_task_is_skipped_and_says_why(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)

    await fail(ada)

    graph = (await http.get(f"/api/v1/jobs/{job['id']}/graph")).json()
    nodes = {node["key"]: node for node in graph["nodes"]}
    assert graph["status"] == "FAILED"
    assert {key: node["status"] for key, node in nodes.items()} == {
        "a": "FAILED", "b": "SKIPPED", "c": "SKIPPED", "d": "SKIPPED",
    }  # fmt: skip
    assert "boom" in nodes["a"]["reason"]
    assert nodes["d"]["cause"] == "a"
    assert nodes["d"]["reason"] == "a failed"


async def test_a_failed_job_is_resumed_where_it_failed(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)
    await run(ada, b"1", b"2")
    await fail(ada)

    resumed = await http.post(f"/api/v1/jobs/{job['id']}/resume")
    await run(ada, b'{"n": 3}', b"5")

    assert resumed.json()["status"] == "PROCESSING"
    assert resumed.json()["counts"]["completed"] == 2
    assert (await shown(http, job))["status"] == "COMPLETED"
    problem(await http.post(f"/api/v1/jobs/{job['id']}/resume"), 409, "conflict")


async def test_a_job_is_cancelled_and_may_be_cancelled_again(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)
    await ada.claim()

    asked = await http.post(f"/api/v1/jobs/{job['id']}/cancel", json={"reason": "wrong day"})
    forced = await http.post(f"/api/v1/jobs/{job['id']}/cancel?force=true")
    again = await http.post(f"/api/v1/jobs/{job['id']}/cancel")

    assert (asked.json()["status"], asked.json()["cancel_requested"]) == ("PROCESSING", True)
    assert asked.json()["counts"]["cancelled"] == 3
    assert (forced.json()["status"], again.json()["status"]) == ("CANCELLED", "CANCELLED")
    assert again.json()["reason"] == "wrong day"


async def test_a_completed_job_cannot_be_cancelled(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http, {"only": {"name": "work"}})
    await run(ada, b"1")

    problem(await http.post(f"/api/v1/jobs/{job['id']}/cancel"), 409, "conflict")


# -- look


async def test_the_executions_of_a_jobs_tasks_are_listed_the_latest_first(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)
    await run(ada, b"1")
    await fail(ada)
    path = f"/api/v1/jobs/{job['id']}/attempts"

    everything = (await http.get(path)).json()
    latest = (await http.get(path, params={"limit": 2})).json()

    ran = [one for one in everything["items"] if one["started_at"]]
    failed, completed = ran
    assert (completed["key"], completed["outcome"], completed["reason"]) == ("a", "completed", None)
    assert (failed["key"], failed["outcome"], failed["reason"]) == ("b", "failed", "boom")
    assert failed["task_id"] == job["tasks"]["b"]
    assert not everything["is_more"]
    assert (latest["items"], latest["is_more"]) == (everything["items"][:2], len(everything["items"]) > 2)
    assert (await http.get(f"/api/v1/jobs/{NOWHERE}/attempts")).status_code == 404
    problem(await http.get(path, params={"limit": 1001}), 422, "invalid", "limit")


async def test_a_job_tells_of_an_execution_what_its_task_tells(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)
    await run(ada, b"1")
    await fail(ada)

    (of_job,) = [
        one for one in (await http.get(f"/api/v1/jobs/{job['id']}/attempts")).json()["items"] if one["key"] == "b"
    ]
    (of_task,) = (await http.get(f"/api/v1/tasks/{job['tasks']['b']}/attempts")).json()["items"]

    error = of_task.pop("error")
    assert of_job == {**of_task, "key": "b", "task_id": job["tasks"]["b"], "reason": error["message"]}


async def test_the_graph_shows_edges_times_and_what_the_length_hung_on(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http)
    await run(ada, b"1", b"2", b'{"n": 3}', b"5")

    graph = (await http.get(f"/api/v1/jobs/{job['id']}/graph")).json()

    assert graph["edges"] == [
        {"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"},
    ]  # fmt: skip
    for node in graph["nodes"]:
        assert node["task_id"] == job["tasks"][node["key"]]
        assert node["started_at"] <= node["finished_at"]
        assert node["slack"] >= 0
        assert node["is_critical"] is (node["key"] in graph["critical_path"]["keys"])
    assert graph["critical_path"]["keys"][0] == "a"
    assert graph["critical_path"]["keys"][-1] == "d"
    assert {"key", "task_id", "name", "status", "needs", "run_if", "attempt", "reason", "cause"} <= set(
        graph["nodes"][0]
    )


async def test_jobs_are_listed_and_filtered_newest_first(http: httpx.AsyncClient, ada: Ada) -> None:
    first = await submitted_job(http, {"a": {"name": "work"}}, owner="ada", tags=["x"])
    await run(ada, b"1")
    second = await submitted_job(http, owner="bob", name="other")

    async def listed(**query: Any) -> list[str]:
        return [job["id"] for job in (await http.get("/api/v1/jobs", params=query)).json()["items"]]

    assert await listed() == [second["id"], first["id"]]
    assert await listed(status="COMPLETED") == [first["id"]]
    assert await listed(status="PENDING,PROCESSING") == [second["id"]]
    assert await listed(name="other") == [second["id"]]
    assert await listed(owner="ada") == [first["id"]]
    assert await listed(tag="x") == [first["id"]]
    problem(await http.get("/api/v1/jobs?status=QUEUED"), 422, "invalid", "status[0]")


async def test_jobs_are_listed_page_by_page(http: httpx.AsyncClient) -> None:
    ids = [(await submitted_job(http, {"a": {}}))["id"] for _ in range(5)]

    seen, cursor = [], None
    while True:
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await http.get("/api/v1/jobs", params=params)).json()
        seen += [job["id"] for job in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == ids[::-1]


async def test_tasks_are_listed_by_their_job(http: httpx.AsyncClient, ada: Ada) -> None:
    job, _other = await submitted_job(http), await submitted_job(http)
    await run(ada, b"1")

    async def listed(**query: Any) -> list[str]:
        reply = await http.get("/api/v1/tasks", params={"job": job["id"], **query})
        return [task["key"] for task in reply.json()["items"]]

    assert await listed() == ["d", "c", "b", "a"]
    assert await listed(limit=2) == ["d", "c"]
    assert await listed(status="PENDING,QUEUED") == ["d", "c", "b"]
    assert await listed(status="PENDING") == ["d"]
    problem(await http.get("/api/v1/tasks?job=x"), 422, "invalid", "job")


async def test_a_wait_ends_with_the_job(http: httpx.AsyncClient, ada: Ada) -> None:
    job = await submitted_job(http, {"a": {"name": "work"}, "b": {"name": "work", "needs": ["a"]}})

    waiting = asyncio.create_task(http.get(f"/api/v1/jobs/{job['id']}?wait=30"))
    await run(ada, b"1", b"2")
    reply = await waiting

    assert reply.json()["status"] == "COMPLETED"
    assert (await http.get(f"/api/v1/jobs/{job['id']}?wait=0.01")).json()["status"] == "COMPLETED"


@pytest.mark.parametrize("path", ["", "/graph"])
async def test_a_job_that_does_not_exist_is_not_found(http: httpx.AsyncClient, path: str) -> None:
    problem(await http.get(f"/api/v1/jobs/{NOWHERE}{path}"), 404, "not_found", "id")


@pytest.mark.parametrize("act", ["cancel", "resume"])
async def test_a_job_that_does_not_exist_cannot_be_steered(http: httpx.AsyncClient, act: str) -> None:
    problem(await http.post(f"/api/v1/jobs/{NOWHERE}/{act}"), 404, "not_found", "id")


async def test_a_job_waits_for_others_and_fails_with_them(http: httpx.AsyncClient, ada: Ada) -> None:
    first = await submitted_job(http, {"a": {"name": "work"}})
    second = await submitted_job(http, {"a": {"name": "work"}}, depends_on=[first["id"]])

    before = await shown(http, second)
    await fail(ada)
    after = (await http.get(f"/api/v1/jobs/{second['id']}?wait=10")).json()

    assert (before["status"], before["waits_for"]) == ("PENDING", 1)
    assert after["status"] == "FAILED"
    assert first["id"] in after["reason"]
