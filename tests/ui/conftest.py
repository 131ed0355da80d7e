"""A server with something of everything in it, and a browser to look at it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.black_box.server import Server
from tests.harness import browser as browser_harness
from tests.harness.browser import Visitor, chromium, visit

Visit = Callable[..., Awaitable[Visitor]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if reason := browser_harness.missing():
        pytest.skip(reason)
    async with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that has never seen a task."""
    with Server(tmp_path_factory.mktemp("empty") / "data") as server:
        yield server


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with tasks in every state."""
    with Server(tmp_path_factory.mktemp("busy") / "data") as server:
        for number in range(40):
            command = ["sh", "-c", f"echo line {number}; exit {int(number % 5 == 0)}"]
            payload = {"command": command, "order": 9_007_199_254_740_993}
            server.submit("shell", payload=payload, retries=0, tags=["demo", f"n{number}"], queue=f"q{number % 3}")
        server.submit("shell", payload={"command": ["sleep", "600"]}, queue="long")
        server.submit("nobody-has-this", delay="2h")
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser) -> AsyncIterator[Visit]:
    """Open windows; when the test is over, whatever a page complained about fails it."""
    async with AsyncExitStack() as stack:
        visitors: list[Visitor] = []

        async def open_window(server: Server, **options: Any) -> Visitor:
            context, found = await visit(browser, server.url, server.key, **options)
            stack.push_async_callback(context.close)
            visitors.append(found)
            await found.log_in()
            return found

        yield open_window
        for found in visitors:
            found.check()
