"""The fence: a database takes new work only of the slots that are open in it, by the entry that a submission names."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from random import Random

import asyncpg
import pytest

from drumline.core.clock import SystemClock
from drumline.core.errors import Conflict, Moved
from drumline.core.ids import IdSource, TaskId, made_at
from drumline.core.shard_map import DIRECTORY, ShardMap
from drumline.core.slots import SLOTS, slot_of, slot_of_key
from drumline.core.task import Lane, NewTask, Submitted
from drumline.ports.shards import OwnEntry, ShardIdentity, SlotOwner
from drumline.stores.postgres import PostgresStore

ALL = [(slot, 0) for slot in range(SLOTS)]
IDS = IdSource(SystemClock().now, Random(7))


@pytest.fixture
async def stores(shard_urls: tuple[str, ...]) -> AsyncIterator[Sequence[PostgresStore]]:
    """A directory, and two databases that have joined its installation."""
    opened = [await PostgresStore.open(url) for url in shard_urls]
    directory = "01890a5d-ac96-774b-bcce-b302099a8057"
    for store, name in zip(opened, (DIRECTORY, "b", "c"), strict=True):
        await store.slots.join(ShardIdentity(name, directory))
    yield opened
    for store in opened:
        await store.close()


def task(slot: int, version: int = 0, *, key: str | None = None, made: TaskId | None = None) -> NewTask:
    return NewTask(
        id=IDS.in_slot(IDS.next(), slot) if made is None else made,
        lane=Lane("default", "default", "work", 0),
        payload=b"{}",
        idempotency_key=key,
        fingerprint=None if key is None else b"f",
        slot_version=version,
    )


async def move(giver: PostgresStore, taker: PostgresStore, slots: list[tuple[int, int]], name: str) -> list[OwnEntry]:
    closed = await giver.slots.close_slots(slots, taker=name)
    await taker.slots.open_slots(
        [OwnEntry(slot=each.slot, version=each.version + 1, since=each.closed_at or 0) for each in closed]
    )
    return closed


async def test_a_lone_database_has_every_slot(store: PostgresStore) -> None:
    answers = await store.submit([task(slot) for slot in (0, 1, SLOTS - 1)])

    assert all(isinstance(answer, Submitted) for answer in answers)


async def test_a_database_that_joined_has_no_slot_until_one_is_opened(stores: Sequence[PostgresStore]) -> None:
    _, second, _ = stores
    first, other = task(5), task(6, 1)

    assert [type(answer) for answer in await second.submit([first, other])] == [Moved, Moved]
    await second.slots.open_slots([OwnEntry(slot=6, version=1, since=0)])
    assert [type(answer) for answer in await second.submit([first, other])] == [Moved, Submitted]


async def test_a_closed_slot_takes_nothing_new_and_the_others_go_on(stores: Sequence[PostgresStore]) -> None:
    giver, taker, _ = stores
    await move(giver, taker, [(5, 0)], "b")

    assert [type(answer) for answer in await giver.submit([task(5), task(6)])] == [Moved, Submitted]
    ids = IdSource(SystemClock().now, Random(8))
    ids.open = ShardMap(1, {}).open_slots(DIRECTORY)
    (entry,) = await taker.slots.entries()
    late = task(5, 1, made=ids.in_slot(ids.next(), 5))
    assert made_at(late.id) >= entry.since
    assert [type(answer) for answer in await taker.submit([late])] == [Submitted]


async def test_an_id_from_before_the_entry_is_refused(stores: Sequence[PostgresStore]) -> None:
    giver, taker, _ = stores
    early = task(5, 1)
    await move(giver, taker, [(5, 0)], "b")

    assert [type(answer) for answer in await taker.submit([early])] == [Moved]


async def test_a_submission_by_an_older_entry_is_refused_though_the_slot_has_come_back(
    stores: Sequence[PostgresStore],
) -> None:
    giver, taker, _ = stores
    await move(giver, taker, [(5, 0)], "b")
    await move(taker, giver, [(5, 1)], DIRECTORY)

    assert [type(answer) for answer in await giver.submit([task(5, 0)])] == [Moved]
    later = max(entry.since for entry in await giver.slots.entries())
    source = IdSource(lambda: later + 1, Random(9))
    assert [type(a) for a in await giver.submit([task(5, 2, made=source.in_slot(source.next(), 5))])] == [Submitted]


async def test_what_is_stored_is_answered_before_the_fence_is_asked(stores: Sequence[PostgresStore]) -> None:
    giver, taker, _ = stores
    slot = slot_of_key("default", "k")
    plain, keyed = task(slot), task(slot, key="k")
    (first, second) = await giver.submit([plain, keyed])
    await move(giver, taker, [(slot, 0)], "b")
    again = task(slot, key="k")

    answers = await giver.submit([plain, keyed, again, task(slot)])

    assert answers[:2] == [first, second]
    assert isinstance(answers[2], Submitted)
    assert (answers[2].id, answers[2].created) == (keyed.id, False)
    assert isinstance(answers[3], Moved)


async def test_a_leased_submission_meets_the_fence_too(stores: Sequence[PostgresStore]) -> None:
    giver, taker, _ = stores
    await move(giver, taker, [(5, 0)], "b")

    with pytest.raises(Moved):
        await giver.submit_leased(task(5), session=1, nonce=2)  # type: ignore[arg-type]


async def test_closing_waits_for_submissions_that_have_passed_and_names_a_time_after_their_ids(
    stores: Sequence[PostgresStore], shard_urls: tuple[str, ...]
) -> None:
    giver, _, _ = stores
    ahead = IdSource(lambda: SystemClock().now() + 60_000, Random(10))
    late = ahead.in_slot(ahead.next(), 5)
    connection = await asyncpg.connect(shard_urls[0])
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(f"SELECT drumline.fence('{{5}}', '{{0}}', '{{{made_at(late)}}}')")
    lane = "INSERT INTO drumline.lane (tenant, queue, name, priority) VALUES ('t', 'q', 'n', 0) RETURNING id"
    number = await connection.fetchval(lane)
    await connection.execute(
        "INSERT INTO drumline.task (id, due_at, created_at, lane, payload) VALUES ($1, 1, 1, $2, '')", late, number
    )
    closing = asyncio.create_task(giver.slots.close_slots([(5, 0)], taker="b"))
    blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while not await connection.fetchval(blocked):
        assert not closing.done()
    await transaction.commit()
    await connection.close()
    (closed,) = await closing

    assert closed.closed_at is not None
    assert closed.closed_at > made_at(late)


async def test_closing_twice_keeps_the_first_time_and_taker(stores: Sequence[PostgresStore]) -> None:
    giver = stores[0]
    (first,) = await giver.slots.close_slots([(5, 0)], taker="b")

    assert await giver.slots.close_slots([(5, 0)], taker="c") == [first]


async def test_opening_never_changes_an_entry(stores: Sequence[PostgresStore]) -> None:
    _, taker, _ = stores
    await taker.slots.open_slots([OwnEntry(slot=5, version=1, since=10)])
    (closed,) = await taker.slots.close_slots([(5, 1)], taker="c")
    await taker.slots.open_slots([OwnEntry(slot=5, version=1, since=99)])

    assert await taker.slots.entries() == [closed]


async def test_a_shard_cannot_close_what_it_does_not_have(stores: Sequence[PostgresStore]) -> None:
    assert await stores[1].slots.close_slots([(5, 0), (6, 1)], taker="c") == []


async def test_all_slots_are_closed_in_one_go(stores: Sequence[PostgresStore]) -> None:
    closed = await stores[0].slots.close_slots(ALL, taker="b")

    assert len(closed) == SLOTS
    assert len({entry.closed_at for entry in closed}) == 1


async def test_the_map_takes_entries_in_their_order_and_each_once(stores: Sequence[PostgresStore]) -> None:
    directory = stores[0].shards
    await directory.add_owners([SlotOwner(slot=5, version=2, shard="c", since=30)])
    assert (await directory.shard_map()).entry(5).shard == DIRECTORY
    await directory.add_owners([SlotOwner(slot=5, version=1, shard="b", since=20)])
    await directory.add_owners([SlotOwner(slot=5, version=1, shard="c", since=25)])
    shard_map = await directory.shard_map()

    assert [(entry.shard, entry.since) for entry in shard_map.history(5)] == [(DIRECTORY, 0), ("b", 20)]
    assert shard_map.number == await directory.map_number()


async def test_an_id_is_held_by_who_had_its_slot_when_it_was_made(stores: Sequence[PostgresStore]) -> None:
    directory = stores[0].shards
    before = IDS.in_slot(IDS.next(), 5)
    since = made_at(before) + 1000
    await directory.add_owners([SlotOwner(slot=5, version=1, shard="b", since=since)])
    later = IdSource(lambda: since, Random(11))
    shard_map = await directory.shard_map()

    assert shard_map.holder(before) == DIRECTORY
    assert shard_map.holder(later.in_slot(later.next(), 5)) == "b"
    assert shard_map.former(5) == (DIRECTORY,)
    assert slot_of(before) == 5


async def test_a_database_with_work_of_its_own_does_not_join(stores: Sequence[PostgresStore]) -> None:
    other = stores[2]
    await other.slots.leave(ShardIdentity("c", "01890a5d-ac96-774b-bcce-b302099a8057"))
    await other.submit([task(5)])

    with pytest.raises(Conflict, match="of its own"):
        await other.slots.join(ShardIdentity("c", "01890a5d-ac96-774b-bcce-b302099a8057"))


async def test_a_shard_of_one_installation_does_not_join_another(stores: Sequence[PostgresStore]) -> None:
    with pytest.raises(Conflict, match="already"):
        await stores[1].slots.join(ShardIdentity("b", "01890a5d-ac96-774b-bcce-b302099a8058"))
