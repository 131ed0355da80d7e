"""Every screen, in both themes, wide and narrow, with and without content: usable by everybody, and quiet."""

import pytest

from tests.black_box.server import Server
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services]

SCREENS = [
    "/overview", "/tasks", "/tasks?status=failed", "/failures", "/jobs", "/schedules", "/queues", "/workers", "/types",
    "/bulk", "/notifications", "/audit", "/keys", "/settings",
]  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_screen_with_content_has_no_barriers(visitor: Visit, busy: Busy, theme: str) -> None:
    someone = await visitor(busy.server, color_scheme=theme)

    for screen in [*SCREENS, *busy.pages]:
        await someone.open(screen)

        assert await someone.barriers() == [], screen
        assert await someone.overflow() == 0, screen


async def test_every_screen_fits_a_phone(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server, viewport={"width": 360, "height": 780})

    for screen in [*SCREENS, *busy.pages]:
        await someone.open(screen)

        assert await someone.overflow() == 0, screen
    assert await someone.barriers() == []


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_an_empty_screen_says_what_to_do(visitor: Visit, empty: Server, theme: str) -> None:
    someone = await visitor(empty, color_scheme=theme)

    for screen in SCREENS:
        await someone.open(screen)

        assert await someone.barriers() == [], screen
    await someone.open("/tasks")
    assert "curl" in await someone.page.inner_text("main")


async def test_the_key_leaves_the_address_bar(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)

    assert busy.server.key not in someone.page.url


async def test_a_stranger_is_asked_for_a_key_and_told_when_it_is_wrong(visitor: Visit, busy: Busy) -> None:
    someone = await visitor(busy.server)
    someone.expected = ["401"]
    await someone.page.evaluate("localStorage.clear(); sessionStorage.clear()")
    await someone.open("/tasks")

    await someone.page.get_by_label("API key").fill("sk_wrong")
    await someone.page.get_by_role("button", name="Log in").click()
    await someone.page.get_by_text("not valid").wait_for()
    await someone.page.get_by_label("API key").fill(busy.server.key)
    await someone.page.get_by_role("button", name="Log in").click()

    await someone.page.get_by_role("table", name="Tasks").wait_for()
