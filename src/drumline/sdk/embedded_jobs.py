"""Asks about jobs, answered by an engine in this process."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from drumline.core.attempt import JobAttempt
from drumline.core.clock import Clock, Instant, to_datetime
from drumline.core.errors import Conflict
from drumline.core.ids import JobId, TaskId, session_text
from drumline.core.job import JobRequest, JobStatus, JobView, NodeView
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
    TaskPage,
)
from drumline.sdk.task_info import info_of
from drumline.sdk.transport import JobAsk

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
            return tuple(_node_info(node, engine.clock.now()) for node in await engine.jobs.nodes(job))
        case GetAttempts(job, limit):
            found, _ = await engine.jobs.attempts(job, limit=limit)
            return tuple(_attempt_info(view) for view in found)
        case GetResults(job, cursor):
            page = await engine.jobs.results(job, limit=PAGE, cursor=cursor)
            return TaskPage(tuple(info_of(view, engine.clock.now()) for view in page.items), page.next_cursor)
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
    return JobInfo(
        id=view.id,
        name=view.name,
        status=view.status,
        counts=view.counts,
        owner=view.owner,
        created_at=to_datetime(view.created_at),
        started_at=_moment(view.started_at),
        finished_at=_moment(view.finished_at),
        reason=view.reason,
        cancel_requested=view.cancel_requested,
        depends_on=view.depends_on,
        waits_for=view.waits_for,
        tags=view.options.tags,
        idempotency_key=view.idempotency_key,
    )


def _node_info(view: NodeView, now: Instant) -> NodeInfo:
    return NodeInfo(
        key=view.key,
        task_id=view.task,
        name=view.name,
        status=view.status(now),
        needs=view.needs,
        run_if=view.run_if,
        attempt=view.attempt,
        started_at=_moment(view.started_at),
        finished_at=_moment(view.finished_at),
        reason=view.reason,
        cause=view.cause,
    )


def _attempt_info(view: JobAttempt) -> AttemptInfo:
    return AttemptInfo(
        key=view.key,
        task_id=view.task,
        attempt=view.attempt,
        epoch=view.epoch,
        outcome=view.outcome.word,
        worker=None if view.worker is None else session_text(view.worker),
        started_at=_moment(view.started_at),
        finished_at=_moment(view.finished_at),
        reason=view.reason,
    )


def _moment(instant: Instant | None) -> datetime | None:
    return None if instant is None else to_datetime(instant)
