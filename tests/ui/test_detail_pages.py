"""The pages of a queue, a type of task and a worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from drumline.core.session import BEAT_EVERY
from tests.black_box.server import Server
from tests.ui.conftest import Busy, Visit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.services, pytest.mark.timeout(300)]

DASH = "\N{EN DASH}"


async def test_a_queue_shows_what_waits_and_its_limits(visitor: Visit, busy: Busy) -> None:
    busy.server.ask("PUT", "/api/v1/limits/few-here", {"queue": "detail", "max_concurrent": 2})
    busy.server.ask("POST", "/api/v1/queues/detail/pause", {"reason": "a test"})
    tasks = [busy.server.submit("shell", payload={"shell": "exit 0"}, queue="detail") for _ in range(3)]
    someone = await visitor(busy.server)
    page = someone.page
    await someone.open("/queues")

    await page.get_by_role("region", name="Queues").get_by_role("link", name="detail", exact=True).click()

    await page.get_by_text("Paused: a test").wait_for()
    await page.get_by_role("cell", name="few-here").or_(page.get_by_role("rowheader", name="few-here")).wait_for()
    await page.locator("dl").get_by_role("link", name="3", exact=True).wait_for()
    await page.get_by_text("never, at this rate").wait_for()
    busy.server.ask("POST", "/api/v1/bulk", {"act": "cancel", "ids": tasks})
    busy.server.ask("POST", "/api/v1/queues/detail/resume")
    busy.server.ask("DELETE", "/api/v1/limits/few-here")


async def test_a_type_shows_its_failures_and_who_runs_it(visitor: Visit, busy: Busy) -> None:
    failed = busy.server.ask("GET", "/api/v1/tasks?status=FAILED&name=import.rows")[1]["items"][0]
    someone = await visitor(busy.server)
    await someone.open("/types/import.rows")

    await someone.page.get_by_text("Success rate").wait_for()
    await someone.page.get_by_role("heading", name="Slowest of the latest 100").wait_for()
    await someone.page.locator(f"a[href$='/tasks/{failed['id']}']").first.click()

    await someone.page.get_by_role("heading", name="Why it failed").wait_for()


async def test_a_worker_shows_its_load_and_its_types(visitor: Visit, busy: Busy) -> None:
    worker = busy.server.ask("GET", "/api/v1/workers")[1]["items"][0]
    someone = await visitor(busy.server)
    await someone.open(f"/workers/{worker['id']}")

    await someone.page.get_by_text(f"of {worker['capacity']}").first.wait_for()
    types = someone.page.locator("main").get_by_role("link", name=worker["types"][0], exact=True)
    await types.last.click()

    await someone.page.get_by_role("heading", name=worker["types"][0], exact=True, level=1).wait_for()


@asynccontextmanager
async def idle_worker(server: Server, usage: dict[str, float] | None = None) -> AsyncIterator[str]:
    """Register a worker by its protocol that takes no tasks, and keep it alive until the end."""
    sessions = "/api/v1/worker/sessions"
    status, opened = server.ask("POST", sessions, {"types": [{"name": "drained.by-hand"}], "capacity": 1})
    assert status == 201, opened
    path = f"{sessions}/{opened['session']}"

    async def beat() -> None:
        while True:
            await asyncio.to_thread(server.ask, "POST", f"{path}/beat", {"held": [], "usage": usage})
            await asyncio.sleep(BEAT_EVERY)

    beating = asyncio.create_task(beat(), name="heartbeats")
    try:
        yield opened["session"]
    finally:
        beating.cancel()
        await asyncio.wait({beating})
        server.ask("DELETE", path)


async def test_a_worker_shows_the_memory_and_processor_time_that_it_tells_of(visitor: Visit, busy: Busy) -> None:
    async with idle_worker(busy.server, {"memory": 88_080_384, "cpu": 1.5}) as worker:
        someone = await visitor(busy.server)
        page = someone.page
        await someone.open("/workers")

        tile = page.get_by_role("region", name=worker, exact=True)  # its heading, a link, is its name
        await expect(tile).to_contain_text("Memory 84 MiB · CPU 150 %")
        await tile.get_by_role("link", name=worker, exact=True).click()

        facts = page.get_by_role("region", name="Facts")
        await expect(facts).to_contain_text("Memory84 MiB")
        await expect(facts).to_contain_text("CPU150 % of one core")


async def test_a_worker_that_does_not_tell_what_it_uses_has_dashes(visitor: Visit, busy: Busy) -> None:
    async with idle_worker(busy.server) as worker:
        someone = await visitor(busy.server)
        await someone.open("/workers")
        tile = someone.page.get_by_role("region", name=worker, exact=True)
        await expect(tile).not_to_contain_text("Memory")
        await someone.open(f"/workers/{worker}")

        await expect(someone.page.get_by_role("region", name="Facts")).to_contain_text(f"Memory{DASH}CPU{DASH}")


@pytest.mark.parametrize("place", ["/workers", "/workers/{}"])
async def test_a_drain_is_undone_where_the_worker_is_shown(visitor: Visit, busy: Busy, place: str) -> None:
    async with idle_worker(busy.server) as worker:
        someone = await visitor(busy.server)
        await someone.open(place.format(worker))
        main = someone.page.locator("main")
        shown = main.locator("section").filter(has_text=worker) if place == "/workers" else main

        def should_drain() -> bool:
            workers = busy.server.ask("GET", "/api/v1/workers")[1]["items"]
            return worker in {each["id"] for each in workers if each["should_drain"]}

        await shown.get_by_role("button", name="Drain", exact=True).click()
        await shown.get_by_role("button", name="Cancel drain").wait_for()
        assert should_drain()

        await shown.get_by_role("button", name="Cancel drain").click()
        await someone.page.get_by_text("takes tasks again").wait_for()
        await shown.get_by_role("button", name="Drain", exact=True).wait_for()
        assert not should_drain()
