"""Why a job has not ended, and how the last runs of the same job went."""

import httpx

from drumline.core.outcome import ErrorInfo, Failed
from tests.api.conftest import Ada, problem
from tests.api.test_jobs import NOWHERE, run, submitted_job
from tests.api.test_keys import made


async def test_a_job_says_which_tasks_it_waits_for_and_why_those_are_not_done(
    http: httpx.AsyncClient, ada: Ada
) -> None:
    tasks = {
        "a": {"name": "work"},
        "b": {"name": "nobody.has", "needs": ["a"]},
        "c": {"name": "work", "needs": ["a"], "queue": "slow"},
        "d": {"name": "work", "needs": ["b", "c"]},
        "e": {"name": "work", "needs": ["b"]},
    }
    job = await submitted_job(http, tasks)
    await run(ada, b"1")
    await http.post("/api/v1/queues/slow/pause", json={"reason": "repairs"})

    why = (await http.get(f"/api/v1/jobs/{job['id']}/why")).json()

    assert (why["status"], why["running"], why["queued"], why["blocked"]) == ("PROCESSING", 0, 2, 2)
    assert [(task["key"], task["blocks"]) for task in why["tasks"]] == [("b", 2), ("c", 1)]
    causes = {task["key"]: [reason["cause"] for reason in task["reasons"]] for task in why["tasks"]}
    assert causes == {"b": ["no_worker"], "c": ["queue_paused"]}
    assert "repairs" in why["tasks"][1]["reasons"][0]["text"]
    assert (why["reasons"], why["is_more"]) == ([], False)


async def test_of_a_wide_job_some_tasks_of_every_name_are_explained_and_the_rest_is_counted(
    http: httpx.AsyncClient, ada: Ada
) -> None:
    tasks = {f"w{number}": {"name": "work"} for number in range(60)} | {"last": {"name": "nobody.has"}}
    job = await submitted_job(http, tasks)
    await ada.claim()

    why = (await http.get(f"/api/v1/jobs/{job['id']}/why")).json()

    assert (why["running"], why["queued"], why["is_more"]) == (1, 60, True)
    assert len(why["tasks"]) == 20
    assert {task["name"] for task in why["tasks"]} == {"work", "nobody.has"}
    assert [task["status"] for task in why["tasks"]].count("PROCESSING") == 1


async def test_a_job_that_waits_for_another_or_has_ended_says_so(http: httpx.AsyncClient, ada: Ada) -> None:
    first = await submitted_job(http, {"a": {"name": "work"}})
    second = await submitted_job(http, {"a": {"name": "work"}}, depends_on=[first["id"]])

    waiting = (await http.get(f"/api/v1/jobs/{second['id']}/why")).json()
    await run(ada, b"1")
    ended = (await http.get(f"/api/v1/jobs/{first['id']}/why")).json()

    assert [(reason["cause"], reason["names"]) for reason in waiting["reasons"]] == [("dependency", [first["id"]])]
    assert (waiting["tasks"], waiting["blocked"]) == ([], 1)
    assert [reason["cause"] for reason in ended["reasons"]] == ["ended"]
    assert ended["tasks"] == []


async def test_nothing_is_said_of_a_job_that_is_not_there_or_of_another_tenant(http: httpx.AsyncClient) -> None:
    job = await submitted_job(http)
    await http.post("/api/v1/tenants", json={"name": "acme"})
    acme = {"X-API-Key": (await made(http, tenant="acme", role="admin", rate_limit="unlimited"))["key"]}

    problem(await http.get(f"/api/v1/jobs/{NOWHERE}/why"), 404, "not_found", field="id")
    problem(await http.get(f"/api/v1/jobs/{job['id']}/why", headers=acme), 404, "not_found", field="id")
    runs = (await http.get("/api/v1/jobs/runs", headers=acme, params={"name": "nightly"})).json()
    assert runs == {"rows": [], "runs": [], "is_cut": False}


async def test_runs_of_a_job_have_their_tasks_by_key_the_latest_run_first(http: httpx.AsyncClient, ada: Ada) -> None:
    await submitted_job(http, {"a": {"name": "work"}, "old": {"name": "work", "needs": ["a"]}})
    await run(ada, b"1", b"2")
    await submitted_job(http, {"a": {"name": "work", "retries": 0}, "b": {"name": "work", "needs": ["a"]}})
    await ada.settle(await ada.claim(), Failed(ErrorInfo("ValueError", "no")))
    await submitted_job(http, name="another")

    body = (await http.get("/api/v1/jobs/runs", params={"name": "nightly"})).json()

    assert [row["key"] for row in body["rows"]] == ["a", "b", "old"]
    assert [run["job"]["status"] for run in body["runs"]] == ["FAILED", "COMPLETED"]
    statuses = [{key: task["status"] for key, task in run["tasks"].items()} for run in body["runs"]]
    assert statuses == [{"a": "FAILED", "b": "SKIPPED"}, {"a": "COMPLETED", "old": "COMPLETED"}]
    assert body["runs"][1]["tasks"]["a"]["finished_at"] is not None
    assert body["is_cut"] is False


async def test_runs_of_a_large_job_leave_tasks_out_and_say_so(http: httpx.AsyncClient) -> None:
    tasks = {f"t{number:04}": {"name": "work"} for number in range(1_300)}
    for _ in range(4):
        await submitted_job(http, tasks)

    body = (await http.get("/api/v1/jobs/runs", params={"name": "nightly"})).json()

    assert [None if run["tasks"] is None else len(run["tasks"]) for run in body["runs"]] == [200, 200, 200, None]
    assert len(body["rows"]) == 200
    assert body["is_cut"] is True


async def test_runs_of_a_schedule_are_those_that_it_made(http: httpx.AsyncClient) -> None:
    await submitted_job(http)
    pattern = {"name": "nightly", "tasks": {"a": {"name": "work"}}}
    schedule = (await http.post("/api/v1/schedules", json={"name": "s", "interval": "1h", "job": pattern})).json()["id"]
    await http.post(f"/api/v1/schedules/{schedule}/trigger", json={})

    body = (await http.get("/api/v1/jobs/runs", params={"schedule_id": schedule})).json()

    assert [list(run["tasks"]) for run in body["runs"]] == [["a"]]


async def test_runs_that_nobody_could_have_are_refused_by_the_field(http: httpx.AsyncClient) -> None:
    problem(await http.get("/api/v1/jobs/runs", params={"schedule_id": "x"}), 422, "invalid", field="schedule_id")
    problem(await http.get("/api/v1/jobs/runs", params={"name": "a", "limit": 26}), 422, "invalid", field="limit")
