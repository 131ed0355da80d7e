"""Running tasks and jobs again with another payload, duplicating a schedule, and copying things as requests."""

import json
import shlex

import pytest
from playwright.async_api import Locator, expect

from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


async def test_a_failed_task_runs_again_with_another_payload(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", payload={"shell": "exit 3"}, retries=0, tags=["again"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/tasks/{task}")

    await page.get_by_role("button", name="Run again…").click()
    sheet = page.get_by_role("dialog", name="Run shell again")
    await expect(sheet.get_by_label("Name", exact=True)).to_have_value("shell")
    await sheet.get_by_label("Payload").fill('{"shell": "exit 0"}')
    await sheet.get_by_role("button", name="Submit").click()

    await page.locator("h1").get_by_text("Completed").wait_for()
    made = page.url.rpartition("/")[2].partition("?")[0]
    _, again = busy.server.ask("GET", f"/api/v1/tasks/{made}")
    assert made != task
    assert (again["payload"], again["retries"], again["tags"]) == ({"shell": "exit 0"}, 0, ["again"])


async def test_a_job_runs_again_with_another_payload(visitor: Visit, busy: Busy) -> None:
    wanted = {
        "name": "again",
        "owner": "ada",
        "retries": 0,
        "tasks": {
            "first": {"name": "shell", "payload": {"shell": "exit 3"}, "queue": "again", "tags": ["kept"]},
            "tell": {"name": "shell", "payload": {"shell": "true"}, "needs": ["first"], "run_if": "any_failed"},
        },
    }
    job = busy.server.ask("POST", "/api/v1/jobs", wanted)[1]["id"]
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/jobs/{job}")

    await page.get_by_role("button", name="Run again…").click()
    sheet = page.get_by_role("dialog", name="Run again again")
    first = sheet.get_by_role("group", name="Task 1")
    await expect(first.get_by_label("Key")).to_have_value("first")
    await expect(sheet.get_by_role("group", name="Task 2").get_by_label("Needs")).to_have_value("first")
    assert await someone.barriers() == []
    await first.get_by_label("Payload").fill('{"shell": "exit 0"}')
    await sheet.get_by_role("button", name="Submit").click()

    await page.wait_for_url(lambda url: "/jobs/" in url and job not in url)
    made = page.url.rpartition("/")[2].partition("?")[0]
    tasks = busy.server.ask("GET", f"/api/v1/tasks?job={made}&payload=true")[1]["items"]
    found = {task["key"]: (task["payload"], task["queue"], task["retries"], task["tags"]) for task in tasks}
    graph = busy.server.ask("GET", f"/api/v1/jobs/{made}/graph")[1]["nodes"]
    assert found["first"] == ({"shell": "exit 0"}, "again", 0, ["kept"])
    assert {node["key"]: (node["needs"], node["run_if"]) for node in graph}["tell"] == (["first"], "any_failed")
    assert busy.server.ask("GET", f"/api/v1/jobs/{made}")[1]["owner"] == "ada"


async def test_a_task_is_shown_as_a_command_that_submits_it(visitor: Visit, busy: Busy) -> None:
    payload = {"shell": "echo 'it is' \"fine\""}
    task = busy.server.submit("shell", payload=payload, retries=0, tags=["copied"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/tasks/{task}")

    await page.get_by_role("button", name="Copy as…").click()
    words = shlex.split(await page.get_by_role("dialog").locator("pre").inner_text())
    await page.get_by_role("tab", name="curl").click()
    request = shlex.split(await page.get_by_role("dialog").locator("pre").inner_text())

    assert words[:3] == ["drumline", "submit", "shell"]
    assert words[-2:] == ["--tag", "copied"]
    status, made = busy.server.ask("POST", "/api/v1/tasks", json.loads(request[-1]))
    assert (status, busy.server.until_ended(made["id"])["payload"]) == (201, payload)
    assert request[3] == f"{busy.server.url}/api/v1/tasks"


async def snippets(someone: Visitor, button: Locator) -> tuple[list[str], list[str], str]:
    """Return what *Copy as…* shows: the words of the command and of curl, and the Python program."""
    await button.click()
    sheet = someone.page.get_by_role("dialog")
    shown: list[str] = []
    for tab in ("Command line", "curl", "Python"):
        await sheet.get_by_role("tab", name=tab).click()
        await expect(sheet.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        shown.append(await sheet.locator("pre").inner_text())
    await sheet.get_by_role("button", name="Close").click()
    await expect(sheet).to_have_count(0)
    return shlex.split(shown[0]), shlex.split(shown[1]), shown[2]


async def test_queues_alerts_and_subscriptions_are_shown_as_requests(visitor: Visit, busy: Busy) -> None:
    server = busy.server
    wanted = {"name": "it's copied", "measure": "wait_p95", "threshold": "30s", "queue": "media", "for": "1m"}
    alert = server.ask("POST", "/api/v1/alerts", wanted)[1]
    asked = {"name": "copied", "events": ["drumline.job.failed"], "email": "ada@example.org", "tag": "vip"}
    subscription = server.ask("POST", "/api/v1/subscriptions", asked)[1]
    someone = await visitor(server)
    copy = someone.page.get_by_role("button", name="Copy as…")

    await someone.open("/queues/media")
    command, request, python = await snippets(someone, copy)
    assert command == ["drumline", "queues", "get", "media"]
    assert request[3] == f"{server.url}/api/v1/queues/media"
    assert f'"{server.url}/api/v1/queues/media"' in python

    await someone.open(f"/alerts/{alert['id']}")
    command, request, python = await snippets(someone, copy)
    assert command[:8] == ["drumline", "alerts", "create", "it's copied", "--on", "wait_p95", "--above", "30s"]
    server.ask("DELETE", f"/api/v1/alerts/{alert['id']}")
    status, made = server.ask("POST", "/api/v1/alerts", json.loads(request[-1]))
    assert (status, made["summary"]) == (201, alert["summary"])
    compile(python, "snippet.py", "exec")
    server.ask("DELETE", f"/api/v1/alerts/{made['id']}")

    await someone.open("/notifications")
    row = someone.page.get_by_role("row").filter(has_text="ada@example.org").filter(has_text="copied")
    await row.hover()
    command, request, python = await snippets(someone, row.get_by_role("button", name="Copy as…"))
    assert command[:5] == ["drumline", "subscriptions", "create", "copied", "--on"]
    server.ask("DELETE", f"/api/v1/subscriptions/{subscription['id']}")
    status, made = server.ask("POST", "/api/v1/subscriptions", json.loads(request[-1]))
    assert (status, made["tag"], made["events"]) == (201, "vip", subscription["events"])
    compile(python, "snippet.py", "exec")
    server.ask("DELETE", f"/api/v1/subscriptions/{made['id']}")


async def test_a_schedule_is_duplicated(visitor: Visit, busy: Busy) -> None:
    schedule = busy.server.ask("GET", "/api/v1/schedules")[1]["items"][0]
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/schedules/{schedule['id']}")

    await page.get_by_role("button", name="Duplicate…").click()
    await page.get_by_role("dialog").get_by_role("button", name="Create").click()

    await page.locator("h1").get_by_text(f"{schedule['name']} copy").wait_for()
    made = busy.server.ask("GET", f"/api/v1/schedules/{page.url.rpartition('/')[2]}")[1]
    assert [made[name] for name in ("cron", "interval", "timezone", "task", "job", "overlap", "misfire")] == [
        schedule[name] for name in ("cron", "interval", "timezone", "task", "job", "overlap", "misfire")
    ]
    busy.server.ask("DELETE", f"/api/v1/schedules/{made['id']}")


async def test_workers_failures_and_bulk_operations_are_shown_as_requests(visitor: Visit, busy: Busy) -> None:
    server = busy.server
    worker = server.ask("GET", "/api/v1/workers")[1]["items"][0]["id"]
    group = server.ask("GET", "/api/v1/failures/groups")[1]["items"][0]["fingerprint"]
    bulk = server.ask("GET", "/api/v1/bulk")[1]["items"][0]["id"]
    someone = await visitor(server)
    copy = someone.page.get_by_role("button", name="Copy as…")
    for place, words, path in (
        (f"/workers/{worker}", ["workers", "get", worker], f"workers/{worker}"),
        (f"/failures/{group}", ["failures", "show", group], f"failures/groups/{group}"),
        (f"/bulk/{bulk}", ["bulk", "get", bulk], f"bulk/{bulk}"),
    ):
        await someone.open(place)
        command, request, python = await snippets(someone, copy)

        assert command == ["drumline", *words]
        assert request[3] == f"{server.url}/api/v1/{path}"
        assert server.ask("GET", f"/api/v1/{path}")[0] == 200
        compile(python, "snippet.py", "exec")
