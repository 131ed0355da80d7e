"""Every screen, in both themes, wide and narrow, with and without content, and when things go wrong."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence

import pytest
from playwright.async_api import Route, expect

from tests.black_box.server import Server
from tests.harness.browser import Visitor
from tests.ui.conftest import Busy, Visit
from tests.ui.places import SCREENS

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

WINDOWS = 3
PROBLEM = {"type": "about:blank", "title": "No", "code": "no", "detail": "not today"}


async def on_each(
    visitors: Sequence[Visitor], places: Sequence[str], look: Callable[[Visitor, str], Awaitable[None]]
) -> None:
    """Look at every place; several windows share them, so that none waits while another does."""
    left = list(places)

    async def walk(someone: Visitor) -> None:
        while left:
            place = left.pop(0)
            await someone.open(place)
            await look(someone, place)

    await asyncio.gather(*(walk(someone) for someone in visitors))


async def has_no_barriers(someone: Visitor, place: str) -> None:
    """Check by all rules in the light, and what colours change in the dark."""
    await someone.page.emulate_media(color_scheme="light")
    assert await someone.barriers() == [], place
    await someone.page.emulate_media(color_scheme="dark")
    assert await someone.barriers(rules=("color-contrast",)) == [], f"{place} in the dark"


async def test_every_screen_with_content_has_no_barriers_in_either_theme(visitor: Visit, busy: Busy) -> None:
    async def look(someone: Visitor, place: str) -> None:
        await has_no_barriers(someone, place)
        assert await someone.overflow() == [], place

    await on_each([await visitor(busy.server) for _ in range(2)], [*SCREENS, *busy.pages], look)


async def test_the_overview_charts_how_many_tasks_wait_and_leads_to_them(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/overview")
    chart = someone.page.get_by_role("figure", name="Tasks waiting")

    await chart.get_by_role("button", name="Table").click()
    await expect(chart.get_by_role("cell", name=re.compile(r"^[\d,.]+$")).first).to_be_visible()
    await chart.get_by_role("link", name="Waiting now").click()

    await expect(someone.page).to_have_url(re.compile(r"/tasks\?.*status=queued"))


async def test_a_queue_leads_to_its_own_charts(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/queues")
    queue = someone.page.get_by_role("row").filter(has=someone.page.get_by_role("rowheader", name="mail"))

    await queue.get_by_role("link", name="Charts").click()

    which = someone.page.get_by_label("Charts of")
    await expect(which).to_have_text("mail")
    async with someone.page.expect_request(re.compile(r"/stats\?.*queue=newsletter")):
        await someone.choose(which, "newsletter")
    waiting = someone.page.get_by_role("figure", name="Tasks waiting").get_by_role("link", name="Waiting now")
    await waiting.click()
    await expect(someone.page).to_have_url(re.compile(r"/tasks\?(?=.*status=queued)(?=.*queue=newsletter)"))


async def test_the_events_of_a_job_tell_of_every_attempt(visitor: Visit, busy: Busy) -> None:
    failing = {"command": ["false"], "retries": 1, "backoff": {"base": 0.1}}
    _, job = busy.server.ask("POST", "/api/v1/jobs", {"name": "twice", "tasks": {"no": failing}})
    busy.server.until_ended(job["tasks"]["no"], seconds=60.0)
    someone = await visitor(busy.server)

    await someone.open(f"/jobs/{job['id']}?tab=events")

    await expect(someone.page.get_by_text("failed, will be retried").first).to_be_visible()
    starts = someone.page.get_by_role("table", name="Events of the job").get_by_text("started")
    assert [words.rpartition("no ")[2] for words in await starts.all_inner_texts()] == ["started, attempt 2", "started"]


async def test_the_hint_in_the_search_box_is_whole_on_a_phone(visitor: Visit, busy: Busy) -> None:
    phone = await visitor(busy.server, viewport={"width": 360, "height": 780}, has_touch=True)
    await phone.open("/tasks")

    room, needed = await phone.page.get_by_role("searchbox", name="Search tasks").evaluate(
        """box => {
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = getComputedStyle(box).font;
          return [box.clientWidth, pen.measureText(box.placeholder).width];
        }"""
    )

    assert 0 < needed <= room


async def test_every_screen_fits_a_phone(visitor: Visit, busy: Busy) -> None:
    async def look(someone: Visitor, place: str) -> None:
        assert await someone.overflow() == [], place

    phones = [await visitor(busy.server, viewport={"width": 360, "height": 780}, has_touch=True) for _ in range(2)]
    await on_each(phones, [*SCREENS, *busy.pages], look)
    assert await phones[0].barriers() == []


async def test_every_screen_names_the_window(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    names = [""]
    for link in await someone.page.get_by_role("navigation", name="Main menu").get_by_role("link").all():
        await link.click()
        # The screen before stays until the next has come.
        await expect(someone.page).not_to_have_title(names[-1])
        await someone.settled()
        names.append(await someone.page.title())

    assert all(name.endswith(" · Drumline") for name in names[1:])
    assert len(set(names)) == len(names)


async def test_an_empty_screen_says_what_to_do(visitor: Visit, empty: Server) -> None:
    someone = await visitor(empty)

    await on_each([someone, await visitor(empty)], SCREENS, has_no_barriers)
    await someone.open("/tasks")
    await someone.page.locator("main").get_by_text("curl").first.wait_for()


async def test_the_overview_of_a_new_server_says_how_to_begin(visitor: Visit, empty: Server) -> None:
    someone = await visitor(empty)
    await someone.open("/overview")

    start = someone.page.get_by_role("region", name="Get started")
    await expect(start).to_contain_text(f"curl {empty.url}/api/v1/tasks")
    await expect(start.get_by_role("link", name="Documentation")).to_have_attribute("href", "/docs/")


async def test_the_page_of_what_does_not_exist_leads_to_the_list(visitor: Visit, empty: Server) -> None:
    someone = await visitor(empty)
    someone.expected = [" 404 ", " 422 "]
    places = {"/tasks/01a1eaf2-db4c-71a3-856e-c79c3560a543": "Tasks", "/schedules/mistyped": "Schedules"}
    for place, name in places.items():
        await someone.open(place)
        assert await someone.page.locator("main").get_by_role("button", name="Try again").count() == 0
        await someone.page.locator("main").get_by_role("link", name=f"Back to {name}").click()
        await someone.page.get_by_role("heading", level=1, name=name, exact=True).wait_for()


@pytest.mark.parametrize(
    ("status", "words"),
    [(500, "Server error"), (403, "Permission denied"), (0, "Server unreachable")],
    ids=["error", "forbidden", "away"],
)
async def test_every_screen_says_what_went_wrong_and_stays_usable(
    visitor: Visit, busy: Busy, status: int, words: str
) -> None:
    async def refuse(route: Route) -> None:
        if status == 0:
            await route.abort()
            return
        body = json.dumps({**PROBLEM, "status": status})
        await route.fulfill(status=status, content_type="application/problem+json", body=body)

    async def look(someone: Visitor, place: str) -> None:
        main = someone.page.locator("main")
        await main.get_by_text(words).first.wait_for()
        if status:
            await main.get_by_text("Not today.").first.wait_for()
        assert await someone.page.get_by_role("navigation", name="Main menu").count() == 1, place

    windows = [await visitor(busy.server) for _ in range(WINDOWS)]
    for someone in windows:
        someone.expected = [f" {status} "] if status else ["ERR_FAILED", "Failed to load"]
        await someone.page.route(re.compile(r"/api/v1/(?!sign-in)|/actuator/"), refuse)

    await on_each(windows, [*SCREENS, *busy.pages], look)
    for someone in windows:
        await has_no_barriers(someone, someone.page.url)


async def test_what_a_key_may_not_see_is_said_and_not_offered(visitor: Visit, busy: Busy) -> None:
    _, made = busy.server.ask("POST", "/api/v1/keys", {"name": "looks only", "role": "viewer"})
    someone = await visitor(busy.server, key=made["key"])
    someone.expected = [" 403 "]

    await someone.open("/keys")
    await someone.page.get_by_text("Permission denied").wait_for()
    assert await someone.page.get_by_role("button", name="New key").count() == 0
    await someone.open("/tasks")
    assert await someone.page.get_by_role("button", name="Submit").count() == 0
    await someone.open("/queues")
    assert await someone.page.get_by_role("button", name="Pause").count() == 0


async def test_what_cannot_be_taken_back_is_asked_for_first(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/keys")
    revoke = page.get_by_role("row").filter(has_text="wall screen").get_by_role("button", name="Revoke")
    await revoke.click()
    await page.get_by_role("dialog", name="Revoke wall screen?").get_by_role("button", name="Cancel").click()

    # The focus is back where it was, and nothing has happened.
    await page.wait_for_function("document.activeElement.innerText === 'Revoke'")
    keys = busy.server.ask("GET", "/api/v1/keys")[1]["items"]
    assert [key["revoked_at"] for key in keys if key["name"] == "wall screen"] == [None]


async def test_a_page_whose_parts_were_replaced_is_loaded_anew(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["404", "Failed to fetch", "Failed to load", "Unable to preload CSS"]
    page = someone.page
    await someone.open("/tasks")
    await page.route(re.compile("/ui/assets/Palette"), lambda route: route.fulfill(status=404))

    async with page.expect_navigation():
        await page.keyboard.press("Control+k")
    await page.unroute_all()
    await someone.settled()
    await someone.press("Control+k")

    await page.get_by_role("dialog", name="Command menu").wait_for()


async def test_the_key_leaves_the_address_bar(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)

    assert busy.server.key not in someone.page.url


async def test_a_stranger_is_asked_for_a_key_and_told_when_it_is_wrong(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["401"]
    await someone.page.context.clear_cookies()
    await someone.open("/tasks")

    await someone.page.get_by_label("API key").fill("sk_wrong")
    await someone.page.get_by_role("button", name="Sign in").click()
    await someone.page.get_by_text("not valid").wait_for()
    await someone.page.get_by_label("API key").fill(busy.server.key)
    await someone.page.get_by_role("button", name="Sign in").click()

    await someone.page.get_by_role("table", name="Tasks").wait_for()
