"""Rows of jobs, as both stores keep them, the views made from them, and events about jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from drumline.core.clock import Instant, moment_of
from drumline.core.codec import decode
from drumline.core.errors import Conflict
from drumline.core.event import Fact
from drumline.core.ids import JobId, TaskId
from drumline.core.job import ENDED, JobCounts, JobOptions, JobStatus, JobView, RunIf
from drumline.core.job_steps import SKIPPED, Revival, Waiting
from drumline.core.outcome import ErrorInfo
from drumline.core.state import State
from drumline.ports.hint import Effects
from drumline.ports.store import Changed
from drumline.ports.waits import FarRipple

NUMBER_OF: Final[Mapping[JobStatus, int]] = MappingProxyType(
    {
        JobStatus.PENDING: 1,
        JobStatus.PROCESSING: 2,
        JobStatus.COMPLETED: 3,
        JobStatus.FAILED: 4,
        JobStatus.CANCELLED: 5,
    }
)
"""Statuses as they are stored: never reuse a number."""
STATUS_OF: Final = MappingProxyType({number: status for status, number in NUMBER_OF.items()})

RUN_IFS: Final = (RunIf.ALL_SUCCEEDED, RunIf.ALL_DONE, RunIf.ANY_FAILED)
"""Each at the number that is stored for it."""


class Blocked(NamedTuple):
    """A blocked task; the order is that of `children`."""

    id: TaskId
    job: str
    key: str
    run_if: int
    pending: int
    bad: int
    lane: int
    epoch: int
    attempt: int
    parents: list[TaskId]

    def waiting(self) -> Waiting:
        """What the rules ask of it."""
        return Waiting(RUN_IFS[self.run_if], self.pending, self.bad, self.parents)


class JobRow(NamedTuple):
    """A job's row; the order is that of every statement that gives one."""

    id: str
    tenant: str
    name: str
    owner: str | None
    status_number: int
    options: str
    total: int
    completed: int
    failed: int
    cancelled: int
    skipped: int
    pending_jobs: int
    reason: str | None
    cancel_requested: bool
    created_at: int
    started_at: int | None
    finished_at: int | None
    idempotency_key: str | None
    schedule_id: str | None
    fire_time: int | None
    version: int

    @property
    def status(self) -> JobStatus:
        """The status of the job."""
        return STATUS_OF[self.status_number]

    @property
    def has_ended(self) -> bool:
        """Whether all its tasks have ended."""
        return self.status in ENDED


def job_row(values: Iterable[Any]) -> JobRow:
    """Return the row that a statement gave."""
    id_, *rest = values
    return JobRow(str(id_), *rest)


def job_view(row: JobRow, *, depends_on: Iterable[Any] = (), running: int | None = None) -> JobView:
    """Return a job for people."""
    return JobView(
        id=JobId(row.id),
        tenant=row.tenant,
        name=row.name,
        owner=row.owner,
        status=row.status,
        counts=JobCounts(
            total=row.total,
            completed=row.completed,
            failed=row.failed,
            cancelled=row.cancelled,
            skipped=row.skipped,
            running=running,
        ),
        created_at=Instant(row.created_at),
        started_at=_instant(row.started_at),
        finished_at=_instant(row.finished_at),
        reason=row.reason,
        cancel_requested=bool(row.cancel_requested) and not row.has_ended,
        depends_on=tuple(JobId(str(job)) for job in depends_on),
        waits_for=row.pending_jobs,
        options=decode(row.options, JobOptions),
        idempotency_key=row.idempotency_key,
        schedule_id=row.schedule_id,
        fire_time=_instant(row.fire_time),
    )


def job_fact(word: str, row: JobRow) -> Fact:
    """Return the fact that a job was submitted, started, completed, failed, cancelled or resumed."""
    data = {
        "id": row.id,
        "name": row.name,
        "owner": row.owner,
        "status": row.status,
        "tasks": {
            "total": row.total,
            "completed": row.completed,
            "failed": row.failed,
            "cancelled": row.cancelled,
            "skipped": row.skipped,
        },
        "tags": decode(row.options, JobOptions).tags or None,
        "reason": row.reason,
        "schedule": row.schedule_id,
        "fire_time": _moment(row.fire_time),
        "created_at": _moment(row.created_at),
        "started_at": _moment(row.started_at),
        "finished_at": _moment(row.finished_at),
    }
    known = {key: value for key, value in data.items() if value is not None}
    return Fact(f"drumline.job.{word}", row.id, row.tenant, known)


def job_error(needed: JobRow) -> ErrorInfo:
    """Return the error that says why the tasks of a job are skipped when one that it depends on has not completed."""
    how = "failed" if needed.status is JobStatus.FAILED else "was cancelled"
    return ErrorInfo(SKIPPED, f"job {needed.name} ({needed.id}) {how}")


def far_job_error(ripple: FarRipple) -> ErrorInfo:
    """Return the error that says why the tasks of a job are skipped because of a job of another shard."""
    if ripple.status is None:
        return ErrorInfo(SKIPPED, f"there is no job {ripple.needs}")
    how = "failed" if ripple.status is JobStatus.FAILED else "was cancelled"
    return ErrorInfo(SKIPPED, f"job {ripple.name} ({ripple.needs}) {how}")


WORD_OF: Final = MappingProxyType(
    {
        JobStatus.PROCESSING: "started",
        JobStatus.COMPLETED: "completed",
        JobStatus.FAILED: "failed",
        JobStatus.CANCELLED: "cancelled",
    }
)
"""The last part of the type of the event that a job has come to a status."""


class Tally(NamedTuple):
    """What acts of one transaction add to the counts of a job; the order is that of `tally`."""

    job: str
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    started_at: int | None = None
    """When the first of them was started, if one was."""


def tally_of(job: str, ends: Sequence[tuple[State, int | None]]) -> Tally:
    """Return what ends, each with its start if it had one, add to the counts of their job."""
    count = Counter(state for state, _ in ends)
    return Tally(
        job,
        count[State.COMPLETED],
        count[State.FAILED],
        count[State.CANCELLED],
        count[State.SKIPPED],
        min((started_at for _, started_at in ends if started_at is not None), default=None),
    )


def check_revival(job: JobRow, revival: Revival) -> None:
    """Raise `Conflict` if nothing of a job can run again."""
    if job.cancel_requested and not job.has_ended:
        raise Conflict("the job is being cancelled: tasks that are running have yet to stop")
    if not job.failed + job.cancelled + job.skipped:
        raise Conflict("nothing of the job has failed or was cancelled, so there is nothing to run again")
    if not revival.queued and not revival.blocked:
        raise Conflict("nothing would run again: what it needs has not completed")


def pending_jobs(needed: Mapping[JobId, tuple[str, JobStatus]]) -> list[JobId]:
    """Return which of the jobs that a job depends on keep it waiting, or raise `Conflict` if one keeps it for good."""
    for job, (name, status) in needed.items():
        if status in ENDED and status is not JobStatus.COMPLETED:
            how = "failed" if status is JobStatus.FAILED else "was cancelled"
            raise Conflict(f"it depends on job {name} ({job}), which {how}: resume that one first")
    return [job for job, (_, status) in needed.items() if status is not JobStatus.COMPLETED]


def jobs_changed(rows: Sequence[JobRow]) -> Effects:
    """Return jobs whose status has changed, as they are after it, as what acts led to."""
    return Effects(
        jobs=tuple((JobId(row.id), row.status) for row in rows),
        versions=tuple((JobId(row.id), row.version) for row in rows),
    )


def retried(task: TaskId, effects: Effects) -> Changed:
    """Return the answer to a retry of one task of a job, apart from what else came back with it."""
    hint = next((hint for hint in effects.released if hint.task == task), None)
    others = Effects(
        released=tuple(each for each in effects.released if each.task != task),
        moved=tuple(each for each in effects.moved if each[0] != task),
        jobs=effects.jobs,
        versions=effects.versions,
        renews=True,
        epochs=effects.epochs,
    )
    state = State.BLOCKED if hint is None else State.QUEUED
    return Changed(task, state, hint, others, dict(effects.epochs).get(task, 0))


def _instant(at: int | None) -> Instant | None:
    return None if at is None else Instant(at)


def _moment(at: int | None) -> str | None:
    return None if at is None else moment_of(Instant(at))
