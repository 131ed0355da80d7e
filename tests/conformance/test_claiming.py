import asyncio

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId
from drumline.core.state import Act, State
from drumline.ports.store import Store
from tests.factories import claim, claim_one, claim_request, open_session, settle, state_of, submit


async def test_a_claimed_task_comes_whole_and_leased(store: Store) -> None:
    task = await submit(store, payload=[1, "two"], queue="q", priority=3, timeout=5)
    ada = await open_session(store)

    (claimed,) = await claim(store, ada)

    assert claimed.lease.task == task
    assert (claimed.lease.epoch, claimed.attempt) == (1, 1)
    assert (claimed.name, claimed.queue, claimed.priority, claimed.tenant) == ("work", "q", 3, "default")
    assert bytes(claimed.payload) == b'[1,"two"]'
    assert claimed.options.timeout_ms == 5000
    (view,) = await store.queries.get([task])
    assert view is not None
    assert (view.state, view.worker, view.epoch) == (State.RUNNING, ada, 1)


async def test_a_task_is_claimed_once_only(store: Store) -> None:
    await submit(store)
    ada, bob = await open_session(store), await open_session(store)

    first = await claim(store, ada)
    second = await claim(store, bob)

    assert len(first) == 1
    assert second == []


async def test_many_claimers_at_once_share_without_overlap(store: Store) -> None:
    submitted = {await submit(store) for _ in range(200)}
    sessions = [await open_session(store) for _ in range(8)]

    async def take(session: SessionId) -> list[str]:
        taken: list[str] = []
        while tasks := await claim(store, session, limit=7):
            taken += [task.lease.task for task in tasks]
        return taken

    shares = await asyncio.gather(*(take(session) for session in sessions))

    taken = [task for share in shares for task in share]
    assert len(taken) == 200
    assert set(taken) == submitted


async def test_a_task_is_not_claimed_before_it_is_due(store: Store, clock: ManualClock) -> None:
    await submit(store, delay=10)
    ada = await open_session(store)

    clock.advance(9.999)
    early = await claim(store, ada)
    clock.advance(0.001)
    due = await claim(store, ada)

    assert early == []
    assert len(due) == 1


async def test_an_empty_claim_tells_when_the_next_task_is_due(store: Store, clock: ManualClock) -> None:
    await submit(store, delay=30)
    await submit(store, delay=20, priority=5)
    await submit(store, "other", delay=10)
    ada = await open_session(store)

    (answer,) = await store.claim([claim_request(ada)])

    assert answer.tasks == ()
    assert answer.next_due == clock.now() + 20_000


async def test_higher_priority_goes_first_among_due_tasks(store: Store) -> None:
    low = await submit(store, priority="low")
    normal = await submit(store)
    ten = await submit(store, priority=10)
    critical = await submit(store, priority="critical")
    ada = await open_session(store)

    order = [task.lease.task for task in await claim(store, ada)]

    assert order == [critical, ten, normal, low]


async def test_equal_priority_goes_in_order_of_due_time(store: Store, clock: ManualClock) -> None:
    late = await submit(store, delay=2)
    soon = await submit(store, delay=1)
    ada = await open_session(store)
    clock.advance(5)

    order = [task.lease.task for task in await claim(store, ada)]

    assert order == [soon, late]


async def test_a_point_of_priority_is_worth_a_minute_of_waiting(store: Store, clock: ManualClock) -> None:
    old = await submit(store)
    clock.advance(61)
    urgent = await submit(store, priority=1)
    ada = await open_session(store)

    order = [task.lease.task for task in await claim(store, ada)]

    assert order == [old, urgent]


async def test_a_claim_takes_the_best_of_several_names_and_queues(store: Store) -> None:
    tasks = [
        await submit(store, name, queue=queue, priority=priority)
        for priority, (name, queue) in enumerate([("a", "x"), ("b", "y"), ("a", "y"), ("b", "x")])
    ]
    ada = await open_session(store, "a", "b")

    best = [task.lease.task for task in await claim(store, ada, "a", "b", limit=2)]

    assert best == [tasks[3], tasks[2]]


async def test_a_worker_gets_only_names_it_can_run(store: Store) -> None:
    await submit(store, "theirs")
    mine = await submit(store, "mine")
    ada = await open_session(store, "mine")

    claimed = await claim(store, ada, "mine")

    assert [task.lease.task for task in claimed] == [mine]


async def test_a_worker_gets_only_queues_it_serves(store: Store) -> None:
    await submit(store, queue="other")
    mine = await submit(store, queue="mine")
    ada = await open_session(store, queues=["mine"])

    claimed = await claim(store, ada, queues=["mine"])

    assert [task.lease.task for task in claimed] == [mine]


async def test_a_tenant_s_worker_gets_only_its_tasks(store: Store) -> None:
    await submit(store, tenant="blue")
    mine = await submit(store, tenant="red")
    ada = await open_session(store, tenant="red")

    claimed = await claim(store, ada, tenant="red")

    assert [task.lease.task for task in claimed] == [mine]


async def test_a_paused_queue_is_passed_over_until_resumed(store: Store) -> None:
    paused = await submit(store, queue="paused", priority=100)
    free = await submit(store, queue="free")
    ada = await open_session(store)

    await store.control.pause_queue("paused", tenant="default", reason="maintenance")
    first = await claim(store, ada)
    await store.control.resume_queue("paused", tenant="default")
    second = await claim(store, ada)

    assert [task.lease.task for task in first] == [free]
    assert [task.lease.task for task in second] == [paused]


async def test_pausing_one_tenant_s_queue_does_not_pause_another_s(store: Store) -> None:
    task = await submit(store, tenant="red", queue="q")
    ada = await open_session(store)

    await store.control.pause_queue("q", tenant="blue")

    assert [claimed.lease.task for claimed in await claim(store, ada)] == [task]


async def test_a_limit_is_kept(store: Store) -> None:
    for _ in range(5):
        await submit(store)
    ada = await open_session(store)

    assert len(await claim(store, ada, limit=3)) == 3
    assert len(await claim(store, ada, limit=3)) == 2


async def test_several_requests_in_one_call_are_answered_apart(store: Store) -> None:
    tasks = {await submit(store) for _ in range(4)}
    ada, bob = await open_session(store), await open_session(store)

    one, two = await store.claim([claim_request(ada, limit=3), claim_request(bob, limit=3)])

    assert (len(one.tasks), len(two.tasks)) == (3, 1)
    assert {task.lease.task for claim_ in (one, two) for task in claim_.tasks} == tasks


async def test_a_closed_session_gets_nothing(store: Store) -> None:
    task = await submit(store)
    ada = await open_session(store)

    await store.sessions.close_session(ada)

    assert await claim(store, ada) == []
    assert await state_of(store, task) is State.QUEUED


async def test_an_unknown_session_gets_nothing(store: Store) -> None:
    await submit(store)

    assert await claim(store, SessionId(99)) == []


async def test_a_draining_session_gets_nothing(store: Store) -> None:
    await submit(store)
    ada = await open_session(store)

    await store.sessions.drain_session(ada)

    assert await claim(store, ada) == []


async def test_a_repeated_claim_returns_the_same_tasks(store: Store) -> None:
    for _ in range(4):
        await submit(store)
    ada = await open_session(store)

    (lost,) = await store.claim([claim_request(ada, limit=2, nonce=7)])
    (again,) = await store.claim([claim_request(ada, limit=2, nonce=7, again=True)])

    assert {task.lease for task in again.tasks} == {task.lease for task in lost.tasks}


async def test_a_repeated_claim_that_had_taken_nothing_is_a_claim(store: Store) -> None:
    ada = await open_session(store)
    await store.claim([claim_request(ada, nonce=7)])
    await submit(store)

    (again,) = await store.claim([claim_request(ada, nonce=7, again=True)])

    assert len(again.tasks) == 1


async def test_hints_narrow_the_choice(store: Store) -> None:
    await submit(store)
    hinted = await submit(store)
    ada = await open_session(store)

    claimed = await claim(store, ada, hints=(hinted,))

    assert [task.lease.task for task in claimed] == [hinted]


async def test_wrong_hints_are_harmless(store: Store) -> None:
    ada = await open_session(store)
    running = await submit(store)
    await claim_one(store, ada)
    future = await submit(store, delay=10)
    other = await submit(store, "other")
    paused = await submit(store, queue="paused")
    await store.control.pause_queue("paused", tenant="default")
    cancelled = await submit(store)
    await store.control.cancel([cancelled])
    gone = cancelled[:-1] + ("0" if cancelled[-1] != "0" else "1")

    claimed = await claim(store, ada, hints=(running, future, other, paused, cancelled, type(cancelled)(gone)))

    assert claimed == []


async def test_every_claim_raises_the_epoch_and_the_attempt(store: Store) -> None:
    await submit(store)
    ada = await open_session(store)

    first = await claim_one(store, ada)
    await settle(store, first.lease, Act.BACK_OFF)
    second = await claim_one(store, ada)

    assert second.lease.epoch > first.lease.epoch
    assert second.lease.nonce != first.lease.nonce
    assert (first.attempt, second.attempt) == (1, 2)
