"""How many tasks stand where: exact while they are few, and never more work than was allowed."""

from typing import Any

from drumline.core.clock import ManualClock
from drumline.core.state import Act, Status
from drumline.engine.counts import MOST_LISTED, TaskCounts
from drumline.ports.query import Count
from drumline.ports.store import Store, TaskFilter
from tests.factories import claim_one, new_id, open_session, settle, submit
from tests.job_factories import job_of, submit_job


async def counted(store: Store, limit: int = 100, **which: Any) -> dict[str, int]:
    counts = await store.queries.count_tasks(limit=limit, **which)
    assert set(counts) == set(Status)
    return {status.value.lower(): count.count for status, count in counts.items() if count.count}


async def test_each_status_is_counted(store: Store) -> None:
    ada = await open_session(store)
    for act in (Act.COMPLETE, Act.COMPLETE, Act.FAIL):
        await submit(store)
        await settle(store, (await claim_one(store, ada)).lease, act)
    await submit(store)
    await claim_one(store, ada)
    await submit(store)
    await submit(store, delay="1h")
    await store.control.cancel([await submit(store)])

    found = await counted(store)

    assert found == {"completed": 2, "failed": 1, "processing": 1, "queued": 1, "pending": 1, "cancelled": 1}


async def test_a_task_that_was_retried_counts_where_it_stands_now(store: Store) -> None:
    ada = await open_session(store)
    task = await submit(store)
    await settle(store, (await claim_one(store, ada)).lease, Act.FAIL)
    await store.control.retry([task])

    assert await counted(store) == {"queued": 1}
    await settle(store, (await claim_one(store, ada)).lease, Act.COMPLETE)
    assert await counted(store) == {"completed": 1}


async def test_what_falls_due_is_counted_as_due(store: Store, clock: ManualClock) -> None:
    await submit(store, delay="10s")
    assert await counted(store) == {"pending": 1}

    clock.advance(10.0)

    assert await counted(store) == {"queued": 1}


async def test_counts_narrow_by_tenant_queue_and_name(store: Store) -> None:
    await submit(store, "a", queue="q", tenant="red")
    await store.control.cancel([await submit(store, "b", queue="q", tenant="blue")])

    assert await counted(store, queue="q") == {"queued": 1, "cancelled": 1}
    assert await counted(store, tenant="red") == {"queued": 1}
    assert await counted(store, name="b") == {"cancelled": 1}
    assert await counted(store, name="c") == {}


async def test_no_more_is_looked_at_than_was_allowed_and_that_is_said(store: Store) -> None:
    ada = await open_session(store)
    for _ in range(4):
        await submit(store)
        await settle(store, (await claim_one(store, ada)).lease, Act.COMPLETE)
        await submit(store, "other")

    counts = await store.queries.count_tasks(limit=3)

    assert counts[Status.COMPLETED] == Count(3, is_more=True)
    assert counts[Status.QUEUED] == Count(3, is_more=True)
    assert counts[Status.FAILED] == Count(0, is_more=False)


async def test_a_status_is_counted_however_many_tasks_have_another(store: Store) -> None:
    ada = await open_session(store)
    await submit(store, "work")
    await submit(store, "rare", queue="rare")
    await claim_one(store, ada, "rare")
    await submit_job(store, job_of({"a": (), "b": ("a",)}, task={"queue": "jobs"}))
    for _ in range(5):
        await submit(store, delay="1h")

    counts = await store.queries.count_tasks(limit=3)

    assert counts[Status.QUEUED] == Count(2), "the first task, and the first of the job"
    assert counts[Status.PROCESSING] == Count(1)
    assert counts[Status.PENDING] == Count(3, is_more=True)
    assert (await store.queries.count_tasks(limit=3, queue="jobs"))[Status.PENDING] == Count(1)
    assert (await store.queries.count_tasks(limit=3, queue="rare"))[Status.PROCESSING] == Count(1)
    assert (await store.queries.count_tasks(limit=3, queue="rare"))[Status.PENDING] == Count(0)


async def test_a_task_that_was_given_back_is_not_counted_as_running(store: Store) -> None:
    ada = await open_session(store)
    await submit(store)
    lease = (await claim_one(store, ada)).lease
    await settle(store, lease, Act.RELEASE)

    assert await counted(store) == {"queued": 1}
    await claim_one(store, ada)
    assert await counted(store) == {"processing": 1}, "once, though two claims name it"


async def test_filters_without_an_index_are_counted_among_what_they_list(store: Store, clock: ManualClock) -> None:
    await submit(store, tags=("vip",))
    await store.control.cancel([await submit(store, tags=("vip",)), await submit(store)])
    counts = TaskCounts(store.queries, clock)

    vip = await counts.count(TaskFilter(tag="vip", statuses=frozenset({Status.FAILED})))
    nothing = await counts.count(TaskFilter(job=new_id()))  # type: ignore[arg-type]

    assert vip[Status.QUEUED] == Count(1)
    assert vip[Status.CANCELLED] == Count(1)
    assert {count.count for count in nothing.values()} == {0}
    assert MOST_LISTED >= 1_000
