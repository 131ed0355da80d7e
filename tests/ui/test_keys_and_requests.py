"""What a key may not do is not offered, and pages ask for no more than they show."""

import re
import secrets

import pytest
from playwright.async_api import Page, Request, expect

from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"
ACTS = re.compile(
    r"^(Submit|Run|Retry.*|Cancel.*|Run now|Pause|Resume|Drain|Cancel drain|Discard|New .*|Edit|Backfill|Delete|Change"
    r"|Abort|Send a test|Send again|Disable|Enable|Rotate|Revoke|Replace|Save)$"
)
HIDDEN = {"Audit", "Keys", "Secrets"}


@pytest.fixture(scope="module")
def viewer(busy: Busy) -> str:
    """A key that may look and do nothing."""
    status, made = busy.server.ask(
        "POST", "/api/v1/keys", {"name": "looks only", "role": "viewer", "rate_limit": "9999/1s"}
    )
    assert status == 201
    return str(made["key"])


async def test_a_viewer_is_offered_no_act_and_no_page_that_would_be_refused(
    visitor: Visit, busy: Busy, viewer: str
) -> None:
    someone = await visitor(busy.server, key=viewer)
    page = someone.page
    refused: list[str] = []
    page.on("response", lambda reply: refused.append(reply.url) if reply.status == 403 else None)
    rail = page.get_by_role("navigation", name="Main menu").get_by_role("link")
    await expect(page.get_by_role("link", name="Keys", exact=True)).to_have_count(0)

    names = set(await rail.all_inner_texts())
    assert names & HIDDEN == set()
    assert {"Overview", "Tasks", "Failures", "Jobs", "Queues", "Workers", "Settings"} <= names
    targets = [str(await link.get_attribute("href")).removeprefix("/ui") for link in await rail.all()]
    # What somebody of the whole installation has begun, a key of a tenant does not find.
    own = [page for page in busy.pages if not page.startswith("/bulk/")]
    for place in [*targets, *own]:
        await someone.open(place)
        offered = await page.locator("main").get_by_role("button", name=ACTS).all_inner_texts()
        assert offered == [], place

    assert refused == []


async def test_a_viewer_selects_nothing_by_keys(visitor: Visit, busy: Busy, viewer: str) -> None:
    someone = await visitor(busy.server, key=viewer)
    await someone.open("/tasks?status=failed")
    await someone.press("j", "x", "a", "r", "c")

    assert await someone.page.get_by_role("checkbox").count() == 0
    assert await someone.page.get_by_role("toolbar").count() == 0
    assert await someone.page.get_by_role("dialog").count() == 0


async def test_a_worker_has_a_name_for_a_key_that_is_not_told_where_it_runs(visitor: Visit, busy: Busy) -> None:
    tenant = busy.server.ask("POST", "/api/v1/keys", {"name": "of a tenant", "role": "viewer", "tenant": "default"})
    assert tenant[0] == 201, tenant
    someone = await visitor(busy.server, key=tenant[1]["key"])

    await someone.open("/workers")

    titles = await someone.page.locator("main section h2").filter(has_not_text="Left recently").all_inner_texts()
    assert titles
    assert all(re.fullmatch(r"w-[0-9a-f]{16}", title) for title in titles), titles


async def test_a_key_for_some_names_is_offered_acts_on_those_only(visitor: Visit, busy: Busy) -> None:
    body = {"name": "mail only", "role": "operator", "names": ["mail.*"], "queues": ["mail"]}
    status, made = busy.server.ask("POST", "/api/v1/keys", body)
    assert status == 201, made
    mine = busy.server.submit("mail.receipt", queue="mail", delay="1h", payload={"to": "ada", "order_id": 7})
    other = busy.server.submit("shell", payload={"command": ["true"]}, delay="1h")
    someone = await visitor(busy.server, key=made["key"])
    cancel = someone.page.locator("main").get_by_role("button", name="Cancel", exact=True)

    await someone.open(f"/tasks/{mine}")
    await expect(cancel).to_have_count(1)
    await someone.open(f"/tasks/{other}")
    await someone.page.get_by_text("Idempotency key").or_(someone.page.get_by_text("Priority")).first.wait_for()
    await expect(cancel).to_have_count(0)
    for task in (mine, other):
        busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def something_happens_elsewhere(page: Page, busy: Busy) -> None:
    """Submit a task, and return when another page of the same browser has heard of it."""
    watching = await page.context.new_page()
    tag = secrets.token_hex(8)
    await watching.goto(f"{busy.server.url}/ui/tasks?tag={tag}")
    await watching.get_by_role("button", name="Live").wait_for()
    await watching.get_by_text("No tasks match").wait_for()
    busy.server.submit("nobody-has-this", delay="1h", tags=[tag])
    await watching.get_by_role("button", name="1 new").wait_for()
    await watching.close()


@pytest.mark.parametrize("place", ["/tasks/{}", "/tasks/{}?tab=attempts", "/jobs/{}", "/schedules/{}", "/bulk/{}"])
async def test_a_page_of_nothing_asks_once(visitor: Visit, busy: Busy, place: str) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["404"]
    page = someone.page
    await page.clock.install()
    await someone.open(place.format(NOWHERE))
    await page.get_by_text("Not found").first.wait_for()
    asked: list[str] = []

    def hear(request: Request) -> None:
        if NOWHERE in request.url:
            asked.append(request.url)

    page.on("request", hear)
    await something_happens_elsewhere(page, busy)
    await page.clock.fast_forward(120_000)
    await page.evaluate("new Promise(done => requestAnimationFrame(done))")

    assert asked == []


async def test_the_page_of_a_task_does_not_ask_again_for_events_of_others(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("nobody-has-this", delay="1h")
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")
    someone = await visitor(busy.server)
    page = someone.page
    await page.clock.install()
    await someone.open(f"/tasks/{task}")
    await page.locator("h1").get_by_text("Cancelled").wait_for()
    await someone.hears()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if task in request.url else None)
    await something_happens_elsewhere(page, busy)
    await page.clock.fast_forward(5_000)
    await page.evaluate("new Promise(done => requestAnimationFrame(done))")
    assert asked == []

    busy.server.ask("POST", f"/api/v1/tasks/{task}/retry")  # its own events are heard
    await page.locator("h1").get_by_text("Cancelled").wait_for(state="hidden")
    busy.server.ask("POST", f"/api/v1/tasks/{task}/cancel")


async def test_lists_carry_no_tracebacks_and_come_compressed(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    async with someone.page.expect_response(lambda reply: "/api/v1/tasks?" in reply.url) as waiting:
        await someone.open("/tasks?status=failed")
    reply = await waiting.value

    listed = await reply.json()
    assert listed["items"]
    assert all(item["error"]["message"] and not item["error"]["traceback"] for item in listed["items"])
    assert (await reply.all_headers())["content-encoding"] == "gzip"
