"""Jobs that wait for jobs of other databases: three real ones, steps in any order, and pairs at the same moment."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from functools import partial

import asyncpg
import pytest
from msgspec.structs import replace

from drumline.core.ids import JobId
from drumline.core.job import JobStatus
from drumline.core.state import Act
from drumline.ports.hint import Effects
from drumline.ports.jobs import SubmittedJob
from drumline.ports.waits import FarRipple, FarWait
from drumline.stores.postgres import PostgresStore
from tests.factories import claim_one, new_id, open_session, settle
from tests.job_factories import job_of, job_view, status_of_job, submit_job
from tests.postgres.polling import until
from tests.wait_world import World


@pytest.fixture
def three_urls(shard_urls: tuple[str, ...]) -> dict[str, str]:
    return dict(zip("abc", shard_urls, strict=True))


@pytest.fixture
async def stores(three_urls: dict[str, str]) -> AsyncIterator[dict[str, PostgresStore]]:
    opened = {name: await PostgresStore.open(url) for name, url in three_urls.items()}
    yield opened
    await asyncio.gather(*(store.close() for store in opened.values()))


@pytest.mark.parametrize("seed", range(100, 108))
async def test_in_any_order_and_whoever_dies_a_job_begins_once_after_all_have_completed(
    stores: dict[str, PostgresStore], seed: int
) -> None:
    world = World(stores, seed)
    await world.begin()

    for _ in range(100):
        await world.step()

    await world.settle_down()


async def far_job(store: PostgresStore, *needs: JobId) -> SubmittedJob:
    return await submit_job(store, replace(job_of({"x": ()}, depends_on=needs), elsewhere=frozenset(needs)))


class LockedJob:
    """Holds the row of a job until calls wait for it, one after the other."""

    def __init__(self, url: str, job: JobId) -> None:
        self._url = url
        self._job = job

    async def in_order(self, *calls: Awaitable[object]) -> list[object]:
        holder, watcher = await asyncpg.connect(self._url), await asyncpg.connect(self._url)
        await holder.execute("BEGIN")
        await holder.execute("SELECT 1 FROM drumline.job WHERE id = $1 FOR UPDATE", self._job)
        begun = []
        for count, call in enumerate(calls, start=1):
            begun.append(asyncio.ensure_future(call))
            await until(partial(self._waiting, watcher, count))
        await holder.execute("COMMIT")
        answers = await asyncio.gather(*begun)
        await holder.close()
        await watcher.close()
        return list(answers)

    async def _waiting(self, watcher: "asyncpg.Connection[asyncpg.Record]", count: int) -> bool:
        found = await watcher.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return int(found) >= count


@pytest.mark.parametrize("first", ["the end", "the registration"])
async def test_a_job_that_ends_while_a_wait_is_registered_is_told_of(
    stores: dict[str, PostgresStore], three_urls: dict[str, str], first: str
) -> None:
    needed = await submit_job(stores["a"], job_of({"x": ()}))
    task = await claim_one(stores["a"], await open_session(stores["a"]))
    job = await far_job(stores["b"], needed.id)
    waits = await stores["b"].waits.unregistered(limit=9)
    calls = [settle(stores["a"], task.lease, Act.COMPLETE), stores["a"].waits.register(waits)]

    await LockedJob(three_urls["a"], needed.id).in_order(*(calls if first == "the end" else calls[::-1]))

    (ripple,) = await stores["a"].waits.ripples(limit=9)
    assert (ripple.job, ripple.needs, ripple.status) == (job.id, needed.id, JobStatus.COMPLETED)


@pytest.mark.parametrize("first", ["the mark", "the resume"])
async def test_a_job_that_is_resumed_while_its_wait_is_marked_registers_anew(
    stores: dict[str, PostgresStore], three_urls: dict[str, str], first: str
) -> None:
    job = await far_job(stores["b"], JobId(new_id()))
    waits = await stores["b"].waits.unregistered(limit=9)
    await stores["b"].jobs.cancel_jobs([job.id])
    calls = [stores["b"].waits.mark_registered(waits), stores["b"].jobs.resume_jobs([job.id])]

    await LockedJob(three_urls["b"], job.id).in_order(*(calls if first == "the mark" else calls[::-1]))

    left = await stores["b"].waits.unregistered(limit=9)
    assert [(wait.job, wait.life) for wait in left] == [(job.id, 2)]


async def test_two_who_tell_of_two_ends_at_the_same_moment_let_a_job_begin_once(
    stores: dict[str, PostgresStore], three_urls: dict[str, str]
) -> None:
    needs = [JobId(new_id()), JobId(new_id())]
    job = await far_job(stores["b"], *needs)
    ripples = [
        FarRipple(number=number, needs=needed, job=job.id, life=1, status=JobStatus.COMPLETED, name="n")
        for number, needed in enumerate(needs)
    ]

    told = await LockedJob(three_urls["b"], job.id).in_order(
        stores["b"].waits.tell(ripples), stores["b"].waits.tell(ripples[::-1])
    )

    effects = [each for answer in told if isinstance(answer, list) for each in answer]
    assert [len(each.released) for each in effects if isinstance(each, Effects) and each.released] == [1]
    assert (await job_view(stores["b"], job.id)).waits_for == 0
    assert await status_of_job(stores["b"], job.id) is JobStatus.PENDING


async def test_registering_many_waits_in_other_orders_at_once_stops_nobody(stores: dict[str, PostgresStore]) -> None:
    needed = [(await submit_job(stores["a"], job_of({"x": ()}))).id for _ in range(20)]
    waits = [FarWait(job=JobId(new_id()), needs=each, life=1, tenant="default") for each in needed]
    orders = [waits, waits[::-1], waits[10:] + waits[:10], waits[1::2] + waits[::2]]

    await asyncio.gather(*(stores["a"].waits.register(order) for order in orders * 5))

    await stores["a"].jobs.cancel_jobs(needed)
    ripples = await stores["a"].waits.ripples(limit=100)
    assert sorted(ripple.job for ripple in ripples) == sorted(wait.job for wait in waits)
