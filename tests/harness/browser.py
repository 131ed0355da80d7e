"""A real browser on pages of a real server. Whatever a page complains about fails its test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    async_playwright,
    expect,
)

from drumline.api import ui
from scripts import programs
from tests.harness.programs import NOT_BUILT, path_of

UI = Path(__file__).parents[2] / "ui"
AXE = UI / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SERIOUS = {"serious", "critical"}
OVERFLOW = """() => {
  const main = document.querySelector("main");
  const wide = [document.documentElement, main].filter(one => one && one.scrollWidth > one.clientWidth);
  const cut = [...document.querySelectorAll("[role=cell] > [data-tone]")].filter(
    one => one.getBoundingClientRect().right > one.parentElement.getBoundingClientRect().right + 1);
  return [...wide, ...cut].map(one => `${one.tagName} ${one.scrollWidth} px: ${one.innerText.slice(0, 40)}`);
}"""
CALM = "new Promise(done => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))"
"""Until the page has done what it was about to do: what is shown may answer to keys only a moment later."""
MOST_TABS = 200
"""How often Tab is pressed to get somewhere; whoever needs more gives up."""
PATIENCE = 60_000
"""Milliseconds that a page is given to show something; where less is promised, the test says so."""
expect.set_options(timeout=PATIENCE)


def missing() -> str | None:
    """Return why no browser can be had, or nothing."""
    if reason := programs.missing("chromium"):
        return reason
    return None if "index.html" in ui._FILES else NOT_BUILT


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run the machine's Chromium; it is never downloaded."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path_of("chromium"), args=list(FLAGS))
        yield browser
        await browser.close()


class Visitor:
    """A browser window that records every error of its pages."""

    def __init__(self, page: Page, url: str, key: str) -> None:
        self.page = page
        self.url = url
        self.key = key
        self.faults: list[str] = []
        self.expected: list[str] = []
        """Parts of complaints that a test brings about on purpose."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        page.on("request", self._watch)

    async def log_in(self) -> None:
        """Come in by the address that the server prints."""
        await self.page.goto(f"{self.url}/#key={self.key}")
        await self.page.wait_for_selector("nav", state="attached")
        await self.hears()

    async def open(self, path: str) -> None:
        """Go to a screen, and wait until it has loaded."""
        await self.page.goto(f"{self.url}/ui{path}")
        await self.settled()

    async def settled(self) -> None:
        """Wait until there is something, and nothing is loading."""
        await self.page.wait_for_selector("main *", state="attached")
        loading = self.page.locator('[aria-label="Loading"]')
        await self.page.evaluate(CALM)
        while await loading.count():
            await loading.first.wait_for(state="hidden")
            await self.page.evaluate(CALM)

    async def hears(self) -> None:
        """Wait until the page receives events."""
        await self.page.wait_for_selector("[data-kind=live], [data-kind=polling]", state="attached")

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, each when the page has done what the one before it asked for."""
        for key in keys:
            await self.page.evaluate(CALM)
            await self.page.keyboard.press(key)
        await self.page.evaluate(CALM)

    async def focus(self, there: Locator, *, key: str = "Tab") -> None:
        """Go to something as people do who have no mouse: press Tab until it has the focus."""
        await there.wait_for()
        await self.page.evaluate(CALM)
        for _ in range(MOST_TABS):
            if await there.evaluate("one => one === document.activeElement"):
                return
            await self.page.keyboard.press(key)
        raise AssertionError(f"{key} does not lead to {there}")

    async def write(self, there: Locator, text: str) -> None:
        """Go to a field by keyboard, and write into it, over what is there."""
        await self.focus(there)
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.type(text)
        await expect(there).to_have_value(text)

    async def choose(self, there: Locator, option: str) -> None:
        """Open a list of choices, and take one of them."""
        await there.click()
        await self.page.get_by_role("option", name=option, exact=True).click()
        await expect(there).to_have_text(option)

    async def barriers(self, rules: tuple[str, ...] | None = None) -> list[str]:
        """Return what keeps people from using the screen, as axe finds it; by some of its rules, or by all."""
        await self.page.evaluate(AXE.read_text(encoding="utf-8"))
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules is not None:
            options["runOnly"] = {"type": "rule", "values": list(rules)}
        found: dict[str, Any] = await self.page.evaluate("options => axe.run(document, options)", options)
        return [
            f"{violation['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
            for violation in found["violations"]
            if violation["impact"] in SERIOUS
            for node in violation["nodes"]
        ]

    async def overflow(self) -> list[str]:
        """Return what is wider than the room it has: the page, its content, or a status that is cut off."""
        found: list[str] = await self.page.evaluate(OVERFLOW)
        return found

    def check(self) -> None:
        """Fail with whatever went wrong."""
        faults = [fault for fault in self.faults if not any(part in fault for part in self.expected)]
        assert faults == [], faults

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"console {message.type}: {message.text} {message.location.get('url', '')}")

    def _watch(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.netloc != urlsplit(self.url).netloc:
            self.faults.append(f"asked somebody else: {request.url}")


async def visit(browser: Browser, url: str, key: str, **options: Any) -> tuple[BrowserContext, Visitor]:
    """Open a browser window in a context of its own."""
    context = await browser.new_context(
        **{"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **options}
    )
    context.set_default_timeout(PATIENCE)
    return context, Visitor(await context.new_page(), url, key)
