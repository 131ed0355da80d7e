from collections import Counter

from msgspec.structs import replace

from drumline.core.clock import Instant, ManualClock
from drumline.core.state import Act
from drumline.core.stats import MINUTE, STEPS, CountedEvents, Measure, StatsRange
from drumline.core.task import accept
from drumline.ports.store import Settlement, Store
from tests.factories import claim, claim_one, new_id, open_session, request, settle, submit


async def counted(store: Store, clock: ManualClock, **which: str) -> Counter[Measure]:
    await store.events.sequence()
    while (await store.stats.gather_stats(limit=2)).rows:
        pass
    now = clock.now()
    stretch = StatsRange(since=Instant(now - MINUTE * 20), until=Instant(now + 1), step=MINUTE, **which)
    stats = await store.stats.read_stats(stretch)
    found: Counter[Measure] = Counter()
    for stat in stats:
        found[stat.measure] += stat.count
    return found


async def test_every_change_is_counted_once(store: Store, clock: ManualClock) -> None:
    for _ in range(5):
        await submit(store)
    ada = await open_session(store)
    for act in (Act.COMPLETE, Act.COMPLETE, Act.FAIL, Act.BACK_OFF):
        task = await claim_one(store, ada)
        await settle(store, task.lease, act)

    first = await counted(store, clock)
    again = await counted(store, clock)

    assert first == again
    assert first == {
        Measure.SUBMITTED: 5, Measure.COMPLETED: 2, Measure.FAILED: 1, Measure.RETRIED: 1, Measure.WAIT: 4,
        Measure.RUN: 4,
    }  # fmt: skip


async def test_a_cancel_that_is_asked_of_a_running_task_is_counted_when_the_task_stops(
    store: Store, clock: ManualClock
) -> None:
    stopped, completed = await submit(store), await submit(store)
    ada = await open_session(store)
    leases = {task.lease.task: task.lease for task in await claim(store, ada)}
    await store.control.cancel([stopped, completed])

    assert (await counted(store, clock))[Measure.CANCELLED] == 0
    await settle(store, leases[stopped], Act.STOP)
    await settle(store, leases[completed], Act.COMPLETE)

    assert await counted(store, clock) == {
        Measure.SUBMITTED: 2, Measure.CANCELLED: 1, Measure.COMPLETED: 1, Measure.WAIT: 2, Measure.RUN: 2,
    }  # fmt: skip


async def test_a_task_that_stops_before_anybody_counted_is_one_cancelled(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    ran = await claim_one(store, await open_session(store))
    await store.control.cancel([task])
    await settle(store, ran.lease, Act.STOP)
    waited = await submit(store)
    await store.control.cancel([waited])

    assert await counted(store, clock) == {
        Measure.SUBMITTED: 2, Measure.CANCELLED: 2, Measure.WAIT: 1, Measure.RUN: 1,
    }  # fmt: skip


async def test_waiting_and_running_are_classed(store: Store, clock: ManualClock) -> None:
    await submit(store)
    clock.advance(3)
    task = await claim_one(store, await open_session(store))
    clock.advance(0.07)
    await settle(store, task.lease, Act.COMPLETE)
    await counted(store, clock)

    now = clock.now()
    stretch = StatsRange(since=Instant(now - MINUTE * 20), until=Instant(now + 1), step=STEPS[1])
    stats = await store.stats.read_stats(stretch)
    classes = {stat.measure: stat.duration for stat in stats}

    assert classes[Measure.WAIT] == 11
    assert classes[Measure.RUN] == 6


async def test_figures_narrow_by_tenant_queue_and_name(store: Store, clock: ManualClock) -> None:
    await submit(store, "a", queue="q", tenant="red")
    await submit(store, "b", queue="r", tenant="blue")

    assert (await counted(store, clock, tenant="red"))[Measure.SUBMITTED] == 1
    assert (await counted(store, clock, queue="r"))[Measure.SUBMITTED] == 1
    assert (await counted(store, clock, name="c"))[Measure.SUBMITTED] == 0


async def test_tasks_that_went_together_are_counted_each_in_its_own_lane(store: Store, clock: ManualClock) -> None:
    await store.submit([accept(request(name), id=new_id()) for name in ("a", "b", "b")])
    clock.advance(3)
    tasks = await claim(store, await open_session(store, "a", "b"), "a", "b", limit=3)
    await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in tasks])

    once = {Measure.SUBMITTED: 1, Measure.COMPLETED: 1, Measure.WAIT: 1, Measure.RUN: 1}
    assert await counted(store, clock, name="a") == once
    assert await counted(store, clock, name="b") == dict.fromkeys(once, 2)


async def test_old_figures_are_dropped_by_width(store: Store, clock: ManualClock) -> None:
    await submit(store)
    await counted(store, clock)
    clock.advance(3600)

    await store.stats.prune_stats(step=STEPS[0], before=Instant(clock.now() - MINUTE))

    now = clock.now()
    since, until = Instant(now - 7_200_000), Instant(now + 1)
    assert await store.stats.read_stats(StatsRange(step=STEPS[0], since=since, until=until)) == []
    assert await store.stats.read_stats(StatsRange(step=STEPS[1], since=since, until=until)) != []


async def test_what_was_counted_is_told_once_with_its_durations(store: Store, clock: ManualClock) -> None:
    await submit(store, queue="q", tenant="red")
    await submit(store, queue="q", tenant="blue")
    clock.advance(3)
    ada = await open_session(store)
    for _ in range(2):
        task = await claim_one(store, ada)
        clock.advance(0.07)
        await settle(store, task.lease, Act.COMPLETE)

    await store.events.sequence()
    told = (await store.stats.gather_stats(limit=100)).figures
    again = await store.stats.gather_stats(limit=100)

    assert {(figure.queue, figure.name) for figure in told} == {("q", "work")}
    often: Counter[tuple[Measure, int]] = Counter()
    total_ms: Counter[Measure] = Counter()
    for figure in told:
        often[figure.measure, figure.duration] += figure.count
        total_ms[figure.measure] += figure.total_ms
    assert often == {
        (Measure.SUBMITTED, 0): 2, (Measure.COMPLETED, 0): 2, (Measure.WAIT, 11): 2, (Measure.RUN, 6): 2,
    }  # fmt: skip
    assert +total_ms == {Measure.WAIT: 3_000 + 3_070, Measure.RUN: 140}
    assert again == CountedEvents(0)


async def test_totals_go_on_growing_when_the_figures_of_a_time_are_dropped(store: Store, clock: ManualClock) -> None:
    ada = await open_session(store)
    for queue in ("mail", "mail", "reports"):
        await submit(store, queue=queue)
        task = await claim_one(store, ada)
        clock.advance(2.5)
        await settle(store, task.lease, Act.COMPLETE)
        await counted(store, clock)
    for step in STEPS:
        await store.stats.prune_stats(step=step, before=Instant(clock.now() + 1))

    totals = await store.stats.total_stats()

    completed = {figure.queue: figure.count for figure in totals if figure.measure is Measure.COMPLETED}
    ran = {figure.queue: figure.total_ms for figure in totals if figure.measure is Measure.RUN}
    assert completed == {"mail": 2, "reports": 1}
    assert ran == {"mail": 5000, "reports": 2500}
    assert (await counted(store, clock))[Measure.COMPLETED] == 0, "the charts have forgotten"


async def test_durations_are_counted_name_by_name_within_a_tenant(store: Store, clock: ManualClock) -> None:
    for name, tenant in (("a", "red"), ("b", "red"), ("b", "blue"), ("c", "red")):
        await submit(store, name, tenant=tenant)
    clock.advance(3)
    tasks = await claim(store, await open_session(store, "a", "b", "c"), "a", "b", "c", limit=4)
    clock.advance(0.07)
    await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE) for task in tasks])
    await counted(store, clock)
    now = clock.now()
    stretch = StatsRange(since=Instant(now - MINUTE * 20), until=Instant(now + 1), step=STEPS[1])

    every = await store.stats.read_durations(["a", "b"], stretch)
    of_red = await store.stats.read_durations(["b", "unknown"], replace(stretch, tenant="red"))

    assert Counter({(each.name, each.measure, each.duration): each.count for each in every}) == {
        ("a", Measure.WAIT, 11): 1, ("a", Measure.RUN, 6): 1, ("b", Measure.WAIT, 11): 2, ("b", Measure.RUN, 6): 2,
    }  # fmt: skip
    assert Counter({(each.name, each.measure): each.count for each in of_red}) == {
        ("b", Measure.WAIT): 1, ("b", Measure.RUN): 1,
    }  # fmt: skip
