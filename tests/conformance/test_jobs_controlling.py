"""Jobs are cancelled as a whole, and resumed from where they failed."""

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import JobId
from drumline.core.job import JobCounts, JobStatus, RunIf
from drumline.core.state import Act, State
from drumline.ports.jobs import ChangedJob
from drumline.ports.store import Changed, Settlement, Store
from tests.factories import beat, new_id, open_session, settle, submit
from tests.job_factories import (
    claim_keys,
    counts_of,
    fails,
    finish,
    ids,
    job_of,
    job_view,
    nodes_by_key,
    run_all,
    states_in,
    status_of_job,
    submit_job,
)


async def cancel(store: Store, job: JobId, **how: object) -> ChangedJob:
    (answer,) = await store.jobs.cancel_jobs([job], **how)  # type: ignore[arg-type]
    assert isinstance(answer, ChangedJob), answer
    return answer


async def resume(store: Store, job: JobId) -> ChangedJob:
    (answer,) = await store.jobs.resume_jobs([job])
    assert isinstance(answer, ChangedJob), answer
    return answer


async def test_cancelling_a_job_cancels_what_waits_and_asks_what_runs(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",), "c": ()}, task={"priority": 1}))
    claimed = await claim_keys(store, session, limit=1)
    (running,) = claimed
    waiting = {"a", "b", "c"} - {running}

    answer = await cancel(store, job.id, reason="wrong input")

    assert answer.status is not JobStatus.CANCELLED
    assert {task for task, _ in answer.effects.moved} == {job.tasks[key] for key in waiting}
    view = await job_view(store, job.id)
    assert (view.cancel_requested, view.reason) == (True, "wrong input")
    (reply,) = await store.sessions.beat([beat(session, claimed[running].lease)])
    assert reply.cancelled == (job.tasks[running],)
    await finish(store, claimed[running], Act.STOP)
    assert await counts_of(store, job.id) == JobCounts(total=3, cancelled=3, running=0)
    assert await status_of_job(store, job.id) is JobStatus.CANCELLED


async def test_a_forced_cancel_ends_a_job_now_and_fences_its_workers(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    task = (await claim_keys(store, session))["a"]

    answer = await cancel(store, job.id, force=True)

    assert answer.status is JobStatus.CANCELLED
    assert answer.effects.jobs == ((job.id, JobStatus.CANCELLED),)
    (late,) = await store.settle([Settlement(lease=task.lease, act=Act.COMPLETE)])
    assert isinstance(late, Conflict)
    assert await counts_of(store, job.id) == JobCounts(total=4, cancelled=4, running=0)


async def test_an_asked_task_that_completes_nevertheless_has_completed(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    task = (await claim_keys(store, session))["a"]
    await cancel(store, job.id)

    await finish(store, task)

    assert await states_in(store, job.id) == {"a": State.COMPLETED, "b": State.CANCELLED}
    assert await status_of_job(store, job.id) is JobStatus.CANCELLED


async def test_a_job_that_has_ended_cannot_be_cancelled(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    await run_all(store, session)

    ended, unknown = await store.jobs.cancel_jobs([job.id, JobId(new_id())])

    assert isinstance(ended, Conflict)
    assert isinstance(unknown, NotFound)


async def test_resume_runs_what_failed_and_what_hung_on_it_and_nothing_else(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    await run_all(store, session, fails("b"))
    before = await store.jobs.results([(job.id, "a")])

    answer = await resume(store, job.id)

    assert answer.status is JobStatus.PROCESSING
    assert [hint.task for hint in answer.effects.released] == ids(job, "b")
    assert answer.effects.moved == ((job.tasks["d"], State.BLOCKED),)
    assert await run_all(store, session) == [["b"], ["d"]]
    assert await store.jobs.results([(job.id, "a")]) == before
    assert await counts_of(store, job.id) == JobCounts(total=4, completed=4, running=0)
    view = await job_view(store, job.id)
    assert (view.status, view.reason) == (JobStatus.COMPLETED, None)


async def test_epochs_go_on_rising_and_attempts_go_on_counting(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    first = (await claim_keys(store, session))["a"]
    await finish(store, first, Act.FAIL)

    await resume(store, job.id)

    second = (await claim_keys(store, session))["a"]
    assert second.lease.epoch > first.lease.epoch
    assert second.attempt == 2
    (late,) = await store.settle([Settlement(lease=first.lease, act=Act.COMPLETE)])
    assert getattr(late, "state", None) is State.FAILED  # the answer that it got the first time
    assert await states_in(store, job.id) == {"a": State.RUNNING, "b": State.BLOCKED}


async def test_a_job_can_fail_and_be_resumed_again_and_again(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",), "c": ("b",)}))

    for key, rest in (("a", 2), ("b", 1), ("c", 0)):
        await run_all(store, session, fails(key))
        assert (await counts_of(store, job.id)).skipped == rest
        assert await status_of_job(store, job.id) is JobStatus.FAILED
        await resume(store, job.id)

    assert await run_all(store, session) == [["c"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_cancelled_job_can_be_resumed(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    await finish(store, (await claim_keys(store, session))["a"])
    await cancel(store, job.id)

    await resume(store, job.id)

    assert await run_all(store, session) == [["b", "c"], ["d"]]
    view = await job_view(store, job.id)
    assert (view.status, view.cancel_requested) == (JobStatus.COMPLETED, False)


async def test_a_job_that_is_being_cancelled_cannot_be_resumed_yet(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    task = (await claim_keys(store, session))["a"]
    await cancel(store, job.id)

    (early,) = await store.jobs.resume_jobs([job.id])
    await finish(store, task, Act.STOP)

    assert isinstance(early, Conflict)
    await resume(store, job.id)


async def test_a_completed_job_cannot_be_resumed(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    await run_all(store, session)

    completed, unknown = await store.jobs.resume_jobs([job.id, JobId(new_id())])

    assert isinstance(completed, Conflict)
    assert isinstance(unknown, NotFound)


async def test_a_job_in_which_nothing_failed_has_nothing_to_resume(store: Store) -> None:
    job = await submit_job(store)

    (answer,) = await store.jobs.resume_jobs([job.id])

    assert isinstance(answer, Conflict)
    assert "nothing of the job has failed" in answer.message


async def test_a_clean_up_that_has_run_does_not_run_again(store: Store) -> None:
    session = await open_session(store)
    needs = {"a": (), "b": ("a",), "clean": ("b",), "alarm": ("a",)}
    job = await submit_job(store, job_of(needs, run_if={"clean": RunIf.ALL_DONE, "alarm": RunIf.ANY_FAILED}))
    await run_all(store, session, fails("a"))

    await resume(store, job.id)

    assert await run_all(store, session) == [["a"], ["b"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_clean_up_that_has_not_begun_waits_for_its_parent_to_run_again(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "clean": ("a",)}, run_if={"clean": RunIf.ALL_DONE}))
    await finish(store, (await claim_keys(store, session))["a"], Act.FAIL)
    assert (await states_in(store, job.id))["clean"] is State.QUEUED

    answer = await resume(store, job.id)

    assert answer.effects.moved == ((job.tasks["clean"], State.BLOCKED),)
    assert await run_all(store, session) == [["a"], ["clean"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_an_alarm_that_waits_is_told_that_a_parent_runs_again(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "alarm": ("a", "b")}, run_if={"alarm": RunIf.ANY_FAILED}))
    claimed = await claim_keys(store, session)
    await finish(store, claimed["a"], Act.FAIL)

    await resume(store, job.id)
    again = await claim_keys(store, session)
    await finish(store, again["a"])
    await finish(store, claimed["b"])

    assert (await states_in(store, job.id))["alarm"] is State.SKIPPED
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_one_task_is_retried_with_what_was_skipped_because_of_it(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a",), "d": ("b",), "e": ("a", "b")}))
    await run_all(store, session, fails("a", "b"))

    (answer,) = await store.control.retry(ids(job, "a"))

    assert isinstance(answer, Changed)
    assert answer.state is State.QUEUED
    assert answer.hint is not None
    assert answer.effects.moved == ((job.tasks["c"], State.BLOCKED),)
    assert await run_all(store, session) == [["a"], ["c"]]
    assert await states_in(store, job.id) == {
        "a": State.COMPLETED, "b": State.FAILED, "c": State.COMPLETED, "d": State.SKIPPED, "e": State.SKIPPED,
    }  # fmt: skip
    assert await status_of_job(store, job.id) is JobStatus.FAILED


async def test_a_skipped_task_cannot_be_retried_before_the_one_it_needs(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    await run_all(store, session, fails("a"))

    skipped, plain = await store.control.retry([job.tasks["b"], await submit(store)])

    assert isinstance(skipped, Conflict)
    assert isinstance(plain, Conflict)
    assert await status_of_job(store, job.id) is JobStatus.FAILED


async def test_two_failed_tasks_are_retried_in_one_list(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": (), "c": ("a", "b")}))
    await run_all(store, session, fails("a", "b"))

    answers = await store.control.retry(ids(job, "a", "b"))

    assert all(isinstance(answer, Changed) for answer in answers)
    assert await run_all(store, session) == [["a", "b"], ["c"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_blocked_task_cannot_be_rescheduled_or_claimed(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    job = await submit_job(store)
    clock.advance(3600.0)

    assert list(await claim_keys(store, session, hints=tuple(job.tasks.values()))) == ["a"]


async def test_a_task_that_is_asked_to_stop_ends_as_cancelled_although_it_would_be_tried_again(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    task = (await claim_keys(store, session))["a"]
    await store.control.cancel(ids(job, "a"))

    answer = await settle(store, task.lease, Act.BACK_OFF, delay_ms=10)

    assert answer.state is State.CANCELLED
    assert answer.effects.moved == ((job.tasks["b"], State.SKIPPED),)
    assert await status_of_job(store, job.id) is JobStatus.CANCELLED


@pytest.mark.parametrize("force", [False, True])
async def test_cancelling_before_anything_started_ends_a_job_at_once(store: Store, *, force: bool) -> None:
    job = await submit_job(store)

    answer = await cancel(store, job.id, force=force)

    assert answer.status is JobStatus.CANCELLED
    view = await job_view(store, job.id)
    assert (view.started_at, view.counts.cancelled) == (None, 4)
    await resume(store, job.id)
    assert await status_of_job(store, job.id) is JobStatus.PENDING
    assert await run_all(store, await open_session(store)) == [["a"], ["b", "c"], ["d"]]


async def test_a_skipped_task_says_why_no_longer_when_it_runs_again(store: Store) -> None:
    session = await open_session(store)
    job = await submit_job(store, job_of({"a": (), "b": ("a",)}))
    await run_all(store, session, fails("a"))

    await resume(store, job.id)

    node = (await nodes_by_key(store, job.id))["b"]
    assert (node.state, node.reason, node.cause) == (State.BLOCKED, None, None)
