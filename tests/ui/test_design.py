"""How the interface looks and leads on: its font, charts that are read together, ways between pages, and commands."""

import re
from datetime import datetime, timedelta

import pytest
from playwright.async_api import expect

from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit
from tests.ui.test_budgets import BUILT, KIB, tell

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

LOADED = (
    "document.fonts.ready.then(fonts => [...fonts].filter(font => font.status === 'loaded').map(font => font.family))"
)
WEIGHTS = (
    """() => [...new Set([...document.querySelectorAll("body *")].map(one => getComputedStyle(one).fontWeight))]"""
)


async def command(someone: Visitor, text: str, option: str) -> None:
    """Choose something from the command menu."""
    await someone.press("Control+k")
    await someone.page.locator("[role=combobox]:focus").wait_for()
    await someone.page.keyboard.type(text)
    await someone.page.get_by_role("option", name=option).first.click()


async def test_the_font_is_shipped_small_and_in_three_weights(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    weights: set[str] = set()
    for place in ("/overview", "/tasks", "/failures", "/schedules", "/settings"):
        await someone.open(place)
        weights |= set(await someone.page.evaluate(WEIGHTS))

    assert "Inter" in str(await someone.page.evaluate(LOADED))
    assert weights <= {"400", "500", "600"}
    sizes = [file.stat().st_size for file in BUILT.glob("*.woff2")]
    tell(f"fonts: {sum(sizes) / KIB:.0f} KiB")
    assert 0 < sum(sizes) <= 60 * KIB


async def test_charts_share_a_crosshair_and_zoom_into_what_is_chosen(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/overview?last=1h")
    plot = page.get_by_role("img", name="Failure rate")
    await plot.scroll_into_view_if_needed()
    box = await plot.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2

    await page.mouse.move(box["x"] + box["width"] * 0.5, y)
    await expect(page.locator("figure path[class*=cursor]")).to_have_count(5)
    await page.mouse.down()
    await page.mouse.move(box["x"] + box["width"] * 0.75, y, steps=5)
    await page.mouse.up()

    await page.wait_for_url("**from=*until=*")
    reset = page.get_by_role("button", name="Reset zoom")
    await reset.click()
    await expect(page.get_by_text("Drag over a chart to zoom")).to_be_visible()
    assert "from=" not in page.url


async def test_a_task_leads_back_to_its_list_and_on_to_the_next(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks?status=failed")
    await page.get_by_role("table", name="Tasks").get_by_role("link").first.click()
    crumbs = page.get_by_role("navigation", name="Breadcrumb")
    await expect(crumbs).to_contain_text("1 of ")
    first = page.url

    await crumbs.get_by_role("button", name="Next").click()
    await expect(crumbs).to_contain_text("2 of ")
    assert page.url != first
    await someone.press("[")
    await expect(crumbs).to_contain_text("1 of ")
    await expect(crumbs.get_by_role("button", name="Previous")).to_be_disabled()
    await crumbs.get_by_title("Back to Tasks").click()
    await page.get_by_role("table", name="Tasks").wait_for()


async def test_the_command_menu_pauses_a_queue_retries_a_task_and_opens_a_new_schedule(
    visitor: Visit, busy: Busy
) -> None:
    server = busy.server
    failed = server.ask("GET", "/api/v1/tasks?status=FAILED&name=import.rows")[1]["items"][0]["id"]
    someone = await visitor(server)
    page = someone.page
    await someone.open("/queues")

    await command(someone, "pause queue search", "Pause queue search")
    await page.get_by_text("search is paused").wait_for()
    await command(someone, "resume queue search", "Resume queue search")
    await page.get_by_text("search is resumed").wait_for()

    await someone.open(f"/tasks/{failed}")
    await command(someone, "retry this", "Retry this task")
    await page.get_by_text("Retry requested").wait_for()

    await command(someone, "new schedule", "New schedule")
    await page.get_by_role("dialog", name="New schedule").wait_for()
    await someone.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_viewer_is_offered_no_acts_in_the_command_menu(visitor: Visit, busy: Busy) -> None:
    _, made = busy.server.ask("POST", "/api/v1/keys", {"name": "only reads", "role": "viewer"})
    someone = await visitor(busy.server, key=made["key"])
    await someone.open("/queues")

    await someone.press("Control+k")
    await someone.page.locator("[role=combobox]:focus").wait_for()
    await someone.page.keyboard.type("pause queue")

    await expect(someone.page.get_by_text("No matches.")).to_be_visible()


async def test_columns_are_chosen_and_rows_are_closer_and_both_are_kept(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks")
    table = page.get_by_role("table", name="Tasks")
    await table.get_by_role("columnheader", name="Queue").wait_for()

    await page.get_by_role("button", name="Columns").click()
    await page.get_by_role("checkbox", name="Queue").uncheck()
    await page.get_by_role("radio", name="Compact").check()
    await page.get_by_role("button", name="Close").click()

    await expect(table.get_by_role("columnheader", name="Queue")).to_have_count(0)
    await page.reload()
    await table.wait_for()
    await expect(table.get_by_role("columnheader", name="Queue")).to_have_count(0)
    box = await table.locator("[role=rowgroup] [role=row]").first.bounding_box()
    assert box is not None
    assert box["height"] == 28


async def test_acts_of_a_row_appear_under_the_pointer_and_by_keyboard(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/schedules")
    digest = someone.page.get_by_role("link", name="weekly digest", exact=True)  # another test makes a copy of it
    run = someone.page.get_by_role("row").filter(has=digest).get_by_role("button", name="Run now")
    await someone.page.mouse.move(0, 0)
    await expect(run).to_have_css("opacity", "0")

    await run.focus()
    await expect(run).to_have_css("opacity", "1")


async def test_payloads_are_a_column_and_loaded_rows_are_sorted_by_their_headings(visitor: Visit, busy: Busy) -> None:
    took: dict[str, timedelta] = {}  # on a busy machine the shorter sleep may take longer
    for seconds in ("0.4", "0", "0.2"):
        task = busy.server.submit("shell", payload={"shell": f"sleep {seconds}"}, tags=["sorted"])
        ended = busy.server.until_ended(task)
        took[f'"sleep {seconds}"'] = _time(ended["finished_at"]) - _time(ended["started_at"])
    fastest_first = sorted(took, key=lambda payload: took[payload])
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks?tag=sorted")
    table = page.get_by_role("table", name="Tasks")
    rows = table.locator("[role=rowgroup] [role=row]")
    await expect(rows).to_have_count(3)
    await expect(table.get_by_text("sleep")).to_have_count(0)

    await page.get_by_role("button", name="Columns").click()
    await page.get_by_label("Payload").check()
    await someone.press("Escape")
    await expect(rows.get_by_text(re.compile("^shell: "))).to_have_count(3)
    await table.get_by_role("button", name="Duration").click()

    heading = table.get_by_role("columnheader", name="Duration")
    await expect(heading).to_have_attribute("aria-sort", "descending")
    await expect(rows).to_contain_text(fastest_first[::-1])
    assert await someone.barriers() == []
    await table.get_by_role("button", name="Duration").click()
    await expect(rows).to_contain_text(fastest_first)
    await table.get_by_role("button", name="Duration").click()
    await expect(heading).to_have_attribute("aria-sort", "none")
    await expect(rows).to_contain_text(['"sleep 0.2"', '"sleep 0"', '"sleep 0.4"'])


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
