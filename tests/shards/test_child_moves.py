"""Children of tasks whose slot is moved away while they run: stored beside them, and found by every process."""

from collections.abc import AsyncIterator

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.children import ChildRequests, OnEnd, StartedIds
from drumline.core.clock import Instant
from drumline.core.durable import Answered, Wait, WaitKind, WaitRequest
from drumline.core.ids import SessionId, TaskId, made_at
from drumline.core.lease import Lease
from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, slot_of
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.ports.gateway import Report
from drumline.shards.drain import Drain
from drumline.shards.gateway import ShardedGateway
from drumline.shards.store import ShardedStore
from tests.factories import request
from tests.shards.world import World, front, opened

TYPES = (TaskType(name="work", doc=""),)
WORKER = SessionSpec(host="h", pid=7, version="1", queues=(), types=TYPES, capacity=8)
GROUP = Wait(kind=WaitKind.GROUP, name="c")


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    """Three databases; the directory has all slots."""
    async with opened(shard_urls) as made:
        for name, url in zip(("pg2", "pg3"), shard_urls[1:], strict=True):
            await made.service.add(name, store_url=url)
        yield made


@pytest.fixture
def gateway(world: World) -> ShardedGateway:
    return ShardedGateway(world.shards)


async def running(world: World, gateway: ShardedGateway) -> tuple[SessionId, Lease]:
    """Submit a task, and claim it."""
    await front(world).submissions.submit(request())
    session = await gateway.open_session(WORKER)
    (parent,) = await gateway.claim(session, limit=1, wait=10)
    return session, parent.lease


async def move(world: World, taker: str) -> None:
    await world.shards.refresh()
    await world.service.mover.move(dict.fromkeys(range(SLOTS), taker))


async def drain(world: World, giver: str) -> int:
    return (await Drain(world.shards).advance(world.shards.named(giver), limit=7)).moved


async def start(gateway: ShardedGateway, lease: Lease, *requests: TaskRequest) -> StartedIds:
    return await gateway.start_children(ChildRequests(lease=lease, name="c", tasks=requests))


async def where(world: World, *ids: TaskId) -> list[str]:
    """Return the databases in which tasks are, by asking each."""
    return [
        shard.name for id_ in ids for shard in world.shards if (await shard.store.queries.get([id_]))[0] is not None
    ]


async def finish(gateway: ShardedGateway, lease: Lease) -> None:
    (answer,) = await gateway.settle([Report(lease=lease, outcome=Succeeded(Raw(b"1")))])
    assert answer is State.COMPLETED


async def test_children_of_a_task_whose_slot_has_moved_are_beside_it_and_wake_it(
    world: World, gateway: ShardedGateway
) -> None:
    session, lease = await running(world, gateway)
    await move(world, "pg2")

    started = await start(gateway, lease, request(expires="1h"), request())
    again = await start(gateway, lease, request(), request())
    parked = await gateway.wait(WaitRequest(lease=lease, waits=(GROUP,)))
    children = await gateway.claim(session, limit=5, wait=10)
    for child in children:
        await finish(gateway, child.lease)
    (woken,) = await gateway.claim(session, limit=5, wait=10)
    answer = await gateway.wait(WaitRequest(lease=woken.lease, waits=(GROUP,)))

    assert again == started
    assert parked is State.QUEUED
    assert {child.lease.task for child in children} == set(started.ids)
    assert woken.lease.task == lease.task
    assert isinstance(answer, Answered)
    assert await where(world, *started.ids) == [DIRECTORY] * 2
    assert {slot_of(child) for child in started.ids} == {slot_of(lease.task)}
    assert all(await ShardedStore(world.shards).queries.get(started.ids))
    assert await drain(world, DIRECTORY) == 0


async def test_children_of_a_task_that_was_drained_to_a_slot_that_moved_on_are_beside_it(
    world: World, gateway: ShardedGateway
) -> None:
    await front(world).submissions.submit(request())
    await move(world, "pg2")
    assert await drain(world, DIRECTORY) == 1
    session = await gateway.open_session(WORKER)
    (parent,) = await gateway.claim(session, limit=1, wait=10)
    await move(world, "pg3")

    started = await start(gateway, parent.lease, request())

    (child,) = started.ids
    assert await where(world, child, parent.lease.task) == ["pg2"] * 2
    assert made_at(child) > made_at(parent.lease.task)
    assert await ShardedStore(world.shards).queries.get([child]) != [None]
    (claimed,) = await gateway.claim(session, limit=5, wait=10)
    assert claimed.lease.task == child
    await finish(gateway, claimed.lease)


async def test_a_slot_that_is_closed_and_not_yet_open_elsewhere_holds_up_no_child(
    world: World, gateway: ShardedGateway
) -> None:
    _, lease = await running(world, gateway)
    await world.shards.directory.store.slots.close_slots([(slot_of(lease.task), 0)], taker="pg2")

    started = await start(gateway, lease, request())
    await move(world, "pg2")

    assert await ShardedStore(world.shards).queries.get(started.ids) != [None]


async def test_an_abandoned_child_follows_its_slot_once_its_parent_is_forgotten(
    world: World, gateway: ShardedGateway
) -> None:
    _, lease = await running(world, gateway)
    await move(world, "pg2")
    wanted = ChildRequests(lease=lease, name="c", tasks=(request(delay="1h"),))
    started = await gateway.start_children(replace(wanted, on_end=OnEnd.ABANDON))
    await finish(gateway, lease)
    directory = world.shards.directory.store
    await directory.children.work_notes()
    assert await directory.prune(ended_before=Instant(1 << 45), limit=10) == 1

    assert await drain(world, DIRECTORY) == 1

    assert await where(world, *started.ids) == ["pg2"]
    assert await ShardedStore(world.shards).queries.get(started.ids) != [None]
