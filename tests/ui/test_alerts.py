"""Alerts and objectives in a browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.black_box.server import Server
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

NAME = "wait for the lost queue"


@pytest.fixture
def waiting(busy: Busy) -> Iterator[Server]:
    """A task that nobody takes."""
    task = busy.server.submit("nobody.takes.it", queue="lost")
    yield busy.server
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")
    for alert in busy.server.ask("GET", "/api/v1/alerts")[1]["items"]:
        if alert["name"] == NAME:
            busy.server.ask("DELETE", f"/api/v1/alerts/{alert['id']}")


async def test_an_alert_is_created_fires_is_muted_and_deleted(visitor: Visit, waiting: Server) -> None:
    someone = await visitor(waiting)
    someone.expected.append("422")
    page = someone.page
    await someone.open("/alerts")
    await page.get_by_role("button", name="New alert").click()
    form = page.get_by_role("dialog")
    await form.get_by_label("Name").fill(NAME)
    await someone.choose(form.get_by_label("Measure"), "Oldest waiting task")
    await form.get_by_label("Threshold").fill("soon")
    await form.get_by_label("Queue").fill("lost")
    await form.get_by_role("button", name="Create alert").click()
    await expect(form.get_by_label("Threshold")).to_have_attribute("aria-invalid", "true")
    await form.get_by_label("Threshold").fill("0s")
    await form.get_by_role("button", name="Create alert").click()
    await expect(form).to_be_hidden()

    firing = page.get_by_role("region", name="Firing now").get_by_role("listitem").filter(has_text=NAME)
    await expect(firing).to_be_visible(timeout=60_000)
    await expect(page.get_by_title(re.compile("alerts? firing"))).to_be_visible()
    await someone.open("/overview")
    await expect(page.get_by_role("status").get_by_role("link", name=NAME)).to_be_visible()
    await someone.open("/alerts")
    await firing.get_by_role("button", name="Mute").click()
    await page.get_by_role("dialog").get_by_role("button", name="Mute").click()
    await firing.get_by_role("button", name="Unmute").wait_for()

    await firing.get_by_role("link", name=NAME).click()
    await page.wait_for_url("**/alerts/*")
    await page.get_by_role("heading", name=NAME).wait_for()
    await page.get_by_role("region", name="History").get_by_role("row").nth(1).wait_for()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("alertdialog").or_(page.get_by_role("dialog")).get_by_role("button", name="Delete").click()
    await page.wait_for_url("**/alerts")
    await expect(page.get_by_role("link", name=NAME)).to_have_count(0)


async def test_the_page_of_a_type_shows_an_objective_with_its_burn(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/types/shop.ship")
    await page.get_by_role("button", name="New objective").click()
    form = page.get_by_role("dialog")
    await expect(form.get_by_label("Task", exact=True)).to_have_value("shop.ship")
    await form.get_by_label("Name").fill("orders are shipped")
    await form.get_by_label("Target").fill("99")
    await form.get_by_role("button", name="Create objective").click()

    objective = page.get_by_role("region", name="orders are shipped")
    await expect(objective.get_by_text("99 % succeed over 30 days")).to_be_visible()
    await expect(objective.get_by_role("img", name="Error budget left")).to_be_visible()
    await expect(objective.get_by_role("img", name="Burn rate")).to_be_visible()
    await objective.get_by_role("button", name="Delete orders are shipped").click()
    await page.get_by_role("alertdialog").or_(page.get_by_role("dialog")).get_by_role("button", name="Delete").click()
    await expect(objective).to_be_hidden()


async def test_an_alert_draws_its_value_and_leads_to_the_tasks_that_failed(visitor: Visit, busy: Busy) -> None:
    alerts = {alert["name"]: alert for alert in busy.server.ask("GET", "/api/v1/alerts")[1]["items"]}
    someone = await visitor(busy.server)
    page = someone.page
    for name, title in (
        ("reindexing fails", "Failure rate over time"),
        ("orders wait", "Wait time, p95 over time"),
        ("parcels are shipped: fast burn", "Burn rate over time"),
    ):
        await someone.open(f"/alerts/{alerts[name]['id']}")
        chart = page.get_by_role("figure", name=title)
        await expect(chart.get_by_role("listitem").filter(has_text="threshold")).to_be_visible()
        assert await someone.barriers() == []

    await someone.open(f"/alerts/{alerts['reindexing fails']['id']}")
    failed = page.get_by_role("region", name="Recent failures")
    await expect(failed.get_by_role("link", name="All")).to_have_attribute("href", re.compile("name=search.reindex"))
    await failed.get_by_role("row").nth(1).get_by_role("link").click()
    await page.wait_for_url("**/tasks/*")
