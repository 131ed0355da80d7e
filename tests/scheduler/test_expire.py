"""Tasks that have not started in time are cancelled: by the duty where no worker claims them, else by the claim."""

from datetime import timedelta
from typing import Any

import pytest

from drumline.core.clock import ManualClock, moment_of, to_datetime
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.job import JobRequest, JobStatus, JobTaskRequest
from drumline.core.state import State
from drumline.core.task import TaskRequest, TaskView
from drumline.engine.engine import Engine
from drumline.ports.store import TaskFilter
from drumline.scheduler.expire import Expirer
from drumline.scheduler.fire import Firer
from tests.factories import request
from tests.schedule_factories import schedule_request
from tests.scheduler.workers import open_worker


@pytest.fixture
def expirer(engine: Engine) -> Expirer:
    return Expirer(engine, batch=2)


async def submit(engine: Engine, **fields: Any) -> TaskId:
    return (await engine.submissions.submit(request("add", **fields))).id


async def view_of(engine: Engine, task: TaskId) -> TaskView:
    (view,) = await engine.store.queries.get([task])
    assert view is not None
    return view


async def assert_expired(engine: Engine, task: TaskId) -> None:
    view = await view_of(engine, task)
    assert view.options.expires_at is not None
    assert view.state is State.CANCELLED
    assert view.error is not None
    assert view.error.kind == "Expired"
    assert moment_of(view.options.expires_at) in view.error.message


async def test_a_task_that_nobody_claims_is_cancelled_at_its_time(
    engine: Engine, clock: ManualClock, expirer: Expirer
) -> None:
    task = await submit(engine, expires="10m")
    clock.advance(599)
    assert await expirer.pass_once() == 0

    clock.advance(2)

    assert await expirer.pass_once() == 1
    await assert_expired(engine, task)
    assert await expirer.pass_once() == 0


async def test_one_pass_cancels_more_than_a_batch(engine: Engine, clock: ManualClock, expirer: Expirer) -> None:
    tasks = [await submit(engine, expires=1) for _ in range(5)]
    clock.advance(2)

    assert await expirer.pass_once() == len(tasks)


async def test_the_time_counts_from_when_the_task_is_due(engine: Engine, clock: ManualClock, expirer: Expirer) -> None:
    delayed = await submit(engine, delay=60, expires=1)
    timed = await submit(engine, run_at=to_datetime(clock.now()) + timedelta(seconds=60), expires=1)
    clock.advance(60)
    assert await expirer.pass_once() == 0

    clock.advance(2)

    assert await expirer.pass_once() == 2
    await assert_expired(engine, delayed)
    await assert_expired(engine, timed)


async def test_a_worker_is_not_given_a_task_that_has_expired(engine: Engine, clock: ManualClock) -> None:
    late = await submit(engine, expires=1)
    other = await submit(engine)
    clock.advance(2)

    claimed = await (await open_worker(engine)).claim()

    assert [task.lease.task for task in claimed] == [other]
    await assert_expired(engine, late)


async def test_a_claim_goes_on_behind_tasks_that_have_expired(engine: Engine, clock: ManualClock) -> None:
    for _ in range(3):
        await submit(engine, expires=1)
    other = await submit(engine)
    clock.advance(2)
    worker = await open_worker(engine)

    claimed = await worker.gateway.claim(worker.session, limit=2, wait=60)

    assert [task.lease.task for task in claimed] == [other]


async def test_a_task_that_started_in_time_is_retried_and_completes(
    engine: Engine, clock: ManualClock, expirer: Expirer
) -> None:
    task = await submit(engine, expires=1, retries=3)
    worker = await open_worker(engine)
    await worker.claim()
    clock.advance(5)
    assert await expirer.pass_once() == 0
    await engine.store.sessions.close_session(worker.session)
    await engine.store.sessions.reap([], poison_after=3)

    again = await open_worker(engine)
    assert [claimed.lease.task for claimed in await again.claim()] == [task]
    await again.complete()

    assert (await view_of(engine, task)).state is State.COMPLETED


async def test_an_expired_task_that_is_retried_by_a_person_runs(
    engine: Engine, clock: ManualClock, expirer: Expirer
) -> None:
    task = await submit(engine, expires=1)
    clock.advance(2)
    await expirer.pass_once()

    await engine.control.retry(task)

    assert await expirer.pass_once() == 0
    assert [claimed.lease.task for claimed in await (await open_worker(engine)).claim()] == [task]


async def test_a_task_of_a_job_that_expires_fails_what_needs_it(
    engine: Engine, clock: ManualClock, expirer: Expirer
) -> None:
    tasks = {"a": JobTaskRequest(name="add", expires=1), "b": JobTaskRequest(name="add", needs=("a",))}
    job = await engine.jobs.submit(JobRequest(name="job", tasks=tasks))
    clock.advance(2)

    await expirer.pass_once()

    await assert_expired(engine, job.tasks["a"])
    assert (await view_of(engine, job.tasks["b"])).state is State.SKIPPED
    (view,) = await engine.store.jobs.get_jobs([job.id])
    assert view is not None
    assert view.status in {JobStatus.FAILED, JobStatus.CANCELLED}


async def test_the_task_of_a_schedule_expires_after_its_fire_time(
    engine: Engine, clock: ManualClock, expirer: Expirer
) -> None:
    await engine.schedules.create(
        schedule_request("nightly", task=TaskRequest(name="add", expires="30s")), tenant="default"
    )
    firer = Firer(engine.firings, clock=clock.monotonic)
    for _ in range(45):
        await firer.pass_once()
        clock.advance(1)
    (task,) = await engine.store.queries.list_tasks(TaskFilter(), limit=10)
    clock.advance(20)
    assert await expirer.pass_once() == 0
    clock.advance(10)

    assert await expirer.pass_once() == 1
    await assert_expired(engine, task.id)


@pytest.mark.parametrize("expires", [0, "0s", "367d", "soon", -1])
async def test_a_time_that_makes_no_sense_is_refused_by_its_field(engine: Engine, expires: float | str) -> None:
    with pytest.raises(Invalid) as refused:
        await submit(engine, expires=expires)

    assert refused.value.field == "expires"
