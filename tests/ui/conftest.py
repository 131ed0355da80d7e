"""A server with something of everything in it, and a browser to look at it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.black_box.server import Server, eventually
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


class Busy(NamedTuple):
    """A server with something of everything, and the pages of single things on it."""

    server: Server
    pages: tuple[str, ...]


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """A server with tasks in every state, jobs, schedules, failures and somebody who is told."""
    with Server(tmp_path_factory.mktemp("busy") / "data") as server:
        for number in range(40):
            command = ["sh", "-c", f"echo line {number}; exit {int(number % 5 == 0)}"]
            server.submit(
                "shell", payload={"command": command}, retries=0, tags=["demo", f"n{number}"], queue=f"q{number % 3}"
            )
        running = server.submit("shell", payload={"command": ["sleep", "600"]}, queue="long")
        waiting = server.submit("nobody-has-this", delay="2h")
        job = {
            "extract": {"command": ["true"]},
            "clean": {"command": ["true"], "needs": ["extract"]},
            "load": {"command": ["sh", "-c", "echo full; exit 1"], "needs": ["clean"], "retries": 0},
            "mail": {"command": ["true"], "needs": ["load"]},
        }
        made = {
            "jobs": server.ask("POST", "/api/v1/jobs", {"name": "nightly", "owner": "ada", "tasks": job}),
            "schedules": server.ask(
                "POST",
                "/api/v1/schedules",
                {"name": "morning", "cron": "30 9 * * mon-fri", "timezone": "Europe/Berlin", "task": {"name": "shell"}},
            ),
        }
        server.ask(
            "POST", "/api/v1/subscriptions", {"name": "ops", "events": ["drumline.job.*"], "email": "ops@localhost"}
        )
        server.ask("POST", "/api/v1/keys", {"name": "reader", "role": "viewer"})
        eventually(lambda: server.count("FAILED") >= 9, 30.0)
        _, groups = server.ask("GET", "/api/v1/failures/groups")
        pages = (
            f"/tasks/{running}?tab=log",
            f"/tasks/{waiting}",
            *(f"/{noun}/{body['id']}" for noun, (_, body) in made.items()),
            f"/jobs/{made['jobs'][1]['id']}?tab=list&node=load",
            f"/failures/{groups['items'][0]['fingerprint']}",
        )
        yield Busy(server, pages)


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
