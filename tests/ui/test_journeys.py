"""What people come for, done by keyboard alone."""

import re

import pytest
from playwright.async_api import expect

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


async def test_a_failed_task_is_found_read_retried_and_watched(visitor: Visit, busy: Busy) -> None:
    mark = busy.server.data.parent / "mended"
    command = ["sh", "-c", f"test -e {mark} || {{ echo the disk is full; exit 3; }}"]
    task = busy.server.submit("shell", payload={"command": command}, retries=0, tags=["journey"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)

    await someone.press("/")
    await someone.page.keyboard.type("status:failed tag:journey")
    await someone.press("Enter")
    await someone.page.get_by_text("the disk is full").filter(visible=True).wait_for()
    await someone.press("Escape", "j", "Enter")
    await someone.page.get_by_role("heading", name="Why it failed").wait_for()
    await someone.page.locator("main").get_by_text("the disk is full").first.wait_for()
    await someone.hears()
    mark.touch()
    await someone.press("r")

    await someone.page.locator("h1").get_by_text("Completed").wait_for()


async def test_last_nights_cause_is_found_its_payload_fixed_and_run_again(visitor: Visit, busy: Busy) -> None:
    wrong = {"command": ["sh", "-c", "echo no such region: nroth; exit 4"]}
    task = busy.server.submit("shell", payload=wrong, retries=0, tags=["nightly"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/overview")

    await page.get_by_role("link", name=re.compile("failed in")).click()
    await page.get_by_role("row").filter(has_text="no such region").get_by_role("link").first.click()
    await page.get_by_role("heading", name="Why it failed").wait_for()
    await page.get_by_role("button", name="Run again…").click()
    sheet = page.get_by_role("dialog", name="Run shell again")
    await sheet.get_by_label("Payload").fill('{"command": ["sh", "-c", "echo region: north"]}')
    await sheet.get_by_role("button", name="Submit").click()

    await page.locator("h1").get_by_text("Completed").wait_for()
    assert not page.url.endswith(task)
    await page.locator("main").get_by_text("region: north").first.wait_for()


async def test_the_example_of_a_group_of_failures_runs_again_with_another_payload(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", payload={"command": ["sh", "-c", "echo no such bucket; exit 5"]}, retries=0)
    busy.server.until_ended(task)
    fingerprint = busy.server.ask("GET", f"/api/v1/failures?id={task}")[1]["items"][0]["fingerprint"]
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/failures/{fingerprint}")

    await page.get_by_role("region", name="Latest example").get_by_role("button", name="Run again…").click()
    payload = page.get_by_role("dialog", name="Run shell again").get_by_label("Payload")
    await expect(payload).to_be_focused()
    await payload.fill('{"command": ["sh", "-c", "echo bucket: backups"]}')
    await page.get_by_role("dialog").get_by_role("button", name="Submit").click()

    await page.locator("h1").get_by_text("Completed").wait_for()
    await page.locator("main").get_by_text("bucket: backups").first.wait_for()


async def test_a_queue_is_paused_and_resumed(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.press("g", "q")
    row = someone.page.get_by_role("row").filter(has_text="media")
    await someone.focus(row.get_by_role("button", name="Pause"))
    await someone.press("Enter")
    await someone.write(someone.page.get_by_label("Reason"), "a test")
    await someone.focus(someone.page.get_by_role("dialog").get_by_role("button", name="Pause"))
    await someone.press("Enter")
    await row.get_by_text("Paused: a test").wait_for()

    # The focus is back on the row, where the same button now takes it back.
    await expect(row.get_by_role("button", name="Resume")).to_be_focused()
    await someone.press("Enter")

    await row.get_by_text("Open").wait_for()


async def test_a_job_is_drawn_and_walked_through_by_arrow_keys(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.press("Control+k")
    # What is typed before the palette has the focus goes elsewhere.
    await someone.page.locator("[role=combobox]:focus").wait_for()
    await someone.page.keyboard.type("close the month")
    await someone.page.get_by_role("option", name="close the month").first.wait_for()
    await someone.press("Enter")
    await someone.focus(someone.page.get_by_role("button", name="read the books"))

    await someone.press("ArrowRight", "Enter")

    await someone.page.wait_for_url("**node=balance*")
    await someone.page.get_by_role("heading", name="balance").wait_for()
    await someone.focus(someone.page.get_by_role("tab", name="Graph"), key="Shift+Tab")
    for name in ("Timeline", "List", "Events"):
        await someone.press("ArrowRight")
        await expect(someone.page.get_by_role("tab", name=name, selected=True)).to_be_focused()
    assert "node=balance" in someone.page.url
    await someone.page.get_by_role("table", name="Events of the job").get_by_text("balance").first.wait_for()


async def test_a_schedule_is_made_with_its_next_fires_in_view(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["422"]
    page = someone.page

    async def fill(label: str, text: str) -> None:
        await someone.write(page.get_by_label(label, exact=True), text)

    await someone.press("g", "s")
    await someone.focus(page.get_by_role("button", name="New schedule"))
    await someone.press("Enter")
    await fill("Name", "weekly digest, by a test")
    await fill("Expression", "61 * * * *")
    await page.get_by_text("minute").first.wait_for()
    await fill("Expression", "0 7 * * mon")
    await fill("Time zone", "America/St_Johns")
    await page.get_by_text("Monday", exact=False).first.wait_for()
    await fill("Task", "shell")
    await someone.focus(page.get_by_role("button", name="Create"))
    await someone.press("Enter")

    await page.get_by_role("heading", name="weekly digest, by a test").wait_for()
    assert "America/St_Johns" in await page.inner_text("main")


async def test_many_tasks_are_selected_by_keys_and_retried_as_one_operation(visitor: Visit, busy: Busy) -> None:
    tasks = [busy.server.submit("shell", payload={"command": ["false"]}, retries=0, tags=["several"]) for _ in range(5)]
    for task in tasks:
        busy.server.until_ended(task)
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=several")
    await someone.press("j", "x", "j", "j", "X")
    await someone.page.get_by_text("3 selected").wait_for()
    await someone.press("r")
    await someone.focus(someone.page.get_by_role("dialog").get_by_role("button", name="Retry 3"))
    await someone.press("Enter")

    await someone.page.get_by_text("Bulk retry: 3 of 3 done").wait_for()


async def test_a_group_of_failures_is_retried_as_it_was_when_asked(visitor: Visit, busy: Busy) -> None:
    for number in range(4):
        command = ["sh", "-c", f"echo grouped trouble {number}; exit 1"]
        busy.server.until_ended(busy.server.submit("shell", payload={"command": command}, retries=0))
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/failures")
    group = page.get_by_role("article").filter(has_text="grouped trouble")
    await someone.focus(group.get_by_role("button", name="Retry all"))
    await someone.press("Enter")
    await someone.focus(page.get_by_role("dialog").get_by_role("button", name="Retry 4"))
    await someone.press("Enter")

    await page.get_by_text("Bulk retry: completed").wait_for()


async def test_a_search_is_kept_under_a_name_and_found_again(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/tasks?status=failed&queue=search")
    await page.get_by_role("button", name="Views").click()
    await page.get_by_label("Save this search as").fill("search trouble")
    await page.get_by_role("button", name="Save", exact=True).click()
    await someone.open("/tasks")
    await page.get_by_role("button", name="Views").click()
    await page.get_by_role("button", name="search trouble", exact=True).click()

    await page.wait_for_url("**/tasks?status=failed&queue=search")
    await page.get_by_label("Filters").get_by_text("queue: search").wait_for()


async def test_tasks_are_narrowed_to_a_time_range_that_the_address_keeps(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", payload={"command": ["true"]}, tags=["range"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=range")

    await someone.choose(someone.page.get_by_label("Submitted"), "Last hour")

    await expect(someone.page).to_have_url(re.compile("since=1h"))
    await expect(someone.page.get_by_role("list", name="Filters")).to_contain_text("since: 1h")
    await someone.page.get_by_role("row").filter(has_text="shell").first.wait_for()
    await someone.page.reload()
    await expect(someone.page.get_by_label("Submitted")).to_have_text("Last hour")
