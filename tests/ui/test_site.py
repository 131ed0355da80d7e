"""The documentation site in a browser, under the server's content policy, without another origin."""

import pytest
from playwright.async_api import Browser, expect

from drumline.api.package_files import SITE
from tests.black_box.server import Server
from tests.harness.browser import Visitor, visit

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not SITE.names, reason="the documentation is not built: `make docs` builds it"),
]


async def reader(browser: Browser, server: Server, path: str) -> Visitor:
    _, found = await visit(browser, server.url, server.key, color_scheme="light")
    await found.page.goto(f"{server.url}/docs/{path}")
    return found


@pytest.mark.parametrize("path", ["", "how-to/jobs/"])
async def test_search_finds_a_page_from_any_depth(browser: Browser, empty: Server, path: str) -> None:
    found = await reader(browser, empty, path)

    await found.page.keyboard.press("/")
    await found.page.keyboard.type("idempotency key")
    result = found.page.locator(".md-search-result__item a").first
    await expect(result).to_be_visible()
    address = await result.get_attribute("href")
    await found.page.keyboard.press("ArrowDown")
    await found.page.keyboard.press("Enter")
    await expect(found.page.locator("article mark").first).to_be_attached()

    assert address is not None
    assert address.startswith(f"{empty.url}/docs/")
    found.check()


async def test_the_site_can_be_read_in_the_dark(browser: Browser, empty: Server) -> None:
    found = await reader(browser, empty, "")
    body = found.page.locator("body")
    await expect(body).to_have_attribute("data-md-color-scheme", "default")

    await found.page.emulate_media(color_scheme="dark")
    await expect(body).to_have_attribute("data-md-color-scheme", "slate")
    await found.page.emulate_media(color_scheme="light")
    await expect(body).to_have_attribute("data-md-color-scheme", "default")
    for _ in range(2):
        await found.page.locator("label.md-header__button[for^=__palette]:visible").click()

    await expect(body).to_have_attribute("data-md-color-scheme", "slate")
    found.check()


async def test_code_can_be_copied(browser: Browser, empty: Server) -> None:
    found = await reader(browser, empty, "how-to/jobs/")

    await expect(found.page.locator("article .md-clipboard, article .md-code__button").first).to_be_attached()
    found.check()
