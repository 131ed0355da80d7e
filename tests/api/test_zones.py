"""Every time that a request names has a zone: one without could be any hour, and is refused by its field."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import problem, submitted

NAIVE = "2031-01-20T10:00:00"
TASK = {"name": "work"}
JOB = {"name": "j", "tasks": {"a": {"name": "work"}}}
CRON = {"name": "s", "cron": "* * * * *", "task": TASK}

BODIES: list[tuple[str, dict[str, Any], str]] = [
    ("/api/v1/tasks", {**TASK, "run_at": NAIVE}, "run_at"),
    ("/tasks", {"type": "work", "run_at": NAIVE}, "run_at"),
    ("/scheduleTask", {"task_name": "work", "execution_time": NAIVE}, "execution_time"),
    ("/api/v1/jobs", {"name": "j", "tasks": {"a": {"name": "work", "run_at": NAIVE}}}, "tasks.a.run_at"),
    ("/api/v1/jobs", {**JOB, "schedule": {"run_at": NAIVE}}, "schedule.run_at"),
    ("/api/v1/jobs", {**JOB, "schedule": {"cron": "* * * * *", "start": NAIVE}}, "schedule.start"),
    ("/api/v1/schedules", {"name": "s", "run_at": NAIVE, "task": TASK}, "run_at"),
    ("/api/v1/schedules", {**CRON, "start": NAIVE}, "start"),
    ("/api/v1/schedules", {**CRON, "end": NAIVE}, "end"),
    ("/api/v1/schedules/preview", {"cron": "* * * * *", "after": NAIVE}, "after"),
    ("/api/v1/keys", {"name": "k", "role": "viewer", "expires_at": NAIVE}, "expires_at"),
]


@pytest.mark.parametrize(("path", "body", "field"), BODIES, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_time_without_a_zone_is_refused_by_its_field(
    http: httpx.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    answer = problem(await http.post(path, json=body), 422, "invalid", field)

    assert "must have a time zone" in answer["detail"]


async def test_a_batch_names_the_item_and_rescheduling_and_filters_the_field(http: httpx.AsyncClient) -> None:
    task = await submitted(http, delay=3600)

    batch = await http.post("/api/v1/tasks/batch", json={"tasks": [{**TASK, "run_at": NAIVE}]})
    moved = await http.patch(f"/api/v1/tasks/{task}", json={"run_at": NAIVE})
    found = await http.get("/api/v1/failures", params={"since": NAIVE})

    assert batch.json()["tasks"][0]["error"]["field"] == "tasks[0].run_at"
    problem(moved, 422, "invalid", "run_at")
    problem(found, 422, "invalid", "since")


@pytest.mark.parametrize("moment", [f"{NAIVE}Z", f"{NAIVE}+01:00", f"{NAIVE}-00:00", f"{NAIVE}.123456Z"])
async def test_a_time_with_a_zone_is_accepted(http: httpx.AsyncClient, moment: str) -> None:
    assert (await http.post("/api/v1/tasks", json={**TASK, "run_at": moment})).status_code == 201
