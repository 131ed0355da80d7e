"""Mistakes that other interfaces make, each kept out by a test."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Request, expect

from tests.black_box.server import eventually
from tests.harness.proxy import Proxy
from tests.ui.conftest import Busy, Visit
from tests.ui.evil_app import EVIL
from tests.ui.places import SCREENS
from tests.ui.prefix import Prefix

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

TARGET = "http://127.0.0.1:9/<img/src=x/onerror=alert(1)>"
DAY = timedelta(days=1)
MARCH_ENDS = date(datetime.now(UTC).year + 1, 3, 31)
CLOCKS_CHANGE = MARCH_ENDS - DAY * (MARCH_ENDS.isoweekday() % 7)
"""The next last Sunday of March that is surely to come."""
ZONES = ["Europe/Berlin", "Asia/Kolkata", "America/St_Johns"]


async def test_all_that_match_means_those_that_matched_when_it_was_asked_for(visitor: Visit, busy: Busy) -> None:
    before = [busy.server.submit("nobody-has-this", delay="1h", tags=["frozen"]) for _ in range(3)]
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=frozen")
    await someone.press("a")
    await someone.page.get_by_role("button", name="Cancel all").click()
    dialog = someone.page.get_by_role("dialog")
    await dialog.get_by_label("At most per second").fill("2")
    # What comes while the server has not yet been asked is among those that match.
    async with someone.page.expect_response(lambda reply: reply.request.method == "POST"):
        await dialog.get_by_role("button", name="Cancel 3").click()
    later = busy.server.submit("nobody-has-this", delay="1h", tags=["frozen"])

    await someone.page.get_by_text("Bulk cancel: 3 of 3 done").wait_for()

    assert {busy.server.get(task)["status"] for task in before} == {"CANCELLED"}
    assert busy.server.get(later)["status"] == "PENDING"


async def test_all_that_match_keeps_to_the_filter(visitor: Visit, busy: Busy) -> None:
    meant = busy.server.submit("nobody-has-this", delay="1h", tags=["meant"], queue="narrow")
    other = busy.server.submit("nobody-has-this", delay="1h", tags=["meant"])
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=meant&queue=narrow")
    await someone.press("a")
    await someone.page.get_by_role("button", name="Cancel all").click()
    await someone.page.get_by_role("dialog").get_by_role("button", name="Cancel 1").click()

    await someone.page.get_by_text("Bulk cancel: 1 of 1 done").wait_for()

    assert busy.server.get(meant)["status"] == "CANCELLED"
    assert busy.server.get(other)["status"] == "PENDING"


async def test_lists_carry_no_payloads(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    async with someone.page.expect_response(lambda reply: "/api/v1/tasks?" in reply.url) as waiting:
        await someone.open("/tasks")
    listed = await (await waiting.value).json()

    assert len(listed["items"]) == 100
    assert all(not item.get("payload") and not item.get("result") for item in listed["items"])


async def test_a_count_that_is_not_whole_says_so(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    counts = {"items": [{"status": "COMPLETED", "count": 10_000, "is_more": True}]}
    await someone.page.route("**/api/v1/tasks/counts*", lambda route: route.fulfill(body=json.dumps(counts)))

    await someone.open("/tasks")

    await someone.page.get_by_role("tab", name="Completed 10,000+").wait_for()


async def test_a_list_does_not_jump_when_tasks_come(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/tasks?tag=jumping")
    await someone.hears()
    first = busy.server.submit("nobody-has-this", delay="1h", tags=["jumping"])
    await someone.page.get_by_role("button", name="1 new").wait_for()

    assert await someone.page.get_by_role("table", name="Tasks").count() == 0
    await someone.page.get_by_role("button", name="1 new").click()

    await someone.page.locator(f'a[href$="{first}"]').wait_for()


@pytest.mark.parametrize("screen", ["/tasks", "/workers"])
async def test_a_page_that_was_paused_asks_for_nothing(visitor: Visit, busy: Busy, screen: str) -> None:
    someone = await visitor(busy.server)
    await someone.open(screen)
    await someone.page.get_by_role("button", name="Live").click()
    await someone.page.get_by_role("button", name="Paused").wait_for()
    await asyncio.sleep(1.5)  # what was on its way comes to its end
    asked: list[str] = []
    someone.page.on("request", lambda request: asked.append(request.url))

    busy.server.submit("nobody-has-this", delay="1h")
    await someone.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await someone.page.evaluate("window.dispatchEvent(new Event('focus'))")
    await asyncio.sleep(6.0 if screen == "/workers" else 3.0)

    assert asked == []
    assert await someone.page.get_by_role("button", name="new").count() == 0


@pytest.mark.parametrize("zone", ZONES)
async def test_fire_times_are_right_in_both_zones_on_the_day_when_clocks_change(
    visitor: Visit, busy: Busy, zone: str
) -> None:
    body = {
        "name": f"clocks in {zone}", "cron": "30 1 * * *", "timezone": "Europe/Berlin", "task": {"name": "shell"},
        "start": f"{CLOCKS_CHANGE - DAY}T00:00:00Z",
    }  # fmt: skip
    _, made = busy.server.ask("POST", "/api/v1/schedules", body)
    someone = await visitor(busy.server, timezone_id=zone)

    await someone.open(f"/schedules/{made['id']}")

    fires = someone.page.get_by_role("region", name="Next", exact=True).get_by_role("listitem")
    await fires.nth(2).wait_for()
    shown = await fires.all_inner_texts()
    there, here = ZoneInfo("Europe/Berlin"), ZoneInfo(zone)
    for text, day in zip(shown, (CLOCKS_CHANGE - DAY, CLOCKS_CHANGE, CLOCKS_CHANGE + DAY), strict=False):
        moment = datetime.combine(day, time(1, 30), tzinfo=there).astimezone(UTC)
        assert f"{moment.astimezone(here):%d %b %Y, %H:%M:%S}" in text
        assert f"{day} 01:30" in text
    assert len(shown) >= 3
    busy.server.ask("DELETE", f"/api/v1/schedules/{made['id']}")


@pytest.fixture
def evil_worker(busy: Busy) -> Iterator[None]:
    """A worker with a name of its own, for tasks that say what no page may run."""
    environment = {
        **busy.server.environment,
        "DRUMLINE_URL": busy.server.url,
        "DRUMLINE_API_KEY": busy.server.key,
        "DRUMLINE_WORKER_LABEL": EVIL,
        "DRUMLINE_WORKER_QUEUES": "evil-work",
    }
    command = [sys.executable, "-m", "drumline.cli.main", "worker", str(Path(__file__).parent / "evil_app.py")]
    with (busy.server.data.parent / "evil.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        yield
        process.kill()  # a test that failed has left it a task that never ends by itself
        process.wait()


@pytest.mark.usefixtures("evil_worker")
async def test_what_users_write_is_text_and_never_code(visitor: Visit, busy: Busy) -> None:
    server = busy.server
    command = ["sh", "-c", "printf '%s\\n' \"$0\"; exit 1", EVIL]
    words = {"retries": 0, "tags": [EVIL[:60]]}
    shell = server.submit("shell", payload={"command": command, EVIL: EVIL}, idempotency_key=EVIL, **words)
    waiting = server.submit(EVIL, payload=EVIL, delay="1h", limit_key=EVIL, **words)
    failing, making, going = (
        server.submit(f"evil.{act}", queue="evil-work", **words) for act in ("fail", "make", "go_on")
    )
    made = [
        ("POST", "/jobs", {"name": EVIL, "owner": EVIL, "tasks": {EVIL: {"command": ["false"], "retries": 0}}}),
        ("POST", "/schedules", {"name": EVIL, "cron": "0 0 1 1 *", "task": {"name": EVIL}}),
        ("POST", "/subscriptions", {"name": EVIL, "events": ["drumline.job.failed"], "webhook": TARGET}),
        ("POST", "/keys", {"name": EVIL, "role": "viewer"}),
        ("POST", "/queues/evil/pause", {"reason": EVIL}),
        ("POST", "/bulk", {"act": "cancel", "ids": [waiting], "reason": EVIL}),
        ("PUT", "/limits/evil", {"task": EVIL, "rate": "9/1s"}),
    ]  # fmt: skip
    answers = [server.ask(method, f"/api/v1{path}", body) for method, path, body in made]
    assert [status for status, _ in answers if status >= 400] == [], answers
    ids = [body.get("id") for _, body in answers]
    for task in (shell, failing, making):
        server.until_ended(task, seconds=60.0)
    eventually(lambda: server.get(going).get("progress") is not None, 60.0)
    someone = await visitor(server)
    alerts: list[str] = []
    someone.page.on("dialog", lambda dialog: alerts.append(dialog.message))

    # On each page, how often it is at least to be read.
    pages = {
        f"/tasks/{shell}": 3, f"/tasks/{shell}?tab=attempts": 2, f"/tasks/{shell}?tab=log": 2, f"/tasks/{waiting}": 3,
        f"/tasks/{failing}": 2, f"/tasks/{failing}?tab=attempts": 3, f"/tasks/{making}": 3,
        f"/tasks/{making}?tab=log": 2, f"/tasks/{making}?tab=artifacts": 2, f"/tasks/{going}": 2,
        f"/jobs/{ids[0]}": 3, f"/jobs/{ids[0]}?tab=timeline": 3, f"/jobs/{ids[0]}?tab=list": 3,
        f"/jobs/{ids[0]}?tab=events": 3, f"/schedules/{ids[1]}": 2, f"/bulk/{ids[5]}": 1,
        "/tasks?tag=%3Cimg%20src%3Dx%3E": 1, "/workers": 1, "/queues": 2, "/notifications": 2, "/keys": 1,
        "/schedules": 2, "/failures": 1, "/audit": 1, "/bulk": 1, "/jobs": 1, "/tasks": 5,
    }  # fmt: skip
    for place in [*pages, *(screen for screen in SCREENS if screen not in pages)]:
        await someone.open(place)
        if place.endswith("artifacts"):
            await someone.page.get_by_role("button", name="Download").wait_for()
        if often := pages.get(place):
            shown = re.compile("<img.*" * often, re.DOTALL)
            await expect(someone.page.locator("main")).to_have_text(shown, use_inner_text=True)
        assert await someone.page.locator("img[src='x'], main script").count() == 0, place

    assert alerts == []
    server.ask("POST", f"/api/v1/tasks/{going}/cancel")
    for path in (f"/schedules/{ids[1]}", f"/subscriptions/{ids[2]}", "/limits/evil"):
        server.ask("DELETE", f"/api/v1{path}")


async def test_a_number_too_large_for_javascript_is_shown_as_it_was_sent(visitor: Visit, busy: Busy) -> None:
    task = busy.server.submit("nobody-has-this", payload={"order": 9_007_199_254_740_993}, delay="1h")
    someone = await visitor(busy.server)

    await someone.open(f"/tasks/{task}")

    await someone.page.locator("main").get_by_text("9007199254740993").first.wait_for()


async def test_a_stream_that_is_cut_says_so_and_resumes_where_it_was(visitor: Visit, busy: Busy) -> None:
    host, port = busy.server.url.removeprefix("http://").split(":")
    proxy = Proxy(host, int(port))
    await proxy.start()
    try:
        someone = await visitor(busy.server, at=f"http://127.0.0.1:{proxy.port}")
        someone.expected = ["ERR_", "Failed to load"]
        await someone.open("/tasks?tag=cut")
        await someone.page.get_by_role("button", name="Live").wait_for()
        proxy.refuse()
        proxy.reset()
        await someone.page.get_by_role("button", name="Server not reachable").wait_for()
        busy.server.submit("nobody-has-this", delay="1h", tags=["cut"])
        proxy.heal()

        await someone.page.get_by_role("button", name="Live").wait_for()
        await someone.page.get_by_role("button", name="1 new").wait_for()
        await someone.page.context.close()
    finally:
        await proxy.close()


async def test_without_a_stream_the_page_polls_and_says_so(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["404"]
    await someone.page.add_init_script("delete window.SharedWorker")
    await someone.page.route("**/api/v1/events", lambda route: route.fulfill(status=404))
    await someone.open("/tasks?tag=polled")
    await someone.page.get_by_role("button", name="Polling every 5 s").wait_for()
    busy.server.submit("nobody-has-this", delay="1h", tags=["polled"])

    await someone.page.get_by_role("button", name="1 new").wait_for()


async def test_tabs_share_one_connection(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = await someone.page.context.new_page()
    streams: list[str] = []

    def hear(request: Request) -> None:
        if request.url.endswith("/api/v1/events"):
            streams.append(request.url)

    page.on("request", hear)
    await page.goto(f"{busy.server.url}/ui/tasks")
    await page.get_by_role("button", name="Live").wait_for()

    assert streams == []  # the worker that all tabs share has asked before


async def test_it_works_under_any_path(visitor: Visit, busy: Busy) -> None:
    prefix = Prefix(busy.server.url, "/tools/drumline")
    await prefix.start()
    try:
        someone = await visitor(busy.server, at=f"http://127.0.0.1:{prefix.port}/tools/drumline")
        page = someone.page
        await page.get_by_role("link", name="Tasks", exact=True).click()
        await page.get_by_role("table", name="Tasks").wait_for()
        assert page.url.endswith("/tools/drumline/ui/tasks")
        await page.reload()
        await page.get_by_role("table", name="Tasks").wait_for()
        await page.get_by_role("button", name="Live").wait_for()
        await page.locator("main a[href*='/tasks/']").first.click()
        await page.get_by_role("tab", name="Attempts").click()
        await page.wait_for_url("**/tools/drumline/ui/tasks/*?tab=attempts")
        assert prefix.strays == []
        await page.context.close()
    finally:
        await prefix.close()
