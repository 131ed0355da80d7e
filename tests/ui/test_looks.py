"""Nothing covers what is to be read, pages end where their content ends, and the next step is in sight."""

import pytest
from playwright.async_api import expect

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

PHONE = {"width": 390, "height": 844}
COVERED = """() => [...document.querySelectorAll("figure")].flatMap(figure => {
  const plot = figure.querySelector("svg[role=img]").getBoundingClientRect();
  const values = [...figure.querySelectorAll("[class*=values] > span")].map(one => one.getBoundingClientRect());
  return [values.length === 3 ? [] : [`${figure.innerText.slice(0, 20)}: ${values.length} values`],
    values.filter(box => box.right > plot.left).map(box => `${figure.innerText.slice(0, 20)}: ${box.right}`)].flat();
})"""
STICKING_OUT = """() => [...document.querySelectorAll("dl dd")].flatMap(cell => {
  const end = cell.getBoundingClientRect().right + 1;
  const wide = [...cell.querySelectorAll("*")].filter(one => one.getBoundingClientRect().right > end);
  return wide.map(one => `${cell.innerText.slice(0, 20)}: ${one.tagName} ${one.className}`);
})"""
BELOW_LAST = """table => {
  const rows = [...table.querySelectorAll("[role=rowgroup] [role=row]")];
  const end = Math.max(...rows.map(row => row.getBoundingClientRect().bottom));
  return [rows.length, table.parentElement.getBoundingClientRect().bottom - end];
}"""


@pytest.mark.parametrize("width", [1440, 390])
async def test_the_values_of_a_chart_are_beside_what_is_drawn(visitor: Visit, busy: Busy, width: int) -> None:
    someone = await visitor(busy.server, viewport={"width": width, "height": 900})

    await someone.open("/overview?last=15m")
    await someone.page.locator("figure").nth(4).wait_for()

    assert await someone.page.evaluate(COVERED) == []


async def test_a_list_ends_with_its_last_row(visitor: Visit, busy: Busy) -> None:
    for _ in range(8):
        busy.server.submit("looks.short-list", delay="1h")
    someone = await visitor(busy.server)

    await someone.open("/tasks?name=looks.short-list")
    table = someone.page.get_by_role("table", name="Tasks")
    await expect(table.locator("[role=rowgroup] [role=row]")).to_have_count(8)

    rows, below = await table.evaluate(BELOW_LAST)
    assert rows == 8
    assert below <= 4


async def test_a_phone_shows_the_error_below_the_name_of_a_failed_task(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, viewport=PHONE, has_touch=True)

    await someone.open("/tasks?status=failed&name=import.rows")
    row = someone.page.get_by_role("table", name="Tasks").locator("[role=rowgroup] [role=row]").first

    await expect(row.get_by_text("ImportError").filter(visible=True)).to_have_count(1)


async def test_a_phone_shows_the_main_action_of_a_page_beside_its_title(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, viewport=PHONE, has_touch=True)
    for place, action in (("/schedules", "New schedule"), ("/keys", "New key"), ("/tenants", "New tenant")):
        await someone.open(place)
        title = await someone.page.get_by_role("heading", level=1).bounding_box()
        button = await someone.page.get_by_role("button", name=action).bounding_box()

        assert title is not None
        assert button is not None
        assert button["y"] < title["y"] + title["height"], place


async def test_a_queue_is_paused_and_resumed_on_its_own_page(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("looks.pausing", queue="looks-pausing", delay="1h")
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/queues/looks-pausing")

    await page.get_by_role("button", name="Pause", exact=True).click()
    sheet = page.get_by_role("dialog", name="Pause looks-pausing?")
    await sheet.get_by_label("Reason").fill("the carrier is down")
    await sheet.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("Paused: the carrier is down")).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()

    await expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def test_a_failed_job_says_by_which_task_and_leads_to_it(visitor: Visit, busy: Busy) -> None:
    job = busy.server.ask("GET", "/api/v1/jobs?status=FAILED&name=close%20the%20month")[1]["items"][0]["id"]
    someone = await visitor(busy.server)
    await someone.open(f"/jobs/{job}")

    why = someone.page.get_by_role("region", name="Why it failed")
    await expect(why).to_contain_text("archive")
    await expect(why).to_contain_text("the role loader may not write to")
    await why.get_by_role("link", name="Open the task").click()

    await someone.page.wait_for_url("**/tasks/*")
    await expect(someone.page.get_by_role("heading", level=1)).to_contain_text("etl.load")


async def test_a_group_of_failures_shows_the_payload_of_an_example_and_leads_to_its_task(
    visitor: Visit, busy: Busy
) -> None:
    groups = busy.server.ask("GET", "/api/v1/failures/groups?name=import.rows")[1]["items"]
    someone = await visitor(busy.server)
    await someone.open(f"/failures/{groups[0]['fingerprint']}")

    example = someone.page.get_by_role("region", name="Latest example")
    await expect(example).to_contain_text("supplier-")
    await example.get_by_role("link", name="Open the task").click()

    await someone.page.wait_for_url("**/tasks/*")
    await expect(someone.page.get_by_role("button", name="Run again…")).to_be_visible()


async def test_the_button_of_a_long_form_is_in_sight(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, viewport={"width": 1440, "height": 700})
    await someone.open("/tasks")
    await someone.page.get_by_role("button", name="Submit", exact=True).click()
    sheet = someone.page.get_by_role("dialog", name="Submit a task")

    await sheet.get_by_text("More options").click()

    await expect(sheet.get_by_label("Backoff")).to_be_attached()
    await expect(sheet.get_by_role("button", name="Submit")).to_be_in_viewport(ratio=1)


async def test_a_page_of_things_that_people_change_tells_who_changed_them(visitor: Visit, busy: Busy) -> None:
    busy.server.ask("PUT", "/api/v1/secrets/looks-token", {"value": "hidden"})
    someone = await visitor(busy.server)
    await someone.open("/secrets")

    changes = someone.page.get_by_role("region", name="Recent changes")
    await expect(changes.get_by_role("listitem").filter(has_text="looks-token")).to_contain_text("secret.set")
    busy.server.ask("DELETE", "/api/v1/secrets/looks-token")


@pytest.mark.parametrize("width", [1440, 390])
async def test_no_value_of_a_page_reaches_into_the_one_beside_it(visitor: Visit, busy: Busy, width: int) -> None:
    someone = await visitor(busy.server, viewport={"width": width, "height": 844})
    faults: dict[str, list[str]] = {}

    for place in busy.pages:
        await someone.open(place)
        if found := await someone.page.evaluate(STICKING_OUT):
            faults[place] = found

    assert faults == {}
