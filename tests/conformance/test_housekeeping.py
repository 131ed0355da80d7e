import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.state import Act
from drumline.core.task import Submitted
from drumline.ports.store import Artifact, LogChunk, Store
from tests.conformance.conftest import MakeStore
from tests.factories import accepted, claim_one, log_of, open_session, settle, submit


async def complete(store: Store, **fields: object) -> str:
    task = await submit(store, **fields)  # type: ignore[arg-type]
    await settle(store, (await claim_one(store, await open_session(store))).lease, Act.COMPLETE)
    return task


async def test_ended_tasks_leave_with_all_that_belongs_to_them(store: Store, clock: ManualClock) -> None:
    task = await submit(store, idempotency_key="k")
    claimed = await claim_one(store, await open_session(store))
    await store.outputs.append_log([LogChunk(task=task, epoch=1, seq=0, text="x")])
    await store.outputs.put_artifact(Artifact(task=task, name="a", content_type="b", data=b"c"))
    await settle(store, claimed.lease, Act.COMPLETE)
    clock.advance(60)

    pruned = await store.prune(ended_before=clock.now(), limit=100)

    assert pruned == 1
    assert await store.queries.get([task]) == [None]
    assert await store.queries.attempts(task) == []
    assert await log_of(store, task) == ""
    assert await store.outputs.artifacts(task) == []
    (again,) = await store.submit([accepted(idempotency_key="k")])
    assert isinstance(again, Submitted)
    assert again.created


async def test_tasks_that_ended_lately_or_not_at_all_stay(store: Store, clock: ManualClock) -> None:
    waiting = await submit(store, delay=100)
    clock.advance(10)
    ended = await complete(store)

    pruned = await store.prune(ended_before=Instant(clock.now() - 1), limit=100)

    assert pruned == 0
    assert None not in await store.queries.get([waiting, ended])  # type: ignore[list-item]


async def test_a_task_that_waits_again_is_not_pruned_for_having_ended_once(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    await store.control.cancel([task])
    await store.control.retry([task])
    clock.advance(60)

    assert await store.prune(ended_before=clock.now(), limit=100) == 0


async def test_a_session_is_remembered_until_what_it_held_is_free(store: Store, clock: ManualClock) -> None:
    task = await submit(store)
    session = await open_session(store)
    await claim_one(store, session)
    await store.sessions.close_session(session)
    clock.advance(60)

    await store.prune(ended_before=clock.now(), limit=100)
    reaped = await store.sessions.reap([], poison_after=3)

    assert [hint.task for hint in reaped.requeued] == [task], "without its session nobody would find the task"


async def test_pruning_goes_in_batches(store: Store, clock: ManualClock) -> None:
    for _ in range(5):
        await complete(store)
    clock.advance(1)

    batches = [await store.prune(ended_before=clock.now(), limit=2) for _ in range(4)]

    assert batches == [2, 2, 1, 0]


async def test_a_task_that_ends_after_younger_ones_were_pruned_is_pruned_in_its_turn(
    store: Store, clock: ManualClock
) -> None:
    oldest = await submit(store)
    young = [await submit(store) for _ in range(2)]
    await store.control.cancel(young)
    clock.advance(60)
    first = [await store.prune(ended_before=clock.now(), limit=1) for _ in range(2)]
    await store.control.cancel([oldest])
    clock.advance(60)

    then = await store.prune(ended_before=clock.now(), limit=1)

    assert (first, then) == ([1, 1], 1)
    assert await store.queries.get([oldest]) == [None]


async def test_every_batch_leaves_what_somebody_has_not_read(store: Store, clock: ManualClock) -> None:
    position = await store.events.take_cursor("ada", holder=1, seconds=30) or 0
    await store.control.cancel([await submit(store) for _ in range(3)])
    await store.events.sequence()
    await store.events.move_cursor("ada", holder=1, old=position, new=(await store.events.log_span()).last)
    clock.advance(300)
    unread = [await submit(store) for _ in range(3)]
    await store.control.cancel(unread)
    clock.advance(60)

    batches = [await store.prune(ended_before=clock.now(), limit=1) for _ in range(5)]

    assert batches == [1, 1, 1, 0, 0]
    assert None not in await store.queries.get(unread)


async def test_pruning_leaves_another_tenants_key_alone_that_reads_the_same(store: Store, clock: ManualClock) -> None:
    ended = await submit(store, tenant="acme", idempotency_key="k")
    waiting = await submit(store, tenant="umbrella", idempotency_key="k")
    await store.control.cancel([ended])
    clock.advance(60)

    await store.prune(ended_before=clock.now(), limit=100)

    (again,) = await store.submit([accepted(idempotency_key="k", tenant="umbrella")])
    assert isinstance(again, Submitted)
    assert (again.id, again.created) == (waiting, False)


async def test_tidying_keeps_every_task(store: Store) -> None:
    waiting = await submit(store)
    ended = await submit(store)
    await store.control.cancel([ended])

    await store.tidy(dead=0)

    assert None not in await store.queries.get([waiting, ended])
    assert (await claim_one(store, await open_session(store))).lease.task == waiting


async def test_migrating_again_changes_nothing(store: Store) -> None:
    task = await submit(store)

    await store.migrate()

    assert None not in await store.queries.get([task])


async def test_a_healthy_store_tells_details(store: Store) -> None:
    assert "database" in await store.check()


async def test_what_was_acknowledged_is_there_after_closing(
    request: pytest.FixtureRequest, make_store: MakeStore, clock: ManualClock
) -> None:
    if "memory" in request.node.callspec.id:
        pytest.skip("a database in memory ends with its store")
    first = await make_store(clock)
    task = await submit(first)
    await first.close()

    second = await make_store(clock)

    assert None not in await second.queries.get([task])
    await second.close()
