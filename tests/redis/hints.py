"""Hints and pops in few words."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from drumline.core.clock import Instant, ManualClock
from drumline.core.fair_shares import Share
from drumline.core.ids import SessionId, TaskId
from drumline.core.task import Lane
from drumline.ports.queue import Popped
from drumline.ports.store import Hint
from drumline.redis import RedisQueue
from tests.factories import claim_request, new_id

NOW = ManualClock().now()
PATIENCE = 30.0


def lane(name: str = "work", *, queue: str = "default", priority: int = 0, tenant: str = "default") -> Lane:
    return Lane(tenant, queue, name, priority)


def hint(where: Lane | None = None, *, late: float = 0.0) -> Hint:
    """A hint that has been due for `late` seconds; due in the future if that is negative."""
    return Hint(new_id(), where or lane(), Instant(NOW - round(late * 1000)))


async def pushed(queue: RedisQueue, *hints: Hint) -> list[TaskId]:
    await queue.push(hints)
    return [each.task for each in hints]


async def pop(
    queue: RedisQueue,
    *names: str,
    limit: int = 100,
    queues: Sequence[str] = (),
    tenant: str | None = None,
    shares: Sequence[Share] = (),
) -> Popped:
    popped = await queue.pop(
        claim_request(SessionId(1), *names, limit=limit, queues=queues, tenant=tenant, shares=shares)
    )
    assert popped is not None
    return popped


async def popped_tasks(queue: RedisQueue, *names: str, limit: int = 100) -> list[TaskId]:
    return list((await pop(queue, *names, limit=limit)).tasks)


async def eventually(is_so: Callable[[], Awaitable[bool]], *, seconds: float = PATIENCE) -> None:
    """Wait until something in another process has become true."""
    async with asyncio.timeout(seconds):
        while not await is_so():  # noqa: ASYNC110 - another process does not set our events
            await asyncio.sleep(0.02)


async def know(queue: RedisQueue, *names: str) -> None:
    """Let sessions that run these names be known to run them."""
    await queue.push([hint(lane(name)) for name in names])
    await popped_tasks(queue, *names)
