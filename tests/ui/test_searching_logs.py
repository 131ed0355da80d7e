"""Searching the logs of many tasks in the interface."""

import re

import pytest
from playwright.async_api import expect

from tests.black_box.server import Server
from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit
from tests.ui.test_screens import has_no_barriers

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

HAY = "yes hay hay hay | head -c 1000000"
"""About a mebibyte of output: nine such logs are more than one request searches."""


def logged(server: Server, *commands: str, tag: str, **fields: object) -> list[str]:
    """Return tasks that have run these commands, under a tag of the test's own."""
    tasks = [
        server.submit("shell", payload={"command": ["sh", "-c", command]}, retries=0, tags=[tag], **fields)
        for command in commands
    ]
    for task in tasks:
        server.until_ended(task, seconds=60.0)
    return tasks


async def search(someone: Visitor, text: str) -> None:
    await someone.page.get_by_role("searchbox", name="Text to find in logs").fill(text)
    await someone.page.keyboard.press("Enter")


async def test_lines_are_found_and_lead_to_their_place_in_the_log(visitor: Visit, busy: Busy) -> None:
    older, newer = logged(
        busy.server, "echo first; echo 'Disk FULL <b>'", "echo 'disk full again'; exit 3", tag="logs-found"
    )
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/logs?tag=logs-found")
    await page.get_by_role("heading", name="Search the logs of tasks").wait_for()
    await has_no_barriers(someone, "/logs")

    await search(someone, "disk full")

    results = page.get_by_role("list", name="Matching lines").get_by_role("article")
    await expect(results).to_have_count(2)
    await expect(results.nth(0)).to_contain_text(newer)
    await expect(results.nth(0)).to_contain_text("Failed")
    await expect(results.nth(1)).to_contain_text("Disk FULL <b>")
    await expect(results.nth(1).locator("mark")).to_have_text("Disk FULL")
    await expect(page.get_by_role("status").filter(has_text="2 lines from 2 tasks")).to_be_visible()
    await expect(page.get_by_text("Searched to the end: the logs of 2 tasks.")).to_be_visible()
    await expect(page).to_have_url(re.compile(r"/logs\?tag=logs-found&text=disk"))
    await page.reload()
    await expect(results).to_have_count(2)
    await results.nth(1).get_by_role("link", name="Line 2 of shell").click()
    await expect(page).to_have_url(re.compile(rf"/tasks/{older}\?tab=log&line=L2"))
    await expect(page.get_by_role("log").locator("[data-linked]")).to_contain_text("Disk FULL <b>")
    await page.go_back()
    await expect(results).to_have_count(2)


async def test_levels_and_the_box_of_filters_narrow_a_search(visitor: Visit, busy: Busy) -> None:
    logged(busy.server, "echo 'INFO app: needle'; echo 'ERROR app: needle'", tag="logs-narrowed")
    logged(busy.server, "echo 'ERROR app: other needle'", tag="logs-narrowed", priority=3)
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/logs?text=needle")
    lines = page.get_by_role("list", name="Matching lines").locator("ol > li")

    box = page.get_by_role("searchbox", name="Filter tasks")
    await box.fill("tag:logs-narrowed")
    await box.press("Enter")
    await expect(lines).to_have_count(3)
    await someone.choose(page.get_by_label("Level"), "Errors")
    await expect(lines).to_have_count(2)
    await box.fill("tag:logs-narrowed priority<1")
    await box.press("Enter")
    await expect(lines).to_have_text([re.compile("2.*ERROR app: needle", re.DOTALL)])
    await expect(page.get_by_role("searchbox", name="Text to find in logs")).to_have_value("needle")
    await page.get_by_role("link", name="Remove filter: filter").click()
    await expect(lines).to_have_count(2)
    await search(someone, "no such line")
    await page.get_by_role("heading", name="No lines match").wait_for()
    await page.get_by_role("link", name="Remove the filters").click()
    await expect(page).to_have_url(
        re.compile(r"/logs\?text=no\+such\+line&level=error$|/logs\?text=no%20such%20line&level=error$")
    )


async def test_a_search_goes_on_from_page_to_page(visitor: Visit, busy: Busy) -> None:
    logged(busy.server, "for n in $(seq 1 250); do echo needle $n; done", tag="logs-pages")
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/logs?text=needle&tag=logs-pages")
    lines = page.get_by_role("list", name="Matching lines").locator("ol > li")
    further = page.get_by_role("button", name="Search further")

    await expect(lines).to_have_count(100)
    await further.click()
    await expect(lines).to_have_count(200)
    await further.click()
    await expect(lines).to_have_count(250)
    await expect(further).to_have_count(0)
    await expect(lines.last).to_contain_text("needle 250")
    await expect(page.get_by_role("article")).to_have_count(1)


async def test_a_search_that_stopped_at_its_bounds_says_how_far_it_got(visitor: Visit, busy: Busy) -> None:
    logged(busy.server, "echo needle", *[HAY] * 9, tag="logs-hay")
    someone = await visitor(busy.server, viewport={"width": 390, "height": 844}, has_touch=True)
    page = someone.page
    await someone.open("/logs?text=needle&tag=logs-hay")

    await page.get_by_role("heading", name="No matches so far").wait_for()
    await expect(
        page.get_by_role("status").filter(has_text=re.compile(r"Searched the logs of \d tasks?, back to"))
    ).to_be_visible()
    assert await someone.overflow() == []
    await has_no_barriers(someone, "a search that stopped")
    await page.get_by_role("button", name="Search further").click()
    await expect(page.get_by_role("article")).to_have_count(1)
    await expect(page.get_by_text("1 line from 1 task", exact=True)).to_be_visible()


async def test_logs_are_searched_by_keyboard(visitor: Visit, busy: Busy) -> None:
    (task,) = logged(busy.server, "echo by keys only", tag="logs-keys")
    someone = await visitor(busy.server)
    await someone.open("/overview")

    await someone.press("g", "r")
    await expect(someone.page).to_have_url(re.compile(r"/logs$"))
    await someone.write(someone.page.get_by_role("searchbox", name="Text to find in logs"), "By Keys Only")
    await someone.press("Enter")
    await someone.focus(someone.page.get_by_role("link", name="Line 1 of shell"))
    await someone.press("Enter")

    await expect(someone.page).to_have_url(re.compile(rf"/tasks/{task}\?tab=log&line=L1"))
