"""Jobs by a form, tenants, marks in charts, and the name of the environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.black_box.server import Server
from tests.ui.conftest import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose people call it production."""
    folder: Path = tmp_path_factory.mktemp("named")
    with Server(folder / "data", ui_environment="production", ui_colour="red") as server:
        yield server


async def test_the_environment_is_named_on_every_page(visitor: Visit, named: Server) -> None:
    someone = await visitor(named)
    await someone.open("/queues")

    await expect(someone.page.get_by_title("Environment: production")).to_be_visible()


async def test_a_job_is_submitted_by_a_form_that_says_what_is_wrong_at_its_field(visitor: Visit, named: Server) -> None:
    someone = await visitor(named)
    await someone.open("/jobs")
    page = someone.page
    await page.get_by_role("button", name="Submit job").click()
    sheet = page.get_by_role("dialog", name="Submit a job")
    await sheet.get_by_label("Name", exact=True).fill("report")
    first = sheet.get_by_role("group", name="Task 1")
    await first.get_by_label("Key").fill("extract")
    await first.get_by_label("Type").fill("nobody.has")
    await sheet.get_by_role("button", name="Add a task").click()
    second = sheet.get_by_role("group", name="Task 2")
    await second.get_by_label("Key").fill("load")
    await second.get_by_label("Type").fill("nobody.has")
    await second.get_by_label("Needs").fill("extrakt")
    await second.get_by_label("Payload").fill('{"rows": ')

    await sheet.get_by_role("button", name="Submit", exact=True).click()
    await expect(second.get_by_text("There is no task extrakt.")).to_be_visible()
    await expect(second.get_by_text("Is not JSON")).to_be_visible()
    await second.get_by_label("Needs").fill("extract")
    await second.get_by_label("Payload").fill('{"rows": {"$result": "nothing"}}')
    someone.expected.append("422")
    await sheet.get_by_role("button", name="Submit", exact=True).click()
    await expect(second.get_by_label("Payload")).to_have_attribute("aria-invalid", "true")
    await second.get_by_label("Payload").fill('{"rows": {"$result": "extract"}}')
    await sheet.get_by_role("button", name="Submit", exact=True).click()

    await expect(page.locator("h1")).to_contain_text("report")
    await expect(page.get_by_role("region", name="Waiting for")).to_be_visible()


async def test_a_job_is_submitted_as_json(visitor: Visit, named: Server) -> None:
    someone = await visitor(named)
    await someone.open("/jobs")
    page = someone.page
    await page.get_by_role("button", name="Submit job").click()
    sheet = page.get_by_role("dialog", name="Submit a job")
    await sheet.get_by_role("tab", name="JSON").click()
    document = '{"name": "by hand", "tasks": {"a": {"name": "x", "retries": %d}}}'
    await sheet.get_by_label("Job", exact=True).fill(document % -1)
    someone.expected.append("422")
    await sheet.get_by_role("button", name="Submit", exact=True).click()
    await expect(sheet.get_by_text("tasks.a.retries")).to_be_visible()
    await sheet.get_by_label("Job", exact=True).fill(document % 1)
    await sheet.get_by_role("button", name="Submit", exact=True).click()

    await expect(page.locator("h1")).to_contain_text("by hand")


async def test_a_tenant_is_created_and_its_quotas_are_changed(visitor: Visit, named: Server) -> None:
    someone = await visitor(named)
    await someone.open("/tenants")
    page = someone.page
    await page.get_by_role("button", name="New tenant").click()
    sheet = page.get_by_role("dialog", name="New tenant")
    await sheet.get_by_label("Name").fill("acme")
    await sheet.get_by_label("Waiting tasks").fill("500")
    await sheet.get_by_role("button", name="Create tenant").click()
    row = page.get_by_role("row", name="acme")
    await expect(row).to_contain_text("500")

    await row.get_by_role("button", name="Edit").click()
    sheet = page.get_by_role("dialog", name="Quotas of acme")
    await sheet.get_by_label("Waiting tasks").fill("")
    await sheet.get_by_label("Weight").fill("3")
    await sheet.get_by_role("button", name="Save").click()

    await expect(row).not_to_contain_text("500")
    quotas = named.ask("GET", "/api/v1/tenants/acme")[1]["quotas"]
    assert (quotas["queued"], quotas["weight"]) == (None, 3)


async def test_tenants_show_what_they_have(visitor: Visit, named: Server) -> None:
    named.ask("POST", "/api/v1/tenants", {"name": "globex", "quotas": {"queued": 9000}})
    made = named.ask("POST", "/api/v1/keys", {"name": "of globex", "role": "operator", "tenant": "globex"})[1]
    for _ in range(3):
        assert named.ask("POST", "/api/v1/tasks", {"name": "nobody-has-this"}, key=made["key"])[0] == 201
    someone = await visitor(named)
    await someone.open("/tenants")

    cells = someone.page.get_by_role("row", name="globex").get_by_role("cell")
    await expect(cells.nth(0)).to_have_text("3 of 9,000")
    await expect(cells.nth(3)).to_have_text("1")
    await expect(cells.nth(4)).to_have_text("1")


async def test_schedules_show_what_they_submit_when_and_how_it_went(visitor: Visit, named: Server) -> None:
    body = {"name": "nightly", "cron": "0 3 * * *", "task": {"name": "shell", "payload": {"shell": "exit 1"}}}
    made = named.ask("POST", "/api/v1/schedules", body)[1]
    named.ask("POST", f"/api/v1/schedules/{made['id']}/trigger")
    named.ask("POST", "/api/v1/schedules", {**body, "name": "held", "paused": True})
    someone = await visitor(named)
    await someone.open("/schedules")
    page = someone.page

    row = page.get_by_role("region", name="Schedules").get_by_role("row", name="nightly")
    await expect(row.get_by_role("link", name="shell")).to_be_visible()
    await expect(row.get_by_role("cell").nth(2)).to_contain_text("03:00")
    run = page.get_by_role("region", name="Needs attention").get_by_role("row")
    await expect(run.filter(has_text="held")).to_contain_text("Paused")
    planned = page.get_by_role("region", name="Planned runs by day").locator("small")
    await expect(planned.first).to_contain_text("1")
    assert await someone.barriers() == []
    assert await someone.overflow() == []
    await row.get_by_role("link").nth(2).click()
    await page.wait_for_url("**/tasks/*")


async def test_a_pause_is_marked_in_the_charts(visitor: Visit, named: Server) -> None:
    named.ask("POST", "/api/v1/queues/mail/pause", {"reason": "repairs"})
    someone = await visitor(named)
    await someone.open("/overview")

    marks = someone.page.get_by_role("list", name="Marked in the charts")
    await expect(marks).to_contain_text("mail paused by")
    await expect(marks).to_contain_text("repairs")
