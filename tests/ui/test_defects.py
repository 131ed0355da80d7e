"""What people who tried the interface stumbled over, and what it does now."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.black_box.server import ENDED, Server, eventually
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

CAUSES = Path(__file__).parent / "causes_app.py"


async def test_the_root_cause_is_on_top_and_three_causes_are_three_groups(
    visitor: Visit, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Server(tmp_path_factory.mktemp("causes") / "data", app=CAUSES) as server:
        tasks = [
            {"name": "causes.pay", "payload": {"cause": cause, "customer": f"{first} {last}"}, "retries": 0}
            for cause in ("lost", "declined", "busy")
            for first in ("Ada", "Bob", "Eve", "Zoë")
            for last in ("Smith", "O'Brien", "van der Berg", "Li")
        ]
        server.ask("POST", "/api/v1/tasks/batch", {"tasks": tasks})
        failures = "/api/v1/failures?limit=100"
        eventually(lambda: len(server.ask("GET", failures)[1]["items"]) == len(tasks), 60.0, lambda: server.errors)
        someone = await visitor(server)
        page = someone.page

        await someone.open("/failures")
        groups = page.get_by_role("article")
        await expect(groups).to_have_count(3)
        await expect(groups.filter(has_text="PaymentFailed")).to_contain_text("caused by Declined")
        await expect(groups.filter(has_text="LookupError")).to_contain_text("for example")
        await groups.filter(has_text="PaymentFailed").get_by_role("link", name="PaymentFailed").click()

        chain = page.get_by_role("list", name="Chain of errors, root cause first").get_by_role("listitem")
        first = chain.filter(has_text="Root cause").first
        await expect(first).to_contain_text("Declined: the card was declined")
        await expect(first).to_contain_text("causes_app.py")
        await expect(chain.filter(has_text="Caused").first).to_contain_text("PaymentFailed")


async def test_the_calendar_counts_every_run_of_a_frequent_schedule(visitor: Visit, busy: Busy) -> None:
    body = {"name": "every minute", "cron": "* * * * *", "task": {"name": "nobody-has-this"}, "paused": False}
    _, made = busy.server.ask("POST", "/api/v1/schedules", body)
    someone = await visitor(busy.server)

    await someone.open(f"/schedules/{made['id']}")

    days = someone.page.get_by_role("group", name="Planned runs by day").locator("span")
    await expect(days).to_have_count(35)
    full = [title for title in await days.evaluate_all("all => all.map(one => one.title)") if "1,440 runs" in title]
    assert len(full) >= 27  # from tomorrow on, up to the end of the fifth week
    busy.server.ask("DELETE", f"/api/v1/schedules/{made['id']}")


async def test_the_audit_log_names_what_was_acted_on(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)

    await someone.open("/audit?act=schedule.create")

    cells = someone.page.get_by_role("table").locator("tbody td:nth-of-type(3)")
    assert await cells.count() > 0
    for text in await cells.all_inner_texts():
        assert text.startswith("schedule ")
        assert "/api/" not in text
    await someone.page.get_by_role("link", name="weekly digest").first.click()
    await someone.page.wait_for_url("**/schedules/*")


async def test_the_webhooks_of_the_demo_arrive(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    found = busy.server.ask("GET", "/api/v1/subscriptions")[1]["items"]
    (team,) = [one for one in found if one["name"] == "data team"]

    def delivered() -> list[str]:
        answer = busy.server.ask("GET", f"/api/v1/deliveries?subscription={team['id']}")[1]
        return [one["state"] for one in answer["items"]]

    eventually(lambda: "delivered" in delivered(), 60.0, lambda: str(delivered()))
    await someone.open("/notifications")

    assert "failed" not in delivered()


async def test_a_running_job_has_a_duration_that_counts_and_an_attempt_in_its_bounds(
    visitor: Visit, busy: Busy
) -> None:
    task = busy.server.submit("nobody-has-this", delay="1h", retries=0)
    someone = await visitor(busy.server)

    await someone.open(f"/tasks/{task}")

    await expect(someone.page.get_by_text("0 of 1")).to_be_visible()
    assert busy.server.ask("GET", f"/api/v1/tasks/{task}")[1]["status"] not in ENDED
    await expect(someone.page.get_by_text("Took", exact=True)).to_have_count(0)
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def test_a_key_for_a_forbidden_page_leads_nowhere(visitor: Visit, busy: Busy) -> None:
    _, made = busy.server.ask("POST", "/api/v1/keys", {"name": "only looks", "role": "viewer"})
    someone = await visitor(busy.server, key=made["key"])
    await someone.open("/tasks")

    await someone.press("g", "k")
    await someone.press("g", "f")

    await someone.page.wait_for_url("**/failures")
    await expect(someone.page.get_by_role("navigation").get_by_role("link", name="Keys")).to_have_count(0)


async def test_a_single_run_is_spoken_of_as_one(visitor: Visit, busy: Busy) -> None:
    task = {"name": "shell", "payload": {"shell": "exit 0"}}
    body = {"name": "once a year", "cron": "0 0 1 1 *", "timezone": "UTC", "task": task}
    _, made = busy.server.ask("POST", "/api/v1/schedules", body)
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/schedules/{made['id']}")

    await page.get_by_role("button", name="Backfill").click()
    await page.get_by_label("From").fill("2025-12-31 12:00")
    await page.get_by_label("To", exact=True).fill("2026-01-01 12:00")
    await page.get_by_text("1 fire time, 1 without a run.").wait_for()
    await page.get_by_role("button", name="Create 1 run", exact=True).click()

    await page.get_by_text("1 run created").wait_for()
    busy.server.ask("DELETE", f"/api/v1/schedules/{made['id']}")
