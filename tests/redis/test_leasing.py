"""A lone task is stored leased to a session that waits, and told to it; whatever goes wrong, it is run elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec import Raw
from msgspec.structs import replace
from redis.asyncio import Redis

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId
from drumline.core.lease import Lease
from drumline.core.session import Beat, SessionSpec, TaskType
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask, NewTask
from drumline.core.tuning import DEFAULT_TUNING
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.queue import Reservation
from drumline.ports.store import Claim, ClaimRequest, Settlement, StoredLeased
from drumline.redis import RedisQueue
from drumline.redis.keys import QueueKeys
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_request, new_id, request
from tests.harness.proxy import Proxy
from tests.redis.hints import PATIENCE, eventually, hint, know, lane, popped_tasks

ADA, BOB = SessionId(7), SessionId(8)
RUNNER = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=5)


class Process:
    """A process whose sessions wait, and what is leased to them."""

    def __init__(self, queue: RedisQueue, *, understands: bool = True) -> None:
        self.queue = queue
        self.leased: list[tuple[SessionId, ClaimedTask]] = []
        heard = self._heard if understands else None
        self._listening = asyncio.create_task(queue.listen(lambda *_: None, lambda *_: True, heard))

    def _heard(self, session: SessionId, task: ClaimedTask) -> None:
        self.leased.append((session, task))

    async def wait(self, session: SessionId, *, nonce: int = 5) -> None:
        popped = await self.queue.pop(replace(claim_request(session, "work", nonce=nonce), waits=True))
        assert popped is not None
        assert popped.tasks == ()

    async def stop(self) -> None:
        self._listening.cancel()
        await asyncio.wait({self._listening})


async def listens(client: Redis, queue: RedisQueue) -> bool:
    ((_, count),) = await client.pubsub_numsub(QueueKeys().leases + queue._origin)
    return bool(count)


async def started(queue: RedisQueue, client: Redis, *, understands: bool = True) -> Process:
    process = Process(queue, understands=understands)
    await eventually(lambda: listens(client, queue))
    return process


@pytest.fixture
async def process(queue: RedisQueue, other: RedisQueue, client: Redis) -> AsyncIterator[Process]:
    await know(queue, "work")
    process = await started(other, client)
    yield process
    await process.stop()


async def test_the_session_that_has_waited_longest_is_reserved_once(
    queue: RedisQueue, process: Process, clock: ManualClock
) -> None:
    await process.wait(ADA, nonce=11)
    clock.advance(0.1)
    await process.wait(BOB, nonce=12)

    reserved = [await queue.reserve(lane()) for _ in range(3)]

    assert [each and (each.session, each.nonce) for each in reserved] == [(ADA, 11), (BOB, 12), None]


async def test_a_session_that_waits_again_is_reserved_for_its_new_claim(queue: RedisQueue, process: Process) -> None:
    await process.wait(ADA, nonce=11)
    await process.wait(ADA, nonce=12)

    reserved = await queue.reserve(lane())

    assert reserved is not None
    assert reserved.nonce == 12
    assert await queue.reserve(lane()) is None


async def test_nobody_is_reserved_for_a_task_that_would_overtake_others(queue: RedisQueue, process: Process) -> None:
    await process.wait(ADA)
    await queue.push([hint(), hint()])

    assert await queue.reserve(lane()) is None


async def test_nobody_is_reserved_for_what_is_paused_or_what_they_cannot_run(
    queue: RedisQueue, process: Process
) -> None:
    await process.wait(ADA)
    await queue.pause_queue("default", tenant="default")

    assert await queue.reserve(lane()) is None
    assert await queue.reserve(lane("other")) is None


async def test_a_process_that_would_not_understand_is_not_reserved(
    queue: RedisQueue, other: RedisQueue, client: Redis
) -> None:
    await know(queue, "work")
    old = await started(other, client, understands=False)
    await old.wait(ADA)

    assert await queue.reserve(lane()) is None
    assert await queue.push([hint()])  # though it is handed hints
    await old.stop()


async def test_a_process_that_has_ended_is_not_reserved(queue: RedisQueue, process: Process, client: Redis) -> None:
    await process.wait(ADA)
    await process.stop()

    async def is_gone() -> bool:
        return not await listens(client, process.queue)

    await eventually(is_gone)

    assert await queue.reserve(lane()) is None


async def test_who_was_reserved_in_vain_stands_where_it_stood(
    queue: RedisQueue, process: Process, clock: ManualClock
) -> None:
    await process.wait(ADA)
    clock.advance(0.1)
    await process.wait(BOB)
    first = await queue.reserve(lane())
    assert first is not None

    await queue.unreserve(first)

    assert await queue.reserve(lane()) == first


async def test_a_leased_task_is_told_to_its_session_whole(queue: RedisQueue, process: Process) -> None:
    await process.wait(ADA, nonce=11)
    reserved = await queue.reserve(lane())
    assert reserved is not None
    task = ClaimedTask(
        lease=Lease(new_id(), 1, 11),
        name="work",
        queue="default",
        payload=Raw('{"näme": "x y\\n"}'.encode()),
        attempt=1,
    )

    assert await queue.hand(reserved, task)

    async def is_heard() -> bool:
        return process.leased == [(ADA, task)]

    await eventually(is_heard)


async def test_the_word_of_a_lease_is_said_once_though_its_answer_is_lost(
    process: Process, proxy: Proxy, redis_url: str, clock: ManualClock
) -> None:
    await process.wait(ADA, nonce=11)
    task = ClaimedTask(lease=Lease(new_id(), 1, 11), name="work", queue="default", payload=Raw(b"{}"), attempt=1)
    sender = RedisQueue(proxy.url(redis_url), clock=clock)
    reserved = await sender.reserve(lane())
    assert reserved is not None

    async def is_heard() -> bool:
        return bool(process.leased)

    proxy.hold_answer_to(b"PUBLISH")
    handing = asyncio.create_task(sender.hand(reserved, task))
    await eventually(is_heard)
    proxy.heal()
    proxy.reset()

    assert await handing is None
    assert process.leased == [(ADA, task)]
    await sender.close()


class Watched(PostgresStore):
    """Notes what is asked of it, and can lose the word that would follow a commit."""

    claims: list[ClaimRequest]
    leased: list[StoredLeased]

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        self.claims += requests
        return await super().claim(requests)

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        stored = await super().submit_leased(task, session=session, nonce=nonce)
        self.leased.append(stored)
        return stored


class Deafened(RedisQueue):
    """A queue whose word of a lease goes astray: unheard, as if its process had ended, or lost on the way."""

    goes_astray: str = ""

    async def hand(self, reservation: Reservation, task: ClaimedTask) -> bool | None:
        if self.goes_astray == "lost":
            return True
        return await super().hand(
            replace(reservation, process="nobody") if self.goes_astray == "unheard" else reservation, task
        )


@pytest.fixture
async def store(postgres_url: str) -> Watched:
    store = await Watched.open(postgres_url)
    store.claims, store.leased = [], []
    return store


@pytest.fixture
async def deafened(redis_url: str) -> Deafened:
    queue = Deafened(redis_url)
    await queue.filled()
    return queue


@pytest.fixture
async def engine(deafened: Deafened, store: Watched, client: Redis) -> AsyncIterator[Engine]:
    await deafened.push([replace(hint(lane("work")), is_due=True)])
    await popped_tasks(deafened, "work")
    engine = Engine(store, deafened, EngineOptions(poll=3600))
    listening = asyncio.create_task(engine.listen())
    await eventually(lambda: listens(client, deafened))
    yield engine
    listening.cancel()
    await asyncio.wait({listening})
    await engine.close()


async def test_a_worker_whose_types_have_nul_in_them_is_given_its_tasks(engine: Engine, client: Redis) -> None:
    strange = replace(RUNNER, types=(TaskType(name="work", doc="a\0b"),))
    ada = await waiting(engine, client, strange)

    submitted = await engine.submissions.submit(request("work"))

    assert (await ada.task()).lease.task == submitted.id


class Claimer:
    """A session that waits for tasks."""

    def __init__(self, engine: Engine, session: SessionId) -> None:
        self.engine, self.session = engine, session
        self.claiming = asyncio.create_task(LocalGateway(engine).claim(session, limit=5, wait=60))

    async def task(self) -> ClaimedTask:
        async with asyncio.timeout(PATIENCE):
            (task,) = await self.claiming
        return task

    async def leave(self) -> None:
        self.claiming.cancel()
        await asyncio.wait({self.claiming})


async def waiting(engine: Engine, client: Redis, spec: SessionSpec = RUNNER) -> Claimer:
    claimer = Claimer(engine, await LocalGateway(engine).open_session(spec))

    async def is_listed() -> bool:
        return any(f" {claimer.session} " in each for each in await client.zrange(QueueKeys().idle, 0, -1))

    await eventually(is_listed)
    return claimer


async def is_in(engine: Engine, task: str, state: State) -> bool:
    return (await engine.queries.get(task)).state is state  # type: ignore[arg-type]


async def test_a_lone_task_is_begun_without_another_word_to_the_store(
    engine: Engine, store: Watched, client: Redis
) -> None:
    ada = await waiting(engine, client)

    submitted = await engine.submissions.submit(request("work", {"x": 1}))
    task = await ada.task()

    assert task.lease.task == submitted.id
    assert bytes(task.payload) == b'{"x":1}'
    assert store.claims == []
    (answer,) = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE)])
    assert not isinstance(answer, Exception)
    assert answer.state is State.COMPLETED
    assert len(await store.queries.attempts(submitted.id)) == 1


async def test_a_claim_whose_answer_was_lost_finds_what_was_leased_to_it(engine: Engine, client: Redis) -> None:
    session = await LocalGateway(engine).open_session(RUNNER)
    claiming = asyncio.create_task(engine.claims.claim(session, RUNNER, limit=1, wait=60, nonce=4711))

    async def is_listed() -> bool:
        return bool(await client.exists(QueueKeys().idle))

    await eventually(is_listed)
    await engine.submissions.submit(request("work"))
    given = await claiming

    again = await engine.claims.claim(session, RUNNER, limit=1, wait=0, nonce=4711, again=True)

    assert again == given
    assert given[0].lease.nonce == 4711


async def test_what_nobody_hears_of_is_run_by_another_at_once(
    engine: Engine, deafened: Deafened, store: Watched, client: Redis
) -> None:
    deafened.goes_astray = "unheard"
    first = await waiting(engine, client)
    other = await waiting(engine, client)

    submitted = await engine.submissions.submit(request("work"))
    done, _ = await asyncio.wait({first.claiming, other.claiming}, timeout=PATIENCE, return_when="FIRST_COMPLETED")

    (task,) = next(iter(done)).result()
    assert (task.lease.task, task.attempt) == (submitted.id, 1)
    assert task.lease.epoch > 1
    assert len(store.leased) == 1
    for each in (first, other):
        await each.leave()


async def test_what_comes_too_late_for_its_claimer_is_run_by_another(engine: Engine, client: Redis) -> None:
    ada = await waiting(engine, client)
    listed = str((await client.zrange(QueueKeys().idle, 0, -1))[0])
    since = await client.zscore(QueueKeys().idle, listed)

    await ada.leave()
    await engine.claims.drained()
    await client.zadd(QueueKeys().idle, {listed: since or 0})  # the queue still takes it for one that waits

    submitted = await engine.submissions.submit(request("work"))
    await eventually(lambda: is_in(engine, submitted.id, State.QUEUED))
    task = await Claimer(engine, await LocalGateway(engine).open_session(RUNNER)).task()

    assert (task.lease.task, task.attempt) == (submitted.id, 1)


async def test_a_claim_that_is_given_up_is_taken_off_the_list_of_those_that_wait(engine: Engine, client: Redis) -> None:
    ada = await waiting(engine, client)
    bob = await waiting(engine, client)
    await ada.leave()
    await engine.claims.drained()

    submitted = await engine.submissions.submit(request("work"))
    task = await bob.task()

    assert task.lease.task == submitted.id
    assert task.lease.epoch == 1  # it was leased to nobody else before
    assert await client.zrange(QueueKeys().idle, 0, -1) == []


async def test_a_claim_whose_wait_is_over_is_taken_off_the_list_of_those_that_wait(
    engine: Engine, client: Redis
) -> None:
    session = await LocalGateway(engine).open_session(RUNNER)

    assert await engine.claims.claim(session, RUNNER, limit=1, wait=0.2) == ()

    assert await client.zrange(QueueKeys().idle, 0, -1) == []


async def test_a_paused_name_is_given_back(engine: Engine, client: Redis) -> None:
    ada = await waiting(engine, client)
    engine.claims.tune(replace(DEFAULT_TUNING, paused_names=frozenset({"work"})))

    submitted = await engine.submissions.submit(request("work"))

    await eventually(lambda: is_in(engine, submitted.id, State.QUEUED))
    assert not ada.claiming.done()
    await ada.leave()


async def test_a_lease_of_which_the_word_is_lost_is_released_by_the_beats_of_its_session(
    engine: Engine, deafened: Deafened, store: Watched, client: Redis
) -> None:
    deafened.goes_astray = "lost"
    ada = await waiting(engine, client)
    submitted = await engine.submissions.submit(request("work"))
    assert await is_in(engine, submitted.id, State.RUNNING)
    await ada.leave()

    for _ in range(2):
        await LocalGateway(engine).beat(Beat(session=ada.session))
    reaped = await store.sessions.reap([], poison_after=3)

    assert [each.task for each in reaped.requeued] == [submitted.id]
    (view,) = await store.queries.get([submitted.id])
    assert view is not None
    assert (view.state, view.attempt, view.crashes) == (State.QUEUED, 0, 0)


async def test_a_submission_whose_answer_was_lost_is_stored_once_and_handed_to_nobody(
    engine: Engine, store: Watched, client: Redis
) -> None:
    ada = await waiting(engine, client)
    submitted = await engine.submissions.submit(request("work"))
    task = await ada.task()
    stored = NewTask(id=submitted.id, lane=lane(), payload=b"{}")

    again = await store.submit_leased(stored, session=ada.session, nonce=task.lease.nonce)

    assert again == StoredLeased(submitted, None)
    assert await is_in(engine, submitted.id, State.RUNNING)


async def test_a_store_that_declines_leaves_the_session_where_it_was(
    engine: Engine, store: Watched, client: Redis
) -> None:
    ada = await waiting(engine, client)
    await store.control.pause_queue("default", tenant="default")  # of which the queue does not know

    submitted = await engine.submissions.submit(request("work"))

    assert [stored.claimed for stored in store.leased] == [None]
    assert await is_in(engine, submitted.id, State.QUEUED)
    await store.control.resume_queue("default", tenant="default")
    await engine.submissions.submit(request("work"))
    task = await ada.task()
    assert task.attempt == 1
