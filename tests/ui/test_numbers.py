"""Every number means what its link shows."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.black_box.server import eventually
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


async def rows_of(page: Page) -> int:
    """Return how many tasks the list has."""
    if await page.get_by_text("No tasks match").count():
        return 0
    return int(await page.get_by_role("table", name="Tasks").get_attribute("aria-rowcount") or 0) - 1


@pytest.mark.parametrize(("label", "status"), [("completed in 15m", "completed"), ("failed in 15m", "failed")])
async def test_what_ended_lately_leads_to_what_ended_lately(
    visitor: Visit, busy: Busy, label: str, status: str
) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/overview")
    async with page.expect_response(lambda reply: "/api/v1/tasks?" in reply.url) as waiting:
        await page.get_by_role("link", name=label).click()
    reply = await waiting.value

    await expect(page).to_have_url(re.compile(rf"status={status}.*ended=15m|ended=15m.*status={status}"))
    assert f"status={status.upper()}" in reply.url
    assert "finished_since=" in reply.url
    await page.get_by_label("Filters").get_by_text("ended: 15m").wait_for()
    items = (await reply.json())["items"]
    assert items
    assert all(item["finished_at"] for item in items)


async def test_a_list_of_what_ended_lately_leaves_out_what_ended_before(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("shell", payload={"command": ["true"]}, tags=["lately"])
    busy.server.until_ended(task)
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=lately&ended=15m")
    await someone.settled()
    assert await rows_of(someone.page) == 1

    def is_past() -> bool:
        return busy.server.ask("GET", "/api/v1/stats?last=15m")[0] == 200 and _age(busy, task) > 1.0

    eventually(is_past, 30.0)
    await someone.open("/tasks?tag=lately&ended=1s")
    await someone.page.get_by_text("No tasks match").wait_for()


def _age(busy: Busy, task: str) -> float:
    """Return for how many seconds a task has ended, by the server's clock."""
    _, later = busy.server.ask("POST", "/api/v1/tasks", {"name": "nobody-has-this", "delay": "1h"})
    created = busy.server.get(later["id"])["created_at"]
    ended = busy.server.get(task)["finished_at"]
    busy.server.ask("POST", f"/api/v1/tasks/{later['id']}/cancel")
    return _seconds(created) - _seconds(ended)


def _seconds(moment: str) -> float:
    hours, minutes, seconds = moment[11:].rstrip("Z").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


async def test_a_span_that_is_none_is_refused_in_words(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["422"]
    await someone.open("/tasks?ended=soon")

    await (
        someone.page.locator("main")
        .get_by_text("finished_since")
        .or_(someone.page.locator("main").get_by_text("Request failed"))
        .first.wait_for()
    )


async def test_pending_is_called_pending_and_leads_to_as_many(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/overview")
    number = page.get_by_role("link", name=re.compile(r"^[\d,]+ pending$"))
    count = int((await number.inner_text()).split()[0].replace(",", ""))
    await number.click()
    await someone.settled()

    assert await page.get_by_text("due later").count() == 0
    tab = page.get_by_role("tab", name=re.compile("^Pending"))
    await expect(tab).to_have_text(re.compile(r"\d"))
    assert int(re.sub(r"\D", "", await tab.inner_text())) == count


async def test_a_type_that_no_worker_has_does_not_make_its_queue_late(visitor: Visit, busy: Busy) -> None:
    busy.server.submit("nobody-has-this", queue="unserved")

    def look() -> dict[str, object]:
        queues = busy.server.ask("GET", "/api/v1/queues")[1]["items"]
        return next((queue for queue in queues if queue["name"] == "unserved"), {})

    eventually(lambda: look().get("queued") == 1, 30.0)
    queue = look()
    assert queue["oldest_due_at"] is not None
    assert (queue["oldest_served_due_at"], queue["unserved"]) == (None, 1)
    someone = await visitor(busy.server)
    await someone.open("/queues")
    row = someone.page.get_by_role("row").filter(has=someone.page.get_by_role("rowheader", name="unserved"))
    await row.get_by_text("1 with no worker for their type").wait_for()
    await someone.open("/overview")
    assert await someone.page.get_by_text("unserved is").count() == 0
