"""What people come for, done by keyboard alone."""

import pytest

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services]


async def test_a_failed_task_is_found_read_retried_and_watched(visitor: Visit, busy: Busy) -> None:
    mark = busy.server.data.parent / "mended"
    command = ["sh", "-c", f"test -e {mark} || {{ echo the disk is full; exit 3; }}"]
    task = busy.server.submit("shell", payload={"command": command}, retries=0, tags=["journey"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    keys = someone.page.keyboard

    await keys.press("/")
    await keys.type("status:failed tag:journey")
    await keys.press("Enter")
    await someone.page.get_by_text("the disk is full").wait_for()
    await keys.press("j")
    await keys.press("o")
    await someone.page.get_by_role("heading", name="Why it failed").wait_for()
    assert "the disk is full" in await someone.page.inner_text("main")
    mark.touch()
    await keys.press("r")

    await someone.page.locator("h1").get_by_text("Completed").wait_for(timeout=10_000)


async def test_a_queue_is_paused_and_resumed(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    keys = someone.page.keyboard
    await keys.press("g")
    await keys.press("q")
    row = someone.page.get_by_role("row").filter(has_text="long")
    await row.get_by_role("button", name="Pause").focus()
    await keys.press("Enter")
    await someone.page.get_by_label("Why").fill("a test")
    await someone.page.get_by_role("dialog").get_by_role("button", name="Pause").focus()
    await keys.press("Enter")
    await row.get_by_text("Paused: a test").wait_for()

    await row.get_by_role("button", name="Resume").focus()
    await keys.press("Enter")

    await row.get_by_text("Open").wait_for()


async def test_what_users_write_is_text_and_never_code(visitor: Visit, busy: Busy) -> None:
    evil = "<img src=x onerror=alert(1)>\"'`${7*7}<script>alert(2)</script>"
    task = busy.server.submit(
        "shell", payload={"command": ["sh", "-c", "printf '%s\\n' \"$0\"; exit 1", evil], evil: evil}, retries=0
    )
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    alerts: list[str] = []
    someone.page.on("dialog", lambda dialog: alerts.append(dialog.message))

    for tab in ("data", "attempts", "log"):
        await someone.open(f"/tasks/{task}?tab={tab}")
        assert "<img src=x" in await someone.page.inner_text("main")

    assert alerts == []


async def test_a_number_too_large_for_javascript_is_shown_as_it_was_sent(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("nobody-has-this", payload={"order": 9_007_199_254_740_993}, delay="1h")
    someone = await visitor(busy.server)

    await someone.open(f"/tasks/{task}")

    assert "9007199254740993" in await someone.page.inner_text("main")


async def test_a_list_does_not_jump_when_tasks_come(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=jumping")
    first = busy.server.submit("nobody-has-this", delay="1h", tags=["jumping"])
    await someone.page.get_by_role("button", name="1 new").wait_for(timeout=15_000)

    assert await someone.page.get_by_role("table", name="Tasks").count() == 0
    await someone.page.get_by_role("button", name="1 new").click()

    await someone.page.locator(f'a[href$="{first}"]').wait_for()


async def test_a_job_is_drawn_and_walked_through_by_arrow_keys(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    keys = someone.page.keyboard
    await keys.press("g")
    await keys.press("j")
    await someone.page.get_by_role("link", name="nightly").click()
    await someone.page.get_by_role("button", name="extract").focus()

    await keys.press("ArrowRight")
    await keys.press("Enter")

    await someone.page.get_by_role("region", name="Facts").first.wait_for()
    assert "node=" in someone.page.url
    await someone.page.get_by_role("tab", name="Gantt").click()
    assert "node=" in someone.page.url


async def test_a_schedule_is_made_with_its_next_fires_in_view(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["422"]
    page = someone.page
    await someone.open("/schedules")
    await page.get_by_role("button", name="New schedule").click()
    await page.get_by_label("Name").fill("weekly digest")
    await page.get_by_label("Expression").fill("61 * * * *")
    await page.get_by_text("minute").first.wait_for()
    await page.get_by_label("Expression").fill("0 7 * * mon")
    await page.get_by_label("Time zone").fill("America/St_Johns")
    await page.get_by_text("Monday", exact=False).first.wait_for()
    await page.get_by_label("Task", exact=True).fill("shell")

    await page.get_by_role("button", name="Create").click()

    await page.get_by_role("heading", name="weekly digest").wait_for()
    assert "America/St_Johns" in await page.inner_text("main")


async def test_a_group_of_failures_is_retried_as_it_was_when_asked(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/failures")
    group = page.get_by_role("article").filter(has_text="line")
    await group.get_by_role("button", name="Retry all").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Retry 8").click()

    await page.get_by_text("Bulk retry: completed").wait_for(timeout=20_000)

    assert "8" in await page.inner_text("main")
