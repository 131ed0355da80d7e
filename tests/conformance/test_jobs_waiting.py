"""Jobs wait for other jobs, begin when the last has completed, and fail with the first that has not."""

from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict
from drumline.core.job import JobCounts, JobStatus, RunIf
from drumline.core.state import Act, State
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Store
from tests.factories import claim, open_session, settle
from tests.job_factories import (
    claim_keys,
    counts_of,
    fails,
    ids,
    job_of,
    job_view,
    nodes_by_key,
    run_all,
    states_in,
    status_of_job,
    submit_job,
)

ONE = {"x": ()}


async def test_a_job_begins_when_the_last_it_depends_on_has_completed(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    second = await submit_job(store, job_of({"y": ()}))
    waiting = await submit_job(store, job_of(depends_on=(first.id, second.id)))
    assert set((await states_in(store, waiting.id)).values()) == {State.BLOCKED}
    assert (await job_view(store, waiting.id)).waits_for == 2

    await run_all(store, session)
    rippled = await store.jobs.ripple()

    assert rippled.told == 2
    assert [hint.task for hint in rippled.effects.released] == ids(waiting, "a")
    assert await run_all(store, session) == [["a"], ["b", "c"], ["d"]]
    assert await status_of_job(store, waiting.id) is JobStatus.COMPLETED
    assert (await store.jobs.ripple()).told == 0


async def test_a_job_that_completed_before_does_not_keep_anybody(store: Store) -> None:
    session = await open_session(store)
    done = await submit_job(store, job_of(ONE))
    await run_all(store, session)

    job = await submit_job(store, job_of(depends_on=(done.id,)))

    assert [hint.task for hint in job.effects.released] == ids(job, "a")
    assert (await job_view(store, job.id)).depends_on == (done.id,)


async def test_a_failed_job_fails_those_that_depend_on_it_and_those_on_them(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE, name="load"))
    second = await submit_job(store, job_of(depends_on=(first.id,), name="clean"))
    third = await submit_job(store, job_of(depends_on=(second.id,)))
    await run_all(store, session, fails("x"))

    while (rippled := await store.jobs.ripple()).told:
        assert rippled.effects.jobs

    view = await job_view(store, second.id)
    assert (view.status, view.reason) == (JobStatus.FAILED, f"job load ({first.id}) failed")
    assert view.counts == JobCounts(total=4, skipped=4, running=0)
    assert (await nodes_by_key(store, second.id))["d"].reason == view.reason
    assert (await job_view(store, third.id)).reason == f"job clean ({second.id}) failed"


async def test_a_cancelled_job_fails_those_that_depend_on_it(store: Store) -> None:
    first = await submit_job(store, job_of(ONE))
    second = await submit_job(store, job_of(depends_on=(first.id,)))

    await store.jobs.cancel_jobs([first.id])
    await store.jobs.ripple()

    view = await job_view(store, second.id)
    assert (view.status, view.reason) == (JobStatus.FAILED, f"job job ({first.id}) was cancelled")


async def test_a_job_that_failed_before_fails_a_new_one_at_once(store: Store) -> None:
    session = await open_session(store)
    failed = await submit_job(store, job_of(ONE))
    await run_all(store, session, fails("x"))

    job = await submit_job(store, job_of(depends_on=(failed.id,)))

    assert job.status is JobStatus.FAILED
    assert await claim_keys(store, session) == {}
    assert (await counts_of(store, job.id)).skipped == 4


async def test_a_waiting_job_can_be_cancelled_and_is_told_nothing_more(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    waiting = await submit_job(store, job_of(depends_on=(first.id,)))

    await store.jobs.cancel_jobs([waiting.id])
    await run_all(store, session)
    await store.jobs.ripple()

    assert await status_of_job(store, waiting.id) is JobStatus.CANCELLED
    assert await claim_keys(store, session) == {}


async def test_a_job_is_resumed_after_the_one_that_failed_it(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    second = await submit_job(store, job_of(depends_on=(first.id,)))
    await run_all(store, session, fails("x"))
    await store.jobs.ripple()

    (early,) = await store.jobs.resume_jobs([second.id])
    await store.jobs.resume_jobs([first.id])
    (waits,) = await store.jobs.resume_jobs([second.id])

    assert isinstance(early, Conflict)
    assert isinstance(waits, ChangedJob)
    assert (waits.status, waits.effects.released) == (JobStatus.PENDING, ())
    await run_all(store, session)
    await store.jobs.ripple()
    assert await run_all(store, session) == [["a"], ["b", "c"], ["d"]]
    assert await status_of_job(store, second.id) is JobStatus.COMPLETED


async def test_a_job_that_lives_again_before_others_were_told_has_not_failed_them(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    second = await submit_job(store, job_of(depends_on=(first.id,)))
    await run_all(store, session, fails("x"))

    await store.jobs.resume_jobs([first.id])
    await store.jobs.ripple()

    assert await status_of_job(store, second.id) is JobStatus.PENDING
    await run_all(store, session)
    await store.jobs.ripple()
    assert list(await claim_keys(store, session)) == ["a"]


async def test_a_job_that_lives_again_does_not_keep_others_from_being_told(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    for _ in range(3):
        await submit_job(store, job_of(ONE, depends_on=(first.id,)))
    await run_all(store, session, fails("x"))
    await store.jobs.resume_jobs([first.id])
    (held,) = await claim(store, session)  # it runs for hours now
    second = await submit_job(store, job_of({"y": ()}))
    waiting = await submit_job(store, job_of({"z": ()}, depends_on=(second.id,)))
    await run_all(store, session)

    passes = [await store.jobs.ripple(limit=2) for _ in range(2)]

    assert [(each.told, each.is_done) for each in passes] == [(1, True), (0, True)]
    assert list(await claim_keys(store, session)) == ["z"]
    assert (await job_view(store, waiting.id)).waits_for == 0
    await settle(store, held.lease, Act.COMPLETE)
    assert (await store.jobs.ripple()).told == 3


async def test_a_task_that_could_run_waits_while_its_job_does(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    needs = {"a": (), "clean": ("a",)}
    waiting = await submit_job(store, job_of(needs, run_if={"clean": RunIf.ALL_DONE}, depends_on=(first.id,)))

    await store.control.cancel(ids(waiting, "a"))

    assert (await states_in(store, waiting.id))["clean"] is State.BLOCKED
    assert await run_all(store, session) == [["x"]]
    await store.jobs.ripple()
    assert await run_all(store, session) == [["clean"]]
    assert await status_of_job(store, waiting.id) is JobStatus.CANCELLED


async def test_a_ripple_does_as_much_as_it_is_asked_and_says_whether_that_was_all(store: Store) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    for _ in range(5):
        await submit_job(store, job_of(ONE, depends_on=(first.id,)))
    await run_all(store, session)

    passes = [await store.jobs.ripple(limit=2) for _ in range(4)]

    assert [each.told for each in passes] == [2, 2, 1, 0]
    assert [each.is_done for each in passes] == [False, False, True, True]
    assert len(await claim(store, session)) == 5


async def test_a_job_is_not_pruned_before_those_that_wait_for_it_were_told(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    first = await submit_job(store, job_of(ONE))
    second = await submit_job(store, job_of(ONE, depends_on=(first.id,)))
    await run_all(store, session)
    clock.advance(100.0)

    assert await store.prune(ended_before=Instant(clock.now()), limit=100) == 0
    await store.jobs.ripple()
    assert await store.prune(ended_before=Instant(clock.now()), limit=100) == 1

    assert (await job_view(store, second.id)).depends_on == (first.id,)
    assert await run_all(store, session) == [["x"]]
