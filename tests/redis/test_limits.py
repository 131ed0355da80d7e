"""Limits with hints from Redis: it knows nothing of them, and nobody is led to what may not start."""

from collections import Counter

from drumline.core.flow import LimitRequest
from drumline.core.outcome import Succeeded
from drumline.ports.gateway import Report
from drumline.scheduler.sweep import Sweeper
from tests.redis.test_claiming import Office, address, office

__all__ = ["address", "office"]

THREE = LimitRequest(task="work", max_concurrent=3)


async def test_tasks_under_a_limit_are_claimed_without_hints(office: Office) -> None:
    await office.engine.flow.set("three", THREE, tenant="default")
    for _ in range(8):
        await office.submit()
    free = await office.submit("other")

    tasks = await office.claim(9)

    assert Counter(task.name for task in tasks) == {"work": 3, "other": 1}
    assert free in {task.lease.task for task in tasks}
    assert await office.claim(9) == []


async def test_a_limit_holds_although_redis_still_has_hints_from_before(office: Office) -> None:
    for _ in range(8):
        await office.submit()

    await office.engine.flow.set("three", THREE, tenant="default")

    assert len(await office.claim(9)) == 3
    assert await office.claim(9) == []


async def test_after_a_limit_has_gone_all_is_found_at_once_and_refilled(office: Office) -> None:
    await office.engine.flow.set("three", THREE, tenant="default")
    for _ in range(8):
        await office.submit()
    tasks = await office.claim(9)

    await office.engine.flow.delete("three", tenant="default")
    tasks += await office.claim(2)
    await Sweeper(office.engine.store, office.queue).pass_once()
    tasks += await office.claim(9)

    assert len(tasks) == 8


async def test_the_limit_holds_while_redis_is_lost(office: Office) -> None:
    await office.engine.flow.set("three", THREE, tenant="default")
    for _ in range(8):
        await office.submit()
    held = await office.claim(9)

    await office.queue.doubt()

    assert await office.claim(9) == []
    await office.gateway.settle([Report(task.lease, Succeeded()) for task in held[:2]])
    assert len(await office.claim(9)) == 2
