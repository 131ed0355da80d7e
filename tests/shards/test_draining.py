"""What a shard holds moves to the present owners of its slots: whole, once, and found all the time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.attempt import Progress, ProgressNote
from drumline.core.bulk import BulkAct, BulkId, BulkPlan, NewBulk
from drumline.core.children import OnEnd
from drumline.core.clock import Instant, ManualClock
from drumline.core.durable import RestartRequest
from drumline.core.errors import Conflict, KeyReused, NotFound, Unavailable
from drumline.core.ids import TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, slot_of, slot_of_key
from drumline.core.state import Act, State
from drumline.core.task import SubmitAnswer, Submitted, accept
from drumline.ports.control import Change
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.drain import Activated, Copy, Held, TakeOut, job_key, schedule_name
from drumline.ports.jobs import SubmittedJob
from drumline.ports.outputs import Artifact, LogChunk
from drumline.ports.store import Changed, Store
from drumline.scheduler.waits import WaitExchange
from drumline.shards.drain import Drain
from drumline.shards.forwarding import Forwarding
from drumline.shards.job_router import JobRouter
from drumline.shards.service import ShardService
from drumline.shards.shard_set import Shard
from drumline.shards.store import ShardedStore
from drumline.stores.postgres import PostgresStore
from drumline.stores.postgres.statements import SQL
from tests.child_factories import family
from tests.durable_factories import park, record, signal, sleep, step
from tests.factories import claim, claim_one, log_of, new_id, open_session, request, settle, state_of, submit
from tests.job_factories import claim_keys, finish, job_of, job_view, run_all, states_in, submit_job
from tests.postgres.polling import until
from tests.schedule_factories import add, fire, get, runs_of
from tests.shards.world import BOX, World, opened

LETTERS = DeadLetterFilter()


@pytest.fixture
async def world(shard_urls: tuple[str, ...]) -> AsyncIterator[World]:
    """Three databases; the directory has all slots, and what tests store in it."""
    async with opened(shard_urls) as made:
        for name, url in zip(("pg2", "pg3"), shard_urls[1:], strict=True):
            await made.service.add(name, store_url=url)
        yield made


@pytest.fixture
def store(world: World) -> Store:
    return world.shards.directory.store


def shard(world: World, name: str) -> Shard:
    return world.shards.named(name)


async def repeated(world: World, key: str, text: str = "") -> SubmitAnswer:
    """Submit a task with a key by the map."""
    made = world.ids.next(slot_of_key("default", key))
    new = accept(request(idempotency_key=key, payload={"text": text}), id=made, tenant="default")
    return await world.router.join(replace(new, slot_version=world.ids.version(made)))


async def drained_with_key(world: World, key: str) -> TaskId:
    """Submit a task with a key to pg2, end it, and drain it to pg3; pg2 stays."""
    await move_slots(world, "pg2")
    first = await repeated(world, key)
    assert isinstance(first, Submitted)
    assert first.created
    await shard(world, "pg2").store.control.cancel([first.id])
    await move_slots(world, "pg3")
    assert await drain(world, "pg2") == 1
    return first.id


async def prune(world: World, name: str) -> None:
    """Delete the one task of a shard, which has ended."""
    assert await shard(world, name).store.prune(ended_before=Instant(1 << 45), limit=10) == 1


async def submitted(world: World) -> TaskId:
    """Submit a task by the map."""
    made = world.ids.next(None)
    new = accept(request(), id=made, tenant="default")
    answer = await world.router.join(replace(new, slot_version=world.ids.version(made)))
    assert isinstance(answer, Submitted)
    return answer.id


@asynccontextmanager
async def taken_key(store: PostgresStore, task: TaskId) -> AsyncIterator[None]:
    """Let a key belong to a task that was submitted when the former one was forgotten."""
    connection = await asyncpg.connect(store._database.url)
    await connection.execute("INSERT INTO drumline.idempotency VALUES ('k', 'default', $1, 1, '')", task)
    yield
    await connection.close()


async def move_slots(world: World, taker: str) -> None:
    await world.shards.refresh()
    await world.service.mover.move(dict.fromkeys(range(SLOTS), taker))


async def drain(world: World, giver: str) -> int:
    """Move all that can be moved, and return how many units that were."""
    total = 0
    while moved := (await Drain(world.shards).advance(shard(world, giver), limit=7)).moved:
        total += moved
    return total


async def test_waiting_tasks_move_and_run_where_they_are_now(world: World, store: Store) -> None:
    tasks = [await submit(store, tags=["a"], idempotency_key=f"k{n}", expires="1h") for n in range(10)]
    before = await store.queries.get(tasks)
    await move_slots(world, "pg2")

    assert await drain(world, DIRECTORY) == 10

    taker = shard(world, "pg2").store
    assert await taker.queries.get(tasks) == before
    assert await store.queries.get(tasks) == [None] * 10
    assert await store.drainage.held() == Held()
    session = await open_session(taker)
    claimed = await claim(taker, session)
    assert {each.lease.task for each in claimed} == set(tasks)
    for each in claimed:
        await settle(taker, each.lease, Act.COMPLETE)
    assert await state_of(taker, tasks[0]) is State.COMPLETED


async def test_an_ended_task_moves_with_attempts_logs_files_and_dead_letter(world: World, store: Store) -> None:
    task = await submit(store, name="break")
    session = await open_session(store, "break")
    claimed = await claim_one(store, session, "break")
    await store.outputs.append_log([LogChunk(task=task, epoch=claimed.lease.epoch, seq=0, text="line\n")])
    file = Artifact(task=task, name="file", content_type="text/plain", data=b"\x00\xff data")
    await store.outputs.put_artifact(file)
    await settle(store, claimed.lease, Act.FAIL)
    (letter,) = await store.dead_letters.dead_letters(LETTERS, limit=5)
    history = await store.queries.attempts(task)
    await move_slots(world, "pg3")

    assert await drain(world, DIRECTORY) == 1

    taker = shard(world, "pg3").store
    assert await taker.dead_letters.dead_letters(LETTERS, limit=5) == [letter]
    assert await taker.queries.attempts(task) == history
    assert await store.dead_letters.dead_letters(LETTERS, limit=5) == []
    (changed,) = await taker.control.retry([task])
    assert not isinstance(changed, Exception)
    assert await state_of(taker, task) is State.QUEUED
    assert await taker.dead_letters.dead_letters(LETTERS, limit=5) == []
    assert await log_of(taker, task) == "line\n"
    assert await taker.outputs.artifact(task, "file") == file
    assert await store.outputs.artifacts(task) == []
    assert len(await taker.dead_letters.dead_letter_groups(LETTERS, limit=5)) == 0


async def test_a_durable_task_moves_with_its_records_and_its_rounds(world: World, store: Store) -> None:
    task = await submit(store)
    session = await open_session(store)
    lease = (await claim_one(store, session)).lease
    await record(store, step(lease, "old", 1))
    await store.durable.restart(RestartRequest(lease=lease, payload=Raw(b'{"n":2}')))
    lease = (await claim_one(store, session)).lease
    await record(store, step(lease, "new", 2))
    await park(store, lease, sleep("nap", 60_000))
    before = [await store.durable.steps(task, after=0, limit=9, round=number) for number in (1, 2)]
    await move_slots(world, "pg2")

    assert await drain(world, DIRECTORY) == 1

    whole = ShardedStore(world.shards)
    assert await store.drainage.held() == Held()
    assert [await whole.durable.steps(task, after=0, limit=9, round=number) for number in (1, 2)] == before
    assert not isinstance(before[0], NotFound)
    assert [each.name for each in before[0].page.records] == ["old"]


async def test_signals_of_a_task_that_moves_get_numbers_of_their_own_in_their_order(
    world: World, store: Store, shard_urls: tuple[str, ...]
) -> None:
    task = await submit(store)
    for number in reversed(range(3)):
        await signal(store, task, "paid", number, id=f"s{number}")
    await move_slots(world, "pg2")
    there = await submitted(world)
    for number in range(3):
        await signal(shard(world, "pg2").store, there, "paid", number, id=f"s{number}")
    giver, connection = [await asyncpg.connect(url) for url in shard_urls[:2]]
    await giver.execute("UPDATE drumline.signal SET seq = 3 - right(id, 1)::int8")
    await connection.execute("UPDATE drumline.signal SET seq = 1 + right(id, 1)::int8")
    await giver.close()

    assert await drain(world, DIRECTORY) == 1

    rows = await connection.fetch("SELECT task_id, id FROM drumline.signal ORDER BY seq")
    count = await connection.fetchval("SELECT count(DISTINCT seq) FROM drumline.signal")
    await connection.close()
    assert count == 6
    assert [id_ for task_id, id_ in rows if str(task_id) == task] == ["s2", "s1", "s0"]


async def test_a_family_of_an_earlier_round_stays_until_the_round_is_forgotten(world: World, store: Store) -> None:
    found = await family(store, 1, on_end=OnEnd.ABANDON)
    await store.durable.restart(RestartRequest(lease=found.lease, payload=Raw(b"{}")))
    await move_slots(world, "pg2")

    assert await drain(world, DIRECTORY) == 0

    assert await state_of(store, found.parent) is State.QUEUED


async def test_what_an_attempt_leaves_and_when_a_task_expires_follow_it(world: World, store: Store) -> None:
    first, second = [await submit(store, expires="1ms") for _ in range(2)]
    whole = ShardedStore(world.shards)
    await move_slots(world, "pg2")
    await drain(world, DIRECTORY)
    taker = shard(world, "pg2").store
    session = await open_session(taker)
    lease = next(each.lease for each in await claim(taker, session) if each.lease.task == first)

    await whole.outputs.put_progress([ProgressNote(lease, Progress(1.0, 2.0, "half"))])
    await whole.outputs.append_log([LogChunk(task=first, epoch=lease.epoch, seq=0, text="line\n")])
    await whole.outputs.put_artifact(Artifact(task=first, name="file", content_type="text/plain", data=b"data"))

    assert [each and each.done for each in await whole.outputs.progress([first, second])] == [1.0, None]
    assert await log_of(taker, first) == "line\n"
    assert [each.name for each in await taker.outputs.artifacts(first)] == ["file"]
    assert await store.outputs.artifacts(first) == []
    assert set(await whole.expiry.expired([first, second])) == {first, second}  # each was claimed too late
    await whole.expiry.forget_expiries([first])
    assert set(await taker.expiry.expired([first, second])) == {second}


async def test_a_job_moves_whole_between_two_of_its_tasks(world: World, store: Store) -> None:
    job = await submit_job(store, job_of(idempotency_key="one"))
    session = await open_session(store)
    claimed = await claim_keys(store, session)
    await move_slots(world, "pg2")

    assert await drain(world, DIRECTORY) == 0
    assert (await store.drainage.held()).running == 1
    await finish(store, claimed["a"])
    before = await job_view(store, job.id)
    assert await drain(world, DIRECTORY) == 1

    taker = shard(world, "pg2").store
    assert await job_view(taker, job.id) == before
    assert await store.drainage.reserved([job_key("default", "one")]) == {job_key("default", "one"): job.id}
    assert await run_all(taker, await open_session(taker)) == [["b", "c"], ["d"]]
    assert (await job_view(taker, job.id)).status is JobStatus.COMPLETED
    members = await Forwarding(world.shards).forwarded([job.id, *job.tasks.values()])
    assert {each.name for each in members.values()} == {"pg2"}


@pytest.mark.parametrize("first", ["awaited", "waiting", "both"])
async def test_a_job_that_waits_begins_wherever_the_two_have_gone(world: World, store: Store, first: str) -> None:
    awaited = await submit_job(store, job_of({"a": ()}))
    waiting = await submit_job(store, job_of({"w": ()}, depends_on=(awaited.id,)))
    await move_slots(world, "pg2")
    moving = {"awaited": [awaited.id], "waiting": [waiting.id], "both": [awaited.id, waiting.id]}[first]
    await Drain(world.shards)._move(shard(world, DIRECTORY), moving)
    exchange = WaitExchange(world.shards, forwarded=Forwarding(world.shards).forwarded)
    await exchange.pass_once()
    home = shard(world, "pg2").store if awaited.id in moving else store
    await run_all(home, await open_session(home))
    await exchange.pass_once()
    await home.jobs.ripple()

    there = shard(world, "pg2").store if waiting.id in moving else store
    assert await states_in(there, waiting.id) == {"w": State.QUEUED}


async def test_a_schedule_follows_its_slot_and_fires_there(world: World, store: Store) -> None:
    clock = ManualClock()
    schedule = await add(store, clock, "hourly")
    await move_slots(world, "pg3")

    assert await Drain(world.shards).follow_slots(shard(world, DIRECTORY), limit=10) == 1

    taker = shard(world, "pg3").store
    assert await get(taker, schedule.id) == schedule
    assert await store.schedules.get_schedules([schedule.id]) == [None]
    name = schedule_name("default", "hourly")
    assert await store.drainage.reserved([name]) == {name: schedule.id}


async def copied(world: World, ids: list[TaskId]) -> list[Copy]:
    """Copy units from the directory to pg2, and do nothing else."""
    units = await world.shards.directory.store.drainage.read(ids)
    kept = await shard(world, "pg2").store.drainage.put_copies(DIRECTORY, units)
    return [Copy(unit.id, DIRECTORY, unit.version, unit.digest) for unit in units if unit.id in kept]


async def test_a_request_that_came_by_the_forwarding_row_activates_the_copy(world: World, store: Store) -> None:
    task = await submit(store)
    (copy,) = await copied(world, [task])
    taker = shard(world, "pg2").store
    assert await taker.queries.get([task]) == [None]
    assert await Forwarding(world.shards).forwarded([task]) == {}

    assert await store.drainage.take_out("pg2", [copy]) == {task: TakeOut.DONE}
    sharded = ShardedStore(world.shards)
    (changed,) = await sharded.control.cancel([task])

    assert isinstance(changed, Changed)
    assert await state_of(taker, task) is State.CANCELLED
    assert await taker.drainage.copies(limit=5) == []
    (view,) = await sharded.queries.get([task])
    assert view is not None
    assert await taker.drainage.activate([(copy.id, copy.version)]) == Activated()


async def test_a_task_that_has_changed_since_it_was_copied_stays(world: World, store: Store) -> None:
    task = await submit(store, idempotency_key="k")
    copies = await copied(world, [task])
    await store.control.reschedule([Change(task=task, delay_ms=60_000)])

    assert await store.drainage.take_out("pg2", copies) == {task: TakeOut.REFUSED}
    taker = shard(world, "pg2").store
    assert await taker.slots.find_keys([("default", "k")]) != [None]
    await taker.drainage.discard(copies)

    assert await taker.slots.find_keys([("default", "k")]) == [None]
    assert await state_of(store, task) is State.QUEUED
    assert await store.drainage.forwards([task]) == []


async def test_discarding_an_old_copy_late_leaves_the_one_that_the_task_is_in(world: World, store: Store) -> None:
    task = await submit(store)
    session = await open_session(store)
    lease = (await claim_one(store, session)).lease
    await settle(store, lease, Act.BACK_OFF)
    (old,) = await copied(world, [task])
    await store.outputs.append_log([LogChunk(task=task, epoch=lease.epoch, seq=0, text="late\n")])
    for _ in range(2):  # by two movers, of which one discards the copy at once
        assert await store.drainage.take_out("pg2", [old]) == {task: TakeOut.REFUSED}
    taker = shard(world, "pg2").store
    await taker.drainage.discard([old])
    (new,) = await copied(world, [task])
    assert (new.version, new.digest != old.digest) == (old.version, True)
    assert await store.drainage.take_out("pg2", [new]) == {task: TakeOut.DONE}

    await taker.drainage.discard([old])  # the other mover comes late

    await taker.drainage.activate([(new.id, new.version)])
    assert await state_of(taker, task) is State.QUEUED


async def test_a_bulk_operation_that_begins_before_a_task_is_taken_out_deals_with_it(
    world: World, store: Store
) -> None:
    task = await submit(store)
    schedule = await add(store, ManualClock(), "hourly")
    assert await store.drainage.movable(limit=5) == [schedule.id, task]
    copies = await copied(world, [task, TaskId(schedule.id)])
    bulk = NewBulk(id=BulkId(new_id()), tenant=None, act=BulkAct.CANCEL, plan=BulkPlan())
    await ShardedStore(world.shards).bulks.begin_bulk(bulk, tasks=[task], most=5)

    answers = await store.drainage.take_out("pg2", copies)
    advanced = await store.bulks.advance_bulk(bulk.id, limit=5)

    assert answers == {task: TakeOut.POSTPONED, schedule.id: TakeOut.DONE}
    assert advanced is not None
    assert (advanced.view.done, advanced.view.failed) == (1, 0)
    assert await state_of(store, task) is State.CANCELLED
    assert await store.drainage.take_out("pg2", copies) == {task: TakeOut.REFUSED, schedule.id: TakeOut.DONE}


async def test_a_unit_that_was_taken_out_before_a_bulk_operation_is_activated_meanwhile(
    world: World, store: Store
) -> None:
    moved, stays = [await submit(store) for _ in range(2)]
    copies = await copied(world, [moved])
    assert await store.drainage.take_out("pg2", copies) == {moved: TakeOut.DONE}
    bulk = NewBulk(id=BulkId(new_id()), tenant=None, act=BulkAct.CANCEL, plan=BulkPlan())
    await store.bulks.begin_bulk(bulk, tasks=[stays], most=5)

    await Drain(world.shards).carry_on(limit=5)

    assert await state_of(shard(world, "pg2").store, moved) is State.QUEUED


async def test_tasks_are_not_taken_out_while_a_bulk_operation_begins(
    world: World, store: Store, shard_urls: tuple[str, ...]
) -> None:
    task = await submit(store)
    copies = await copied(world, [task])
    connection = await asyncpg.connect(shard_urls[0])
    async with connection.transaction():
        await connection.execute(SQL["exclude_moves"].text)
        assert await store.drainage.take_out("pg2", copies) == {task: TakeOut.POSTPONED}
    await connection.close()

    assert await store.drainage.take_out("pg2", copies) == {task: TakeOut.DONE}


@pytest.mark.parametrize("what", ["is there", "has ended and was deleted", "has left again"])
async def test_a_copy_that_comes_too_late_is_refused(world: World, store: Store, what: str) -> None:
    task = await submit(store)
    late = await store.drainage.read([task])
    await move_slots(world, "pg2")
    await drain(world, DIRECTORY)
    taker = shard(world, "pg2").store
    if what == "has ended and was deleted":
        await taker.control.cancel([task])
        assert await taker.prune(ended_before=Instant(1 << 45), limit=10) == 1
    elif what == "has left again":
        await move_slots(world, "pg3")
        await drain(world, "pg2")

    assert await taker.drainage.put_copies(DIRECTORY, late) == []
    assert await taker.drainage.copies(limit=5) == []


async def test_the_key_of_a_copy_leaves_that_of_a_later_task_alone(world: World, store: Store) -> None:
    task = await submit(store, idempotency_key="k")
    await move_slots(world, "pg2")
    taker = shard(world, "pg2").store
    later = new_id()
    assert isinstance(taker, PostgresStore)
    async with taken_key(taker, later):
        copies = await copied(world, [task])
        await taker.drainage.discard(copies)
        (known,) = await taker.slots.find_keys([("default", "k")])
        assert known is not None
        assert known.task == later
        await drain(world, DIRECTORY)
        (known,) = await taker.slots.find_keys([("default", "k")])
        assert known is not None
        assert known.task == later


async def test_a_key_that_a_drain_left_behind_is_known_as_long_as_its_task(world: World) -> None:
    first = await drained_with_key(world, "k")

    kept = await repeated(world, "k")
    other = await repeated(world, "k", "other")
    await prune(world, "pg3")
    again, twice = await asyncio.gather(repeated(world, "k", "other"), repeated(world, "k", "other"))

    assert isinstance(kept, Submitted)
    assert (kept.id, kept.created) == (first, False)
    assert isinstance(other, KeyReused)
    assert isinstance(again, Submitted)
    assert isinstance(twice, Submitted)
    assert again.id == twice.id != first
    assert again.created != twice.created
    assert await shard(world, "pg2").store.slots.find_keys([("default", "k")]) == [None]
    taker = shard(world, "pg3").store
    assert [each.lease.task for each in await claim(taker, await open_session(taker))] == [again.id]


@pytest.mark.parametrize("prunes", [False, True])
async def test_a_slot_that_comes_back_finds_the_task_of_a_key_that_had_left(world: World, *, prunes: bool) -> None:
    first = await drained_with_key(world, "k")
    await move_slots(world, "pg2")
    if prunes:
        await prune(world, "pg3")

    answer = await repeated(world, "k")

    assert isinstance(answer, Submitted)
    assert answer.created == prunes
    assert (answer.id == first) != prunes
    assert await state_of(shard(world, "pg2" if prunes else "pg3").store, answer.id) is not None


async def test_a_key_is_known_while_its_task_goes_from_shard_to_shard(world: World) -> None:
    first = await drained_with_key(world, "k")
    for taker, giver in (("pg2", "pg3"), (DIRECTORY, "pg2"), ("pg3", DIRECTORY)):
        await move_slots(world, taker)
        for phase in ("before", "copied", "taken out", "active"):
            giving, taking = shard(world, giver).store, shard(world, taker).store
            if phase == "copied":
                units = await giving.drainage.read([first])
                assert await taking.drainage.put_copies(giver, units) == [first]
            elif phase == "taken out":
                copies = [Copy(unit.id, giver, unit.version, unit.digest) for unit in units]
                assert await giving.drainage.take_out(taker, copies) == {first: TakeOut.DONE}
            elif phase == "active":
                await taking.drainage.activate([(copy.id, copy.version) for copy in copies])
            answer = await repeated(world, "k")

            assert isinstance(answer, Submitted), (taker, phase)
            assert (answer.id, answer.created) == (first, False), (taker, phase)
    await prune(world, "pg3")
    answer = await repeated(world, "k")
    assert isinstance(answer, Submitted)
    assert answer.created


async def test_the_key_of_a_copy_whose_task_was_deleted_at_the_giver_is_free(world: World, store: Store) -> None:
    first = await repeated(world, "k")
    assert isinstance(first, Submitted)
    await store.control.cancel([first.id])
    await copied(world, [first.id])
    await move_slots(world, "pg2")
    await prune(world, DIRECTORY)

    answer = await repeated(world, "k")

    assert isinstance(answer, Submitted)
    assert answer.created
    await drain(world, DIRECTORY)
    assert await state_of(shard(world, "pg2").store, answer.id) is State.QUEUED
    (known,) = await shard(world, "pg2").store.slots.find_keys([("default", "k")])
    assert known is not None
    assert known.task == answer.id


async def test_a_key_is_not_taken_for_free_while_the_shard_of_its_task_is_away(world: World) -> None:
    first = await drained_with_key(world, "k")
    await move_slots(world, DIRECTORY)
    away = world.shards._shards.pop("pg3")
    with pytest.raises(Unavailable, match="pg3"):
        await repeated(world, "k")
    world.shards._shards["pg3"] = away

    answer = await repeated(world, "k")

    assert isinstance(answer, Submitted)
    assert (answer.id, answer.created) == (first, False)


async def test_a_key_is_free_when_its_task_was_deleted_in_a_shard_that_is_removed(world: World) -> None:
    await drained_with_key(world, "k")
    await prune(world, "pg3")
    await move_slots(world, DIRECTORY)
    await ShardService(world.shards, BOX, world.service._reach).remove("pg3")
    (forward,) = await shard(world, "pg2").store.drainage.all_forwards(limit=5)
    assert forward.shard == "pg3"

    answer = await repeated(world, "k")

    assert isinstance(answer, Submitted)
    assert answer.created
    assert await shard(world, "pg2").store.slots.find_keys([("default", "k")]) == [None]


async def test_what_was_deleted_in_a_shard_that_is_removed_is_not_found_and_hides_nothing_else(world: World) -> None:
    await move_slots(world, "pg2")
    deleted, kept = [await submitted(world) for _ in range(2)]
    jobs = JobRouter(world.shards, world.ids)
    job = await jobs.join(job_of({"a": ()}, idempotency_key="one"))
    assert isinstance(job, SubmittedJob)
    await move_slots(world, "pg3")
    await world.service.mover.move({slot_of(kept): DIRECTORY})
    assert await drain(world, "pg2") == 3
    taker = shard(world, "pg3").store
    await taker.control.cancel([deleted, *job.tasks.values()])
    assert await taker.prune(ended_before=Instant(1 << 45), limit=10) == 2
    await move_slots(world, DIRECTORY)
    await ShardService(world.shards, BOX, world.service._reach).remove("pg3")

    views = await ShardedStore(world.shards).queries.get([deleted, kept])
    again = await jobs.join(job_of({"a": ()}, idempotency_key="one"))

    assert [view and view.id for view in views] == [None, kept]
    assert isinstance(again, SubmittedJob)
    assert again.created


async def test_a_key_of_a_job_is_known_though_the_job_moves_on_while_it_is_looked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = JobRouter(world.shards, world.ids)
    first = await jobs.join(job_of({"a": ()}, idempotency_key="one"))
    assert isinstance(first, SubmittedJob)
    await move_slots(world, "pg2")
    assert await drain(world, DIRECTORY) == 1
    await move_slots(world, "pg3")
    asked = shard(world, "pg2").store.jobs
    known_jobs = asked.known_jobs

    async def late(wanted: list[NewJob]) -> list[SubmittedJob | KeyReused | None]:
        """Ask after the job has gone, though it was found there."""
        await drain(world, "pg2")
        return await known_jobs(wanted)

    monkeypatch.setattr(asked, "known_jobs", late)
    again = await JobRouter(world.shards, world.ids)._taken_out(DIRECTORY, job_of({"a": ()}, idempotency_key="one"))

    assert isinstance(again, SubmittedJob)
    assert (again.id, again.created) == (first.id, False)


async def test_an_empty_shard_is_removed_and_everything_it_held_is_found(world: World) -> None:
    await move_slots(world, "pg2")
    stays, goes = [await submitted(world) for _ in range(2)]
    assert world.shards.map.holder(stays) == world.shards.map.holder(goes) == "pg2"
    await world.service.mover.move({slot_of(stays): DIRECTORY})
    await drain(world, "pg2")
    await move_slots(world, "pg3")
    service = ShardService(world.shards, BOX, world.service._reach)
    with pytest.raises(Conflict, match="holds 1 tasks"):
        await service.remove("pg2")
    await drain(world, "pg2")
    await service.remove("pg2")

    assert world.shards.names == (DIRECTORY, "pg3")
    assert [world.shards.map.holder(task) for task in (stays, goes)] == ["pg3", "pg3"]
    views = await ShardedStore(world.shards).queries.get([stays, goes])
    assert [view.id if view else None for view in views] == [stays, goes]
    assert await state_of(world.shards.directory.store, stays) is State.QUEUED


async def test_a_shard_that_was_removed_takes_no_copies_from_those_who_do_not_know(world: World, store: Store) -> None:
    units = await store.drainage.read([await submit(store)])
    gone = shard(world, "pg2").store
    await move_slots(world, "pg3")
    await Drain(world.shards).hand_over(shard(world, "pg2"))

    assert await gone.drainage.put_copies(DIRECTORY, units) == []
    await move_slots(world, "pg2")
    assert await gone.drainage.put_copies(DIRECTORY, units) == [units[0].id]


async def test_a_shard_with_a_copy_on_its_way_is_not_removed(world: World, store: Store) -> None:
    task = await submit(store)
    (copy,) = await copied(world, [task])
    await store.drainage.take_out("pg2", [copy])

    with pytest.raises(Conflict, match="1 units of shard main are not active"):
        await Drain(world.shards).hand_over(shard(world, DIRECTORY))


async def test_tasks_stay_until_consumers_of_the_log_have_read_of_them(world: World, store: Store) -> None:
    task = await submit(store)
    assert len(world.shards) == 3

    async def is_sequenced() -> bool:  # a transaction elsewhere on the server may hold rows up
        return await store.events.sequence() > 0

    await until(is_sequenced)
    start = await store.events.take_cursor("relay", holder=1, seconds=60)
    assert start is not None
    assert await store.drainage.movable(limit=5) == []
    await store.events.move_cursor("relay", holder=1, old=start, new=start + 1)

    assert await store.drainage.movable(limit=5) == [task]


async def test_a_schedule_waits_for_the_end_of_its_run(world: World, store: Store) -> None:
    schedule = await add(store, ManualClock(), "hourly")
    await fire(store)
    await move_slots(world, "pg3")
    taker = shard(world, "pg3").store

    assert await Drain(world.shards).follow_slots(shard(world, DIRECTORY), limit=10) == 0
    await run_all(store, await open_session(store))
    assert await Drain(world.shards).follow_slots(shard(world, DIRECTORY), limit=10) == 1
    assert len(await runs_of(taker, schedule.id)) > 0
