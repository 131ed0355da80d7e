"""What a client asks about jobs, as values; transports answer them like every other ask."""

from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct

from drumline.core.graph_folding import Vertex
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest, JobStatus, RunIf
from drumline.core.job_views import PublicJob, PublicJobAttempt, PublicNode
from drumline.sdk.transport import JobAsk, TaskInfo


class JobInfo(PublicJob[datetime], frozen=True, kw_only=True):
    """The state of a job, as the HTTP API shows it."""


class NodeInfo(PublicNode[datetime], frozen=True, kw_only=True):
    """A task in its job's graph, as the HTTP API shows it."""

    def vertex(self) -> Vertex:
        """Return it as pictures show it."""
        run_if = "" if self.run_if is RunIf.ALL_SUCCEEDED else self.run_if.value
        return Vertex(key=self.key, name=self.name, needs=self.needs, status=self.status.value, run_if=run_if)


class AttemptInfo(PublicJobAttempt[datetime], frozen=True, kw_only=True):
    """One execution of a task of a job, as the HTTP API shows it."""


class SubmittedInfo(Struct, frozen=True, kw_only=True):
    """A job that is stored durably, and the ids of its tasks by key."""

    id: JobId
    status: JobStatus
    tasks: dict[str, TaskId]
    created: bool = True


class TaskInfoPage(Struct, frozen=True):
    """Some tasks of a job, and the cursor that continues the list."""

    items: tuple[TaskInfo, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SubmitJob(JobAsk[SubmittedInfo]):
    """Store a job with all its tasks, or none of it."""

    request: JobRequest = field(repr=False)


@dataclass(frozen=True, slots=True)
class GetJob(JobAsk[JobInfo]):
    """Return the state of a job, waiting up to `wait` seconds for it to end."""

    job: JobId
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class GetNodes(JobAsk[tuple[NodeInfo, ...]]):
    """Return the tasks of a job in the order in which they were given."""

    job: JobId


@dataclass(frozen=True, slots=True)
class GetAttempts(JobAsk[tuple[AttemptInfo, ...]]):
    """Return the latest executions of a job's tasks: those that run, then the one that ended last."""

    job: JobId
    limit: int


@dataclass(frozen=True, slots=True)
class GetResults(JobAsk[TaskInfoPage]):
    """Return a page of a job's tasks with the results of those that have completed."""

    job: JobId
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class CancelJob(JobAsk[None]):
    """Cancel a job; one that is cancelled already is no conflict, so that the act can be repeated."""

    job: JobId
    force: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ResumeJob(JobAsk[None]):
    """Run what failed, was cancelled or was skipped in a job again."""

    job: JobId
