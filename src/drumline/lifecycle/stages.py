"""Running services side by side, and stopping them one stage after the other."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from drumline.lifecycle.stop_signals import Stopping

Service = Callable[[asyncio.Event], Awaitable[None]]
"""Runs until the event is set, and then ends in order."""
HURRY_SECONDS = 10.0
"""How long services may take to end after a second stop signal."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


@dataclass
class Stage:
    """Services that stop together."""

    services: Mapping[str, Service]
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    is_purpose: bool = False
    """Whether the process has nothing left to do once these have ended by themselves."""


async def run_in_stages(stages: Sequence[Stage], stopping: Stopping) -> None:
    """Run every service until asked to stop, or until those that are the purpose have ended by themselves.

    Then the stages stop in order: the next one is stopped when the one before has ended. A service that fails takes the
    others down with it, since half a process is worse than none.
    """
    async with asyncio.TaskGroup() as group:
        running = [
            [group.create_task(_run(service, stage.stop), name=name) for name, service in stage.services.items()]
            for stage in stages
        ]
        purpose = [task for stage, tasks in zip(stages, running, strict=True) if stage.is_purpose for task in tasks]
        await _first_of(stopping.asked, purpose)
        for stage, tasks in zip(stages, running, strict=True):
            stage.stop.set()
            await _ended(tasks, stopping.hurried)


async def _run(service: Service, stop: asyncio.Event) -> None:
    await service(stop)


async def _first_of(asked: asyncio.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait until asked, or until all of some tasks have ended."""
    waits = {asyncio.create_task(_set(asked), name="wait for a signal")}
    if tasks:
        waits.add(asyncio.create_task(_all(tasks), name="wait for the purpose"))
    await _first(waits)


async def _ended(tasks: Sequence[asyncio.Task[None]], hurried: asyncio.Event) -> None:
    """Wait until tasks have ended; once hurried, only for a while more, and then cancel them."""
    hurrying = asyncio.create_task(_set(hurried), name="wait for impatience")
    ending = asyncio.create_task(_all(tasks), name="wait for the end of a stage")
    await _first({hurrying, ending})
    await asyncio.wait(tasks, timeout=HURRY_SECONDS)
    for task in tasks:
        if not task.done():
            log.error("service.stuck", service=task.get_name())
            task.cancel()


async def _first(waits: set[asyncio.Task[None]]) -> None:
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def _all(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
