"""What the interface may weigh, and how smooth it stays: limits that it must keep to.

The figures that the documentation names are measured with more: DRUMLINE_UI_ROWS=100000 DRUMLINE_UI_SECONDS=60. Only
then is the clock judged, on a machine that does nothing else.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Response

from tests.black_box.server import Server
from tests.harness.browser import UI
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

BUILT = UI.parent / "src" / "drumline" / "_ui" / "assets"
KIB = 1024
ROWS = int(os.environ.get("DRUMLINE_UI_ROWS", "5000"))
SECONDS = int(os.environ.get("DRUMLINE_UI_SECONDS", "4"))
IS_MEASUREMENT = SECONDS >= 60
EVENTS_A_SECOND = 500
LONGEST_TASK_MS = 100 if IS_MEASUREMENT else 200
"""What may keep the page from answering, in processor time; beside other tests each step costs some more of it."""


def tell(text: str) -> None:
    """Say what was measured; `pytest -rP` shows it."""
    sys.stdout.write(f"{text}\n")


def compressed(name: str) -> int:
    return (BUILT / f"{name}.gz").stat().st_size


def built(ending: str) -> list[str]:
    return [file.stem for file in BUILT.glob(f"*{ending}.gz")]


@asynccontextmanager
async def traced(page: Page) -> AsyncIterator[list[float]]:
    """Collect for how long the page's main thread was at work at a time, in milliseconds.

    It is processor time: that others had the processor meanwhile is not the page's fault.
    """
    took: list[float] = []
    assert page.context.browser is not None
    await page.context.browser.start_tracing(page=page, categories=["toplevel"])
    try:
        yield took
    finally:
        events = json.loads(await page.context.browser.stop_tracing())["traceEvents"]
        mains = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        took += [event["tdur"] / 1000 for event in events if "tdur" in event and (event["pid"], event["tid"]) in mains]


async def test_the_first_screen_loads_little(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    loaded: set[str] = set()

    def hear(response: Response) -> None:
        if "/ui/assets/" in response.url:
            loaded.add(response.url.rpartition("/")[2])

    page = await someone.page.context.new_page()
    page.on("response", hear)
    await page.goto(f"{busy.server.url}/ui/overview")
    await page.get_by_text("waiting to run").wait_for()

    scripts = sum(compressed(name) for name in loaded if name.endswith(".js"))
    styles = sum(compressed(name) for name in loaded if name.endswith(".css"))
    tell(f"first screen: {scripts / KIB:.1f} KiB of scripts, {styles / KIB:.1f} KiB of styles")
    assert 0 < scripts <= 170 * KIB
    assert 0 < styles <= 20 * KIB


async def test_all_of_it_weighs_little(browser: object) -> None:
    assert browser is not None
    sizes = [compressed(name) for name in built(".js")]

    tell(f"all scripts: {sum(sizes) / KIB:.1f} KiB, the largest {max(sizes) / KIB:.1f} KiB")
    assert sum(sizes) <= 400 * KIB
    assert sorted(sizes)[-2] <= 60 * KIB  # but for the first, which has the frame and its libraries


async def test_the_overview_is_there_at_once(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    page = await someone.page.context.new_page()

    started = time.monotonic()
    await page.goto(f"{busy.server.url}/ui/overview")
    await page.get_by_text("waiting to run").wait_for()

    usable = time.monotonic() - started
    tell(f"overview usable after {usable:.2f} s")
    assert usable < 1.0 or not IS_MEASUREMENT


async def test_a_long_list_scrolls_to_its_end_without_a_jump(
    visitor: Visit, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Server(tmp_path_factory.mktemp("long") / "data", app=None) as server:
        for start in range(0, ROWS, 1_000):
            count = min(1_000, ROWS - start)
            server.ask("POST", "/api/v1/tasks/batch", {"tasks": [{"name": "nobody-has-this", "delay": "1h"}] * count})
        someone = await visitor(server)
        await someone.open("/tasks")
        page = someone.page
        box = page.get_by_role("rowgroup")

        async with traced(page) as tasks:
            seen = 0
            while seen < ROWS:
                before = await _first_row(page)
                await box.evaluate("box => box.scrollBy(0, box.clientHeight * 8)")
                await asyncio.sleep(0.05)
                after = await _first_row(page)
                assert after >= before
                seen = int(await page.get_by_role("table", name="Tasks").get_attribute("aria-rowcount") or 0) - 1

        assert seen == ROWS
        assert await page.locator("[role=row]").count() < 100
        tell(f"the longest of {len(tasks)} steps took {max(tasks):.0f} ms")
        assert 0 < max(tasks) <= LONGEST_TASK_MS


async def _first_row(page: Page) -> int:
    return int(await page.locator("[role=rowgroup] [role=row]").first.get_attribute("aria-rowindex") or 0)


async def test_many_events_leave_the_page_free(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    await someone.open("/tasks")
    page = someone.page
    await page.get_by_role("button", name="Live").wait_for()
    flood = [{"name": "nobody-has-this", "delay": "1h", "tags": ["flood"]}] * (EVENTS_A_SECOND // 4)

    async with traced(page) as tasks:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            turn = time.monotonic()
            await asyncio.to_thread(busy.server.ask, "POST", "/api/v1/tasks/batch", {"tasks": flood})
            await asyncio.sleep(max(0.0, turn + 0.25 - time.monotonic()))
        await page.get_by_role("button", name="100+ new").wait_for()

    tell(f"the longest of {len(tasks)} steps took {max(tasks):.0f} ms")
    assert 0 < max(tasks) <= LONGEST_TASK_MS


async def test_a_job_of_a_thousand_tasks_is_drawn_and_answers(visitor: Visit, busy: Busy) -> None:
    layers, width = 10, 100
    tasks = {
        f"t{layer}-{place}": {
            "name": f"nobody-has-this-{(layer * 7 + place) % 13}",
            "needs": [f"t{layer - 1}-{place}", f"t{layer - 1}-{(place * 7 + layer) % width}"] if layer else [],
        }
        for layer in range(layers)
        for place in range(width)
    }
    for task in tasks.values():
        task["needs"] = sorted(set(task["needs"]))
    _, made = busy.server.ask("POST", "/api/v1/jobs", {"name": "a thousand", "tasks": tasks})
    someone = await visitor(busy.server)

    started = time.monotonic()
    await someone.page.goto(f"{busy.server.url}/ui/jobs/{made['id']}")
    await someone.page.locator("[data-box]").first.wait_for(timeout=20_000)
    drawn = time.monotonic() - started
    await someone.page.get_by_role("button", name="Group similar tasks").click()
    await someone.page.locator('[data-box="t0-0"]').focus()
    started = time.monotonic()
    await someone.page.keyboard.press("Enter")
    await someone.page.wait_for_url("**node=t0-0*")
    answered = time.monotonic() - started

    tell(f"a thousand tasks drawn after {drawn:.2f} s, answering after {answered:.2f} s")
    assert (drawn < 2.5 and answered < 0.5) or not IS_MEASUREMENT
    busy.server.ask("POST", f"/api/v1/jobs/{made['id']}/cancel")
