"""While the server is away, pages keep what they show, say how old it is, and come back by themselves."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Route, expect

from tests.harness.browser import Visitor
from tests.harness.proxy import Proxy
from tests.ui.conftest import Busy, Visit
from tests.ui.places import SCREENS

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

WATCH = """() => {
  const sign = document.querySelector("[data-kind]");
  window.said = [sign.dataset.kind];
  new MutationObserver(() => window.said.push(sign.dataset.kind)).observe(sign, {attributes: true});
}"""
AWAY = re.compile(r"Server not reachable since [\d:]+, retrying")


@asynccontextmanager
async def through_a_proxy(visitor: Visit, busy: Busy) -> AsyncIterator[tuple[Visitor, Proxy]]:
    """Look at the server through something that can be cut."""
    host, port = busy.server.url.removeprefix("http://").split(":")
    proxy = Proxy(host, int(port))
    await proxy.start()
    try:
        someone = await visitor(busy.server, at=f"http://127.0.0.1:{proxy.port}")
        someone.expected = ["ERR_", "Failed to load", "Failed to fetch", "could not load this page"]
        yield someone, proxy
        await someone.page.context.close()
    finally:
        await proxy.close()


def cut(proxy: Proxy) -> None:
    """Take the server away: no connection stays, and none can be made."""
    proxy.refuse()
    proxy.reset()


async def shown(page: Page) -> str:
    """Return what a page shows, without what counts by itself."""
    text = await page.locator("main").inner_text()
    return re.sub(r"(in )?\d+ (ms|s|min|h|d)( \d+ (s|min|h))?( ago| late)?|just now", "", text)


async def test_every_page_keeps_what_it_shows_when_it_cannot_be_read_again(visitor: Visit, busy: Busy) -> None:
    windows = [await visitor(busy.server) for _ in range(2)]
    left = [*SCREENS, *busy.pages]

    async def walk(someone: Visitor) -> None:
        someone.expected = ["ERR_FAILED", "Failed to load"]
        page = someone.page
        await page.clock.install()
        while left:
            place = left.pop(0)
            await someone.open(place)
            before = await shown(page)
            await page.route(re.compile(r"/api/v1/|/actuator/"), lambda route: route.abort())
            # Later, when somebody comes back to the page, all that it shows is read again.
            await page.clock.fast_forward(20_000)
            await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")

            told = page.get_by_label("Out of date")
            await expect(told).to_have_text(re.compile(r"cannot be reached. Last updated at .* ago"))
            after = await shown(page)
            assert await page.locator("main").get_by_text("cannot be reached").count() == 0, place
            assert len(after) > 0.8 * len(before), (place, before, after)
            await page.unroute_all()

    await asyncio.gather(*(walk(someone) for someone in windows))


async def test_the_indicator_never_calls_a_dead_server_polled(visitor: Visit, busy: Busy) -> None:
    async with through_a_proxy(visitor, busy) as (someone, proxy):
        page = someone.page
        await page.clock.install()
        await page.add_init_script("delete window.SharedWorker")  # whose clock is its own
        await someone.open("/queues")
        await someone.hears()
        cut(proxy)
        await page.get_by_role("button", name=AWAY).wait_for()
        await page.evaluate(WATCH)
        # Long enough for any number of tries: what the indicator says meanwhile is written down.
        await page.clock.fast_forward(60_000)
        await expect(page.get_by_label("Out of date")).to_have_text(
            re.compile(r"This page shows data from 1 min .* ago")
        )

        assert set(await page.evaluate("window.said")) == {"gone"}
        assert await someone.barriers() == []
        proxy.heal()
        await page.get_by_role("button", name="Live").wait_for()
        await expect(page.get_by_label("Out of date")).to_have_count(0)


async def test_a_page_that_could_not_be_loaded_is_there_when_the_server_is_back(visitor: Visit, busy: Busy) -> None:
    async with through_a_proxy(visitor, busy) as (someone, proxy):
        page = someone.page
        await someone.open("/queues")
        await someone.hears()
        cut(proxy)
        await page.get_by_role("button", name=AWAY).wait_for()
        await page.get_by_role("link", name="Workers", exact=True).click()

        await page.locator("main").get_by_text("could not load this page").wait_for()
        assert await page.get_by_role("navigation", name="Main menu").count() == 1
        proxy.heal()
        await page.get_by_role("heading", name="Workers").wait_for()


async def test_one_part_that_cannot_be_read_again_says_so_and_stays(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["500"]
    page = someone.page
    await someone.open("/workers")
    await page.get_by_text("slots in use").first.wait_for()

    async def break_down(route: Route) -> None:
        problem = {"type": "about:blank", "title": "No", "status": 500, "code": "internal", "detail": "not today"}
        await route.fulfill(status=500, content_type="application/problem+json", body=json.dumps(problem))

    await page.route("**/api/v1/workers", break_down)

    told = page.get_by_label("Out of date")
    await expect(told).to_have_text(re.compile(r"could not be refreshed. Not today. Last updated at .* ago"))
    assert await page.get_by_text("slots in use").count() > 0
    await page.unroute_all()
    await told.get_by_role("button", name="Try again").click()
    await expect(told).to_have_count(0)
