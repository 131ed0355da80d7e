"""The tasks of a job are found among all others."""

import pytest

from drumline.core.attempt import AttemptOutcome
from drumline.core.clock import ManualClock
from drumline.core.errors import NotFound
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, Status
from drumline.ports.store import Store, TaskFilter
from tests.factories import open_session, settle, submit
from tests.job_factories import claim_keys, finish, job_of, submit_job


async def listed(store: Store, which: TaskFilter, *, limit: int = 10, before: TaskId | None = None) -> list[str]:
    views = await store.queries.list_tasks(which, limit=limit, before=before)
    return [view.options.key or "" for view in views]


async def test_tasks_are_listed_by_their_job_the_last_given_first(store: Store) -> None:
    session = await open_session(store)
    await submit(store)
    job, other = await submit_job(store), await submit_job(store)
    await finish(store, (await claim_keys(store, session))["a"])

    everything = await listed(store, TaskFilter(job=job.id))
    page = await listed(store, TaskFilter(job=job.id), limit=2, before=job.tasks["d"])
    completed = await store.queries.list_tasks(TaskFilter(statuses=frozenset({Status.COMPLETED})), limit=10)

    assert everything == ["d", "c", "b", "a"]
    assert page == ["c", "b"]
    assert {view.options.job for view in completed} <= {job.id, other.id}
    for mine in (job, other):
        ended = await listed(store, TaskFilter(job=mine.id, statuses=frozenset({Status.COMPLETED})))
        assert ended == [view.options.key for view in completed if view.options.job == mine.id]


async def test_another_tenant_finds_no_tasks_of_a_job(store: Store) -> None:
    job = await submit_job(store)

    assert await listed(store, TaskFilter(job=job.id, tenant="elsewhere")) == []


async def test_every_execution_of_a_jobs_tasks_is_listed_the_latest_first(store: Store, clock: ManualClock) -> None:
    session = await open_session(store)
    await submit(store)  # of no job
    job = await submit_job(store, job_of({"a": (), "b": ("a",), "c": ("b",)}))
    await submit_job(store, job_of({"other": ()}))
    for act in (Act.BACK_OFF, Act.COMPLETE):
        clock.advance(1)
        ran = (await claim_keys(store, session))["a"]
        clock.advance(1)
        await settle(store, ran.lease, act, error=ErrorInfo("Oops", "no room") if act is Act.BACK_OFF else None)
    clock.advance(1)
    running = (await claim_keys(store, session))["b"]

    found = await store.jobs.job_attempts(job.id, limit=10)

    assert [(one.key, one.attempt, one.outcome, one.reason) for one in found] == [
        ("b", 1, AttemptOutcome.RUNNING, None),
        ("a", 2, AttemptOutcome.COMPLETED, None),
        ("a", 1, AttemptOutcome.RETRIED, "no room"),
    ]
    assert (found[0].task, found[0].worker, found[0].finished_at) == (running.lease.task, session, None)
    assert all(one.started_at and one.finished_at == one.started_at + 1000 for one in found[1:])
    assert await store.jobs.job_attempts(job.id, limit=2) == found[:2]


async def test_another_tenant_finds_no_executions_of_a_job(store: Store) -> None:
    job = await submit_job(store)

    with pytest.raises(NotFound):
        await store.jobs.job_attempts(job.id, limit=1, tenant="elsewhere")
    assert await store.jobs.job_attempts(job.id, limit=1, tenant="default") == []
