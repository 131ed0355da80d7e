"""How far attempts are: the latest word of the one that runs, and of no other."""

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.clock import ManualClock
from drumline.core.lease import Lease
from drumline.core.state import Act
from drumline.ports.store import Store
from tests.factories import claim, claim_one, new_id, open_session, settle, submit


async def say(store: Store, lease: Lease, done: float, total: float | None = None, message: str = "") -> None:
    await store.outputs.put_progress([ProgressNote(lease, Progress(done, total, message))])


async def test_the_latest_word_is_kept(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease

    await say(store, lease, 1, 10, "reading")
    await say(store, lease, 7, 10, "wri\x00ting \u00fc")

    (progress,) = await store.outputs.progress([task])
    assert progress is not None
    assert (progress.done, progress.total) == (7, 10)
    assert progress.message.startswith("wri")


async def test_a_task_that_says_nothing_has_none(store: Store) -> None:
    task = await submit(store)
    await claim_one(store, await open_session(store))

    assert await store.outputs.progress([task, new_id()]) == [None, None]


async def test_a_late_worker_says_nothing(store: Store) -> None:
    task = await submit(store)
    ada, bob = await open_session(store), await open_session(store)
    stale = (await claim_one(store, ada)).lease
    await say(store, stale, 9, 10)
    await store.sessions.reap([(ada, 0)], poison_after=5)
    assert await store.outputs.progress([task]) == [None]
    current = (await claim_one(store, bob)).lease
    assert await store.outputs.progress([task]) == [None], "what the last attempt said is not how far this one is"

    await say(store, stale, 10, 10)
    await say(store, Lease(task, current.epoch, current.nonce ^ 1), 10, 10)

    assert await store.outputs.progress([task]) == [None]
    await say(store, current, 1, 10)
    assert await store.outputs.progress([task]) == [Progress(1, 10)]


async def test_a_task_that_has_ended_is_not_on_its_way(store: Store) -> None:
    task = await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await say(store, lease, 10, 10)

    await settle(store, lease, Act.COMPLETE)
    await say(store, lease, 11, 10)

    assert await store.outputs.progress([task]) == [None]


async def test_many_are_told_at_once(store: Store) -> None:
    tasks = [await submit(store) for _ in range(5)]
    leases = {task.lease.task: task.lease for task in await claim(store, await open_session(store))}

    await store.outputs.put_progress([ProgressNote(leases[task], Progress(n, 5)) for n, task in enumerate(tasks)])

    assert await store.outputs.progress(tasks) == [Progress(n, 5) for n in range(5)]


async def test_pruning_forgets_it(store: Store, clock: ManualClock) -> None:
    await submit(store)
    lease = (await claim_one(store, await open_session(store))).lease
    await say(store, lease, 1)
    await settle(store, lease, Act.COMPLETE)
    clock.advance(10)

    assert await store.prune(ended_before=clock.now(), limit=10) == 1
