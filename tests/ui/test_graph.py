"""The graph of a job: laid out beside the page, readable at any size, and never lost."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.black_box.server import Server
from tests.harness.browser import CALM
from tests.ui.conftest import Busy, Visit
from tests.ui.test_budgets import LONGEST_TASK_MS, tell, traced

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

DRAWN = "svg[data-scale]"


def layered(layers: int, width: int, *, kinds: int) -> dict[str, Any]:
    """Return tasks in layers, each of which needs two of the layer before."""
    return {
        f"t{layer}-{place}": {
            "name": f"nobody-has-this-{(layer * 7 + place) % kinds}",
            "delay": "1h",
            "needs": sorted({f"t{layer - 1}-{place}", f"t{layer - 1}-{(place * 7 + layer) % width}"}) if layer else [],
        }
        for layer in range(layers)
        for place in range(width)
    }


def job_of(server: Server, tasks: dict[str, Any]) -> str:
    for task in tasks.values():
        if task["needs"]:
            del task["delay"]  # only roots wait for a time
    status, made = server.ask("POST", "/api/v1/jobs", {"name": "a large graph", "tasks": tasks})
    assert status == 201, made
    return str(made["id"])


async def boxes_in_view(page: Page) -> int:
    """Return how many boxes can be seen at least in part."""
    return int(
        await page.evaluate(
            """() => {
              const frame = document.querySelector("svg[data-scale]").getBoundingClientRect();
              return [...document.querySelectorAll("[data-box]")].map(one => one.getBoundingClientRect()).filter(box =>
                box.right > frame.left && box.left < frame.right && box.bottom > frame.top && box.top < frame.bottom
              ).length;
            }"""
        )
    )


async def test_a_graph_of_390_tasks_keeps_the_page_free(visitor: Visit, busy: Busy) -> None:
    job = job_of(busy.server, layered(13, 30, kinds=390))
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/jobs/{job}?tab=list")

    async with traced(page) as steps:
        await page.get_by_role("tab", name="Graph").click()
        await page.locator(DRAWN).wait_for()
        await page.get_by_role("button", name="Fit").click()
        await page.get_by_role("button", name="Reset").click()

    tell(f"the longest of {len(steps)} steps took {max(steps):.0f} ms")
    assert 0 < max(steps) <= LONGEST_TASK_MS
    busy.server.ask("POST", f"/api/v1/jobs/{job}/cancel")


async def test_a_thousand_tasks_are_grouped_found_and_seen_from_afar(visitor: Visit, busy: Busy) -> None:
    job = job_of(busy.server, layered(10, 100, kinds=13))
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open(f"/jobs/{job}")
    await page.locator(DRAWN).wait_for()

    group = page.get_by_role("button", name="Group similar tasks")
    await expect(group).to_have_attribute("aria-pressed", "true")
    await page.get_by_role("button", name="nobody-has-this-3").first.wait_for()
    await group.click()
    await page.locator('[data-box="t0-0"]').wait_for()
    assert await page.locator("[data-box]").count() < 250  # only what is in view
    assert await page.locator("[data-map]").count() == 1

    find = page.get_by_role("searchbox", name="Find a task in the graph")
    await find.fill("t7-55")
    await expect(page.get_by_role("status").filter(has_text="1")).to_be_visible()
    await find.press("Enter")
    await expect(page.locator('[data-box="t7-55"]')).to_be_in_viewport()
    await expect(page.locator('[data-box="t7-55"]')).to_have_attribute("data-match", "true")
    await page.locator('[data-box="t7-55"]').click()
    await page.wait_for_url("**node=t7-55*")

    await find.fill("")
    await page.get_by_role("button", name="Fit").click()
    await expect(page.locator("svg[data-scale] path[data-tone]").first).to_be_attached()  # areas, no names
    assert await page.locator("[data-box]").count() < 5
    busy.server.ask("POST", f"/api/v1/jobs/{job}/cancel")


async def test_the_graph_cannot_be_lost_and_the_wheel_scrolls_the_page(visitor: Visit, busy: Busy) -> None:
    job = job_of(busy.server, layered(4, 6, kinds=24))
    someone = await visitor(busy.server, viewport={"width": 1200, "height": 500})
    page = someone.page
    await someone.open(f"/jobs/{job}")
    drawn = page.locator(DRAWN)
    await drawn.scroll_into_view_if_needed()
    box = await drawn.bounding_box()
    assert box is not None
    # Beside the boxes, in the part that can be seen.
    middle = (box["x"] + 4, (max(box["y"], 60) + min(box["y"] + box["height"], 490)) / 2)

    for far in (3000, -3000):
        await page.mouse.move(*middle)
        await page.mouse.down()
        await page.mouse.move(middle[0] + far, middle[1] + far, steps=4)
        await page.mouse.up()
        assert await boxes_in_view(page) > 0

    before, scale = await page.locator("main").evaluate("one => one.scrollTop"), await drawn.get_attribute("data-scale")
    await page.mouse.move(*middle)
    await page.mouse.wheel(0, -200)
    await expect(page.get_by_text("to zoom with the wheel")).to_be_visible()
    while before and await page.locator("main").evaluate("one => one.scrollTop") >= before:
        await page.evaluate(CALM)
    assert await drawn.get_attribute("data-scale") == scale
    await drawn.hover(position={"x": 4, "y": 8})  # the page has scrolled away under the pointer
    await page.keyboard.down("Control")
    await page.mouse.wheel(0, -200)
    await page.keyboard.up("Control")
    await expect(drawn).not_to_have_attribute("data-scale", scale or "")
    busy.server.ask("POST", f"/api/v1/jobs/{job}/cancel")
