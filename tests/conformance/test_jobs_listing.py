"""The tasks of a job are found among all others."""

from drumline.core.ids import TaskId
from drumline.core.state import Status
from drumline.ports.store import Store, TaskFilter
from tests.factories import open_session, submit
from tests.job_factories import claim_keys, finish, submit_job


async def listed(store: Store, which: TaskFilter, *, limit: int = 10, before: TaskId | None = None) -> list[str]:
    views = await store.list_tasks(which, limit=limit, before=before)
    return [view.options.key or "" for view in views]


async def test_tasks_are_listed_by_their_job_the_last_given_first(store: Store) -> None:
    session = await open_session(store)
    await submit(store)
    job, other = await submit_job(store), await submit_job(store)
    await finish(store, (await claim_keys(store, session))["a"])

    everything = await listed(store, TaskFilter(job=job.id))
    page = await listed(store, TaskFilter(job=job.id), limit=2, before=job.tasks["d"])
    completed = await store.list_tasks(TaskFilter(statuses=frozenset({Status.COMPLETED})), limit=10)

    assert everything == ["d", "c", "b", "a"]
    assert page == ["c", "b"]
    assert {view.options.job for view in completed} <= {job.id, other.id}
    for mine in (job, other):
        ended = await listed(store, TaskFilter(job=mine.id, statuses=frozenset({Status.COMPLETED})))
        assert ended == [view.options.key for view in completed if view.options.job == mine.id]


async def test_another_tenant_finds_no_tasks_of_a_job(store: Store) -> None:
    job = await submit_job(store)

    assert await listed(store, TaskFilter(job=job.id, tenant="elsewhere")) == []
