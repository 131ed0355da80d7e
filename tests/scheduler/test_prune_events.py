"""Events can be read again for as long as was said, and are then let go of in bounded steps."""

from datetime import timedelta

from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.scheduler.prune_events import BEHIND_EVERY, MOST_BATCHES, EventPruner
from tests.scheduler.workers import submit

DAY = timedelta(days=1)


async def kept(engine: Engine) -> int:
    span = await engine.store.events.log_span()
    return span.last - span.dropped


async def test_only_what_is_too_old_is_dropped(engine: Engine, clock: ManualClock) -> None:
    pruner = EventPruner(engine.store, retention=DAY, rows=1000)
    await submit(engine, 3)
    clock.advance(DAY.total_seconds() + 1)
    await submit(engine, 2)

    assert await pruner.pass_once() == 3
    assert await kept(engine) == 2


async def test_only_so_many_rows_are_kept(engine: Engine) -> None:
    await submit(engine, 5)

    assert await EventPruner(engine.store, retention=DAY, rows=2).pass_once() == 3
    assert await kept(engine) == 2


async def test_nothing_is_dropped_that_somebody_has_still_to_pass_on(engine: Engine, clock: ManualClock) -> None:
    await engine.store.events.take_cursor("kafka", holder=1, seconds=30)
    await submit(engine, 3)
    clock.advance(10 * DAY.total_seconds())

    assert await EventPruner(engine.store, retention=DAY, rows=0).pass_once() == 0
    assert await kept(engine) == 3


async def test_a_pass_has_an_end_and_the_next_one_comes_soon(engine: Engine, clock: ManualClock) -> None:
    await submit(engine, MOST_BATCHES + 5)
    clock.advance(DAY.total_seconds() + 1)
    pruner = EventPruner(engine.store, retention=DAY, rows=1000, batch=1)

    assert await pruner.pass_once() == MOST_BATCHES
    assert pruner.every == BEHIND_EVERY
    assert await pruner.pass_once() == 5
    assert pruner.every == 30
