"""Services stop in order, and none is left running."""

import asyncio
from functools import partial

import pytest

from drumline.lifecycle.stages import Service, Stage, run_in_stages
from drumline.lifecycle.stop_signals import Stopping


class Journal:
    """Services that write down when they start and end."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.gate = asyncio.Event()
        self.all_started = asyncio.Event()

    def service(self, name: str) -> Service:
        async def run(stop: asyncio.Event) -> None:
            self.lines.append(f"{name} starts")
            if len(self.lines) == 3:
                self.all_started.set()
            await stop.wait()
            await asyncio.sleep(0)
            self.lines.append(f"{name} ends")

        return run

    async def ending(self, _stop: asyncio.Event) -> None:
        """End by itself once the gate opens."""
        await self.gate.wait()

    async def failing(self, _stop: asyncio.Event) -> None:
        await self.gate.wait()
        raise ConnectionError("gone")


@pytest.fixture
def journal() -> Journal:
    return Journal()


async def test_each_stage_stops_when_the_one_before_has_ended(journal: Journal) -> None:
    stopping = Stopping()
    stages = [Stage({name: journal.service(name)}) for name in ("worker", "duties", "api")]

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(run_in_stages(stages, stopping))
        await journal.all_started.wait()
        stopping.ask("test")
        await running

    assert journal.lines[3:] == ["worker ends", "duties ends", "api ends"]


async def test_a_process_ends_with_its_purpose(journal: Journal) -> None:
    stages = [Stage({"worker": journal.ending}, is_purpose=True), Stage({"api": journal.service("api")})]
    journal.gate.set()

    async with asyncio.timeout(5):
        await run_in_stages(stages, Stopping())

    assert journal.lines == ["api starts", "api ends"]


async def test_a_service_that_ends_by_itself_leaves_the_others_running(journal: Journal) -> None:
    stopping = Stopping()
    stages = [Stage({"worker": journal.ending}), Stage({"api": journal.service("api")})]

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(run_in_stages(stages, stopping))
        journal.gate.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert journal.lines == ["api starts"]
        stopping.ask("test")
        await running


async def test_a_service_that_fails_takes_the_others_down(journal: Journal) -> None:
    stages = [Stage({"worker": journal.failing}), Stage({"api": journal.service("api")})]
    journal.gate.set()

    with pytest.raises(ExceptionGroup) as failure:
        async with asyncio.timeout(5):
            await run_in_stages(stages, Stopping())

    assert failure.group_contains(ConnectionError, match="gone")


async def test_a_second_request_hurries() -> None:
    stopping = Stopping()
    ask = partial(stopping.ask, "test")

    ask()
    once = (stopping.asked.is_set(), stopping.hurried.is_set())
    ask()

    assert once == (True, False)
    assert stopping.hurried.is_set()
