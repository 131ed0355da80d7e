import asyncio
from typing import Any

import httpx
import pytest

from drumline.engine.engine import Engine
from drumline.ports.store import TaskFilter
from tests.api.conftest import problem, submitted


async def stored(engine: Engine) -> int:
    return len(await engine.store.queries.list_tasks(TaskFilter(), limit=100))


async def test_a_submission_is_answered_with_where_the_task_is(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/tasks", json={"name": "resize image", "payload": {"width": 3}})

    assert reply.status_code == 201
    body = reply.json()
    assert set(body) == {"id", "status", "due_at", "created", "warnings"}
    assert (body["status"], body["created"]) == ("QUEUED", True)
    assert reply.headers["location"] == f"/api/v1/tasks/{body['id']}"
    task = (await http.get(reply.headers["location"])).json()
    assert (task["name"], task["payload"], task["status"]) == ("resize image", {"width": 3}, "QUEUED")


async def test_a_task_shows_every_field_with_times_in_utc(http: httpx.AsyncClient) -> None:
    task_id = await submitted(
        http,
        queue="mail",
        priority="high",
        run_at="2030-01-02T05:04:05.678+02:00",
        retries=7,
        backoff={"base": 5, "jitter": 0.5},
        timeout="1m30s",
        tags=["vip", "a b"],
        notify=[{"email": "ada@example.org", "on": ["failed"]}],
        idempotency_key="order 9",
        limit_key="acme",
        expires="10m",
    )

    task = (await http.get(f"/api/v1/tasks/{task_id}")).json()

    created_at = task.pop("created_at")
    assert len(created_at) == len("2026-01-02T03:04:05.678Z")
    assert created_at.endswith("Z")
    assert task == {
        "id": task_id,
        "name": "work",
        "queue": "mail",
        "status": "PENDING",
        "priority": 50,
        "payload": {},
        "due_at": "2030-01-02T03:04:05.678Z",
        "started_at": None,
        "finished_at": None,
        "attempt": 0,
        "retries": 7,
        "backoff": {"base": 5.0, "factor": 2.0, "cap": 3600.0, "jitter": 0.5},
        "timeout": 90.0,
        "limit_key": "acme",
        "expires_at": "2030-01-02T03:14:05.678Z",
        "collapse": None,
        "tags": ["vip", "a b"],
        "progress": None,
        "schedule_id": None,
        "fire_time": None,
        "notify": [{"on": ["failed"], "webhook": None, "email": "ada@example.org"}],
        "idempotency_key": "order 9",
        "worker": None,
        "cancel_requested": False,
        "job_id": None,
        "parent_id": None,
        "forked_from": None,
        "is_waiting": False,
        "key": None,
        "error": None,
    }


async def test_a_big_integer_in_a_payload_survives(http: httpx.AsyncClient) -> None:
    body = b'{"name": "work", "payload": {"n": 123456789012345678901234567890, "text": "\\u00e9 \xc3\xa9"}}'

    reply = await http.post("/api/v1/tasks", content=body)

    task = await http.get(reply.headers["location"])
    assert b'"n": 123456789012345678901234567890' in task.content
    assert task.json()["payload"]["text"] == "é é"


async def test_the_same_key_brings_back_the_same_task(http: httpx.AsyncClient, engine: Engine) -> None:
    first = await http.post("/api/v1/tasks", json={"name": "work", "payload": {"a": 1, "b": 2}, "idempotency_key": "k"})
    second = await http.post("/api/v1/tasks", json={"name": "work", "payload": {"b": 2, "a": 1}, "idempotencyKey": "k"})
    third = await http.post(
        "/api/v1/tasks", json={"name": "work", "payload": {"b": 2, "a": 1}}, headers={"Idempotency-Key": "k"}
    )

    assert [first.status_code, second.status_code, third.status_code] == [201, 200, 200]
    assert first.json()["id"] == second.json()["id"] == third.json()["id"]
    assert second.json()["created"] is False
    assert second.headers["location"] == first.headers["location"]
    assert await stored(engine) == 1


async def test_fifty_submissions_at_once_under_one_key_store_one_task(http: httpx.AsyncClient, engine: Engine) -> None:
    body = {"name": "work", "payload": [1, 2, 3], "idempotency_key": "once"}

    replies = await asyncio.gather(*(http.post("/api/v1/tasks", json=body) for _ in range(50)))

    assert sorted(reply.status_code for reply in replies) == [200] * 49 + [201]
    assert len({reply.json()["id"] for reply in replies}) == 1
    assert await stored(engine) == 1


async def test_another_body_under_a_known_key_is_refused(http: httpx.AsyncClient, engine: Engine) -> None:
    await http.post("/api/v1/tasks", json={"name": "work", "idempotency_key": "k"})

    reply = await http.post("/api/v1/tasks", json={"name": "other", "idempotency_key": "k"})

    problem(reply, 422, "idempotency_key_reused", "idempotency_key")
    assert await stored(engine) == 1


async def test_a_header_key_that_contradicts_the_body_is_refused(http: httpx.AsyncClient, engine: Engine) -> None:
    body = {"name": "work", "idempotency_key": "k"}

    same = await http.post("/api/v1/tasks", json=body, headers={"Idempotency-Key": "k"})
    other = await http.post("/api/v1/tasks", json=body, headers={"Idempotency-Key": "z"})

    assert same.status_code == 201
    problem(other, 422, "invalid", "Idempotency-Key")
    assert await stored(engine) == 1


BAD: dict[str, tuple[bytes, int, str, str]] = {
    "unknown field": (b'{"name": "a", "retry": 3}', 422, "invalid", "retry"),
    "unknown field inside": (b'{"name": "a", "backoff": {"bse": 3}}', 422, "invalid", "backoff.bse"),
    "wrong type": (b'{"name": "a", "retries": "many"}', 422, "invalid", "retries"),
    "wrong type inside": (b'{"name": "a", "tags": ["x", 3]}', 422, "invalid", "tags[1]"),
    "no name": (b"{}", 422, "invalid", "name"),
    "blank name": (b'{"name": " "}', 422, "invalid", "name"),
    "long name": (b'{"name": "' + b"x" * 256 + b'"}', 422, "invalid", "name"),
    "NaN": (b'{"name": "a", "payload": {"x": [1, NaN]}}', 400, "malformed", "payload.x[1]"),
    "NaN delay": (b'{"name": "a", "delay": NaN}', 400, "malformed", "delay"),
    "infinite": (b'{"name": "a", "payload": 1e999}', 422, "invalid", "payload"),
    "negative delay": (b'{"name": "a", "delay": -1}', 422, "invalid", "delay"),
    "endless delay": (b'{"name": "a", "delay": 1e300}', 422, "invalid", "delay"),
    "bad delay": (b'{"name": "a", "delay": "soon"}', 422, "invalid", "delay"),
    "deep payload": (b'{"name": "a", "payload": ' + b"[" * 1000 + b"]" * 1000 + b"}", 422, "too_deep", "payload"),
    "rather deep": (b'{"name": "a", "payload": ' + b'{"x":' * 101 + b"1" + b"}" * 102, 422, "too_deep", "payload"),
    "bottomless": (b'{"name": "a", "payload": ' + b"[" * 200_000, 422, "too_deep", "payload"),
    "invalid UTF-8 name": (b'{"name": "a\xff"}', 400, "malformed", "name"),
    "invalid UTF-8 payload": (b'{"name": "a", "payload": "\xff"}', 400, "malformed", "payload"),
    "lone surrogate": (b'{"name": "a", "payload": "\\ud800"}', 400, "malformed", "body"),
    "year 99999": (b'{"name": "a", "run_at": "99999-01-01T00:00:00Z"}', 422, "invalid", "run_at"),
    "year 1": (b'{"name": "a", "run_at": "0001-01-01T00:00:00+09:00"}', 422, "invalid", "run_at"),
    "both times": (b'{"name": "a", "delay": 1, "run_at": "2030-01-01T00:00:00Z"}', 422, "invalid", "delay"),
    "priority": (b'{"name": "a", "priority": 101}', 422, "invalid", "priority"),
    "huge integer": (b'{"name": "a", "retries": ' + b"9" * 30 + b"}", 422, "invalid", "retries"),
    "queue": (b'{"name": "a", "queue": "a/b"}', 422, "invalid", "queue"),
    "nobody to notify": (b'{"name": "a", "notify": [{}]}', 422, "invalid", "notify[0]"),
    "two keys": (b'{"name": "a", "idempotency_key": "a", "idempotencyKey": "b"}', 422, "invalid", "idempotency_key"),
    "a list": (b"[]", 422, "invalid", "body"),
    "nothing": (b"", 400, "malformed", "body"),
    "cut off": (b'{"name": "a', 400, "malformed", "body"),
    "more behind": (b'{"name": "a"} {}', 400, "malformed", "body"),
}


@pytest.mark.parametrize("path", ["/api/v1/tasks", "/tasks"])
@pytest.mark.parametrize("case", BAD)
async def test_bad_input_is_refused_by_the_name_of_its_field(
    http: httpx.AsyncClient, engine: Engine, case: str, path: str
) -> None:
    body, status, code, field = BAD[case]

    reply = await http.post(path, content=body, headers={"Content-Type": "application/json"})

    problem(reply, status, code, "type" if (case, path) == ("no name", "/tasks") else field)
    assert await stored(engine) == 0


async def test_a_misspelt_field_is_answered_with_the_right_one(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/tasks", json={"name": "a", "prioritty": 3})

    assert problem(reply, 422, "invalid", "prioritty")["detail"].endswith("did you mean priority?")


async def test_a_payload_over_its_limit_is_refused(http: httpx.AsyncClient, engine: Engine) -> None:
    over = await http.post("/api/v1/tasks", json={"name": "a", "payload": "x" * (1024 * 1024 + 1)})
    far_over = await http.post("/api/v1/tasks", json={"name": "a", "payload": "x" * 20_000_000})

    problem(over, 413, "too_large", "payload")
    problem(far_over, 413, "too_large", "payload")
    assert await stored(engine) == 0


async def test_a_body_that_does_not_say_its_size_is_read_only_up_to_the_limit(http: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"x" * 65_536

    reply = await http.post("/api/v1/tasks", content=endless())

    problem(reply, 413, "too_large", "payload")
    assert sent < 2 * 1024 * 1024


async def test_json_is_taken_under_the_types_that_clients_send_by_habit(http: httpx.AsyncClient) -> None:
    curl = {"Content-Type": "application/x-www-form-urlencoded"}
    upload = await http.post("/api/v1/tasks", files={"file": b"x"})
    form = await http.post("/api/v1/tasks", data={"name": "a"})
    bare = await http.post("/api/v1/tasks", content=b'{"name": "a"}')
    by_curl = await http.post("/api/v1/tasks", content=b'{"name": "a"}', headers=curl)

    problem(upload, 415, "unsupported_media_type", "Content-Type")
    problem(form, 400, "malformed", "body")
    assert (bare.status_code, by_curl.status_code) == (201, 201)


async def test_a_batch_is_answered_in_order_and_a_bad_item_does_not_hold_up_the_others(
    http: httpx.AsyncClient, engine: Engine
) -> None:
    items = [
        {"name": "work"},
        {"name": "work", "delay": -1},
        {"nme": "work"},
        {"name": "work", "idempotency_key": "k"},
        {"name": "work", "idempotency_key": "k"},
        {"name": "other", "idempotency_key": "k"},
        7,
    ]

    reply = await http.post("/api/v1/tasks/batch", json={"tasks": items})

    assert reply.status_code == 200
    answers = reply.json()["tasks"]
    assert [answer.get("created") for answer in answers] == [True, None, None, True, False, None, None]
    assert answers[3]["id"] == answers[4]["id"]
    errors = {n: answer["error"] for n, answer in enumerate(answers) if "error" in answer}
    assert {n: (error["code"], error["field"]) for n, error in errors.items()} == {
        1: ("invalid", "tasks[1].delay"),
        2: ("invalid", "tasks[2].nme"),
        5: ("idempotency_key_reused", "tasks[5].idempotency_key"),
        6: ("invalid", "tasks[6]"),
    }
    assert await stored(engine) == 2


async def test_a_batch_may_have_ten_thousand_tasks_and_no_more(http: httpx.AsyncClient) -> None:
    full = await http.post("/api/v1/tasks/batch", json={"tasks": [{"name": "work"}] * 10_000})
    over = await http.post("/api/v1/tasks/batch", json={"tasks": [{"name": "work"}] * 10_001})

    assert len({answer["id"] for answer in full.json()["tasks"]}) == 10_000
    problem(over, 422, "invalid", "tasks")


async def test_a_batch_that_is_no_batch_is_refused(http: httpx.AsyncClient) -> None:
    missing = await http.post("/api/v1/tasks/batch", json={})
    deep = await http.post("/api/v1/tasks/batch", content=b'{"tasks": [{}, {"payload": ' + b"[" * 5000)

    problem(missing, 422, "invalid", "tasks")
    problem(deep, 422, "too_deep", "tasks[1].payload")
