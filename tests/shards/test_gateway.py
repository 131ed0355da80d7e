"""Workers of three databases: one session, claims that follow the work, and a shard that is away."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.durable import NewRecord, Record, Wait, WaitKind, WaitRequest
from drumline.core.errors import Conflict, Fenced, NotFound, Unavailable
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import Released, Succeeded
from drumline.core.session import Beat, SessionSpec, TaskType, Usage
from drumline.core.shard_map import DIRECTORY, ShardMap, SlotEntry
from drumline.core.slots import slot_of
from drumline.core.state import State
from drumline.core.task import ClaimedTask, Submitted, accept
from drumline.ports.gateway import Report
from drumline.ports.store import Artifact, LogChunk
from drumline.shards.claim_order import CLAIMS_PER_TURN
from drumline.shards.gateway import ShardedGateway
from drumline.shards.shard_set import Shard
from tests.factories import request
from tests.harness.proxy import Proxy
from tests.shards.world import World, front, opened

WORKER = SessionSpec(host="h", pid=7, version="1", queues=(), types=(TaskType(name="work"),), capacity=8)
A_WHILE = 30.0


@pytest.fixture
async def proxy(shard_urls: tuple[str, ...]) -> AsyncIterator[Proxy]:
    """The way to the database `pg2`."""
    parts = urlsplit(shard_urls[1])
    made = Proxy(parts.hostname or "", parts.port or 5432)
    await made.start()
    yield made
    await made.close()


@pytest.fixture
async def world(shard_urls: tuple[str, ...], proxy: Proxy) -> AsyncIterator[World]:
    """Three shards that share the slots; the second one can be cut off."""
    _, second, third = shard_urls
    async with opened(shard_urls) as made:
        await made.service.add("pg2", store_url=proxy.url(second))
        await made.service.add("pg3", store_url=third)
        await made.service.move(taker=None)
        yield made
        proxy.heal()


@pytest.fixture
def gateway(world: World) -> ShardedGateway:
    return ShardedGateway(world.shards)


def cut(proxy: Proxy) -> None:
    proxy.refuse()
    proxy.reset()


async def submit(world: World, *names: str, count: int = 1) -> list[TaskId]:
    """Submit so many tasks to each of these shards."""
    return [
        (await world.shards.named(name).engine.submissions.submit(request())).id for name in names for _ in range(count)
    ]


async def store_quietly(shard: Shard) -> TaskId:
    """Store a task in a shard, and wake nobody."""
    ids = shard.engine._ids[0]
    made = ids.next()
    task = replace(accept(request(), id=made, tenant="default"), slot_version=ids.version(made))
    (stored,) = await shard.store.submit([task])
    assert isinstance(stored, Submitted)
    return stored.id


async def take(gateway: ShardedGateway, session: SessionId, limit: int = 9) -> list[ClaimedTask]:
    return list(await gateway.claim(session, limit=limit, wait=0))


async def take_all(gateway: ShardedGateway, session: SessionId, count: int) -> list[ClaimedTask]:
    """Take tasks that are there. A claim passes over a shard that does not answer at once: on a busy machine, any."""
    taken: list[ClaimedTask] = []
    async with asyncio.timeout(A_WHILE):
        while len(taken) < count:
            taken += await take(gateway, session, limit=count - len(taken))
    return taken


async def state(world: World, task: TaskId) -> State:
    return (await world.shards.of(task).engine.queries.get(task)).state


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(A_WHILE):
        while not is_so():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.001)


def sleeps_in(shard: Shard) -> bool:
    return any(waiter.is_asleep for waiter in shard.engine._waiters._idle)


def waits_in(shard: Shard) -> bool:
    return bool(shard.engine._waiters._idle)


async def reap(shard: Shard, session: SessionId) -> None:
    numbers = await shard.store.sessions.beat_numbers()
    await shard.store.sessions.reap([(session, numbers[session])], poison_after=5)


async def left(gateway: ShardedGateway, session: SessionId) -> bool:
    """Tell whether a worker has left; False without an answer."""
    try:
        return await gateway.leave(session)
    except Unavailable:
        return False


# -- sessions


async def test_a_session_is_open_in_every_shard_under_its_id_and_closed_in_all(
    world: World, gateway: ShardedGateway
) -> None:
    session = await gateway.open_session(WORKER)

    views = [await shard.store.sessions.sessions() for shard in world.shards]
    await gateway.close_session(session)

    assert [[view.id for view in each] for each in views] == [[session]] * 3
    assert [view.spec.is_copy for each in views for view in each] == [False, True, True]
    assert [await shard.store.sessions.sessions() for shard in world.shards] == [[]] * 3
    assert not (await gateway.beat(Beat(session=session))).is_open
    assert await gateway.claim(session, limit=1, wait=A_WHILE) == ()
    with pytest.raises(NotFound):
        await gateway.spec(session)


async def test_a_shard_that_reaped_a_session_costs_its_own_leases_only_and_opens_it_again(
    world: World, gateway: ShardedGateway
) -> None:
    near, far = await submit(world, DIRECTORY, "pg2")
    session = await gateway.open_session(WORKER)
    held = tuple(task.lease for task in await take_all(gateway, session, 2))
    await reap(world.shards.named("pg2"), session)

    reply = await gateway.beat(Beat(session=session, held=held))

    assert (reply.is_open, reply.lost) == (True, (far,))
    assert await state(world, near) is State.RUNNING
    (again,) = await take_all(gateway, session, 1)
    assert (again.lease.task, again.attempt) == (far, 2)
    kept = tuple(lease for lease in held if lease.task == near)
    assert (await gateway.beat(Beat(session=session, held=(*kept, again.lease)))).lost == ()


async def test_a_late_beat_does_not_open_a_session_again_that_left_in_order(
    world: World, gateway: ShardedGateway
) -> None:
    session = await gateway.open_session(WORKER)
    await world.shards.named("pg3").engine.sessions.close(session)

    reply = await gateway.beat(Beat(session=session))

    assert reply.is_open
    assert session not in await world.shards.named("pg3").store.sessions.beat_numbers()


async def test_a_worker_that_is_asked_to_drain_in_one_shard_is_told(world: World, gateway: ShardedGateway) -> None:
    session = await gateway.open_session(WORKER)
    await world.shards.named("pg3").store.sessions.drain_session(session)

    assert (await gateway.beat(Beat(session=session))).should_drain
    assert await gateway.leave(session)
    assert (await gateway.beat(Beat(session=session))).is_open is False


async def test_a_drain_is_undone_in_every_shard_or_the_worker_has_left(world: World, gateway: ShardedGateway) -> None:
    session, other = await gateway.open_session(WORKER), await gateway.open_session(WORKER)
    for each in (session, other):
        await front(world).store.sessions.drain_session(each)

    await front(world).store.sessions.undrain_session(session)

    assert not (await gateway.beat(Beat(session=session))).should_drain
    assert not await gateway.leave(session)
    assert await gateway.leave(other)
    with pytest.raises(Conflict):
        await front(world).store.sessions.undrain_session(other)


async def test_a_worker_that_has_left_in_one_shard_leaves_in_all(world: World, gateway: ShardedGateway) -> None:
    session = await gateway.open_session(WORKER)
    third = world.shards.named("pg3").store.sessions
    await third.drain_session(session)
    await third.leave_session(session)  # the server ended before it closed the session in the others

    assert await gateway.leave(session)
    assert (await gateway.beat(Beat(session=session))).is_open is False


async def test_a_worker_does_not_stay_while_a_shard_may_be_closing_its_session(
    world: World, gateway: ShardedGateway, proxy: Proxy
) -> None:
    session = await gateway.open_session(WORKER)
    await world.shards.named("pg2").store.sessions.drain_session(session)
    cut(proxy)

    with pytest.raises(Unavailable):
        await gateway.leave(session)
    with pytest.raises(Unavailable):
        await front(world).store.sessions.leave_session(session)

    proxy.heal()
    async with asyncio.timeout(A_WHILE):
        while not await left(gateway, session):  # noqa: ASYNC110 - a worker asks again
            await asyncio.sleep(0.05)
    assert (await gateway.beat(Beat(session=session))).is_open is False


async def test_a_drain_is_not_undone_while_a_shard_is_away(world: World, gateway: ShardedGateway, proxy: Proxy) -> None:
    session = await gateway.open_session(WORKER)
    await front(world).store.sessions.drain_session(session)
    proxy.refuse()
    proxy.reset()

    with pytest.raises(Unavailable):
        await front(world).store.sessions.undrain_session(session)


async def test_every_shard_hears_of_its_own_leases_only(world: World, gateway: ShardedGateway) -> None:
    await submit(world, *world.shards.names, count=2)
    session = await gateway.open_session(WORKER)
    held = tuple(task.lease for task in await take_all(gateway, session, 6))

    usage = Usage(memory=84_000_000, cpu=1.5)
    reply = await gateway.beat(Beat(session=session, held=held, usage=usage))

    views = [view for shard in world.shards for view in await shard.store.sessions.sessions()]
    (one,) = await front(world).sessions.list()
    assert (reply.is_open, reply.lost, reply.cancelled) == (True, (), ())
    assert [(view.held, view.beat, view.usage) for view in views] == [(2, 1, usage)] * 3
    assert (one.held, one.usage) == (6, usage)


async def test_a_worker_that_serves_one_database_takes_up_those_that_are_added(shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls) as world:
        gateway = ShardedGateway(world.shards)
        session = await gateway.open_session(WORKER)
        claiming = asyncio.create_task(gateway.claim(session, limit=1, wait=60))
        await until(lambda: waits_in(world.shards.directory))

        await world.service.add("pg2", store_url=shard_urls[1])
        assert await claiming == ()  # it asks again, and elsewhere
        claiming = asyncio.create_task(gateway.claim(session, limit=1, wait=60))
        await until(lambda: waits_in(world.shards.named("pg2")))
        await world.service.add("pg3", store_url=shard_urls[2])
        await until(lambda: waits_in(world.shards.named("pg3")))
        await world.service.move(taker=None)
        (id_,) = await submit(world, "pg3")

        async with asyncio.timeout(A_WHILE):
            (task,) = await claiming
        assert task.lease.task == id_


# -- claims


async def test_a_claim_takes_from_all_shards_what_it_has_room_for_and_no_more(
    world: World, gateway: ShardedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.shards.claim.PATIENCE", A_WHILE)
    ids = await submit(world, *world.shards.names, count=3)
    session = await gateway.open_session(WORKER)

    taken = await take(gateway, session, limit=7)
    rest = await take(gateway, session, limit=7)

    assert (len(taken), len(rest)) == (7, 2)
    assert {task.lease.task for task in taken + rest} == set(ids)


@pytest.mark.parametrize("name", [DIRECTORY, "pg2", "pg3"])
async def test_a_waiting_claim_is_answered_when_any_shard_gets_a_task(
    world: World, gateway: ShardedGateway, name: str
) -> None:
    session = await gateway.open_session(WORKER)
    claiming = asyncio.create_task(gateway.claim(session, limit=4, wait=60))
    await until(lambda: all(map(waits_in, world.shards)))

    (id_,) = await submit(world, name)

    async with asyncio.timeout(A_WHILE):
        (task,) = await claiming
    assert task.lease.task == id_
    await until(lambda: not any(map(waits_in, world.shards)))


async def test_waiting_workers_never_hold_more_than_their_room_when_work_comes_everywhere_at_once(
    world: World, gateway: ShardedGateway
) -> None:
    sessions = [await gateway.open_session(WORKER) for _ in range(6)]
    claiming = [asyncio.create_task(gateway.claim(session, limit=2, wait=60)) for session in sessions]
    await until(lambda: all(len(shard.engine._waiters._idle) == 6 for shard in world.shards))
    ids = {
        submitted.id
        for many in await asyncio.gather(
            *(shard.engine.submissions.submit_many([request() for _ in range(20)]) for shard in world.shards)
        )
        for submitted in many
        if isinstance(submitted, Submitted)
    }

    async with asyncio.timeout(A_WHILE):
        taken = await asyncio.gather(*claiming)
    for shard in world.shards:
        await shard.engine.claims.drained()

    assert all(0 < len(tasks) <= 2 for tasks in taken)
    held = [task.lease.task for tasks in taken for task in tasks]
    running = [id_ for id_ in ids if await state(world, id_) is State.RUNNING]
    assert len(held) == len(set(held))
    assert set(running) == set(held)


async def test_a_waiting_claim_takes_what_all_shards_give_that_are_being_asked(
    world: World, gateway: ShardedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.shards.claim.COLLECT", A_WHILE)
    for shard in world.shards:
        shard.engine._waiters.poll = 60.0
    session = await gateway.open_session(WORKER)
    claiming = asyncio.create_task(gateway.claim(session, limit=9, wait=60))
    await until(lambda: all(map(sleeps_in, world.shards)))
    ids = {await store_quietly(shard) for shard in world.shards}

    for shard in world.shards:
        shard.engine._waiters.wake_all()

    async with asyncio.timeout(A_WHILE):
        assert {task.lease.task for task in await claiming} == ids


async def test_each_shard_that_has_work_gets_as_many_claims_as_the_others(
    world: World, gateway: ShardedGateway
) -> None:
    await submit(world, *world.shards.names, count=200)
    session = await gateway.open_session(WORKER)
    turns: Counter[str] = Counter()
    seen: set[str] = set()
    while len(seen) < 3:  # it learns that all of them have work
        (task,) = await gateway.claim(session, limit=1, wait=A_WHILE)
        seen.add(world.shards.of(task.lease.task).name)

    for _ in range(3 * CLAIMS_PER_TURN):
        tasks = await gateway.claim(session, limit=2, wait=A_WHILE)
        turns.update({world.shards.of(task.lease.task).name for task in tasks})

    assert set(turns) == set(world.shards.names)
    assert max(turns.values()) - min(turns.values()) <= 2  # turns need not begin with the first of these claims


async def test_a_shard_that_had_nothing_is_asked_again_while_another_keeps_the_worker_busy(
    world: World, gateway: ShardedGateway
) -> None:
    session = await gateway.open_session(WORKER)
    await submit(world, DIRECTORY, count=200)
    for _ in range(3):
        await gateway.claim(session, limit=1, wait=A_WHILE)
    (late,) = await submit(world, "pg3")

    async with asyncio.timeout(A_WHILE):
        while (await gateway.claim(session, limit=1, wait=A_WHILE))[0].lease.task != late:
            await submit(world, DIRECTORY)

    assert await state(world, late) is State.RUNNING


async def test_a_claim_that_is_cancelled_gives_back_what_it_took(world: World, gateway: ShardedGateway) -> None:
    session = await gateway.open_session(WORKER)
    claiming = asyncio.create_task(gateway.claim(session, limit=4, wait=60))
    await until(lambda: all(map(waits_in, world.shards)))
    ids = await submit(world, *world.shards.names)
    claiming.cancel()
    await asyncio.gather(claiming, return_exceptions=True)
    for shard in world.shards:
        await shard.engine.claims.drained()

    left = [*([] if claiming.cancelled() else claiming.result()), *await take(gateway, session)]

    assert {task.lease.task for task in left} == set(ids)
    assert {task.attempt for task in left} == {1}


async def test_a_named_claim_that_is_repeated_gets_what_it_took_in_every_shard(
    world: World, gateway: ShardedGateway
) -> None:
    ids = await submit(world, *world.shards.names)
    session = await gateway.open_session(WORKER)
    first = await gateway.claim_as(session, WORKER, limit=3, wait=0, nonce=99)
    await submit(world, *world.shards.names)

    again = await gateway.claim_as(session, WORKER, limit=3, wait=0, nonce=99, again=True)
    new = await gateway.claim_as(session, WORKER, limit=9, wait=0, nonce=98, again=True)

    assert {task.lease for task in again} == {task.lease for task in first}
    assert {task.lease.task for task in first} == set(ids)
    assert len(new) == 3


# -- reports


async def test_reports_reach_the_shards_of_their_tasks_in_order(world: World, gateway: ShardedGateway) -> None:
    await submit(world, *world.shards.names, count=2)
    session = await gateway.open_session(WORKER)
    leases = [task.lease for task in await take_all(gateway, session, 6)]
    stale = Lease(leases[2].task, leases[2].epoch, leases[2].nonce ^ 1)
    reports = [Report(lease, Succeeded(Raw(b"%d" % n))) for n, lease in enumerate(leases)]
    reports[2] = Report(stale, Succeeded())

    answers = await gateway.settle(reports)
    joined = await gateway.join([Report(leases[2], Released())])

    assert [isinstance(answer, Fenced) for answer in answers] == [n == 2 for n in range(6)]
    assert answers[:2] == [State.COMPLETED] * 2
    assert joined == [State.QUEUED]
    for n in (0, 1, 3, 4, 5):
        view = await world.shards.of(leases[n].task).engine.queries.get(leases[n].task)
        assert view.result == Raw(b"%d" % n)


async def test_logs_files_and_progress_are_kept_with_their_task(world: World, gateway: ShardedGateway) -> None:
    (id_,) = await submit(world, "pg3")
    session = await gateway.open_session(WORKER)
    (task,) = await take_all(gateway, session, 1)
    lease, engine = task.lease, world.shards.named("pg3").engine

    assert not await gateway.append_log([LogChunk(task=id_, epoch=lease.epoch, seq=0, text="a", nonce=lease.nonce)])
    await gateway.put_artifact(Artifact(task=id_, name="f", content_type="text/plain", data=b"x", lease=lease))
    await gateway.report_progress([ProgressNote(lease, Progress(1))])

    assert await engine.queries.read_log(id_) == "a"
    assert (await engine.queries.artifact(id_, "f")).data == b"x"
    assert await engine.store.outputs.progress([id_]) == [Progress(1)]
    assert await gateway.reveal(lease) is None


async def test_a_cancellation_in_any_shard_is_heard(world: World, gateway: ShardedGateway) -> None:
    near, far = await submit(world, DIRECTORY, "pg3")
    session = await gateway.open_session(WORKER)
    held = [task.lease for task in await take_all(gateway, session, 2)]
    listening = asyncio.create_task(gateway.stops(session, held, wait=60))

    await world.shards.named("pg3").engine.control.cancel(far)

    async with asyncio.timeout(A_WHILE):
        stops = await listening
    assert stops.cancelled == (far,)
    assert (await gateway.beat(Beat(session=session, held=tuple(held)))).cancelled == (far,)
    assert await state(world, near) is State.RUNNING


async def test_a_task_that_is_not_where_the_map_says_is_settled_where_it_was_claimed(
    world: World, gateway: ShardedGateway
) -> None:
    """As one that was moved while it waited, and keeps the id of the shard that it came from."""
    (id_,) = await submit(world, "pg3")
    session = await gateway.open_session(WORKER)
    slot = slot_of(id_)
    history = (SlotEntry(DIRECTORY), SlotEntry("pg3", 1 << 60, 1))
    world.shards.map = ShardMap(world.shards.map.number, {**world.shards.map.histories, slot: history})
    assert world.shards.of(id_).name == DIRECTORY
    (task,) = await take_all(gateway, session, 1)
    other = ShardedGateway(world.shards)  # another server, which has not claimed it

    reply = await other.beat(Beat(session=session, held=(task.lease,)))
    answers = await other.settle([Report(task.lease, Succeeded())])
    repeated = await ShardedGateway(world.shards).settle([Report(task.lease, Succeeded())])

    assert reply.lost == ()
    assert answers == repeated == [State.COMPLETED]


async def test_a_lease_whose_shard_cannot_be_found_out_is_told_to_each_that_may_have_it(
    world: World, gateway: ShardedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard that has it, and hears of others only, would free it."""
    (id_,) = await submit(world, "pg3")
    session = await gateway.open_session(WORKER)
    (task,) = await take_all(gateway, session, 1)
    history = (SlotEntry(DIRECTORY), SlotEntry("pg3", 1 << 59, 1), SlotEntry("pg2", 1 << 60, 2))
    world.shards.map = ShardMap(world.shards.map.number, {**world.shards.map.histories, slot_of(id_): history})

    async def lost(_leases: object) -> list[object]:
        raise Unavailable("the answer was lost")

    with monkeypatch.context() as patch:
        for shard in world.shards:
            patch.setattr(shard.store, "lease_states", lost)
        reply = await ShardedGateway(world.shards).beat(Beat(session=session, held=(task.lease,)))

    (view,) = await world.shards.named("pg3").store.sessions.sessions()
    assert (reply.is_open, reply.lost, view.held) == (True, (), 1)


async def test_a_server_with_an_old_map_finds_a_lease_by_looking_at_the_directory_again(
    world: World, gateway: ShardedGateway
) -> None:
    (id_,) = await submit(world, "pg3")
    session = await gateway.open_session(WORKER)
    (task,) = await take_all(gateway, session, 1)
    world.shards.map = ShardMap()
    world.shards._number = -1

    reply = await ShardedGateway(world.shards).beat(Beat(session=session, held=(task.lease,)))

    assert reply.lost == ()
    world.shards.map = ShardMap()
    world.shards._number = -1
    assert await ShardedGateway(world.shards).settle([Report(task.lease, Succeeded())]) == [State.COMPLETED]
    assert await state(world, id_) is State.COMPLETED


async def test_a_server_with_an_old_map_reaches_a_durable_task_by_looking_at_the_directory_again(
    world: World, gateway: ShardedGateway
) -> None:
    (id_,) = await submit(world, "pg3")
    session = await gateway.open_session(WORKER)
    (task,) = await take_all(gateway, session, 1)
    lease = task.lease

    def late() -> ShardedGateway:
        """A gateway of a server that has not looked at the map since the slots have moved."""
        world.shards.map = ShardMap()
        world.shards._number = -1
        return ShardedGateway(world.shards)

    charge = NewRecord(lease=lease, name="charge", value=Raw(b"7"))
    (recorded,) = await late().record([charge])
    (joined,) = await late().join_records([charge])
    await late().put_artifact(Artifact(task=id_, name="f", content_type="text/plain", data=b"x", lease=lease))
    page = await late().records(lease, after=0)
    night = Wait(kind=WaitKind.SLEEP, name="night", delay_ms=9000)
    parked = await late().wait(WaitRequest(lease=lease, waits=(night,)))

    assert isinstance(recorded, Record)
    assert joined == recorded
    assert [record.name for record in page.records] == ["charge"]
    assert parked is State.QUEUED
    assert await state(world, id_) is State.QUEUED


async def test_a_lease_that_no_shard_has_is_refused_for_durable_calls(world: World, gateway: ShardedGateway) -> None:
    (id_,) = await submit(world, "pg3")
    session = await gateway.open_session(WORKER)
    (task,) = await take_all(gateway, session, 1)
    late = replace(task.lease, nonce=task.lease.nonce ^ 1)

    night = Wait(kind=WaitKind.SLEEP, name="night", delay_ms=9000)
    (refused,) = await gateway.record([NewRecord(lease=late, name="charge")])

    assert isinstance(refused, Fenced)
    assert isinstance(await gateway.wait(WaitRequest(lease=late, waits=(night,))), Fenced)
    for call in (
        gateway.records(late, after=0),
        gateway.put_artifact(Artifact(task=id_, name="f", content_type="text/plain", data=b"x", lease=late)),
    ):
        with pytest.raises(Fenced):
            await call


# -- a shard that is away


async def test_a_shard_that_is_away_costs_its_own_tasks_only_and_goes_on_when_it_is_back(
    world: World, gateway: ShardedGateway, proxy: Proxy
) -> None:
    near, far = await submit(world, DIRECTORY, "pg2")
    session = await gateway.open_session(WORKER)
    leases = {task.lease.task: task.lease for task in await take_all(gateway, session, 2)}
    held = tuple(leases.values())
    cut(proxy)

    reply = await gateway.beat(Beat(session=session, held=held))
    answers = await gateway.settle([Report(leases[far], Succeeded()), Report(leases[near], Succeeded())])
    chunk = LogChunk(task=far, epoch=1, seq=0, text="a", nonce=leases[far].nonce)
    left = await gateway.append_log([chunk])
    await submit(world, "pg3")
    found = await gateway.claim(session, limit=5, wait=A_WHILE)

    assert (reply.is_open, reply.lost) == (True, ())
    assert isinstance(answers[0], Unavailable)
    assert answers[1] is State.COMPLETED
    assert list(left) == [chunk]
    assert len(found) == 1
    proxy.heal()
    assert await gateway.settle([Report(leases[far], Succeeded())]) == [State.COMPLETED]
    assert (await gateway.beat(Beat(session=session))).is_open


async def test_a_worker_that_registers_while_a_shard_is_away_is_registered_there_later(
    world: World, gateway: ShardedGateway, proxy: Proxy
) -> None:
    (far,) = await submit(world, "pg2")
    cut(proxy)
    session = await gateway.open_session(WORKER)
    assert await take(gateway, session) == []
    claiming = asyncio.create_task(gateway.claim(session, limit=1, wait=60))
    await until(lambda: waits_in(world.shards.directory))

    proxy.heal()

    async with asyncio.timeout(A_WHILE):
        (task,) = await claiming
    assert task.lease.task == far
    reply = await gateway.beat(Beat(session=session, held=(task.lease,)))
    assert (reply.is_open, reply.lost) == (True, ())


async def test_without_any_shard_the_gateway_is_unavailable(shard_urls: tuple[str, ...]) -> None:
    parts = urlsplit(shard_urls[0])
    proxy = Proxy(parts.hostname or "", parts.port or 5432)
    await proxy.start()
    urls = tuple(map(proxy.url, shard_urls))
    async with opened(urls) as world:
        await world.service.add("pg2", store_url=urls[1])
        gateway = ShardedGateway(world.shards)
        session = await gateway.open_session(WORKER)
        cut(proxy)

        for call in (
            gateway.beat(Beat(session=session)),
            gateway.claim(session, limit=1, wait=A_WHILE),
            gateway.open_session(replace(WORKER, pid=8)),
        ):
            with pytest.raises(Unavailable):
                await call
        proxy.heal()
    await proxy.close()
