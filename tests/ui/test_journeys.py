"""What people come for, done by keyboard alone."""

import pytest

from tests.black_box.server import Server
from tests.ui.conftest import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services]


async def test_a_failed_task_is_found_read_retried_and_watched(visitor: Visit, busy: Server) -> None:
    mark = busy.data.parent / "mended"
    command = ["sh", "-c", f"test -e {mark} || {{ echo the disk is full; exit 3; }}"]
    task = busy.submit("shell", payload={"command": command}, retries=0, tags=["journey"])
    busy.until_ended(task)
    someone = await visitor(busy)
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


async def test_a_queue_is_paused_and_resumed(visitor: Visit, busy: Server) -> None:
    someone = await visitor(busy)
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


async def test_what_users_write_is_text_and_never_code(visitor: Visit, busy: Server) -> None:
    evil = "<img src=x onerror=alert(1)>\"'`${7*7}<script>alert(2)</script>"
    task = busy.submit(
        "shell", payload={"command": ["sh", "-c", "printf '%s\\n' \"$0\"; exit 1", evil], evil: evil}, retries=0
    )
    busy.until_ended(task)
    someone = await visitor(busy)
    alerts: list[str] = []
    someone.page.on("dialog", lambda dialog: alerts.append(dialog.message))

    for tab in ("data", "attempts", "log"):
        await someone.open(f"/tasks/{task}?tab={tab}")
        assert "<img src=x" in await someone.page.inner_text("main")

    assert alerts == []


async def test_a_number_too_large_for_javascript_is_shown_as_it_was_sent(visitor: Visit, busy: Server) -> None:
    task = busy.submit("nobody-has-this", payload={"order": 9_007_199_254_740_993}, delay="1h")
    someone = await visitor(busy)

    await someone.open(f"/tasks/{task}")

    assert "9007199254740993" in await someone.page.inner_text("main")


async def test_a_list_does_not_jump_when_tasks_come(visitor: Visit, busy: Server) -> None:
    someone = await visitor(busy)
    await someone.open("/tasks?tag=jumping")
    first = busy.submit("nobody-has-this", delay="1h", tags=["jumping"])
    await someone.page.get_by_role("button", name="1 new").wait_for(timeout=15_000)

    assert await someone.page.get_by_role("table", name="Tasks").count() == 0
    await someone.page.get_by_role("button", name="1 new").click()

    await someone.page.locator(f'a[href$="{first}"]').wait_for()
