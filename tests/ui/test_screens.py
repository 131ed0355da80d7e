"""Every screen, in both themes, wide and narrow, with and without content, and when things go wrong."""

import json
import re

import pytest
from playwright.async_api import Route

from tests.black_box.server import Server
from tests.ui.conftest import Busy, Visit
from tests.ui.places import SCREENS

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]


async def test_every_screen_with_content_has_no_barriers(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, color_scheme="light")

    for screen in [*SCREENS, *busy.pages]:
        await someone.open(screen)

        assert await someone.barriers() == [], screen
        assert await someone.overflow() == 0, screen


async def test_every_screen_has_contrast_in_the_dark(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, color_scheme="dark")

    for screen in [*SCREENS, *busy.pages]:
        await someone.open(screen)

        assert await someone.barriers(rules=("color-contrast",)) == [], screen


async def test_every_screen_fits_a_phone(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, viewport={"width": 360, "height": 780}, has_touch=True)

    for screen in [*SCREENS, *busy.pages]:
        await someone.open(screen)

        assert await someone.overflow() == 0, screen
    assert await someone.barriers() == []


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_an_empty_screen_says_what_to_do(visitor: Visit, empty: Server, theme: str) -> None:
    someone = await visitor(empty, color_scheme=theme)

    for screen in SCREENS:
        await someone.open(screen)

        assert await someone.barriers(rules=None if theme == "light" else ("color-contrast",)) == [], screen
    await someone.open("/tasks")
    await someone.page.locator("main").get_by_text("curl").first.wait_for()


@pytest.mark.parametrize(
    ("status", "theme", "words"),
    [(500, "light", "could not answer"), (403, "dark", "may not do this")],
)
async def test_a_screen_says_what_went_wrong_and_stays_usable(
    visitor: Visit, busy: Busy, status: int, theme: str, words: str
) -> None:
    someone = await visitor(busy.server, color_scheme=theme)
    someone.expected = [f" {status} "]
    problem = {"type": "about:blank", "title": "No", "status": status, "code": "no", "detail": "not today"}

    async def refuse(route: Route) -> None:
        await route.fulfill(status=status, content_type="application/problem+json", body=json.dumps(problem))

    await someone.page.route(re.compile(r"/api/v1/(?!sign-in)|/actuator/"), refuse)
    # What may pass is tried again first, which takes a while on each screen.
    for screen in SCREENS[::3] if status == 500 else SCREENS:
        await someone.open(screen)

        await someone.page.locator("main").get_by_text(words).first.wait_for()
        await someone.page.locator("main").get_by_text("Not today.").first.wait_for()
        assert await someone.page.get_by_role("navigation", name="Screens").count() == 1
    assert await someone.barriers() == []


async def test_what_a_key_may_not_see_is_said_and_not_offered(visitor: Visit, busy: Busy) -> None:
    _, made = busy.server.ask("POST", "/api/v1/keys", {"name": "looks only", "role": "viewer"})
    someone = await visitor(busy.server, key=made["key"])
    someone.expected = [" 403 "]

    await someone.open("/keys")
    await someone.page.get_by_text("may not do this").wait_for()
    await someone.open("/tasks")
    assert await someone.page.get_by_role("button", name="Submit").count() == 0
    await someone.open("/queues")
    assert await someone.page.get_by_role("button", name="Pause").count() == 0


async def test_a_server_that_is_away_is_told_from_one_that_refuses(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["ERR_FAILED", "Failed to load"]
    await someone.page.route("**/api/v1/**", lambda route: route.abort())

    await someone.open("/jobs")

    await someone.page.get_by_text("cannot be reached").first.wait_for()


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
