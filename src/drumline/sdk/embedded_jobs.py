"""Asks about jobs, answered by an engine in this process."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from drumline.core.attempt import JobAttempt
from drumline.core.clock import Clock, to_datetime
from drumline.core.errors import Conflict
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest, JobStatus, JobView, NodeView
from drumline.core.job_views import show_attempt, show_job, show_node
from drumline.core.task import TaskView
from drumline.sdk.jobs import (
    AttemptInfo,
    CancelJob,
    GetAttempts,
    GetJob,
    GetNodes,
    GetResults,
    JobInfo,
    NodeInfo,
    ResumeJob,
    SubmitJob,
    SubmittedInfo,
    TaskInfoPage,
)
from drumline.sdk.transport import JobAsk, task_info

PAGE: Final = 200
"""Results fetched at once: each may be a megabyte."""


class _Stored(Protocol):
    @property
    def id(self) -> JobId: ...

    @property
    def status(self) -> JobStatus: ...

    @property
    def tasks(self) -> Mapping[str, TaskId]: ...

    @property
    def created(self) -> bool: ...


class _Page(Protocol):
    @property
    def items(self) -> Sequence[TaskView]: ...

    @property
    def next_cursor(self) -> str | None: ...


class _Jobs(Protocol):
    async def submit(self, request: JobRequest) -> _Stored: ...

    async def wait(self, job: JobId, *, seconds: float) -> JobView: ...

    async def nodes(self, job: JobId) -> Sequence[NodeView]: ...

    async def attempts(self, job: JobId, *, limit: int) -> tuple[Sequence[JobAttempt], bool]: ...

    async def results(self, job: JobId, *, limit: int, cursor: str | None) -> _Page: ...

    async def cancel(self, job: JobId, *, force: bool, reason: str | None) -> object: ...

    async def resume(self, job: JobId) -> object: ...


class HasJobs(Protocol):
    """The part of the engine that those who use jobs need."""

    @property
    def clock(self) -> Clock:
        """The engine's clock."""
        ...

    @property
    def jobs(self) -> _Jobs:
        """All that can be done with jobs."""
        ...


async def answer_job(engine: HasJobs, ask: JobAsk[Any]) -> Any:
    """Answer an ask about jobs."""
    match ask:
        case SubmitJob(request):
            stored = await engine.jobs.submit(request)
            return SubmittedInfo(id=stored.id, status=stored.status, tasks=dict(stored.tasks), created=stored.created)
        case GetJob(job, wait):
            return _job_info(await engine.jobs.wait(job, seconds=wait))
        case GetNodes(job):
            return tuple(
                show_node(NodeInfo, node, now=engine.clock.now(), time=to_datetime)
                for node in await engine.jobs.nodes(job)
            )
        case GetAttempts(job, limit):
            found, _ = await engine.jobs.attempts(job, limit=limit)
            return tuple(show_attempt(AttemptInfo, view, time=to_datetime) for view in found)
        case GetResults(job, cursor):
            page = await engine.jobs.results(job, limit=PAGE, cursor=cursor)
            return TaskInfoPage(tuple(task_info(view, engine.clock.now()) for view in page.items), page.next_cursor)
        case CancelJob(job, force, reason):
            await _cancel(engine.jobs, job, force=force, reason=reason)
        case ResumeJob(job):
            await engine.jobs.resume(job)
        case _:
            raise TypeError(f"cannot answer {ask!r}")
    return None


async def _cancel(jobs: _Jobs, job: JobId, *, force: bool, reason: str | None) -> None:
    try:
        await jobs.cancel(job, force=force, reason=reason)
    except Conflict:
        if (await jobs.wait(job, seconds=0)).status is not JobStatus.CANCELLED:
            raise


def _job_info(view: JobView) -> JobInfo:
    options = view.options
    return show_job(JobInfo, view, time=to_datetime, counts=view.counts, backoff=options.backoff, notify=options.notify)
