"""A task runs while one that it needs is resumed: its attempt goes on, and no other begins before that one's end."""

import pytest

from drumline.core.ids import SessionId
from drumline.core.job import JobStatus, RunIf
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask
from drumline.ports.jobs import ChangedJob, SubmittedJob
from drumline.ports.store import Settlement, Store
from tests.factories import OOPS, open_session, settle
from tests.job_factories import claim_keys, finish, job_of, run_all, states_in, status_of_job, submit_job

CLEAN_UP = {"a": (), "clean": ("a",)}
REQUEUING = [Act.BACK_OFF, Act.SNOOZE, Act.RELEASE]


async def clean_up_running_while_a_runs_again(
    store: Store, session: SessionId, run_if: RunIf = RunIf.ALL_DONE
) -> tuple[SubmittedJob, ClaimedTask]:
    """Submit a job whose first task fails and is resumed while its clean-up runs; return the clean-up's attempt."""
    job = await submit_job(store, job_of(CLEAN_UP, run_if={"clean": run_if}))
    await finish(store, (await claim_keys(store, session))["a"], Act.FAIL)
    clean = (await claim_keys(store, session))["clean"]
    (answer,) = await store.jobs.resume_jobs([job.id])
    assert isinstance(answer, ChangedJob)
    return job, clean


@pytest.mark.parametrize("act", REQUEUING)
async def test_a_clean_up_is_not_tried_again_before_the_task_that_it_needs_has_ended(store: Store, act: Act) -> None:
    session = await open_session(store)
    job, clean = await clean_up_running_while_a_runs_again(store, session)

    settled = await settle(store, clean.lease, act, error=OOPS if act is Act.BACK_OFF else None)

    assert settled.hint is None
    assert settled.effects.moved == ((job.tasks["clean"], State.BLOCKED),)
    assert await states_in(store, job.id) == {"a": State.QUEUED, "clean": State.BLOCKED}
    assert await run_all(store, session) == [["a"], ["clean"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_a_clean_up_whose_worker_died_waits_for_the_task_that_it_needs(store: Store) -> None:
    dead = await open_session(store)
    job, _ = await clean_up_running_while_a_runs_again(store, dead)

    reaped = await store.sessions.reap([(dead, 0)], poison_after=3)

    assert reaped.requeued == ()
    assert reaped.effects.moved == ((job.tasks["clean"], State.BLOCKED),)
    assert await run_all(store, await open_session(store)) == [["a"], ["clean"]]


async def test_a_clean_up_that_was_under_way_may_end_while_the_task_that_it_needs_runs_again(store: Store) -> None:
    session = await open_session(store)
    job, clean = await clean_up_running_while_a_runs_again(store, session)

    await finish(store, clean)

    assert await run_all(store, session) == [["a"]]
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_the_same_report_again_gets_the_same_answer_when_the_task_waits_for_others(store: Store) -> None:
    session = await open_session(store)
    job, clean = await clean_up_running_while_a_runs_again(store, session)
    first = await settle(store, clean.lease, Act.BACK_OFF, error=OOPS)

    again = await settle(store, clean.lease, Act.BACK_OFF, error=OOPS)

    assert (again.state, again.hint) == (first.state, first.hint)
    assert (await states_in(store, job.id))["clean"] is State.BLOCKED


async def test_an_alarm_that_waits_again_is_not_needed_when_all_went_well(store: Store) -> None:
    session = await open_session(store)
    job, alarm = await clean_up_running_while_a_runs_again(store, session, RunIf.ANY_FAILED)
    await settle(store, alarm.lease, Act.BACK_OFF, error=OOPS)

    await run_all(store, session)

    assert (await states_in(store, job.id))["clean"] is State.SKIPPED
    assert await status_of_job(store, job.id) is JobStatus.COMPLETED


async def test_an_alarm_that_waits_again_remembers_what_else_failed(store: Store) -> None:
    session = await open_session(store)
    needs = {"a": (), "b": (), "alarm": ("a", "b")}
    job = await submit_job(store, job_of(needs, run_if={"alarm": RunIf.ANY_FAILED}))
    await run_all(store, session, lambda _: Act.FAIL)
    await store.control.retry([job.tasks["alarm"]])
    running = (await claim_keys(store, session))["alarm"]
    await store.control.retry([job.tasks["a"]])

    await settle(store, running.lease, Act.BACK_OFF, error=OOPS)

    assert (await states_in(store, job.id))["alarm"] is State.BLOCKED
    assert await run_all(store, session) == [["a"], ["alarm"]]  # `b` failed still


async def test_ends_of_both_in_one_list_leave_the_clean_up_free_to_run(store: Store) -> None:
    session = await open_session(store)
    job, clean = await clean_up_running_while_a_runs_again(store, session)
    again = (await claim_keys(store, session))["a"]

    await store.settle(
        [
            Settlement(lease=clean.lease, act=Act.BACK_OFF, error=OOPS),
            Settlement(lease=again.lease, act=Act.FAIL, error=OOPS),
        ]
    )

    assert (await states_in(store, job.id))["clean"] is State.QUEUED
    assert await run_all(store, session) == [["clean"]]


async def test_a_task_under_cancellation_is_not_held_back_but_ends(store: Store) -> None:
    session = await open_session(store)
    job, clean = await clean_up_running_while_a_runs_again(store, session)
    await store.control.cancel([job.tasks["clean"]])

    await settle(store, clean.lease, Act.RELEASE)

    assert (await states_in(store, job.id))["clean"] is State.CANCELLED
