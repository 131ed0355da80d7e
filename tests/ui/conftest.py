"""A server with the demo on it, one that has never seen a task, and a browser to look at both."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.black_box.server import Server, eventually
from tests.harness import browser as browser_harness
from tests.harness.browser import Visitor, chromium, visit
from tests.ui.places import pages_of

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


class Busy(NamedTuple):
    """A server with something of everything, and the pages of single things on it."""

    server: Server
    pages: tuple[str, ...]


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """A server with the demo: tasks in every state, jobs, schedules, failures, and somebody who is told."""
    options = ("--seed", "7", "--rate", "0")
    with Server(tmp_path_factory.mktemp("busy") / "data", *options, app=None, program="demo") as server:

        def is_filled() -> bool:
            bulks = server.ask("GET", "/api/v1/bulk")[1]["items"]
            jobs = server.ask("GET", "/api/v1/jobs")[1]["items"]
            open_jobs = [job for job in jobs if job["status"] in {"PENDING", "PROCESSING"}]
            return len(bulks) == 2 and all(bulk["state"] == "completed" for bulk in bulks) and not open_jobs

        eventually(is_filled, 150.0, lambda: server.errors)
        yield Busy(server, pages_of(server))


@pytest_asyncio.fixture(loop_scope="session")
async def visitor(browser: Browser) -> AsyncIterator[Visit]:
    """Open windows; when the test is over, whatever a page complained about fails it."""
    async with AsyncExitStack() as stack:
        visitors: list[Visitor] = []

        async def open_window(
            server: Server, *, at: str | None = None, key: str | None = None, **options: Any
        ) -> Visitor:
            context, found = await visit(browser, at or server.url, key or server.key, **options)
            stack.push_async_callback(context.close)
            visitors.append(found)
            await found.log_in()
            return found

        yield open_window
        for found in visitors:
            found.check()
