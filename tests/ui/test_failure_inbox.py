"""The failure inbox in a browser."""

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.black_box.server import Server
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


@pytest.fixture
def failed(busy: Busy, request: pytest.FixtureRequest) -> Iterator[tuple[Server, str]]:
    """Six tasks that failed with a cause of the test's own; the id of the last."""
    word = "".join(letter for letter in str(request.node.name) if letter.isalpha())[:30]
    command = ["sh", "-c", f"echo {word} >&2; exit 3"]
    ids = [busy.server.submit("shell", payload={"command": command}, retries=0, tags=[word]) for _ in range(6)]
    for task in ids:
        busy.server.until_ended(task)
    yield busy.server, ids[-1]
    busy.server.ask("POST", "/api/v1/failures/discard", {"filter": {"tag": word}})


async def test_a_group_is_acknowledged_noted_and_resolved(visitor: Visit, failed: tuple[Server, str]) -> None:
    server, task = failed
    someone = await visitor(server)
    page = someone.page
    await someone.open(f"/tasks/{task}")
    await page.get_by_role("link", name="All failures of this cause").click()
    await page.wait_for_url("**/failures/*")

    await page.get_by_role("button", name="Acknowledge").click()
    await page.get_by_text("Acknowledged").first.wait_for()
    await page.get_by_label("Owner").fill("ada")
    await page.get_by_label("Note").fill("the disk")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="Save")).to_be_disabled()
    # The answer to this request, not the one to *Save*, which may still be under way.
    async with page.expect_response(lambda reply: "resolved" in (reply.request.post_data or "")):
        await page.get_by_role("button", name="Resolve").click()
    await page.get_by_role("button", name="Reopen").wait_for()

    fingerprint = page.url.rpartition("/")[2]
    _, group = server.ask("GET", f"/api/v1/failures/groups/{fingerprint}")
    assert (group["state"], group["owner"], group["note"]) == ("resolved", "ada", "the disk")

    command = server.ask("GET", f"/api/v1/tasks/{task}")[1]["payload"]
    server.until_ended(server.submit("shell", payload=command, retries=0, tags=["regressed"]))
    await page.get_by_text("Regressed").first.wait_for()


async def test_five_of_a_group_are_retried_first(visitor: Visit, failed: tuple[Server, str]) -> None:
    server, task = failed
    (failure,) = server.ask("GET", f"/api/v1/failures?id={task}")[1]["items"]
    someone = await visitor(server)
    await someone.open(f"/failures/{failure['fingerprint']}")

    await someone.page.get_by_role("button", name="Retry 5 first").click()

    await someone.page.get_by_text("Retrying 5").wait_for()


async def test_an_ignored_group_leaves_the_list_of_active_ones(visitor: Visit, failed: tuple[Server, str]) -> None:
    server, task = failed
    (failure,) = server.ask("GET", f"/api/v1/failures?id={task}")[1]["items"]
    someone = await visitor(server)
    page = someone.page
    await someone.open(f"/failures/{failure['fingerprint']}")
    await page.get_by_role("button", name="Ignore").click()
    await page.get_by_role("dialog").get_by_role("button", name="Ignore").click()
    await page.get_by_text("Ignored until").wait_for()

    await someone.open("/failures?state=ignored")
    await page.locator(f"a[href$='{failure['fingerprint']}']").wait_for()
    await page.get_by_role("tab", name="Active").click()
    await page.get_by_role("tab", name="Active", selected=True).wait_for()
    await expect(page.locator(f"a[href$='{failure['fingerprint']}']")).to_have_count(0)
