"""Every screen, in both themes, wide and narrow, with and without content: usable by everybody, and quiet."""

import pytest

from tests.black_box.server import Server
from tests.ui.conftest import Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services]

SCREENS = ["/overview", "/tasks", "/tasks?status=failed", "/queues", "/workers"]
LOOKS = [("light", 1440), ("dark", 1440), ("light", 360), ("dark", 360)]


@pytest.mark.parametrize(("theme", "width"), LOOKS)
async def test_a_screen_with_content_has_no_barriers(visitor: Visit, busy: Server, theme: str, width: int) -> None:
    someone = await visitor(busy, color_scheme=theme, viewport={"width": width, "height": 900})

    for screen in SCREENS:
        await someone.open(screen)

        assert await someone.barriers() == [], screen
        assert await someone.overflow() == 0, screen


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_an_empty_screen_says_what_to_do(visitor: Visit, empty: Server, theme: str) -> None:
    someone = await visitor(empty, color_scheme=theme)

    for screen in SCREENS:
        await someone.open(screen)

        assert await someone.barriers() == [], screen
    await someone.open("/tasks")
    assert "curl" in await someone.page.inner_text("main")


async def test_the_key_leaves_the_address_bar(visitor: Visit, busy: Server) -> None:
    someone = await visitor(busy)

    assert busy.key not in someone.page.url


async def test_a_stranger_is_asked_for_a_key_and_told_when_it_is_wrong(visitor: Visit, busy: Server) -> None:
    someone = await visitor(busy)
    someone.expected = ["401"]
    await someone.page.evaluate("localStorage.clear(); sessionStorage.clear()")
    await someone.open("/tasks")

    await someone.page.get_by_label("API key").fill("sk_wrong")
    await someone.page.get_by_role("button", name="Log in").click()
    await someone.page.get_by_text("not valid").wait_for()
    await someone.page.get_by_label("API key").fill(busy.key)
    await someone.page.get_by_role("button", name="Log in").click()

    await someone.page.get_by_role("table", name="Tasks").wait_for()
