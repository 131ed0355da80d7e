"""Jobs over several databases: stored whole where new work of their slot is taken, and one for each key."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec.structs import replace

from drumline.core.accept_job import with_new_ids
from drumline.core.errors import Invalid, KeyReused, Moved, Unavailable
from drumline.core.ids import JobId
from drumline.core.job import JobStatus, NewJob
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import SLOTS, slot_of, slot_of_key
from drumline.ports.drain import Copy, TakeOut
from drumline.ports.jobs import SubmittedJob
from drumline.ports.shards import OwnEntry
from drumline.scheduler.waits import WaitExchange
from drumline.shards.forwarding import Forwarding
from drumline.shards.job_router import JobRouter
from drumline.stores.postgres import PostgresStore
from tests.factories import open_session
from tests.job_factories import DIAMOND, claim_keys, job_of, job_view, run_all
from tests.postgres.shards import Process, join_all

KEY = "k"
SLOT = slot_of_key("default", KEY)


@pytest.fixture
async def stores(shard_urls: tuple[str, ...]) -> AsyncIterator[Sequence[PostgresStore]]:
    opened = [await PostgresStore.open(url) for url in shard_urls]
    await join_all(opened)
    yield opened
    for store in opened:
        await store.close()


@pytest.fixture
async def process(stores: Sequence[PostgresStore]) -> Process:
    made = Process(stores)
    await made.shards.refresh()
    return made


def placed(process: Process, job: NewJob, slot: int | None = None) -> NewJob:
    """Return a job with ids of a slot, by the map that a process knows."""
    id_ = JobId(process.ids.next(slot))
    tasks = process.ids.take_in(slot_of(id_), len(job.tasks))
    return replace(with_new_ids(job, id=id_, tasks=tasks), slot_version=process.ids.version(id_))


async def test_a_job_of_a_closed_slot_is_refused_whole_and_the_others_are_stored(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    closed, other = placed(process, job_of(), 5), placed(process, job_of(), 6)
    await Process(stores).move([5], "b")

    answers = await stores[0].jobs.submit_jobs([closed, other])

    assert [type(answer) for answer in answers] == [Moved, SubmittedJob]
    assert await stores[0].jobs.get_jobs([closed.id]) == [None]
    assert await stores[0].queries.get([each.task.id for each in closed.tasks]) == [None] * len(DIAMOND)
    assert len(await stores[0].jobs.nodes(other.id)) == len(DIAMOND)


async def test_what_is_stored_is_answered_before_the_fence_is_asked(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    plain, keyed = placed(process, job_of(), SLOT), placed(process, job_of(idempotency_key=KEY), SLOT)
    first = await stores[0].jobs.submit_jobs([plain, keyed])
    await Process(stores).move([SLOT], "b")
    again = placed(process, job_of(idempotency_key=KEY), SLOT)
    new = placed(process, job_of(), SLOT)

    answers = await stores[0].jobs.submit_jobs([plain, keyed, again, new])

    assert isinstance(answers[0], SubmittedJob)
    assert [type(answer) for answer in answers] == [SubmittedJob] * 3 + [Moved]
    assert isinstance(answers[2], SubmittedJob)
    assert (answers[2].id, answers[2].created) == (keyed.id, False)
    assert [type(answer) for answer in first] == [SubmittedJob] * 2


async def test_a_job_is_refused_by_an_entry_that_is_not_the_present_one(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    old = placed(process, job_of(), 5)
    await process.move([5], "b")
    await process.move([5], DIRECTORY)

    assert [type(answer) for answer in await stores[0].jobs.submit_jobs([old])] == [Moved]
    new = placed(process, job_of(), 5)
    assert new.slot_version == 2
    assert [type(answer) for answer in await stores[0].jobs.submit_jobs([new])] == [SubmittedJob]


async def test_a_process_with_an_old_map_finds_the_new_owner(stores: Sequence[PostgresStore], process: Process) -> None:
    await Process(stores).move(range(SLOTS), "b")
    job = placed(process, job_of(), 5)

    answer = await JobRouter(process.shards, process.ids).join(job)

    assert isinstance(answer, SubmittedJob)
    assert answer.id != job.id
    assert process.shards.of(answer.id).name == "b"
    assert {slot_of(task) for task in answer.tasks.values()} == {slot_of(answer.id)}
    assert await run_all(stores[1], await open_session(stores[1])) == [["a"], ["b", "c"], ["d"]]
    assert (await job_view(stores[1], answer.id)).status is JobStatus.COMPLETED


async def test_a_key_makes_one_job_however_often_its_slot_has_moved(process: Process) -> None:
    router = JobRouter(process.shards, process.ids)
    first = await router.join(placed(process, job_of(idempotency_key=KEY), SLOT))
    answers = []
    for taker in ("b", "c", DIRECTORY, "b"):
        await process.move([SLOT], taker)
        answers.append(await router.join(placed(process, job_of(idempotency_key=KEY), SLOT)))
        answers.append(await router.join(placed(process, job_of({"x": ()}, idempotency_key=KEY), SLOT)))

    assert isinstance(first, SubmittedJob)
    assert [answer.id for answer in answers[::2] if isinstance(answer, SubmittedJob)] == [first.id] * 4
    assert [type(answer) for answer in answers[1::2]] == [KeyReused] * 4


async def test_one_key_submitted_through_two_processes_while_its_slot_moves_makes_one_job(
    stores: Sequence[PostgresStore],
) -> None:
    processes = [Process(stores, seed=seed) for seed in range(3)]
    for process in processes:
        await process.shards.refresh()
    mover = Process(stores, seed=9)

    async def move() -> None:
        for taker in ("b", "c", DIRECTORY, "c"):
            await mover.move([SLOT], taker)

    async def submit(process: Process) -> list[JobId]:
        router = JobRouter(process.shards, process.ids)
        found = []
        for _ in range(15):
            answer = await router.join(placed(process, job_of({"x": ()}, idempotency_key=KEY), SLOT))
            assert isinstance(answer, SubmittedJob), answer
            found.append(answer.id)
        return found

    moving = asyncio.create_task(move())
    found = await asyncio.gather(*(submit(process) for process in processes))
    await moving

    assert len({job for each in found for job in each}) == 1


async def test_a_job_waits_for_one_of_another_shard_and_begins_when_that_has_completed(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    router = JobRouter(process.shards, process.ids)
    needed = await router.join(placed(process, job_of({"x": ()}), 5))
    assert isinstance(needed, SubmittedJob)
    await process.move([6], "b")
    job = await router.join(placed(process, job_of({"y": ()}, depends_on=(needed.id,)), 6))
    assert isinstance(job, SubmittedJob)
    assert (await job_view(stores[1], job.id)).waits_for == 1
    exchange = WaitExchange(process.shards)

    await exchange.pass_once()
    assert await claim_keys(stores[1], await open_session(stores[1])) == {}
    await run_all(stores[0], await open_session(stores[0]))
    await exchange.pass_once()

    assert list(await claim_keys(stores[1], await open_session(stores[1]))) == ["y"]


async def test_a_job_that_no_shard_has_is_named_at_submission(process: Process) -> None:
    router = JobRouter(process.shards, process.ids)
    other = await router.join(placed(process, job_of({"x": ()}, tenant="acme"), 5))
    assert isinstance(other, SubmittedJob)
    await process.move([6], "b")
    unknown = JobId(process.ids.next(5))

    for missing in (unknown, other.id):
        answer = await router.join(placed(process, job_of(depends_on=(missing,)), 6))
        assert isinstance(answer, Invalid)
        assert (answer.field, answer.message) == ("depends_on[0]", f"there is no job {missing}")


async def test_a_job_that_waits_for_one_of_a_shard_that_is_away_is_accepted(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    router = JobRouter(process.shards, process.ids)
    await process.move([5], "c")
    needed = await router.join(placed(process, job_of({"x": ()}), 5))
    assert isinstance(needed, SubmittedJob)
    process.shards.note_away("c")

    job = await router.join(placed(process, job_of(depends_on=(needed.id,)), 6))

    assert isinstance(job, SubmittedJob)
    assert (await job_view(stores[0], job.id)).waits_for == 1


async def test_without_its_shard_a_job_goes_elsewhere_unless_it_has_a_key(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    router = JobRouter(process.shards, process.ids)
    await process.move(range(SLOTS - 1), "c")
    await process.move([SLOTS - 1], DIRECTORY)
    process.shards.note_away("c")

    process.ids.open = replace(process.ids.open, slots=(SLOTS - 1,))
    plain = await router.join(placed(process, job_of(), 5))

    assert isinstance(plain, SubmittedJob)
    assert await stores[0].jobs.get_jobs([plain.id]) != [None]
    with pytest.raises(Unavailable, match="shard c"):
        await router.join(placed(process, job_of(idempotency_key=KEY), SLOT))


async def test_the_slot_of_a_new_entry_is_open_from_its_time_on(
    stores: Sequence[PostgresStore], process: Process
) -> None:
    early = placed(process, job_of(), 5)
    await stores[1].slots.open_slots([OwnEntry(slot=5, version=1, since=2**45)])

    answers = await stores[1].jobs.submit_jobs([replace(early, slot_version=1)])

    assert [type(answer) for answer in answers] == [Moved]


async def take_out(process: Process, job: JobId, taker: str) -> None:
    """Move a job from the directory, and die before its copy is active."""
    giver = process.stores[DIRECTORY].drainage
    (unit,) = await giver.read([job])
    await process.stores[taker].drainage.put_copies(DIRECTORY, [unit])
    answers = await giver.take_out(taker, [Copy(unit.id, DIRECTORY, unit.version, unit.digest)])
    assert set(answers.values()) == {TakeOut.DONE}


async def test_the_key_of_a_job_that_is_on_its_way_to_another_shard_is_known(process: Process) -> None:
    router = JobRouter(process.shards, process.ids)
    first = await router.join(placed(process, job_of(idempotency_key=KEY), SLOT))
    assert isinstance(first, SubmittedJob)
    await process.move([SLOT], "b")
    await take_out(process, first.id, "b")
    await process.move([SLOT], "c")

    answers = [await router.join(placed(process, job_of(idempotency_key=KEY), SLOT)) for _ in range(2)]

    assert [answer.id for answer in answers if isinstance(answer, SubmittedJob)] == [first.id] * 2
    assert (await job_view(process.stores["b"], first.id)).idempotency_key == KEY


async def test_a_job_may_depend_on_one_that_was_moved_to_another_shard(process: Process) -> None:
    router = JobRouter(process.shards, process.ids)
    needed = await router.join(placed(process, job_of({"x": ()}), SLOT))
    assert isinstance(needed, SubmittedJob)
    await process.move([SLOT], "b")
    await take_out(process, needed.id, "b")

    job = await router.join(placed(process, job_of({"y": ()}, depends_on=(needed.id,)), 6))

    assert isinstance(job, SubmittedJob)
    exchange = WaitExchange(process.shards, forwarded=Forwarding(process.shards).forwarded)
    await exchange.pass_once()
    await run_all(process.stores["b"], await open_session(process.stores["b"]))
    await exchange.pass_once()
    here = process.stores[DIRECTORY]
    assert list(await claim_keys(here, await open_session(here))) == ["y"]
