"""New work moves from one database to another: nothing is lost, and a key stays one task."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from drumline.core.clock import Instant
from drumline.core.collapse import Collapse, accept_collapse
from drumline.core.errors import Conflict, DrumlineError, Invalid, KeyReused, NotFound, Unavailable
from drumline.core.ids import SessionId, TaskId
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, slot_of, slot_of_key
from drumline.core.task import Lane, NewTask, Submitted
from drumline.ports.queue import Reservation
from drumline.ports.shards import OwnEntry
from drumline.scheduler.drain import Drainer
from drumline.scheduler.moves import MoveKeeper
from drumline.shards.move import Mover
from drumline.stores.no_queue import NoQueue
from tests.shards.world import World, opened

LANE = Lane("default", "default", "work", 0)


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    async with opened(shard_urls) as made:
        yield made


class QueueWithOneWaiting(NoQueue):
    """A queue that knows of a session which waits, so that a lone task is stored with a lease for it."""

    async def reserve(self, lane: Lane) -> Reservation | None:
        """Name the session; no store knows it."""
        del lane
        return Reservation(session=SessionId(7), nonce=7, process="p", listed="p 7", since=Instant(0))


async def add_all(world: World, urls: tuple[str, ...]) -> None:
    for name, url in zip(("pg2", "pg3"), urls[1:], strict=True):
        await world.service.add(name, store_url=url)


def task(world: World, *, key: str | None = None, fingerprint: bytes = b"f") -> NewTask:
    made = world.ids.next(None if key is None else slot_of_key("default", key))
    return NewTask(
        id=made,
        lane=LANE,
        payload=b"{}",
        idempotency_key=key,
        fingerprint=None if key is None else fingerprint,
        slot_version=world.ids.version(made),
    )


async def where(world: World, id: TaskId) -> list[str]:
    """Return the shards that have a task."""
    return [shard.name for shard in world.shards if (await shard.store.queries.get([id]))[0] is not None]


async def test_a_shard_that_is_added_has_no_slots_until_some_are_moved(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    await add_all(world, shard_urls)

    assert [(shard.name, shard.slots) for shard in await world.service.list()] == [
        (DIRECTORY, SLOTS),
        ("pg2", 0),
        ("pg3", 0),
    ]
    assert await world.service.move(taker=None) == SLOTS - SLOTS // 3 - 1
    assert sorted(shard.slots for shard in await world.service.list()) == [1365, 1365, 1366]


async def test_new_tasks_go_to_every_shard_and_are_found_by_their_ids(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    before = await world.router.join(task(world))
    await add_all(world, shard_urls)
    await world.service.move(taker=None)
    answers = [await world.router.join(task(world)) for _ in range(60)]

    assert isinstance(before, Submitted)
    assert await where(world, before.id) == [DIRECTORY] == [world.shards.map.holder(before.id)]
    homes = set()
    for answer in answers:
        assert isinstance(answer, Submitted)
        assert await where(world, answer.id) == [world.shards.map.holder(answer.id)]
        homes.add(world.shards.map.holder(answer.id))
    assert homes == {DIRECTORY, "pg2", "pg3"}


async def test_a_key_is_one_task_wherever_its_slot_has_gone(world: World, shard_urls: tuple[str, ...]) -> None:
    first = await world.router.join(task(world, key="order 7"))
    await add_all(world, shard_urls)
    slot = slot_of_key("default", "order 7")
    for taker in ("pg2", "pg3", "pg2", DIRECTORY):
        await Mover(world.shards).move({slot: taker})
        again = await world.router.join(task(world, key="order 7"))
        assert isinstance(again, Submitted)
        assert isinstance(first, Submitted)
        assert (again.id, again.created) == (first.id, False)
        other = await world.router.join(task(world, key="order 7", fingerprint=b"other"))
        assert isinstance(other, KeyReused)


async def test_a_process_with_an_old_map_is_sent_on(world: World, shard_urls: tuple[str, ...]) -> None:
    async with opened(shard_urls, seed=2) as other:
        await add_all(world, shard_urls)
        await other.shards.refresh()
        await world.service.move(taker="pg2", giver=DIRECTORY)
        assert other.shards.map.entry(5).shard == DIRECTORY
        answers = await other.router.join_each([task(other) for _ in range(20)] + [task(other, key="k")])

        for answer in answers:
            assert isinstance(answer, Submitted)
            assert await where(world, answer.id) == ["pg2"]


async def test_a_shard_that_has_given_a_slot_away_is_not_taken_for_one_that_cannot_be_reached(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    async with opened(shard_urls, seed=3, queue=QueueWithOneWaiting()) as other:
        await add_all(world, shard_urls)
        await other.shards.refresh()
        await world.service.move(taker="pg2", giver=DIRECTORY)
        assert other.shards.map.entry(5).shard == DIRECTORY
        assert isinstance(await other.router.join(task(other)), Submitted)

        assert not other.shards.is_away(DIRECTORY)


async def test_a_process_that_knew_of_one_database_learns_of_the_others_by_being_refused(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    async with opened(shard_urls, seed=6) as other:
        await add_all(world, shard_urls)
        await world.service.move(taker="pg2", giver=DIRECTORY)
        assert other.shards.is_lone
        one = await other.router.join(task(other))
        many = await other.router.join_each([task(other), task(other, key="k")])

        for answer in (one, *many):
            assert isinstance(answer, Submitted)
            assert await where(world, answer.id) == ["pg2"]


async def test_submissions_go_on_while_slots_move_to_and_fro(world: World, shard_urls: tuple[str, ...]) -> None:
    await add_all(world, shard_urls)
    async with opened(shard_urls, seed=3) as other:
        answers: list[object] = []
        is_over = False

        async def submit(process: World, number: int) -> None:
            turn = 0
            while not is_over:
                turn += 1
                answers.extend(
                    await process.router.join_each(
                        [task(process) for _ in range(5)] + [task(process, key=f"{number} {turn // 2}")]
                    )
                )

        tasks = [asyncio.create_task(submit(process, n)) for n, process in enumerate((world, other, world, other))]
        for taker in ("pg2", "pg3", None, DIRECTORY, "pg3", None):
            await world.service.move(taker=taker, slots=None if taker is None else 2000)
        is_over = True
        await asyncio.gather(*tasks)
        await world.shards.refresh()

        assert [answer for answer in answers if isinstance(answer, DrumlineError)] == []
        stored = {answer.id for answer in answers if isinstance(answer, Submitted)}
        for each in stored:
            assert await where(world, each) == [world.shards.map.holder(each)]
        found = [
            row.id for shard in world.shards for row in await shard.store.queries.get(list(stored)) if row is not None
        ]
        assert len(found) == len(stored)
        created = [answer.id for answer in answers if isinstance(answer, Submitted) and answer.created]
        assert len(created) == len(set(created))


@pytest.mark.parametrize("steps", [1, 2])
async def test_a_move_that_was_interrupted_is_finished_by_any_scheduler(
    world: World, shard_urls: tuple[str, ...], steps: int
) -> None:
    await add_all(world, shard_urls)
    closed = await world.shards.directory.store.slots.close_slots([(5, 0), (6, 0)], taker="pg2")
    if steps > 1:
        entries = [_next(entry.slot, entry.closed_at) for entry in closed]
        await world.shards.named("pg2").store.slots.open_slots(entries)
    assert [shard.unfinished for shard in await world.service.list()] == [2, 0, 0]
    async with opened(shard_urls, seed=4) as other:
        keeper = MoveKeeper(other.shards)
        await keeper.pass_once()
        await keeper.pass_once()
    await world.shards.refresh()

    assert [world.shards.map.entry(slot).shard for slot in (5, 6, 7)] == ["pg2", "pg2", DIRECTORY]
    assert [shard.unfinished for shard in await world.service.list()] == [0, 0, 0]


async def test_a_shard_that_is_away_keeps_no_other_move_from_its_end(world: World, shard_urls: tuple[str, ...]) -> None:
    await add_all(world, shard_urls)
    entries = world.shards.directory.store.slots
    await entries.close_slots([(5, 0)], taker="pg2")
    await entries.close_slots([(6, 0)], taker="pg3")
    await world.shards.named("pg2").store.close()
    keeper = MoveKeeper(world.shards)
    await keeper.pass_once()

    with pytest.raises(Unavailable):
        await keeper.pass_once()

    assert [world.shards.map.entry(slot).shard for slot in (5, 6)] == [DIRECTORY, "pg3"]
    assert world.shards.is_away("pg2")


async def test_a_slot_that_is_being_moved_elsewhere_goes_where_that_one_said(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    await add_all(world, shard_urls)
    await world.shards.directory.store.slots.close_slots([(5, 0)], taker="pg3")
    await Mover(world.shards).move({5: "pg2"})

    assert world.shards.map.entry(5).shard == "pg3"


@pytest.mark.parametrize("what", ["giver", "taker", "map"])
async def test_a_database_that_was_set_back_to_before_a_move_is_brought_in_line(
    world: World, shard_urls: tuple[str, ...], what: str
) -> None:
    await add_all(world, shard_urls)
    await Mover(world.shards).move({5: "pg2", 6: "pg3"})
    await Mover(world.shards).move({5: "pg3"})
    place, statement = {
        "giver": (1, "UPDATE drumline.slot_entry SET closed_at = NULL, taker = NULL"),
        "taker": (2, "DELETE FROM drumline.slot_entry"),
        "map": (0, "DELETE FROM drumline.slot_entry; DELETE FROM drumline.slot_owner; DELETE FROM drumline.shard_map"),
    }[what]
    connection = await asyncpg.connect(shard_urls[place])
    await connection.execute(statement)
    await connection.close()
    async with opened(shard_urls, seed=7) as other:
        assert await Mover(other.shards).align() > 0
        assert await Mover(other.shards).align() == 0
        assert [other.shards.map.entry(slot).shard for slot in (5, 6, 7)] == ["pg3", "pg3", DIRECTORY]
        open_entries = [
            (shard.name, entry.slot)
            for shard in other.shards
            for entry in await shard.store.slots.entries()
            if entry.closed_at is None
        ]
        assert open_entries == [("pg3", 5), ("pg3", 6)]
        closed = [entry.slot for entry in await other.shards.directory.store.slots.entries()]
        assert closed == [5, 6]


async def test_a_drained_shard_gives_its_slots_to_the_others(world: World, shard_urls: tuple[str, ...]) -> None:
    await add_all(world, shard_urls)
    await world.service.move(taker=None)
    with pytest.raises(Conflict):
        await world.service.drain(DIRECTORY)
    await world.service.drain("pg2")

    assert world.shards.map.counts() == {DIRECTORY: 2048, "pg3": 2048}
    with pytest.raises(Conflict, match="drained"):
        await world.service.move(taker="pg2")


async def test_what_makes_no_sense_is_refused_by_name(world: World, shard_urls: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="lower-case"):
        await world.service.add("Pg 2", store_url=shard_urls[1])
    with pytest.raises(Conflict, match="already"):
        await world.service.add("pg2", store_url=shard_urls[0])
    await world.service.add("pg2", store_url=shard_urls[1])
    with pytest.raises(Conflict, match="already"):
        await world.service.add("pg2", store_url=shard_urls[1])
    with pytest.raises(Conflict, match="already"):
        await world.service.add("pg3", store_url=shard_urls[1])
    with pytest.raises(NotFound):
        await world.service.move(taker="pg9")
    with pytest.raises(Invalid, match="slots"):
        await world.service.move(taker="pg2", giver=DIRECTORY, slots=SLOTS + 1)
    with pytest.raises(Invalid, match="taker"):
        await world.service.move(taker=None, slots=5)


async def test_a_shard_that_is_away_costs_only_what_belongs_there(world: World, shard_urls: tuple[str, ...]) -> None:
    await add_all(world, shard_urls)
    await world.service.move(taker=None)
    key = next(str(n) for n in range(999) if world.shards.map.entry(slot_of_key("default", str(n))).shard == "pg2")
    world.shards.note_away("pg2")
    answers = await world.router.join_each([task(world) for _ in range(30)])

    assert all(isinstance(answer, Submitted) for answer in answers)
    assert {world.shards.map.holder(answer.id) for answer in answers if isinstance(answer, Submitted)} <= {
        DIRECTORY,
        "pg3",
    }
    world.shards.note_away("pg2")
    with pytest.raises(Unavailable, match="pg2"):
        await world.router.join(task(world, key=key))


async def test_ids_of_keyed_tasks_are_in_the_slot_of_the_key(world: World) -> None:
    assert slot_of(task(world, key="k").id) == slot_of_key("default", "k")


def _next(slot: int, closed_at: int | None) -> OwnEntry:
    return OwnEntry(slot=slot, version=1, since=closed_at or 0)


async def test_a_drained_shard_is_emptied_by_any_scheduler_and_removed(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    await add_all(world, shard_urls)
    await world.service.move(taker="pg2", giver=DIRECTORY)
    answers = await world.router.join_each([task(world) for _ in range(30)] + [task(world, key="k")])
    with pytest.raises(Conflict, match="takes new work"):
        await world.service.remove("pg2")
    assert (await world.service.drain("pg2")).left == 31
    with pytest.raises(Conflict, match="31"):
        await world.service.remove("pg2")
    async with opened(shard_urls, seed=5) as other:
        while await Drainer(other.shards).pass_once():
            pass
    assert (await world.service.get("pg2")).left == 0
    await world.service.remove("pg2")

    assert [shard.name for shard in await world.service.list()] == [DIRECTORY, "pg3"]
    for answer in answers:
        assert isinstance(answer, Submitted)
        assert await where(world, answer.id) == [world.shards.map.holder(answer.id)]
    again = await world.router.join(task(world, key="k"))
    assert isinstance(again, Submitted)
    assert not again.created
    await world.service.add("pg2", store_url=shard_urls[1])


def collapsing(world: World, key: str) -> NewTask:
    made = world.ids.next(slot_of_key("default", f"work\nunique\n{key}"))
    rule = accept_collapse("work", b"{}", Collapse(unique="1d", key=key))
    return NewTask(id=made, lane=LANE, payload=b"{}", collapse=rule, slot_version=world.ids.version(made))


async def test_submissions_of_one_collapse_key_meet_in_the_shard_of_its_slot(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    await add_all(world, shard_urls)
    await world.service.move(taker=None)
    keys = [f"k{n}" for n in range(12)]

    answers = await asyncio.gather(*(world.router.join(collapsing(world, key)) for key in keys * 3))
    listed = await world.router.join_each([collapsing(world, key) for key in keys])

    stored = [answer for answer in (*answers, *listed) if isinstance(answer, Submitted)]
    assert len(stored) == 48
    assert sum(answer.created for answer in stored) == len({answer.id for answer in stored}) == len(keys)
    assert all(answer.collapsed == "dropped" for answer in stored if not answer.created)
    assert len({world.shards.map.holder(answer.id) for answer in stored}) > 1


async def test_a_collapse_key_of_a_shard_that_is_away_is_not_taken_elsewhere(
    world: World, shard_urls: tuple[str, ...]
) -> None:
    await add_all(world, shard_urls)
    await world.service.move(taker=None)
    home = world.shards.map.entry
    key = next(str(n) for n in range(999) if home(slot_of_key("default", f"work\nunique\n{n}")).shard == "pg2")
    world.shards.note_away("pg2")

    with pytest.raises(Unavailable, match="pg2"):
        await world.router.join(collapsing(world, key))


async def test_a_collapse_key_follows_its_slot_and_begins_anew_there(world: World, shard_urls: tuple[str, ...]) -> None:
    await add_all(world, shard_urls)
    first = await world.router.join(collapsing(world, "k"))
    await Mover(world.shards).move({slot_of_key("default", "work\nunique\nk"): "pg2"})

    second, third = [await world.router.join(collapsing(world, "k")) for _ in range(2)]

    assert isinstance(first, Submitted)
    assert isinstance(second, Submitted)
    assert isinstance(third, Submitted)
    assert (first.created, second.created, third.created) == (True, True, False)
    assert await where(world, second.id) == ["pg2"]
