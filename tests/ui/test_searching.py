"""Searching, time ranges, saved views and exports in the interface."""

import asyncio
import os
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

SHOTS = os.environ.get("DRUMLINE_TEST_PICTURES")


async def picture(someone: Visitor, name: str) -> None:
    """Keep a picture of the page, where somebody asks for pictures."""
    if SHOTS:
        await someone.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


async def test_terms_narrow_the_list_and_the_address_keeps_them(visitor: Visit, busy: Busy) -> None:
    wanted = busy.server.submit("nobody.runs.this", payload={"order": {"id": 17}}, tags=["searched"])
    busy.server.submit("nobody.runs.this", payload={"order": {"id": 18}}, tags=["searched"])
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks")

    await page.get_by_role("searchbox", name="Search tasks").fill("tag:searched payload.order.id=17 -queue:bulk")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/tasks?tag=searched&filter=*")
    await page.get_by_role("link", name="nobody.runs.this").wait_for()
    assert await page.get_by_role("link", name="nobody.runs.this").count() == 1
    assert wanted in (await page.get_by_role("link", name="nobody.runs.this").get_attribute("href") or "")
    await page.reload()
    await page.get_by_role("link", name="nobody.runs.this").wait_for()
    await picture(someone, "terms")


async def test_fields_and_values_are_suggested_and_taken_by_keys(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks")
    box = page.get_by_role("searchbox", name="Search tasks")

    await box.fill("-sta")
    await page.get_by_role("button", name="-status:").wait_for()
    await box.press("ArrowDown")
    await box.press("Tab")
    assert await box.input_value() == "-status:"
    await box.press_sequentially("comp")
    await page.get_by_role("button", name="-status:completed").wait_for()
    await picture(someone, "suggestions")
    await box.press("ArrowDown")
    await box.press("Enter")

    assert await box.input_value() == "-status:completed "


async def test_a_term_that_is_wrong_is_said_with_its_place(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["422"]
    await someone.open("/tasks?filter=duration%3E5x")

    await someone.page.get_by_text("at character 1, duration>5x").first.wait_for()


async def test_jobs_and_failures_are_searched_and_have_a_time_range(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/jobs")
    await page.get_by_role("searchbox", name="Search jobs").fill("name:nothing-like-this*")
    await page.keyboard.press("Enter")
    await page.get_by_text("No jobs match").wait_for()
    await someone.choose(page.get_by_label("Submitted"), "Last 24 hours")
    await page.wait_for_url("**since=24h**")
    await someone.open("/failures?filter=error%3Anothing-like-this")
    await page.get_by_text("No failures match").wait_for()
    await someone.choose(page.get_by_label("Failed", exact=True), "Last 7 days")
    await page.wait_for_url("**since=7d**")
    await picture(someone, "failures")


async def pick(someone: Visitor, label: str, start: str, end: str) -> None:
    """Choose a time range: its ends are typed, the day of its start is taken from the calendar."""
    page = someone.page
    await page.get_by_label(label, exact=True).click()
    await page.get_by_role("option", name="Custom range…").click()
    sheet = page.get_by_role("dialog", name=f"{label} between")
    await sheet.get_by_label("From", exact=True).fill(f"{start[:8]}15 {start[11:]}")
    await sheet.get_by_role("button", name="Choose a day").first.click()
    await page.locator(f'[data-day="{start[:10]}"]').click()
    await expect(sheet.get_by_label("From", exact=True)).to_have_value(start)
    await sheet.get_by_label("To", exact=True).fill(end)
    await sheet.get_by_role("button", name="Apply").click()
    await expect(sheet).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_time_range_is_picked_on_each_list(visitor: Visit, busy: Busy, theme: str) -> None:
    task = busy.server.submit("nobody.runs.this", tags=["picked"])
    someone = await visitor(busy.server, timezone_id="Asia/Kolkata", color_scheme=theme)
    page = someone.page
    row = page.get_by_role("link", name="nobody.runs.this")
    await someone.open("/tasks?tag=picked")
    await row.first.wait_for()

    await pick(someone, "Submitted", "2026-01-01 10:30", "2026-01-01 12:00")
    await page.wait_for_url("**filter=**")
    await page.get_by_text("No tasks match").wait_for()
    await expect(page.get_by_label("Submitted")).to_have_text(re.compile("^01 Jan 10:30 . 12:00$"))
    terms = "created>=2026-01-01T05:00:00Z created<2026-01-01T06:30:00Z"
    await expect(page.get_by_role("list", name="Filters")).to_contain_text(terms)
    assert await someone.barriers() == []
    await page.reload()
    await expect(page.get_by_label("Submitted")).to_have_text(re.compile("^01 Jan 10:30 . 12:00$"))
    await pick(someone, "Submitted", "2026-01-01 10:30", "2099-01-01 12:00")
    await row.first.wait_for()
    await someone.choose(page.get_by_label("Submitted"), "Any time")
    await expect(page.get_by_role("list", name="Filters")).not_to_contain_text("created")

    await someone.open("/jobs")
    await pick(someone, "Submitted", "2026-01-01 10:30", "2026-01-02 12:00")
    await page.get_by_text("No jobs match").wait_for()
    await someone.open("/failures")
    await pick(someone, "Failed", "2026-01-01 10:30", "2026-01-02 12:00")
    await page.get_by_text("No failures match").wait_for()
    await expect(page.get_by_label("Failed", exact=True)).to_have_text(re.compile("^01 Jan 10:30 . 02 Jan 12:00$"))
    await pick(someone, "Failed", "2026-01-01 10:30", "2099-01-01 12:00")
    await page.get_by_role("article").first.wait_for()
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def test_a_range_that_ends_before_it_starts_is_not_applied(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/jobs")
    await page.get_by_label("Submitted").click()
    await page.get_by_role("option", name="Custom range…").click()
    sheet = page.get_by_role("dialog", name="Submitted between")
    await sheet.get_by_label("From", exact=True).fill("2026-01-02 10:00")
    await sheet.get_by_label("To", exact=True).fill("2026-01-01 10:00")

    await sheet.get_by_text("Must be later than the start.").wait_for()
    await expect(sheet.get_by_role("button", name="Apply")).to_be_disabled()


@pytest.mark.parametrize("page_name", ["tasks", "jobs", "failures"])
async def test_a_view_is_kept_by_the_server_shared_and_deleted(visitor: Visit, busy: Busy, page_name: str) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    text = "error%3Atimeout" if page_name == "failures" else "-status%3Acompleted"
    await someone.open(f"/{page_name}?filter={text}")
    await page.get_by_role("button", name="Views").click()
    await page.get_by_label("Save this search as").fill(f"of {page_name}")
    await page.get_by_label("Share with everyone in this tenant").check()
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("button", name=f"of {page_name}", exact=True).wait_for()
    await picture(someone, f"views-{page_name}")

    other = await visitor(busy.server)
    await other.open(f"/{page_name}")
    await other.page.get_by_role("button", name="Views").click()
    await other.page.get_by_role("button", name=f"of {page_name}", exact=True).click()
    await other.page.wait_for_url("**filter=**")
    await page.get_by_role("button", name=f"Delete of {page_name}").click()
    await page.get_by_role("button", name=f"of {page_name}", exact=True).wait_for(state="detached")


async def test_the_listed_tasks_are_exported(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("nobody.runs.this", tags=["exported"])
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks?tag=exported")
    await page.get_by_role("button", name="Export").click()
    await picture(someone, "export")

    async with page.expect_download() as started:
        await page.get_by_role("button", name="CSV").click()

    file = await (await started.value).path()
    rows = await asyncio.to_thread(lambda: Path(file).read_text("utf-8").splitlines())
    assert len(rows) == 2
    assert rows[1].startswith(task)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_what_is_for_searching_fits_a_phone_and_has_no_barriers(visitor: Visit, busy: Busy, theme: str) -> None:
    someone = await visitor(busy.server, viewport={"width": 390, "height": 844}, color_scheme=theme)
    page = someone.page
    long = "error%3A" + "x" * 60 + "%20-name%3Abulk"
    for place in ("tasks", "jobs", "failures"):
        await someone.open(f"/{place}?filter={long}")
        assert await someone.overflow() == [], place
        await picture(someone, f"phone-{place}-{theme}")
        await page.get_by_role("button", name="Views").click()
        # Other tests of this server may keep views: what is listed does not matter here.
        await page.get_by_text("No saved views yet.").or_(page.get_by_role("list", name="Saved views")).wait_for()
        box = await page.get_by_label("Save this search as").bounding_box()
        button = await page.get_by_role("button", name="Save", exact=True).bounding_box()
        assert box is not None
        assert button is not None
        assert box["x"] + box["width"] <= button["x"], place
        assert await someone.overflow() == [], place
        assert await someone.barriers() == [], place
        await picture(someone, f"phone-views-{place}-{theme}")
