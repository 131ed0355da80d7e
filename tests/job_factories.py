"""Jobs for tests: submitted from a dict of needs, and run by hand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from drumline.core.accept_job import accept_job
from drumline.core.codec import encode
from drumline.core.ids import JobId, SessionId, TaskId
from drumline.core.job import JobCounts, JobRequest, JobStatus, JobTaskRequest, JobView, NewJob, NodeView, RunIf
from drumline.core.slots import slot_of, slot_of_key
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask
from drumline.ports.jobs import SubmittedJob
from drumline.ports.store import Store
from tests.factories import claim, new_id, settle

DIAMOND: Mapping[str, Sequence[str]] = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}


def job_of(
    needs: Mapping[str, Sequence[str]] = DIAMOND,
    *,
    run_if: Mapping[str, RunIf] | None = None,
    payloads: Mapping[str, Any] | None = None,
    task: Mapping[str, Any] | None = None,
    tenant: str = "default",
    **fields: Any,
) -> NewJob:
    """Return a job with these keys; `task` has fields that hold for every task of it."""
    tasks = {
        key: JobTaskRequest(
            needs=tuple(parents),
            run_if=(run_if or {}).get(key, RunIf.ALL_SUCCEEDED),
            payload=Raw(encode((payloads or {}).get(key, {}))),
            **{"name": "work", **(task or {})},
        )
        for key, parents in needs.items()
    }
    request = JobRequest(**({"name": "job"} | fields), tasks=tasks)
    key = request.idempotency_key
    own = JobId(new_id(None if key is None else slot_of_key(tenant, key)))
    return accept_job(request, id=own, new_id=lambda: new_id(slot_of(own)), tenant=tenant)


async def submit_job(store: Store, job: NewJob | None = None) -> SubmittedJob:
    """Store a job."""
    (answer,) = await store.jobs.submit_jobs([job or job_of()])
    assert isinstance(answer, SubmittedJob), answer
    return answer


async def job_view(store: Store, job: JobId) -> JobView:
    """Return a job that exists."""
    (view,) = await store.jobs.get_jobs([job])
    assert view is not None
    return view


async def counts_of(store: Store, job: JobId) -> JobCounts:
    """Return a job's counts."""
    return (await job_view(store, job)).counts


async def status_of_job(store: Store, job: JobId) -> JobStatus:
    """Return where a job stands."""
    return (await job_view(store, job)).status


async def nodes_by_key(store: Store, job: JobId) -> dict[str, NodeView]:
    """Return a job's tasks by key."""
    return {node.key: node for node in await store.jobs.nodes(job)}


async def states_in(store: Store, job: JobId) -> dict[str, State]:
    """Return where a job's tasks stand, by key."""
    return {node.key: node.state for node in await store.jobs.nodes(job)}


async def claim_keys(store: Store, session: SessionId, **options: Any) -> dict[str, ClaimedTask]:
    """Claim what is due, and return it by key; of several jobs, each needs keys of its own."""
    return {task.options.key or "": task for task in await claim(store, session, **({"limit": 10_000} | options))}


async def finish(store: Store, task: ClaimedTask, act: Act = Act.COMPLETE, result: Any = None) -> None:
    """End an attempt."""
    details = {"result": Raw(encode(result))} if act is Act.COMPLETE else {}
    await settle(store, task.lease, act, **details)


async def run_all(
    store: Store, session: SessionId, act_of: Callable[[str], Act] = lambda _: Act.COMPLETE
) -> list[list[str]]:
    """Claim and settle until nothing is due, and return the keys in the rounds in which they ran."""
    rounds: list[list[str]] = []
    while claimed := await claim(store, session, limit=10_000):
        rounds.append(sorted(task.options.key or "" for task in claimed))
        for task in claimed:
            await finish(store, task, act_of(task.options.key or ""), result={"by": task.options.key})
    return rounds


def fails(*keys: str) -> Callable[[str], Act]:
    """Return what `run_all` does, so that these keys fail."""
    return lambda key: Act.FAIL if key in keys else Act.COMPLETE


def ids(answer: SubmittedJob, *keys: str) -> list[TaskId]:
    """Return the tasks behind keys."""
    return [answer.tasks[key] for key in keys]
