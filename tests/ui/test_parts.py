"""Choices, suggestions and dates: parts of our own, which keys, fingers and screen readers have to get on with."""

import asyncio
import re

import pytest
from playwright.async_api import Locator, Route, expect

from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

PHONE = {"width": 390, "height": 780}


async def new_schedule(someone: Visitor) -> Locator:
    await someone.open("/schedules")
    await someone.page.get_by_role("button", name="New schedule").click()
    return someone.page.get_by_role("dialog", name="New schedule")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_choice_is_made_by_keys_and_escape_leaves_the_form_open(visitor: Visit, busy: Busy, theme: str) -> None:
    someone = await visitor(busy.server, color_scheme=theme, viewport=PHONE)
    form = await new_schedule(someone)
    choice = form.get_by_label("Overlapping runs")
    choices = someone.page.get_by_role("option")

    await choice.focus()
    await someone.press("ArrowDown")
    await expect(choices).to_have_count(4)
    assert await someone.barriers() == []
    assert await someone.overflow() == []
    await someone.press("Escape")
    await expect(choices).to_have_count(0)
    await expect(choice).to_be_focused()

    await someone.press("Enter")
    await choices.first.wait_for()
    await someone.page.keyboard.type("sk")
    await someone.press("Enter")
    await expect(choice).to_have_text("Skip the new run")
    await someone.press("Enter")
    await choices.first.wait_for()
    await someone.press("Tab")
    await expect(form.get_by_label("Missed runs")).to_be_focused()
    await expect(choices).to_have_count(0)
    await someone.press("Escape")
    await form.get_by_text("Discard what you entered?").wait_for()


async def test_choices_that_cannot_be_loaded_say_so_and_leave_the_form(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected += ["ERR_FAILED", "preload"]
    form = await new_schedule(someone)
    await form.get_by_label("Name").fill("kept")
    await someone.page.route(re.compile("/ui/$|/assets/SelectList"), lambda route: route.abort())

    await form.get_by_label("Overlapping runs").click()

    await someone.page.get_by_text("The choices could not be loaded").wait_for()
    await expect(form.get_by_label("Name")).to_have_value("kept")


async def test_a_text_has_suggestions_and_takes_any_other_text(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, viewport=PHONE)
    await someone.open("/tasks")
    await someone.page.get_by_role("button", name="Submit").click()
    form = someone.page.get_by_role("dialog")
    name = form.get_by_label("Name", exact=True)
    found = someone.page.get_by_role("option")

    await name.click()
    await found.filter(has_text="shop.charge").wait_for()
    await someone.page.keyboard.type("charge")
    await expect(found).to_have_text(["shop.charge"])
    assert await someone.barriers() == []
    await someone.press("ArrowDown", "Enter")
    await expect(name).to_have_value("shop.charge")
    await expect(found).to_have_count(0)
    await name.fill("nobody.has-this")
    await expect(found).to_have_count(0)
    await expect(name).to_have_value("nobody.has-this")
    assert await someone.barriers() == []


async def test_a_dialog_keeps_its_fields_in_place_while_its_content_changes(visitor: Visit, busy: Busy) -> None:
    schedule = busy.server.ask("GET", "/api/v1/schedules")[1]["items"][0]
    someone = await visitor(busy.server, viewport=PHONE)
    someone.expected.append("422")
    await someone.open(f"/schedules/{schedule['id']}")
    await someone.page.get_by_role("button", name="Backfill").click()
    form = someone.page.get_by_role("dialog", name=f"Backfill {schedule['name']}")
    await form.get_by_text("fire times").wait_for()
    before = await form.get_by_label("From").bounding_box()

    await form.get_by_label("From").fill("2028-03-31 14:05")
    await form.get_by_text("Is before start").wait_for()

    await expect(form.get_by_text("fire times")).to_have_count(0)
    assert await form.get_by_label("From").bounding_box() == before


async def test_a_preview_that_is_refused_leaves_the_focus_where_it_is(visitor: Visit, busy: Busy) -> None:
    schedule = busy.server.ask("GET", "/api/v1/schedules")[1]["items"][0]
    someone = await visitor(busy.server, timezone_id="UTC")
    someone.expected.append("422")
    refused, is_calendar_open = asyncio.Event(), asyncio.Event()

    async def answer(route: Route) -> None:
        await is_calendar_open.wait()
        await route.continue_()
        refused.set()

    await someone.open(f"/schedules/{schedule['id']}")
    await someone.page.get_by_role("button", name="Backfill").click()
    form = someone.page.get_by_role("dialog", name=f"Backfill {schedule['name']}")
    await form.get_by_text("fire times").wait_for()
    await someone.page.route(re.compile("/backfill"), answer)
    await form.get_by_label("From").fill("2028-03-31 14:05")
    await form.get_by_role("button", name="Choose a day").first.click()
    day = someone.page.get_by_role("button", name="Friday, 31 March 2028")
    await expect(day).to_be_focused()
    is_calendar_open.set()
    await refused.wait()

    await form.get_by_text("Is before start.").wait_for()
    await expect(day).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_day_is_taken_from_a_calendar_by_keys_and_a_wrong_one_is_explained(
    visitor: Visit, busy: Busy, theme: str
) -> None:
    schedule = busy.server.ask("GET", "/api/v1/schedules")[1]["items"][0]
    someone = await visitor(busy.server, color_scheme=theme, viewport=PHONE, timezone_id="America/St_Johns")
    await someone.open(f"/schedules/{schedule['id']}")
    await someone.page.get_by_role("button", name="Backfill").click()
    form = someone.page.get_by_role("dialog", name=f"Backfill {schedule['name']}")
    start = form.get_by_label("From")
    await start.fill("2028-03-31 14:05")

    await form.get_by_role("button", name="Choose a day").first.click()
    await expect(someone.page.get_by_role("button", name="Friday, 31 March 2028")).to_be_focused()
    assert await someone.barriers() == []
    assert await someone.overflow() == []
    await someone.press("PageUp")
    await expect(someone.page.get_by_role("button", name="Tuesday, 29 February 2028")).to_be_focused()
    await someone.press("ArrowUp", "Home")
    await expect(someone.page.get_by_role("button", name="Monday, 21 February 2028")).to_be_focused()
    async with someone.page.expect_request(re.compile("/backfill")) as asked:
        await someone.press("Enter")

    await expect(start).to_have_value("2028-02-21 14:05")
    sent = (await asked.value).post_data_json
    assert sent is not None
    assert sent["start"] == "2028-02-21T17:35:00.000Z"  # three and a half hours behind
    someone.expected.append("422")
    await start.fill("2028-02-30 14:05")
    await form.get_by_text("Enter a date and time").wait_for()
    await expect(start).to_have_attribute("aria-invalid", "true")
