"""Jobs wait for jobs of another store: registered there, told here, whichever step is repeated or left out."""

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant, ManualClock
from drumline.core.ids import JobId
from drumline.core.job import JobStatus
from drumline.core.state import State
from drumline.ports.hint import Effects
from drumline.ports.jobs import SubmittedJob
from drumline.ports.store import Store
from drumline.ports.waits import FarRipple, FarWait
from drumline.stores.sqlite import SqliteStore
from tests.factories import new_id, open_session
from tests.job_factories import (
    claim_keys,
    fails,
    ids,
    job_of,
    job_view,
    run_all,
    states_in,
    status_of_job,
    submit_job,
)

ONE = {"x": ()}
HOUR = 3_600_000


class Pair(NamedTuple):
    """The store of the jobs that wait, and the store of those that are awaited."""

    waiting: Store
    awaited: Store

    async def submit(self, *needs: JobId) -> SubmittedJob:
        return await submit_job(self.waiting, replace(job_of(depends_on=needs), elsewhere=frozenset(needs)))

    async def register(self) -> list[FarWait]:
        waits = await self.waiting.waits.unregistered(limit=100)
        await self.awaited.waits.register(await self.awaited.waits.register(waits), final=True)
        await self.waiting.waits.mark_registered(waits)
        return waits

    async def tell(self) -> Effects:
        ripples = await self.awaited.waits.ripples(limit=100)
        effects = await self.waiting.waits.tell(ripples)
        await self.awaited.waits.delete_ripples([ripple.number for ripple in ripples])
        return sum([each for each in effects if each is not None], Effects())

    async def end(self, *failing: str) -> None:
        """Run all that is due in the store of the awaited jobs."""
        await run_all(self.awaited, await open_session(self.awaited), fails(*failing))


@pytest.fixture(params=["waiting", "awaited"])
async def pair(request: pytest.FixtureRequest, store: Store, clock: ManualClock) -> AsyncIterator[Pair]:
    """The store under test in each of the two parts, with another database in the other."""
    other = await SqliteStore.open(":memory:", clock=clock)
    yield Pair(store, other) if request.param == "waiting" else Pair(other, store)
    await other.close()


async def test_a_job_begins_when_the_last_one_elsewhere_has_completed(pair: Pair) -> None:
    first = await submit_job(pair.awaited, job_of(ONE))
    second = await submit_job(pair.awaited, job_of({"y": ("z",), "z": ()}))
    job = await pair.submit(first.id, second.id)
    assert job.effects.released == ()
    assert set((await states_in(pair.waiting, job.id)).values()) == {State.BLOCKED}
    assert (await job_view(pair.waiting, job.id)).waits_for == 2
    assert len(await pair.register()) == 2
    assert await pair.register() == []
    assert await pair.awaited.waits.ripples(limit=100) == []

    await pair.end()
    effects = await pair.tell()

    assert [hint.task for hint in effects.released] == ids(job, "a")
    assert await pair.awaited.waits.ripples(limit=100) == []
    view = await job_view(pair.waiting, job.id)
    assert (view.waits_for, view.depends_on) == (0, (first.id, second.id))


async def test_registering_at_a_job_that_has_ended_tells_of_its_end(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    await pair.end()
    job = await pair.submit(needed.id)
    assert job.status is JobStatus.PENDING
    assert await claim_keys(pair.waiting, await open_session(pair.waiting)) == {}

    await pair.register()
    effects = await pair.tell()

    assert [hint.task for hint in effects.released] == ids(job, "a")


async def test_a_job_that_was_not_registered_before_the_end_is_told_after_it(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    await pair.awaited.waits.register(await pair.waiting.waits.unregistered(limit=100))  # and no mark
    await pair.end()

    await pair.register()
    ripples = await pair.awaited.waits.ripples(limit=100)
    effects = await pair.tell()

    assert len(ripples) == 2
    assert [hint.task for hint in effects.released] == ids(job, "a"), "told twice, it begins once"
    assert await run_all(pair.waiting, await open_session(pair.waiting)) == [["a"], ["b", "c"], ["d"]]


async def test_a_ripple_that_is_told_again_does_not_count_for_another_job(pair: Pair) -> None:
    first, second = [await submit_job(pair.awaited, job_of({key: ()})) for key in "xy"]
    job = await pair.submit(first.id, second.id)
    await pair.register()
    await pair.awaited.jobs.cancel_jobs([second.id])
    await pair.awaited.jobs.resume_jobs([second.id])
    await pair.awaited.waits.delete_ripples([each.number for each in await pair.awaited.waits.ripples(limit=9)])
    session = await open_session(pair.awaited)
    await run_all(pair.awaited, session)
    (ripple, other) = await pair.awaited.waits.ripples(limit=100)

    await pair.waiting.waits.tell([ripple, ripple, ripple])

    assert (await job_view(pair.waiting, job.id)).waits_for == 1
    (effects,) = await pair.waiting.waits.tell([other])
    assert effects is not None
    assert [hint.task for hint in effects.released] == ids(job, "a")


@pytest.mark.parametrize("way", ["fails", "is cancelled"])
async def test_a_job_elsewhere_that_does_not_complete_fails_it_with_the_reason(pair: Pair, way: str) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE, name="load"))
    job = await pair.submit(needed.id)
    await pair.register()

    if way == "fails":
        await pair.end("x")
    else:
        await pair.awaited.jobs.cancel_jobs([needed.id])
    effects = await pair.tell()

    view = await job_view(pair.waiting, job.id)
    how = "failed" if way == "fails" else "was cancelled"
    assert (view.status, view.reason) == (JobStatus.FAILED, f"job load ({needed.id}) {how}")
    assert set((await states_in(pair.waiting, job.id)).values()) == {State.SKIPPED}
    assert effects.jobs == ((job.id, JobStatus.FAILED),)


async def test_a_failure_while_it_waited_fails_it_though_that_was_resumed_since(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    await pair.register()
    await pair.end("x")
    await pair.awaited.jobs.resume_jobs([needed.id])
    await pair.end()

    await pair.tell()

    assert await status_of_job(pair.waiting, job.id) is JobStatus.FAILED


async def test_a_resumed_job_registers_anew_and_takes_no_ripple_of_an_earlier_life(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    await pair.register()
    await pair.end("x")
    old = await pair.awaited.waits.ripples(limit=100)
    await pair.tell()
    await pair.awaited.jobs.resume_jobs([needed.id])

    await pair.waiting.jobs.resume_jobs([job.id])
    await pair.waiting.waits.tell(old)

    assert await status_of_job(pair.waiting, job.id) is JobStatus.PENDING
    assert [wait.life for wait in await pair.register()] == [2]
    await pair.waiting.waits.tell(old)
    await pair.end()
    assert [hint.task for hint in (await pair.tell()).released] == ids(job, "a")


async def test_a_mark_of_an_earlier_life_leaves_a_resumed_job_unregistered(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    late = await pair.waiting.waits.unregistered(limit=100)
    await pair.waiting.jobs.cancel_jobs([job.id])
    await pair.waiting.jobs.resume_jobs([job.id])

    await pair.waiting.waits.mark_registered(late)

    assert [(wait.job, wait.life) for wait in await pair.waiting.waits.unregistered(limit=100)] == [(job.id, 2)]


async def test_a_late_registration_of_an_earlier_life_does_not_replace_the_present_one(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    late = await pair.waiting.waits.unregistered(limit=100)
    await pair.waiting.jobs.cancel_jobs([job.id])
    await pair.waiting.jobs.resume_jobs([job.id])
    await pair.register()

    await pair.awaited.waits.register(late)
    await pair.end()

    assert [hint.task for hint in (await pair.tell()).released] == ids(job, "a")


async def test_a_job_resumed_before_the_one_that_failed_it_fails_again(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE, name="load"))
    job = await pair.submit(needed.id)
    await pair.register()
    await pair.end("x")
    await pair.tell()

    await pair.waiting.jobs.resume_jobs([job.id])
    await pair.register()
    await pair.tell()

    assert (await job_view(pair.waiting, job.id)).reason == f"job load ({needed.id}) failed"


async def test_what_completed_elsewhere_is_not_waited_for_again(pair: Pair) -> None:
    done = await submit_job(pair.awaited, job_of(ONE))
    await pair.end()
    needed = await submit_job(pair.awaited, job_of({"y": ()}))
    job = await pair.submit(done.id, needed.id)
    await pair.register()
    await pair.end("y")
    await pair.tell()

    await pair.awaited.jobs.resume_jobs([needed.id])
    await pair.waiting.jobs.resume_jobs([job.id])

    assert (await job_view(pair.waiting, job.id)).waits_for == 1
    assert [wait.needs for wait in await pair.register()] == [needed.id]


async def test_a_waiting_job_that_was_cancelled_is_told_nothing_more(pair: Pair) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    await pair.register()
    await pair.waiting.jobs.cancel_jobs([job.id])

    await pair.end()

    assert await pair.tell() == Effects()
    assert await status_of_job(pair.waiting, job.id) is JobStatus.CANCELLED


@pytest.mark.parametrize("tenant", ["default", "acme"])
async def test_a_job_that_does_not_exist_for_its_tenant_fails_it_until_it_is_resumed(pair: Pair, tenant: str) -> None:
    unknown = JobId(new_id())
    if tenant != "default":
        unknown = (await submit_job(pair.awaited, job_of(ONE, tenant=tenant))).id
    job = await pair.submit(unknown)

    waits = await pair.waiting.waits.unregistered(limit=100)
    assert await pair.awaited.waits.register(waits) == waits
    assert await pair.awaited.waits.ripples(limit=100) == [], (
        "another store may have it, as long as nobody knows better"
    )
    await pair.register()
    await pair.tell()

    view = await job_view(pair.waiting, job.id)
    assert (view.status, view.reason) == (JobStatus.FAILED, f"there is no job {unknown}")
    await pair.waiting.jobs.resume_jobs([job.id])
    assert await pair.register() == []
    assert list(await claim_keys(pair.waiting, await open_session(pair.waiting))) == ["a"]


async def test_a_job_pruned_after_its_end_was_noted_is_told_of(pair: Pair, clock: ManualClock) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    await pair.register()
    await pair.end()
    clock.advance(HOUR)
    assert await pair.awaited.prune(ended_before=Instant(clock.now() - 1), limit=10) == 1

    effects = await pair.tell()

    assert [hint.task for hint in effects.released] == ids(job, "a")


async def test_a_job_pruned_before_the_wait_was_registered_fails_it(pair: Pair, clock: ManualClock) -> None:
    needed = await submit_job(pair.awaited, job_of(ONE))
    job = await pair.submit(needed.id)
    await pair.end()
    clock.advance(HOUR)
    assert await pair.awaited.prune(ended_before=Instant(clock.now() - 1), limit=10) == 1

    await pair.register()
    await pair.tell()

    assert (await job_view(pair.waiting, job.id)).reason == f"there is no job {needed.id}"


async def test_jobs_here_and_elsewhere_are_waited_for_together(pair: Pair) -> None:
    here = await submit_job(pair.waiting, job_of({"h": ()}))
    there = await submit_job(pair.awaited, job_of(ONE))
    waits = replace(job_of(depends_on=(here.id, there.id)), elsewhere=frozenset({there.id}))
    job = await submit_job(pair.waiting, waits)
    await pair.register()
    session = await open_session(pair.waiting)

    await pair.end()
    assert (await pair.tell()).released == ()
    await run_all(pair.waiting, session)
    rippled = await pair.waiting.jobs.ripple()

    assert [hint.task for hint in rippled.effects.released] == ids(job, "a")


async def test_unregistered_waits_and_ripples_come_in_pages(pair: Pair) -> None:
    needed = [(await submit_job(pair.awaited, job_of({str(number): ()}))).id for number in range(5)]
    await pair.submit(*needed[:3])
    await pair.submit(*needed)

    waits: list[FarWait] = []
    while page := await pair.waiting.waits.unregistered(limit=3, after=waits[-1] if waits else None):
        waits += page
    await pair.register()
    await pair.end()
    ripples: list[FarRipple] = []
    while found := await pair.awaited.waits.ripples(limit=3, after=ripples[-1].number if ripples else 0):
        ripples += found

    assert len({(wait.job, wait.needs) for wait in waits}) == len(waits) == 8
    assert {(ripple.job, ripple.needs) for ripple in ripples} == {(wait.job, wait.needs) for wait in waits}


async def test_a_job_that_is_not_here_is_told_nothing(pair: Pair) -> None:
    ripple = FarRipple(
        number=1, needs=JobId(new_id()), job=JobId(new_id()), life=1, status=JobStatus.COMPLETED, name="n"
    )

    assert await pair.waiting.waits.tell([ripple]) == [None]
