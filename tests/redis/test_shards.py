"""Shards that share a Redis or a Redis Cluster: each has hints, channels and notes of its own, on a node of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis, RedisCluster

from drumline.core.clock import ManualClock
from drumline.core.ids import SessionId, TaskId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import Status
from drumline.core.task import ClaimedTask
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.options import EngineOptions
from drumline.ports.read_model import Moment, Note
from drumline.ports.store import Hint
from drumline.redis import RedisQueue, RedisReadModel
from drumline.redis.forgetting import forget_all
from drumline.redis.keys import QueueKeys, ReadModelKeys, lane_text
from drumline.scheduler.sweep import Sweeper
from drumline.stores.sqlite import SqliteStore
from scripts.programs import missing
from tests.factories import claim_request, new_id, request
from tests.harness.redis_cluster import RedisClusterServers
from tests.harness.sqlite import migrated
from tests.redis.hints import NOW, eventually, hint, know, lane, pop, popped_tasks, pushed

SHARDS = ("main", "pg2", "pg3")
"""Their tags lie in slots 13011, 5639 and 1574: one in each third of them."""
ADA = SessionId(7)
RUNNER = SessionSpec(host="ada", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=9)

Queues = Mapping[str, RedisQueue]


def test_the_directory_keeps_the_names_that_it_had_before_there_were_shards() -> None:
    keys, board = QueueKeys("drumline:"), ReadModelKeys("drumline:")

    assert keys.due == "drumline:{queue}:due"
    assert keys.wake == "drumline:{queue}:wake"
    assert keys.leases == "drumline:{queue}:lease:"
    assert (board.doubt, board.keeper) == ("drumline:board:doubt", "drumline:board:keeper")


def test_no_name_of_one_shard_begins_like_that_of_another() -> None:
    names = {shard: [str(key) for key in vars(QueueKeys("d:", shard)).values()] for shard in ("main", "pg", "pg2")}

    for shard, own in names.items():
        others = [key for other, keys in names.items() if other != shard for key in keys]
        assert [key for key in own if key.startswith(tuple(others))] == []


class Listener:
    """A process whose session waits at the queue of a shard, and what it hears."""

    def __init__(self, queue: RedisQueue) -> None:
        self.queue = queue
        self.woken: list[tuple[str, int]] = []
        self.handed: list[TaskId] = []
        self.leased: list[TaskId] = []
        self.listening = asyncio.create_task(
            queue.listen(lambda *words: self.woken.append(words), self._hand, self._lease)
        )

    def _hand(self, _session: SessionId, given: Hint) -> bool:
        self.handed.append(given.task)
        return True

    def _lease(self, _session: SessionId, task: ClaimedTask) -> None:
        self.leased.append(task.lease.task)

    async def wait(self) -> None:
        popped = await self.queue.pop(replace(claim_request(ADA, "work", nonce=5), waits=True))
        assert popped is not None
        assert popped.tasks == ()

    async def stop(self) -> None:
        self.listening.cancel()
        await asyncio.wait({self.listening})
        await self.queue.close()


@pytest.fixture
async def shared(redis_url: str, clock: ManualClock) -> AsyncIterator[Queues]:
    """The queues of three shards in one Redis."""
    queues = {shard: RedisQueue(redis_url, shard=shard, clock=clock) for shard in SHARDS}
    for queue in queues.values():
        await queue.filled()
    yield queues
    for queue in queues.values():
        await queue.close()


@pytest.fixture
async def listeners(
    shared: Queues, redis_url: str, clock: ManualClock, client: Redis
) -> AsyncIterator[Mapping[str, Listener]]:
    """Another process for each shard, with a session that has nothing to do."""
    listeners = {}
    for shard, queue in shared.items():
        await know(queue, "work")
        listener = listeners[shard] = Listener(RedisQueue(redis_url, shard=shard, clock=clock))
        channel = QueueKeys(shard=shard).leases + listener.queue._origin

        async def is_heard(channel: str = channel) -> bool:
            return bool((await client.pubsub_numsub(channel))[0][1])

        await eventually(is_heard)
    yield listeners
    for listener in listeners.values():
        await listener.stop()


async def test_a_lone_task_is_handed_to_a_session_of_its_shard(
    shared: Queues, listeners: Mapping[str, Listener]
) -> None:
    for listener in listeners.values():
        await listener.wait()

    given = hint()
    assert await shared["pg2"].push([given])

    async def is_handed() -> bool:
        return listeners["pg2"].handed == [given.task]

    await eventually(is_handed)
    assert [listeners[shard].handed for shard in ("main", "pg3")] == [[], []]


async def test_a_session_is_reserved_for_tasks_of_its_shard_only(
    shared: Queues, listeners: Mapping[str, Listener]
) -> None:
    await listeners["pg3"].wait()

    assert await shared["main"].reserve(lane()) is None
    assert await shared["pg2"].reserve(lane()) is None
    reserved = await shared["pg3"].reserve(lane())

    assert reserved is not None
    assert (reserved.session, reserved.nonce) == (ADA, 5)


async def test_a_push_wakes_the_listeners_of_its_shard_only(shared: Queues, listeners: Mapping[str, Listener]) -> None:
    await shared["main"].push([hint(), hint()])
    for shard in ("pg2", "pg3"):
        await shared[shard].signal("over")

    async def is_over() -> bool:
        return ("default", 2) in listeners["main"].woken and all(
            listeners[shard].woken[-1:] == [("over", 1)] for shard in ("pg2", "pg3")
        )

    await eventually(is_over)
    assert [("default", 2) in listeners[shard].woken for shard in SHARDS] == [True, False, False]


async def test_pauses_and_doubts_are_of_one_shard(shared: Queues) -> None:
    tasks = {shard: (await pushed(queue, hint()))[0] for shard, queue in shared.items()}

    await shared["main"].pause_queue("default", tenant="default")
    await shared["pg2"].doubt()

    assert (await pop(shared["main"])).tasks == ()
    assert await shared["pg2"].pop(claim_request(ADA)) is None
    assert (await pop(shared["pg3"])).tasks == (tasks["pg3"],)


async def test_a_doubt_and_a_keeper_of_the_read_model_are_of_one_shard(redis_url: str, client: Redis) -> None:
    boards = {shard: RedisReadModel(redis_url, shard=shard) for shard in SHARDS}
    tasks = {shard: new_id() for shard in SHARDS}
    for shard, board in boards.items():
        board.note([Note(task=tasks[shard], moment=Moment.CLAIMED, status=Status.PROCESSING)])

    async def is_written() -> bool:
        return all([await board.status([tasks[shard]]) == [Status.PROCESSING] for shard, board in boards.items()])

    await eventually(is_written)
    await client.set(ReadModelKeys(shard="pg2").doubt, 1)

    assert [(await boards[shard].status([tasks[shard]]))[0] for shard in SHARDS] == [
        Status.PROCESSING, None, Status.PROCESSING,
    ]  # fmt: skip
    assert [await boards[shard].may_keep(60) for shard in SHARDS] == [True, True, True]
    assert [await boards[shard].may_keep(60) for shard in SHARDS] == [False, False, False]
    for board in boards.values():
        await board.close()


async def test_keys_of_every_shard_are_forgotten_though_there_is_no_prefix(
    redis_url: str, client: Redis, clock: ManualClock
) -> None:
    queue = RedisQueue(redis_url, prefix="", shard="pg2", clock=clock)
    await queue.filled()
    await pushed(queue, hint())
    await queue.close()
    await client.set("unrelated", "1")

    assert await forget_all(redis_url, prefix="") > 1
    assert [key async for key in client.scan_iter()] == ["unrelated"]


@pytest.fixture
async def nodes(cluster: RedisClusterServers) -> AsyncIterator[RedisCluster]:
    """A client of the cluster that knows which node holds what."""
    async with RedisCluster(host="127.0.0.1", port=cluster.port, decode_responses=True) as client:
        yield client


@pytest.fixture
async def spread(cluster: RedisClusterServers, clock: ManualClock, nodes: RedisCluster) -> AsyncIterator[Queues]:
    """The queues of three shards in a cluster of three primaries."""
    await nodes.flushall(target_nodes=RedisCluster.PRIMARIES)
    queues = {shard: RedisQueue(cluster.url, shard=shard, clock=clock) for shard in SHARDS}
    for queue in queues.values():

        async def is_up(queue: RedisQueue = queue) -> bool:
            return await queue.filled() is not None

        await eventually(is_up)
    yield queues
    for queue in queues.values():
        await queue.close()


def node_of(nodes: RedisCluster, shard: str) -> str:
    node = nodes.get_node_from_key(QueueKeys(shard=shard).due)
    assert node is not None
    return str(node.name)


@pytest.mark.faults
async def test_the_queues_of_three_shards_lie_on_three_nodes_of_a_cluster(spread: Queues, nodes: RedisCluster) -> None:
    tasks = {shard: await pushed(queue, hint(late=2), hint(late=1)) for shard, queue in spread.items()}

    assert len({node_of(nodes, shard) for shard in SHARDS}) == len(SHARDS)
    for shard in SHARDS:
        node = nodes.get_node_from_key(QueueKeys(shard=shard).due)
        keys = [key async for key in nodes.scan_iter(match="drumline:{queue*", target_nodes=[node])]
        assert keys, "the node holds hints"
        assert all(key.startswith(QueueKeys(shard=shard).due.removesuffix("due")) for key in keys)
    assert {shard: await popped_tasks(queue) for shard, queue in spread.items()} == tasks


@pytest.mark.faults
async def test_every_operation_works_for_each_shard_of_a_cluster(spread: Queues) -> None:
    for shard, queue in spread.items():
        one, two, dropped = await pushed(queue, hint(), hint(lane("other"), late=5), hint())
        lost, unknown = hint(late=-1), hint()
        await queue.drop([dropped])
        await queue.restore([lost])
        await queue.pause_queue("mail", tenant="default")

        assert await queue.absent([lost, unknown]) == frozenset({unknown.task}), shard
        assert await queue.sync(now=NOW) is not None, shard
        assert await popped_tasks(queue, "work", "other") == [two, one], shard
        assert await queue.reserve(lane()) is None, "on a cluster sessions claim for themselves"
        await queue.resume_queue("mail", tenant="default")


@pytest.mark.faults
async def test_wake_ups_of_a_shard_cross_the_nodes_of_a_cluster_and_no_shard(
    spread: Queues, cluster: RedisClusterServers
) -> None:
    listeners = {shard: Listener(RedisQueue(cluster.url, shard=shard)) for shard in SHARDS}

    async def are_all_heard() -> bool:
        for shard, queue in spread.items():
            await queue.signal(shard)
        return all(listener.woken for listener in listeners.values())

    await eventually(are_all_heard)
    assert {shard: {word for word, _ in listener.woken} for shard, listener in listeners.items()} == {
        shard: {shard} for shard in SHARDS
    }
    for listener in listeners.values():
        await listener.stop()


@pytest.mark.faults
async def test_an_emptied_node_costs_its_shard_only_speed_and_the_others_nothing(
    spread: Queues, nodes: RedisCluster, clock: ManualClock, tmp_path: Path
) -> None:
    engines: dict[str, Engine] = {}
    submitted: dict[str, set[TaskId]] = {}
    for shard, queue in spread.items():
        store = await SqliteStore.open(migrated(tmp_path / f"{shard}.db"), clock=clock)
        engines[shard] = Engine(store, queue, EngineOptions(clock=clock))
        submitted[shard] = {(await engines[shard].submissions.submit(request())).id for _ in range(3)}

    async def hints() -> list[int]:
        return [await nodes.zcard(QueueKeys(shard=shard).lanes + lane_text(lane())) for shard in SHARDS]

    async def are_offered() -> bool:
        return await hints() == [3, 3, 3]

    await eventually(are_offered)

    await nodes.flushall(target_nodes=[nodes.get_node_from_key(QueueKeys(shard="pg2").due)])

    assert await hints() == [3, 0, 3]
    assert await spread["pg2"].pop(claim_request(ADA)) is None, "the store chooses until the queue is refilled"
    for shard, engine in engines.items():
        gateway = LocalGateway(engine)
        session = await gateway.open_session(RUNNER)
        taken = {task.lease.task for task in await gateway.claim(session, limit=1, wait=0)}
        await Sweeper(engine.store, spread[shard]).pass_once()
        taken |= {task.lease.task for task in await gateway.claim(session, limit=9, wait=0)}
        assert taken == submitted[shard]
        await engine.store.close()


@pytest.mark.faults
async def test_a_read_model_of_each_shard_works_on_a_cluster(cluster: RedisClusterServers) -> None:
    boards = {shard: RedisReadModel(cluster.url, shard=shard) for shard in SHARDS}
    tasks = {shard: [new_id() for _ in range(10)] for shard in SHARDS}

    async def is_written() -> bool:
        # Ends, noted again and again: a model that could not keep up leaves notes out, and then answers with ends only.
        for shard, board in boards.items():
            board.note([Note(task=task, moment=Moment.SETTLED, status=Status.COMPLETED) for task in tasks[shard]])
        return all([await board.status(tasks[shard]) == [Status.COMPLETED] * 10 for shard, board in boards.items()])

    await eventually(is_written)
    for board in boards.values():
        await board.close()


@pytest.mark.faults
async def test_a_node_that_dies_stops_the_hints_of_its_shards_until_its_replica_takes_over(clock: ManualClock) -> None:
    if reason := missing("redis"):
        pytest.skip(reason)
    cluster = RedisClusterServers()
    queues = {shard: RedisQueue(cluster.url, shard=shard, clock=clock) for shard in SHARDS}

    async def is_up(queue: RedisQueue) -> bool:
        return await queue.filled() is not None

    try:
        for queue in queues.values():
            await eventually(partial(is_up, queue))
        async with RedisCluster(host="127.0.0.1", port=cluster.port, decode_responses=True) as nodes:
            node = nodes.get_node_from_key(QueueKeys(shard="pg2").due)
            assert node is not None
            cluster.kill(int(node.port))

        assert await queues["pg2"].pop(claim_request(ADA)) is None
        for shard in ("main", "pg3"):
            tasks = await pushed(queues[shard], hint())
            assert await popped_tasks(queues[shard]) == tasks, "the others go on without a pause"

        await eventually(partial(is_up, queues["pg2"]), seconds=60)
        tasks = await pushed(queues["pg2"], hint())
        assert await popped_tasks(queues["pg2"]) == tasks
    finally:
        for queue in queues.values():
            await queue.close()
        cluster.remove()
