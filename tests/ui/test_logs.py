"""The log of a task: all of it, and still where somebody reads."""

import re

import pytest
from playwright.async_api import expect

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

MANY = "echo needle in the first line; seq 2 11917"
GROWING = "seq 1 300; while :; do echo more; sleep 0.2; done"


async def test_a_long_log_is_counted_found_and_scrolled_as_a_whole(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", payload={"command": ["sh", "-c", MANY]}, retries=0)
    busy.server.until_ended(task, seconds=60.0)
    someone = await visitor(busy.server)
    await someone.open(f"/tasks/{task}?tab=log")
    page, log = someone.page, someone.page.get_by_role("log")

    await page.get_by_text("11,917 lines", exact=True).wait_for()
    await expect(log.get_by_text("11917", exact=True).last).to_be_in_viewport()
    assert await log.locator("code").count() < 500
    await page.get_by_label("Find in the log").fill("NEEDLE")
    await log.get_by_text("needle in the first line").wait_for()
    await page.get_by_text("1 of 11,917 lines", exact=True).wait_for()
    await page.get_by_label("Find in the log").fill("no such line")
    await log.get_by_text("No matches").wait_for()

    await page.get_by_label("Find in the log").fill("")
    await expect(
        log.get_by_text("11917", exact=True).last
    ).to_be_in_viewport()  # a log that is followed goes to its end
    await log.evaluate("box => { box.scrollTop = 0 }")
    await expect(log.get_by_text("needle in the first line")).to_be_in_viewport()


async def test_a_log_that_grows_stays_where_it_is_read(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", payload={"command": ["sh", "-c", GROWING]}, retries=0)
    try:
        busy.server.until(task, "PROCESSING", seconds=60.0)
        someone = await visitor(busy.server)
        await someone.open(f"/tasks/{task}?tab=log")
        page, log = someone.page, someone.page.get_by_role("log")
        await expect(log.get_by_text("more", exact=True).last).to_be_in_viewport()
        follow = page.get_by_role("button", name="Follow")
        assert await follow.get_attribute("aria-pressed") == "true"

        await log.hover()
        await page.mouse.wheel(0, -2_000)
        await expect(follow).to_have_attribute("aria-pressed", "false")
        before = await log.evaluate("box => box.scrollTop")
        count = await page.locator("[role=status]").filter(has_text="growing").inner_text()
        await expect(page.locator("[role=status]").filter(has_text="growing")).not_to_have_text(count)
        await expect(page.locator("[role=status]").filter(has_text=re.compile(r"\d+ lines, growing"))).to_be_visible()

        assert await log.evaluate("box => box.scrollTop") == before
        await follow.click()
        await expect(log.get_by_text("more", exact=True).last).to_be_in_viewport()
    finally:
        busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def test_lines_have_levels_colours_and_links(visitor: Visit, busy: Busy) -> None:
    text = "printf 'INFO app: one\\nERROR app: two\\n\\033[31mred\\033[0m https://example.org/x.\\n'"
    task = busy.server.submit("shell", payload={"command": ["sh", "-c", text]}, retries=0)
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    await someone.open(f"/tasks/{task}?tab=log")
    page, log = someone.page, someone.page.get_by_role("log")

    await expect(log.locator("[data-colour=red]")).to_have_text("red")
    link = log.get_by_role("link", name="https://example.org/x")
    assert await link.get_attribute("rel") == "noopener noreferrer nofollow"
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download the log").click()
    assert (await download.value).suggested_filename == f"{task}.txt"
    await log.get_by_role("button", name="Link to line 2").click()
    await expect(page).to_have_url(re.compile("line=L2"))
    await someone.choose(page.get_by_label("Level"), "Errors")
    await expect(log.get_by_text("INFO app: one")).to_have_count(0)
    await log.get_by_text("ERROR app: two").wait_for()


async def test_the_times_of_lines_are_in_the_zone_that_the_page_shows(visitor: Visit, busy: Busy) -> None:
    line = "2026-11-18T22:08:44.396Z INFO shop: paid"
    task = busy.server.submit("shell", payload={"command": ["printf", f"{line}\\nplain\\n"]}, retries=0)
    busy.server.until_ended(task)
    someone = await visitor(busy.server, timezone_id="Asia/Kolkata")

    await someone.open(f"/tasks/{task}?tab=log")

    log = someone.page.get_by_role("log")
    await expect(log.locator("code").first).to_contain_text("03:38:44.396 INFO shop: paid")
    await expect(log.locator("time")).to_have_attribute("datetime", "2026-11-18T22:08:44.396Z")
    await someone.page.get_by_label("Find in the log").fill("22:08:44")
    await someone.page.get_by_text("1 of 2 lines", exact=True).wait_for()
