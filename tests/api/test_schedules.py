"""Schedules over HTTP."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from drumline.core.protocol import claimed_body
from drumline.engine.engine import Engine
from drumline.scheduler.fire import Firer
from tests.api.conftest import Ada, problem

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"
TASK = {"name": "work", "payload": {"n": 1}}
JOB = {"name": "report", "tasks": {"extract": {"name": "work"}, "load": {"name": "work", "needs": ["extract"]}}}


async def create(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await http.post("/api/v1/schedules", json=body(**fields))
    assert reply.status_code == 201, reply.text
    made: dict[str, Any] = reply.json()
    assert reply.headers["location"] == f"/api/v1/schedules/{made['id']}"
    return made


def body(**fields: Any) -> dict[str, Any]:
    rule = {} if {"cron", "interval", "run_at"} & fields.keys() else {"cron": "30 9 * * MON-FRI"}
    target = {} if {"task", "job"} & fields.keys() else {"task": TASK}
    return {"name": "nightly", **rule, **target, **fields}


async def get(http: httpx.AsyncClient, schedule: str, path: str = "", **query: Any) -> Any:
    reply = await http.get(f"/api/v1/schedules/{schedule}{path}", params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def post(http: httpx.AsyncClient, schedule: str, act: str, json: Any = None, status: int = 200) -> Any:
    reply = await http.post(f"/api/v1/schedules/{schedule}/{act}", json=json)
    assert reply.status_code == status, reply.text
    return reply.json()


async def test_a_schedule_says_what_it_does_and_when(http: httpx.AsyncClient) -> None:
    made = await create(http, timezone="Europe/Berlin", misfire="skip", overlap="queue", jitter="30s", max_runs=9)

    assert made == await get(http, made["id"])
    assert (made["words"], made["state"]) == ("on weekdays at 09:30, Europe/Berlin", "active")
    assert (made["misfire"], made["overlap"], made["jitter"], made["max_runs"]) == ("skip", "queue", 30.0, 9)
    assert (made["task"], made["job"]) == ({"name": "work", "payload": {"n": 1}}, None)
    assert len(made["next_fires"]) == 5
    first = made["next_fires"][0]
    assert first["utc"] == made["next_fire_at"]
    assert datetime.fromisoformat(first["utc"]) == datetime.fromisoformat(first["local"])
    assert first["local"][11:19] == "09:30:00"


async def test_fires_are_counted_by_day_when_asked_for(http: httpx.AsyncClient) -> None:
    made = await create(http, cron="* * * * *")

    reply = await http.get(f"/api/v1/schedules/{made['id']}", params={"days": 35, "next": 0})

    days = reply.json()["fires_by_day"]
    assert "fires_by_day" not in made
    assert len(days) == 35
    assert days[0]["day"] == made["next_fire_at"][:10]
    assert {day["count"] for day in days[1:]} == {24 * 60}
    refused = await http.get(f"/api/v1/schedules/{made['id']}", params={"days": 367})
    assert refused.status_code == 422
    assert "days" in refused.text


async def test_intervals_and_single_times_are_rules_too(http: httpx.AsyncClient) -> None:
    at = (datetime.now(UTC) + timedelta(days=1)).replace(microsecond=0)

    every = await create(http, name="every", interval="1h30m")
    once = await create(http, name="once", run_at=at.isoformat())

    assert (every["interval"], every["words"]) == (5400.0, "every 90 minutes")
    assert datetime.fromisoformat(once["next_fire_at"]) == at


async def test_a_schedule_may_make_jobs(http: httpx.AsyncClient) -> None:
    made = await create(http, job=JOB)

    run = await post(http, made["id"], "trigger", status=201)

    job = (await http.get(f"/api/v1/jobs/{run['job_id']}")).json()
    assert (job["name"], run["task_id"], run["status"]) == ("report", None, "PENDING")
    assert job["schedule_id"] == made["id"]


async def test_a_job_submitted_with_a_schedule_is_made_at_each_firing(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/jobs", json={**JOB, "schedule": {"cron": "@daily", "overlap": "skip"}})

    assert reply.status_code == 201, reply.text
    answer = reply.json()
    made = answer["schedule"]
    assert (answer["id"], answer["status"], answer["tasks"]) == (None, None, {})
    assert reply.headers["location"] == f"/api/v1/schedules/{made['id']}"
    assert (made["name"], made["cron"], made["overlap"]) == ("report", "@daily", "skip")
    assert made["job"]["tasks"].keys() == {"extract", "load"}
    assert (await http.get("/api/v1/jobs")).json()["items"] == []


async def test_a_job_with_a_wrong_schedule_is_refused(http: httpx.AsyncClient) -> None:
    for schedule, field in (({"cron": "61 * * * *"}, "schedule.cron"), ({"crno": "@daily"}, "schedule.crno")):
        problem(await http.post("/api/v1/jobs", json={**JOB, "schedule": schedule}), 422, "invalid", field)
    wrong = {"name": "j", "tasks": {"a": {"name": " "}}, "schedule": {"cron": "@daily"}}
    problem(await http.post("/api/v1/jobs", json=wrong), 422, "invalid", "tasks.a.name")


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"cron": "61 * * * *"}, "cron", "minute 61 is not from 0 to 59"),
        ({"cron": "* * 31 2 *"}, "cron", "never fires"),
        ({"cron": "* * *"}, "cron", "must have 5 fields, or 6 with seconds first"),
        ({"timezone": "Mars/Olympus"}, "timezone", "'Mars/Olympus' is not a time zone"),
        ({"start": "2030-01-02T00:00:00Z", "end": "2030-01-01T00:00:00Z"}, "end", "is before start"),
        ({"end": "2001-01-01T00:00:00Z"}, "end", "is in the past"),
        ({"cron": "0 0 1 1 *", "start": "2030-02-01T00:00:00Z", "end": "2030-03-01T00:00:00Z"}, "end", "never fires"),
        ({"cron": "@daily", "interval": 60}, "interval", "cannot be given together with cron"),
        ({"cron": None}, "cron", "is required"),
        ({"interval": 0}, "interval", "must be at least 1 second"),
        ({"interval": "soon"}, "interval", "must be seconds"),
        ({"run_at": "2001-01-01T00:00:00Z"}, "run_at", "is in the past"),
        ({"task": TASK, "job": JOB}, "job", "cannot be given together with task"),
        ({"task": None}, "task", "is required"),
        ({"task": {"name": " "}}, "task.name", "must not be blank"),
        ({"task": {"name": "work", "retires": 3}}, "task.retires", "is not a known field; did you mean retries?"),
        ({"task": {"name": "work", "run_at": "2030-01-02T00:00:00Z"}}, "task.run_at", "each firing has its own time"),
        ({"task": {"name": "work", "idempotency_key": "k"}}, "task.idempotency_key", "each firing is a task"),
        ({"job": {"name": "j", "tasks": {"a": {"needs": ["b"]}}}}, "job.tasks.a.needs[0]", ""),
        ({"jitter": "2d"}, "jitter", "must be at most a day"),
        ({"max_runs": 0}, "max_runs", "must be from 1"),
        ({"overlap": "sometimes"}, "overlap", "must be one of allow, skip, queue, cancel_previous"),
        ({"name": ""}, "name", "must not be blank"),
    ],
)
async def test_what_is_wrong_is_named_and_nothing_is_stored(
    http: httpx.AsyncClient, fields: dict[str, Any], field: str, reason: str
) -> None:
    reply = await http.post("/api/v1/schedules", json=body(**fields))

    assert reason in problem(reply, 422, "invalid", field)["detail"]
    assert (await http.get("/api/v1/schedules")).json()["items"] == []


async def test_a_name_that_is_taken_is_a_conflict(http: httpx.AsyncClient) -> None:
    await create(http)

    problem(await http.post("/api/v1/schedules", json=body()), 409, "conflict", "name")


async def test_a_tenant_has_no_more_schedules_than_its_quota(http: httpx.AsyncClient) -> None:
    assert (await http.patch("/api/v1/tenants/default", json={"schedules": 1})).status_code == 200
    await create(http)

    reply = await http.post("/api/v1/schedules", json=body(name="another"))

    assert (reply.status_code, reply.json()["code"]) == (429, "quota_exceeded"), reply.text


async def test_schedules_are_listed_and_found_by_name(http: httpx.AsyncClient) -> None:
    for name in ("one", "two", "three"):
        await create(http, name=name, paused=name == "two")

    async def names(**query: Any) -> list[str]:
        page = (await http.get("/api/v1/schedules", params=query)).json()
        return [item["name"] for item in page["items"]]

    first = (await http.get("/api/v1/schedules?limit=2")).json()
    assert [item["name"] for item in first["items"]] == ["three", "two"]
    assert await names(cursor=first["next_cursor"]) == ["one"]
    assert await names(name="two") == ["two"]
    assert await names(state="paused") == ["two"]
    assert "next_fires" not in first["items"][0]
    planned = (await http.get("/api/v1/schedules?next=3&days=2")).json()["items"]
    assert [len(item["next_fires"]) for item in planned] == [3, 0, 3]
    assert [len(item["fires_by_day"]) for item in planned] == [2, 0, 2]
    assert planned[0]["next_fires"][0]["utc"] == planned[0]["next_fire_at"]
    problem(await http.get("/api/v1/schedules?next=11"), 422, "invalid", "next")


async def test_nobody_knows_a_schedule_that_is_not_there(http: httpx.AsyncClient) -> None:
    path = f"/api/v1/schedules/{NOWHERE}"
    problem(await http.get(path), 404, "not_found", "id")
    problem(await http.patch(path, json={"name": "x"}), 404, "not_found", "id")
    problem(await http.delete(path), 404, "not_found", "id")
    problem(await http.get(f"{path}/runs"), 404, "not_found", "id")
    for act in ("pause", "resume", "trigger"):
        problem(await http.post(f"{path}/{act}"), 404, "not_found", "id")


async def test_an_edit_changes_what_it_names_and_finds_the_next_fire_time(http: httpx.AsyncClient) -> None:
    made = await create(http, overlap="skip", end="2040-01-01T00:00:00Z")

    reply = await http.patch(f"/api/v1/schedules/{made['id']}", json={"cron": "0 12 1 1 *", "end": None})

    edited = reply.json()
    assert (edited["cron"], edited["end"], edited["overlap"]) == ("0 12 1 1 *", None, "skip")
    assert edited["next_fire_at"][4:] == "-01-01T12:00:00.000Z"
    assert edited["task"] == made["task"]


async def test_an_edit_may_bring_another_rule_and_another_target(http: httpx.AsyncClient) -> None:
    made = await create(http)

    reply = await http.patch(f"/api/v1/schedules/{made['id']}", json={"interval": 60, "job": JOB})

    edited = reply.json()
    assert (edited["cron"], edited["interval"], edited["task"]) == (None, 60.0, None)
    assert edited["job"]["name"] == "report"


async def test_an_edit_that_changes_no_times_keeps_the_next_one(http: httpx.AsyncClient) -> None:
    made = await create(http, interval=3600)

    reply = await http.patch(f"/api/v1/schedules/{made['id']}", json={"interval": "1h", "overlap": "queue"})

    assert reply.json()["next_fire_at"] == made["next_fire_at"]


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        ({"cron": "61 * * * *"}, "cron"),
        ({"cron": "@daily", "interval": 5}, "interval"),
        ({"cron": None}, "cron"),
        ({"end": "2001-01-01T00:00:00Z"}, "end"),
        ({"timezone": "Nowhere"}, "timezone"),
        ({"paused": True}, "paused"),
    ],
)
async def test_a_wrong_edit_changes_nothing(http: httpx.AsyncClient, edit: dict[str, Any], field: str) -> None:
    made = await create(http)

    problem(await http.patch(f"/api/v1/schedules/{made['id']}", json=edit), 422, "invalid", field)

    assert await get(http, made["id"]) == made


async def test_a_schedule_is_paused_and_resumed(http: httpx.AsyncClient) -> None:
    made = await create(http)

    paused = await post(http, made["id"], "pause", {"reason": "holidays"})
    resumed = await post(http, made["id"], "resume")

    assert (paused["state"], paused["reason"], paused["next_fire_at"]) == ("paused", "holidays", None)
    assert paused["next_fires"] == []
    assert (resumed["state"], resumed["reason"], resumed["next_fire_at"]) == ("active", None, made["next_fire_at"])


async def test_a_deleted_schedule_is_gone(http: httpx.AsyncClient) -> None:
    made = await create(http)

    reply = await http.delete(f"/api/v1/schedules/{made['id']}")

    assert (reply.status_code, reply.content) == (204, b"")
    problem(await http.get(f"/api/v1/schedules/{made['id']}"), 404, "not_found", "id")


async def test_a_triggered_run_is_a_task_of_its_own(http: httpx.AsyncClient, ada: Ada) -> None:
    made = await create(http)

    run = await post(http, made["id"], "trigger", status=201)

    task = await ada.claim()
    assert (run["kind"], run["status"], run["task_id"]) == ("trigger", "QUEUED", task.lease.task)
    body = (await http.get(f"/api/v1/tasks/{run['task_id']}")).json()
    assert (body["schedule_id"], body["fire_time"]) == (made["id"], run["fire_time"])
    assert claimed_body(task).fire_time == run["fire_time"]
    runs = await get(http, made["id"], "/runs")
    assert [(one["task_id"], one["status"]) for one in runs["items"]] == [(run["task_id"], "PROCESSING")]
    assert (await get(http, made["id"]))["last_run"]["status"] == "PROCESSING"


async def test_a_trigger_with_a_fire_time_can_be_repeated(http: httpx.AsyncClient) -> None:
    made = await create(http)
    when = {"fire_time": "2026-01-02T03:04:05Z"}

    run = await post(http, made["id"], "trigger", when, status=201)

    assert run["fire_time"] == "2026-01-02T03:04:05.000Z"
    problem(await http.post(f"/api/v1/schedules/{made['id']}/trigger", json=when), 409, "conflict", "fire_time")


async def test_runs_are_listed_page_by_page(http: httpx.AsyncClient) -> None:
    made = await create(http)
    for second in range(5):
        await post(http, made["id"], "trigger", {"fire_time": f"2026-01-02T03:04:0{second}Z"}, status=201)

    first = await get(http, made["id"], "/runs", limit=3)
    rest = await get(http, made["id"], "/runs", limit=3, cursor=first["next_cursor"])

    seconds = [run["fire_time"][17:19] for run in first["items"] + rest["items"]]
    assert seconds == ["04", "03", "02", "01", "00"]
    assert rest["next_cursor"] is None
    problem(await http.get(f"/api/v1/schedules/{made['id']}/runs?cursor=x"), 422, "invalid", "cursor")


async def test_a_backfill_is_previewed_made_and_made_only_once(http: httpx.AsyncClient, engine: Engine) -> None:
    made = await create(http, cron="@daily", paused=True)
    span = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-10T00:00:00Z", "rate": 1000}

    preview = await post(http, made["id"], "backfill", {**span, "dry_run": True})
    assert (preview["count"], preview["missing"], preview["dry_run"]) == (10, 10, True)
    assert (preview["first"], preview["last"]) == ("2026-01-01T00:00:00.000Z", "2026-01-10T00:00:00.000Z")
    assert (await get(http, made["id"], "/runs"))["items"] == []

    begun = await post(http, made["id"], "backfill", span, status=202)
    again = await post(http, made["id"], "backfill", span, status=202)
    assert (begun["missing"], again["missing"]) == (10, 0)
    assert {run["status"] for run in (await get(http, made["id"], "/runs"))["items"]} == {"WAITING"}

    firer, started = Firer(engine.firings), 0
    async with asyncio.timeout(10):
        while started < 10:
            started += await firer.pass_once()
    assert {run["status"] for run in (await get(http, made["id"], "/runs"))["items"]} == {"QUEUED"}


@pytest.mark.parametrize(
    ("span", "field"),
    [
        ({"start": "2026-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"}, "end"),
        ({"start": "2026-01-02T00:00:00Z", "end": "2090-01-01T00:00:00Z"}, "end"),
        ({"start": "2020-01-02T00:00:00Z", "end": "2026-01-01T00:00:00Z"}, "end"),  # too many
        ({"start": "2026-01-02T00:00:00Z", "end": "2026-01-02T00:00:00Z", "rate": 0}, "rate"),
        ({"start": "2026-01-02T00:00:00Z", "end": "2026-01-02T01:00:00Z", "rate": 0.000999}, "rate"),
        ({"start": "2026-01-02T00:00:00Z", "end": "2026-01-02T01:00:00Z", "rate": 1e-320}, "rate"),
    ],
)
async def test_a_wrong_backfill_is_refused(http: httpx.AsyncClient, span: dict[str, Any], field: str) -> None:
    made = await create(http, cron="* * * * *")

    reply = await http.post(f"/api/v1/schedules/{made['id']}/backfill", json=span)

    problem(reply, 422, "invalid", field)


async def test_a_backfill_can_be_given_up(http: httpx.AsyncClient) -> None:
    made = await create(http, cron="@daily")
    span = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-10T00:00:00Z"}
    await post(http, made["id"], "backfill", span, status=202)

    reply = await http.delete(f"/api/v1/schedules/{made['id']}/backfill")

    assert reply.json() == {"dropped": 10}
    assert (await get(http, made["id"], "/runs"))["items"] == []


async def test_any_rule_can_be_previewed_in_both_zones(http: httpx.AsyncClient) -> None:
    rule = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "after": "2026-03-27T12:00:00Z", "count": 3}

    preview = (await http.post("/api/v1/schedules/preview", json=rule)).json()

    assert preview["words"] == "every day at 02:30, Europe/Berlin"
    assert [(item["utc"], item["local"]) for item in preview["items"]] == [
        ("2026-03-28T01:30:00.000Z", "2026-03-28T02:30:00+01:00"),
        ("2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00+02:00"),
        ("2026-03-30T00:30:00.000Z", "2026-03-30T02:30:00+02:00"),
    ]
    assert [item["note"] for item in preview["items"]] == [
        None,
        "the clock skips this time: it fires right after the skip",
        None,
    ]


async def test_a_preview_says_what_is_shown_twice(http: httpx.AsyncClient) -> None:
    rule = {"timezone": "Europe/Berlin", "after": "2026-10-24T23:40:00Z", "count": 3}

    fixed = (await http.post("/api/v1/schedules/preview", json={"cron": "30 2 * * *", **rule})).json()
    running = (await http.post("/api/v1/schedules/preview", json={"cron": "30 * * * *", **rule})).json()

    assert [item["note"] for item in fixed["items"]] == [
        "the clock shows this time twice: it fires the first time",
        None,
        None,
    ]
    assert [item["local"][11:] for item in running["items"]] == ["02:30:00+02:00", "02:30:00+01:00", "03:30:00+01:00"]
    assert running["items"][0]["note"] == "the clock shows this time twice: it fires both times"


async def test_a_wrong_rule_cannot_be_previewed(http: httpx.AsyncClient) -> None:
    async def refused(field: str, **rule: Any) -> None:
        problem(await http.post("/api/v1/schedules/preview", json=rule), 422, "invalid", field)

    await refused("cron", cron="61 * * * *")
    await refused("cron")
    await refused("timezone", cron="@daily", timezone="Nowhere")
    await refused("count", cron="@daily", count=0)
    await refused("task", cron="@daily", task=TASK)


async def test_the_schedules_of_an_app_follow_its_code(http: httpx.AsyncClient) -> None:
    def app(*crons: str, module: str = "shop.tasks") -> dict[str, Any]:
        schedules = [{"module": module, "schedule": body(name=f"cron {cron}", cron=cron)} for cron in crons]
        return {"app": "shop", "modules": [module], "schedules": schedules}

    async def register(request: dict[str, Any]) -> dict[str, list[str]]:
        reply = await http.post("/api/v1/schedules/register", json=request)
        assert reply.status_code == 200, reply.text
        return {word: names for word, names in reply.json().items() if names}

    assert await register(app("@daily", "@hourly")) == {"created": ["cron @daily", "cron @hourly"]}
    assert await register(app("@daily", "@hourly")) == {}
    assert await register(app(module="shop.other")) == {}
    assert await register(app("@daily")) == {"paused": ["cron @hourly"]}
    (gone,) = (await http.get("/api/v1/schedules?state=paused")).json()["items"]
    assert (gone["reason"], gone["app"], gone["module"]) == ("its code is gone from shop.tasks", "shop", "shop.tasks")
    assert await register(app("@daily", "@hourly")) == {"resumed": ["cron @hourly"]}
    changed = app("@daily", "@hourly")
    changed["schedules"][0]["schedule"]["overlap"] = "skip"
    assert await register(changed) == {"changed": ["cron @daily"]}


async def test_what_a_person_paused_stays_paused_when_its_code_is_registered(http: httpx.AsyncClient) -> None:
    request = {"app": "shop", "modules": ["m"], "schedules": [{"module": "m", "schedule": body()}]}
    await http.post("/api/v1/schedules/register", json=request)
    (made,) = (await http.get("/api/v1/schedules")).json()["items"]
    await post(http, made["id"], "pause", {"reason": "holidays"})

    await http.post("/api/v1/schedules/register", json=request)

    assert (await get(http, made["id"]))["state"] == "paused"


async def test_a_registration_takes_no_name_that_others_have(http: httpx.AsyncClient) -> None:
    made = await create(http)
    request = {"app": "shop", "modules": ["m"], "schedules": [{"module": "m", "schedule": body(cron="@daily")}]}

    reply = await http.post("/api/v1/schedules/register", json=request)

    assert reply.json()["refused"] == ["nightly"]
    assert await get(http, made["id"]) == made


async def test_a_wrong_registration_changes_nothing(http: httpx.AsyncClient) -> None:
    good, bad = ({"module": "m", "schedule": body(name=cron, cron=cron)} for cron in ("@daily", "61 * * * *"))
    request = {"app": "shop", "modules": ["m"], "schedules": [good, bad]}

    reply = await http.post("/api/v1/schedules/register", json=request)

    problem(reply, 422, "invalid", "schedules[1].schedule.cron")
    assert (await http.get("/api/v1/schedules")).json()["items"] == []
