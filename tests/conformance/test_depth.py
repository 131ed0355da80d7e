"""How many tasks wait over time: a level that is sampled, and that goes down as it went up."""

import asyncio
from datetime import timedelta
from typing import Any

from drumline.core.clock import Instant, ManualClock
from drumline.core.state import Act
from drumline.core.stats import MINUTE, STEPS, Level, StatsRange
from drumline.core.task import accept
from drumline.engine.stats import StatsService
from drumline.ports.store import Change, Settlement, Store
from tests.factories import claim, new_id, open_session, request, submit


async def depths(store: Store, **which: str) -> list[float | None]:
    """Return what a chart of the last minutes shows, from the first sample on."""
    chart = await StatsService(store).chart(last=timedelta(minutes=15), **which)
    shown = [point.depth for point in chart.points]
    first = next((place for place, depth in enumerate(shown) if depth is not None), len(shown))
    return shown[first:]


async def wait(store: Store, count: int, **fields: Any) -> None:
    await store.submit([accept(request(**fields), id=new_id()) for _ in range(count)])


async def sample(store: Store) -> None:
    assert await store.stats.sample_depth(apart_ms=0)


async def test_a_queue_that_fills_and_empties_is_charted_so(store: Store, clock: ManualClock) -> None:
    await sample(store)
    clock.advance(60)
    await wait(store, 3)
    await sample(store)
    clock.advance(60)
    await wait(store, 2)
    await sample(store)
    clock.advance(60)
    tasks = await claim(store, await open_session(store))
    await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in tasks])
    await sample(store)

    assert await depths(store) == [0, 3, 5, 0]


async def test_a_bucket_shows_the_mean_of_its_samples(store: Store, clock: ManualClock) -> None:
    clock.advance((STEPS[1] - clock.now() % STEPS[1]) / 1000)
    await wait(store, 4, queue="q")
    await sample(store)
    clock.advance(20)
    await wait(store, 1, queue="r")
    await sample(store)
    clock.advance(20)
    await claim(store, await open_session(store))
    await sample(store)

    assert await depths(store) == [3]  # 4, 5 and 0
    assert await depths(store, queue="q") == [8 / 3]
    now = clock.now()
    wide = await store.stats.read_depth(StatsRange(since=Instant(now - now % STEPS[1]), until=now, step=STEPS[1]))
    assert wide == [Level(at=Instant(now - now % STEPS[1]), total=9, samples=3)]


async def test_only_what_could_run_now_is_waiting(store: Store, clock: ManualClock) -> None:
    await wait(store, 1)
    await wait(store, 2, delay=60)
    await claim(store, await open_session(store))
    await sample(store)
    clock.advance(60)
    await sample(store)

    assert await depths(store) == [0, 2]


async def test_a_paused_queue_is_waiting_too(store: Store) -> None:
    await wait(store, 2, queue="q")
    await store.control.pause_queue("q", tenant="default")
    await sample(store)

    assert await depths(store, queue="q") == [2]


async def test_tasks_that_are_retried_again_and_again_are_each_counted_once(store: Store, clock: ManualClock) -> None:
    tasks = [await submit(store) for _ in range(3)]
    ada = await open_session(store)
    for _ in range(2):
        await store.settle([Settlement(lease=task.lease, act=Act.FAIL) for task in await claim(store, ada)])
        await store.control.retry(tasks)
        await store.control.retry(tasks)
    await sample(store)
    clock.advance(60)
    await store.control.cancel(tasks[:1])
    await sample(store)

    assert await depths(store) == [3, 2]


async def test_a_task_that_changes_its_lane_is_counted_once(store: Store, clock: ManualClock) -> None:
    tasks = [await submit(store) for _ in range(2)]
    await sample(store)
    clock.advance(60)
    await store.control.reschedule([Change(task=tasks[0], priority=5)])
    await sample(store)

    assert await depths(store) == [2, 2]


async def test_another_tenants_tasks_are_not_shown(store: Store) -> None:
    await submit(store, tenant="red")
    await submit(store, tenant="blue")
    await submit(store, tenant="blue")
    await sample(store)

    assert await depths(store, tenant="red") == [1]
    assert await depths(store, tenant="blue") == [2]
    assert await depths(store, tenant="green") == [0]
    assert await depths(store) == [3]


async def test_depth_narrows_by_queue_and_name(store: Store) -> None:
    await submit(store, "a", queue="q")
    await submit(store, "b", queue="q")
    await submit(store, "b", queue="r")
    await sample(store)

    assert await depths(store, queue="q") == [2]
    assert await depths(store, name="b") == [2]
    assert await depths(store, queue="r", name="a") == [0]


async def test_while_nobody_looks_there_is_a_gap_and_no_zero(store: Store, clock: ManualClock) -> None:
    await wait(store, 2)
    await sample(store)
    clock.advance(180)
    await sample(store)

    assert await depths(store) == [2, None, None, 2]


async def test_one_of_many_schedulers_looks_for_all(store: Store, clock: ManualClock) -> None:
    clock.advance((MINUTE - clock.now() % MINUTE) / 1000 + 55)
    assert await store.stats.sample_depth(apart_ms=15_000)
    clock.advance(10)  # in the next minute

    assert not await store.stats.sample_depth(apart_ms=15_000)
    clock.advance(5)
    assert await store.stats.sample_depth(apart_ms=15_000)


async def test_those_who_look_at_once_tell_the_same_level(store: Store) -> None:
    await wait(store, 2, queue="q")
    await wait(store, 3, queue="r")

    await asyncio.gather(*(store.stats.sample_depth(apart_ms=0) for _ in range(4)))

    assert await depths(store) == [5]


async def test_old_levels_are_dropped_by_width(store: Store, clock: ManualClock) -> None:
    await wait(store, 2)
    await sample(store)
    sampled_at = clock.now()
    clock.advance(3600)

    assert await store.stats.prune_stats(step=STEPS[0], before=Instant(clock.now() - MINUTE)) == 2

    since, until = Instant(clock.now() - 7_200_000), clock.now()
    assert await store.stats.read_depth(StatsRange(step=STEPS[0], since=since, until=until)) == []
    assert await store.stats.read_depth(StatsRange(step=STEPS[1], since=since, until=until)) == [
        Level(at=Instant(sampled_at - sampled_at % STEPS[1]), total=2, samples=1)
    ]
