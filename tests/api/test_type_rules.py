"""What the code of a task declares holds for every submission that does not say otherwise, and payloads are checked."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline import Drumline
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.codec import encode
from drumline.core.session import TaskType
from drumline.core.task_type import PayloadMode
from drumline.core.tuning import Tuning
from drumline.engine.engine import Engine
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import KEY
from tests.harness.sqlite import migrated

SESSIONS = "/api/v1/worker/sessions"

shop = Drumline("shop")


@shop.task(name="charge", queue="billing", retries=0, timeout="5s", priority="high", backoff=7.0, tags=["money"])
def charge(order: int, note: str = "") -> None:
    """Charge an order."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def postgres(request: pytest.FixtureRequest) -> str | None:
    """Where PostgreSQL is; nothing for SQLite."""
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else None


@pytest.fixture
async def store(postgres: str | None, tmp_path: Path) -> Store:
    if postgres is None:
        return await SqliteStore.open(migrated(tmp_path / "drumline.db"))
    return await PostgresStore.open(postgres)


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[Engine]:
    engine = Engine(store, NoQueue())
    yield engine
    await engine.close()


@pytest.fixture
async def http(engine: Engine) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1"))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://drumline", headers={"X-API-Key": KEY}) as client:
        yield client


async def register(http: httpx.AsyncClient, *types: TaskType) -> None:
    """Register a remote worker."""
    body = encode({"types": types or shop.registry.published(), "capacity": 1})
    reply = await http.post(SESSIONS, content=body)
    assert reply.status_code == 201, reply.text


async def post(http: httpx.AsyncClient, path: str, status: int = 201, **body: Any) -> Any:
    reply = await http.post(path, json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def refused(reply: httpx.Response) -> dict[str, Any]:
    assert reply.status_code == 422, reply.text
    body: dict[str, Any] = reply.json()
    return body


def told(task: dict[str, Any]) -> tuple[Any, ...]:
    return (task["queue"], task["retries"], task["timeout"], task["priority"], task["backoff"]["base"], task["tags"])


DECLARED = ("billing", 0, 5.0, 50, 7.0, ["money"])
PLAIN: tuple[Any, ...] = ("default", 3, None, 0, 2.0, [])


async def look(http: httpx.AsyncClient, task: str) -> tuple[Any, ...]:
    return told((await http.get(f"/api/v1/tasks/{task}")).json())


async def test_every_way_to_submit_a_task_goes_by_what_its_code_declares(http: httpx.AsyncClient) -> None:
    await register(http)
    task: dict[str, Any] = {"name": "charge", "payload": {"order": 1}}

    ids = {
        "tasks": (await post(http, "/api/v1/tasks", **task))["id"],
        "flow": (await post(http, "/tasks", type="charge", payload={"order": 1}))["id"],
        "batch": (await post(http, "/api/v1/tasks/batch", 200, tasks=[task]))["tasks"][0]["id"],
        "job": (await post(http, "/api/v1/jobs", name="j", retries=4, tasks={"a": task}))["tasks"]["a"],
        "job by key": (await post(http, "/api/v1/jobs", name="j", tasks={"charge": {"payload": {"order": 1}}}))[
            "tasks"
        ]["charge"],
    }
    late = await post(
        http, "/scheduleTask", task_name="charge", execution_time="2099-01-01T00:00:00Z", payload={"order": 1}
    )
    ids["scheduleTask"] = late["task_id"]
    schedule = await post(http, "/api/v1/schedules", name="s", cron="0 0 1 1 *", task=task)
    run = await post(http, f"/api/v1/schedules/{schedule['id']}/trigger", 201)
    ids["trigger"] = run["task_id"]

    assert {way: await look(http, task) for way, task in ids.items()} == dict.fromkeys(ids, DECLARED)


async def test_a_submission_that_says_otherwise_is_taken_at_its_word(http: httpx.AsyncClient) -> None:
    await register(http)
    said: dict[str, Any] = {"queue": "default", "retries": 3, "timeout": 60, "priority": 0, "backoff": 2, "tags": []}

    alone = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1}, **said)
    job = await post(http, "/api/v1/jobs", name="j", tasks={"charge": {"payload": {"order": 1}, **said}})

    expected: tuple[Any, ...] = ("default", 3, 60.0, 0, 2.0, [])
    assert await look(http, alone["id"]) == await look(http, job["tasks"]["charge"]) == expected


async def test_null_says_nothing(http: httpx.AsyncClient) -> None:
    await register(http)
    nothing: dict[str, Any] = dict.fromkeys(("queue", "retries", "timeout", "priority", "backoff", "tags"))

    task = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1}, **nothing)

    assert await look(http, task["id"]) == DECLARED


async def test_a_type_that_is_not_published_yet_goes_by_the_installation_and_from_then_on_by_its_code(
    http: httpx.AsyncClient,
) -> None:
    before = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1})
    await register(http)
    after = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1})

    assert [await look(http, task["id"]) for task in (before, after)] == [PLAIN, DECLARED]


async def test_a_worker_that_publishes_nothing_but_names_changes_nothing(http: httpx.AsyncClient) -> None:
    await register(http, TaskType(name="charge"))

    task = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1})

    assert await look(http, task["id"]) == PLAIN


async def test_an_idempotency_key_outlives_other_defaults(http: httpx.AsyncClient) -> None:
    task: dict[str, Any] = {"name": "charge", "payload": {"order": 1}, "idempotency_key": "one"}
    job: dict[str, Any] = {"name": "j", "tasks": {"charge": {"payload": {"order": 1}}}, "idempotency_key": "two"}
    first = await post(http, "/api/v1/tasks", **task), await post(http, "/api/v1/jobs", **job)
    await register(http)

    again = await post(http, "/api/v1/tasks", 200, **task), await post(http, "/api/v1/jobs", 200, **job)
    explicit = await post(http, "/api/v1/tasks", 200, **task, queue="default", priority=0, tags=[])

    assert [each["id"] for each in first] == [each["id"] for each in again]
    assert explicit["id"] == first[0]["id"]


async def test_types_are_listed_with_what_their_code_declares(http: httpx.AsyncClient) -> None:
    await register(http)

    (type_,) = (await http.get("/api/v1/types")).json()["items"]

    assert type_["defaults"] == {
        "queue": "billing", "priority": 50, "retries": 0, "backoff": {"base": 7.0}, "timeout": 5.0, "tags": ["money"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("defaults", "field"),
    [
        ({"queue": "no queue!"}, "queue"),
        ({"retries": -1}, "retries"),
        ({"retries": 10_000}, "retries"),
        ({"priority": 101}, "priority"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": -5}, "timeout"),
        ({"backoff": {"factor": 0}}, "backoff.factor"),
        ({"tags": ["a\0b"]}, "tags[0]"),
    ],
)
async def test_a_worker_cannot_publish_what_no_submission_may_say(
    http: httpx.AsyncClient, defaults: dict[str, Any], field: str
) -> None:
    reply = await http.post(SESSIONS, json={"types": [{"name": "work", "defaults": defaults}], "capacity": 1})

    assert refused(reply)["field"] == f"types[0].defaults.{field}"


async def test_the_queue_that_a_type_declares_is_checked_for_a_key_that_is_meant_for_some_queues(
    http: httpx.AsyncClient,
) -> None:
    await register(http)
    key = await post(http, "/api/v1/keys", name="narrow", role="operator", queues=["default"])
    task: dict[str, Any] = {"name": "charge", "payload": {"order": 1}}
    headers = {"X-API-Key": key["key"]}

    alone = await http.post("/api/v1/tasks", json=task, headers=headers)
    allowed = await http.post("/api/v1/tasks", json={**task, "queue": "default"}, headers=headers)
    batch = await http.post("/api/v1/tasks/batch", json={"tasks": [task]}, headers=headers)
    job = await http.post("/api/v1/jobs", json={"name": "j", "tasks": {"a": task}}, headers=headers)
    schedule = {"name": "s", "cron": "* * * * *", "task": task}
    scheduled = await http.post("/api/v1/schedules", json=schedule, headers=headers)

    assert [reply.status_code for reply in (alone, allowed, job, scheduled)] == [403, 201, 403, 403]
    assert batch.json()["tasks"][0]["error"]["status"] == 403


async def test_a_narrowed_worker_cannot_send_its_tasks_into_queues_of_others(http: httpx.AsyncClient) -> None:
    key = await post(http, "/api/v1/keys", name="narrow", role="worker", queues=["own"])
    type_ = TaskType(name="charge", defaults=charge.definition.defaults.published())
    body = encode({"types": [type_], "capacity": 1})
    assert (await http.post(SESSIONS, content=body, headers={"X-API-Key": key["key"]})).status_code == 201

    task = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1})

    assert (await look(http, task["id"]))[:2] == ("default", 0)


UNFIT = [
    ({"order": "seven"}, "payload.order", "must be a whole number, not a text"),
    ({"order": 1, "notes": "?"}, "payload.notes", "is not a known field"),
    ({}, "payload.order", "is required"),
    ({"order": 1, "note": None}, "payload.note", "must be a text, not null"),
    (None, "payload", "must be an object, not null"),
    ("order", "payload", "must be an object, not a text"),
]


@pytest.mark.parametrize(("payload", "field", "message"), UNFIT)
async def test_a_payload_that_does_not_fit_is_refused_by_its_field_however_it_is_submitted(
    http: httpx.AsyncClient, payload: Any, field: str, message: str
) -> None:
    await register(http)
    task: dict[str, Any] = {"name": "charge", "payload": payload}

    alone = refused(await http.post("/api/v1/tasks", json=task))
    flow = refused(await http.post("/tasks", json={"type": "charge", "payload": payload}))
    (item,) = (await post(http, "/api/v1/tasks/batch", 200, tasks=[task]))["tasks"]
    job = refused(await http.post("/api/v1/jobs", json={"name": "j", "tasks": {"a": task}}))
    schedule = {"name": "s", "cron": "* * * * *", "task": task}
    scheduled = refused(await http.post("/api/v1/schedules", json=schedule))

    assert [each["field"] for each in (alone, flow, item["error"], job, scheduled)] == [
        field, field, f"tasks[0].{field}", f"tasks.a.{field}", f"task.{field}",
    ]  # fmt: skip
    assert message in alone["detail"]


async def test_an_edited_payload_of_a_failed_task_is_checked_as_a_new_one(http: httpx.AsyncClient) -> None:
    await register(http)
    session = (await http.get("/api/v1/workers")).json()["items"][0]["id"]
    task = (await post(http, "/api/v1/tasks", name="charge", payload={"order": 1}))["id"]
    (claimed,) = (await http.post(f"{SESSIONS}/{session}/claim", json={})).json()["tasks"]
    report = {"lease": claimed["lease"], "outcome": "failed", "error": {"kind": "E", "message": "no"}}
    await http.post(f"{SESSIONS}/{session}/settle", json={"reports": [report]})

    unfit = await http.post(f"/api/v1/failures/{task}/retry", json={"payload": {"order": "seven"}})
    fit = await http.post(f"/api/v1/failures/{task}/retry", json={"payload": {"order": 7}})

    assert refused(unfit)["field"] == "payload.order"
    assert fit.status_code == 200, fit.text


async def test_payloads_that_fit_or_cannot_be_judged_yet_are_accepted(http: httpx.AsyncClient) -> None:
    await register(http)
    await http.put("/api/v1/secrets/token", json={"value": "s"})

    for payload in ({"order": 1}, {"order": 1, "note": "x"}, [1], [1, "x"]):
        await post(http, "/api/v1/tasks", name="charge", payload=payload)
    tasks = {"a": {"name": "other"}, "charge": {"needs": ["a"], "payload": {"order": {"$result": "a"}}}}
    job = await post(http, "/api/v1/jobs", name="j", tasks=tasks)

    assert set(job["tasks"]) == {"a", "charge"}


async def test_of_very_many_unfit_payloads_the_first_are_told_why_and_all_are_refused(http: httpx.AsyncClient) -> None:
    await register(http)
    tasks = [{"name": "charge", "payload": {"order": "seven"}}] * 1000

    answers = (await post(http, "/api/v1/tasks/batch", 200, tasks=tasks))["tasks"]

    assert "must be a whole number" in answers[0]["error"]["detail"]
    assert answers[0]["error"]["field"] == "tasks[0].payload.order"
    assert "does not fit the task's parameters" in answers[-1]["error"]["detail"]
    assert answers[-1]["error"]["field"] == "tasks[999].payload"
    assert all("error" in answer for answer in answers)


async def test_while_two_versions_of_a_task_may_run_payloads_of_both_are_accepted(http: httpx.AsyncClient) -> None:
    await register(http)
    newer: dict[str, object] = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    await register(http, TaskType(name="charge", schema=newer))

    await post(http, "/api/v1/tasks", name="charge", payload={"order": 1})
    await post(http, "/api/v1/tasks", name="charge", payload={"id": "x"})
    neither = await http.post("/api/v1/tasks", json={"name": "charge", "payload": {"id": 1}})

    assert refused(neither)["field"] == "payload.id"


async def test_an_installation_may_warn_of_unfit_payloads_or_not_look_at_them(
    http: httpx.AsyncClient, engine: Engine
) -> None:
    await register(http)
    task: dict[str, Any] = {"name": "charge", "payload": {"order": "seven"}}

    engine.tune(Tuning(payload_check=PayloadMode.WARN))
    warned = await post(http, "/api/v1/tasks", **task)
    (item,) = (await post(http, "/api/v1/tasks/batch", 200, tasks=[task]))["tasks"]
    job = await post(http, "/api/v1/jobs", name="j", tasks={"a": task})
    engine.tune(Tuning(payload_check=PayloadMode.OFF))
    passed = await post(http, "/api/v1/tasks", **task)

    message = "does not fit the task's parameters: must be a whole number, not a text"
    assert warned["warnings"] == [{"code": "unfit_payload", "message": message, "field": "payload.order"}]
    assert item["warnings"] == warned["warnings"]
    assert [each["field"] for each in job["warnings"]] == ["tasks.a.payload.order"]
    assert "warnings" not in passed


async def test_a_name_that_no_worker_has_published_is_warned_of(http: httpx.AsyncClient) -> None:
    await register(http)

    unknown = await post(http, "/api/v1/tasks", name="chrage")
    batch = await post(
        http, "/api/v1/tasks/batch", 200, tasks=[{"name": "chrage"}, {"name": "charge", "payload": {"order": 1}}]
    )
    job = await post(http, "/api/v1/jobs", name="j", tasks={"a": {"name": "chrage"}})
    known = await post(http, "/api/v1/tasks", name="charge", payload={"order": 1})

    (warning,) = unknown["warnings"]
    assert (warning["code"], warning["field"]) == ("unknown_type", "name")
    assert "chrage" in warning["message"]
    assert ["warnings" in item for item in batch["tasks"]] == [True, False]
    assert [each["field"] for each in job["warnings"]] == ["tasks.a.name"]
    assert "warnings" not in known


@pytest.mark.parametrize("name", ["a\0b", "", " ", "n" * 300, "a\nb"])
async def test_a_name_that_no_task_can_have_is_refused_as_ever(http: httpx.AsyncClient, name: str) -> None:
    reply = await http.post("/api/v1/tasks", json={"name": name})
    (item,) = (await post(http, "/api/v1/tasks/batch", 200, tasks=[{"name": name}]))["tasks"]

    assert refused(reply)["field"] == "name"
    assert item["error"]["field"] == "tasks[0].name"
