"""Ended tasks are kept for as long as was said, and then let go of in bounded steps."""

from datetime import timedelta

from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.ports.store import TaskFilter
from drumline.scheduler.prune import BEHIND_EVERY, BUSY_EVERY, MOST_BATCHES, Pruner
from tests.scheduler.workers import open_worker, submit


async def kept(engine: Engine) -> int:
    return len(await engine.store.queries.list_tasks(TaskFilter(), limit=1000))


async def complete(engine: Engine, count: int) -> None:
    await submit(engine, count)
    ada = await open_worker(engine)
    while await ada.claim(100):
        await ada.complete()


async def test_only_tasks_that_ended_too_long_ago_are_pruned(engine: Engine, clock: ManualClock) -> None:
    pruner = Pruner(engine.store, retention=timedelta(days=7))
    await complete(engine, 3)
    clock.advance(timedelta(days=6).total_seconds())
    await complete(engine, 2)

    before = await pruner.pass_once()
    clock.advance(timedelta(days=2).total_seconds())
    after = await pruner.pass_once()

    assert (before, after) == (0, 3)
    assert await kept(engine) == 2


async def test_tasks_that_have_not_ended_are_never_pruned(engine: Engine, clock: ManualClock) -> None:
    await submit(engine)
    clock.advance(timedelta(days=365).total_seconds())

    assert await Pruner(engine.store, retention=timedelta(days=7)).pass_once() == 0
    assert await kept(engine) == 1


async def test_a_pass_has_an_end_however_much_there_is_to_prune(engine: Engine, clock: ManualClock) -> None:
    await complete(engine, MOST_BATCHES + 5)
    clock.advance(10)
    pruner = Pruner(engine.store, retention=timedelta(seconds=1), batch=1)

    assert await pruner.pass_once() == MOST_BATCHES
    assert await pruner.pass_once() == 5


async def test_the_next_pass_comes_soon_while_something_is_left(engine: Engine, clock: ManualClock) -> None:
    await complete(engine, MOST_BATCHES + 1)
    clock.advance(10)
    pruner = Pruner(engine.store, retention=timedelta(seconds=1), batch=1, every=60)

    await pruner.pass_once()
    behind = pruner.every
    await pruner.pass_once()

    assert (behind, pruner.every) == (BEHIND_EVERY, 60)


async def test_where_many_leave_they_leave_a_few_at_a_time(engine: Engine, clock: ManualClock) -> None:
    await complete(engine, 5)
    clock.advance(10)
    pruner = Pruner(engine.store, retention=timedelta(seconds=1), batch=2, every=60)

    many = (await pruner.pass_once(), pruner.every)
    none = (await pruner.pass_once(), pruner.every)

    assert (many, none) == ((5, BUSY_EVERY), (0, 60))


async def test_a_retention_of_zero_keeps_everything(engine: Engine, clock: ManualClock) -> None:
    await complete(engine, 1)
    clock.advance(timedelta(days=365).total_seconds())

    assert await Pruner(engine.store, retention=timedelta(0)).pass_once() == 0
