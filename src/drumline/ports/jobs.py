"""Jobs, as the store keeps them: part of the store, with its general promises (`ports/store.py`).

The job's row is the lock of its whole graph. Every act that ends a task of a job, or brings one back to life, locks the
rows of the jobs first, in the order of their ids, then the tasks, in theirs. So within a job such acts come one after
the other, and at every commit

- a task waits to be claimed if and only if those it needs have ended as its `run_if` wants;
- the counts of a job are those of its tasks;
- a job whose tasks have all ended has ended.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Raw, Struct

from drumline.core.attempt import JobAttempt
from drumline.core.clock import Instant
from drumline.core.errors import Conflict, Invalid, KeyReused, Moved, NotFound
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobStatus, JobView, NewJob, NodeView
from drumline.ports.hint import NO_EFFECTS, Effects


class SubmittedJob(Struct, frozen=True, kw_only=True):
    """The store's answer to a job: its id, its status, the ids of its tasks by key, and whether it is new."""

    id: JobId
    status: JobStatus
    tasks: dict[str, TaskId]
    created: bool = True
    effects: Effects = NO_EFFECTS


JobAnswer = SubmittedJob | KeyReused | Invalid | Moved
"""What a store says to one job of a submission."""


class ChangedJob(Struct, frozen=True, kw_only=True):
    """An act on a job that was done: the status of the job after it, and what that led to."""

    id: JobId
    status: JobStatus
    effects: Effects = NO_EFFECTS


class JobFilter(Struct, frozen=True, kw_only=True):
    """Which jobs to list; what is None does not narrow."""

    tenant: str | None = None
    statuses: frozenset[JobStatus] = frozenset()
    name: str | None = None
    owner: str | None = None
    tag: str | None = None
    schedule_id: str | None = None
    idempotency_key: str | None = None
    since: Instant | None = None
    """Submitted at this time or later."""
    until: Instant | None = None
    """Submitted before this time."""


class Rippled(Struct, frozen=True, kw_only=True):
    """What a ripple did: how many jobs were told that others had ended, and what that led to."""

    told: int = 0
    effects: Effects = NO_EFFECTS
    is_done: bool = True
    """Whether nobody is left who has to be told."""


class Jobs(Protocol):
    """What can be done with jobs. A `tenant` of None means every tenant's."""

    async def submit_jobs(self, jobs: Sequence[NewJob]) -> list[JobAnswer]:
        """Store jobs durably with their tasks and edges, each whole or not at all.

        Tasks that need nothing wait to be claimed at once, unless the job waits for others. A job that it depends on
        must exist for its tenant, or be said to belong to another shard, else `Invalid` names the place; one that has
        completed already does not count, and one that failed or was cancelled fails it at once. A job whose (tenant,
        idempotency key) is known gives the first one and `created` false, or `KeyReused` if the fingerprint differs. A
        repetition of the very same job (the same id) gets the first answer again. A job whose slot is not open here, by
        the entry that it names, is answered by `Moved` unless it is stored already.
        """
        ...

    async def known_jobs(self, jobs: Sequence[NewJob]) -> list[SubmittedJob | KeyReused | None]:
        """Return the answers for jobs that are stored here already, by their id or their key; None for the others."""
        ...

    async def start_jobs(self, jobs: Sequence[JobId]) -> Effects:
        """Note that tasks of these jobs have been claimed, and return the jobs for which that is news."""
        ...

    async def get_jobs(self, jobs: Sequence[JobId], *, tenant: str | None = None) -> list[JobView | None]:
        """Return jobs as they stand, with their running tasks counted; None for those that do not exist."""
        ...

    async def list_jobs(self, which: JobFilter, *, limit: int, before: JobId | None = None) -> list[JobView]:
        """Return jobs, newest first, starting below `before`; their running tasks are not counted."""
        ...

    async def nodes(self, job: JobId, *, tenant: str | None = None) -> list[NodeView]:
        """Return the tasks of a job in the order in which they were given; raises `NotFound`."""
        ...

    async def job_attempts(self, job: JobId, *, limit: int, tenant: str | None = None) -> list[JobAttempt]:
        """Return up to `limit` executions of a job's tasks; raises `NotFound`.

        Those that run come first, then the one that ended last.
        """
        ...

    async def results(self, tasks: Sequence[tuple[JobId, str]]) -> list[Raw | None]:
        """Return what tasks of jobs, by their keys, gave back; None for one that has not completed."""
        ...

    async def cancel_jobs(
        self,
        jobs: Sequence[JobId],
        *,
        tenant: str | None = None,
        force: bool = False,
        reason: str | None = None,
    ) -> list[ChangedJob | NotFound | Conflict]:
        """Cancel the waiting tasks of jobs at once and ask the running ones to stop; `force` ends those too, now.

        A job that has ended is a `Conflict`.
        """
        ...

    async def resume_jobs(
        self, jobs: Sequence[JobId], *, tenant: str | None = None
    ) -> list[ChangedJob | NotFound | Conflict]:
        """Run the failed, cancelled and skipped tasks of jobs again, and only those; results are kept.

        Those that need nothing more wait to be claimed, due now, the others for their parents; epochs go on rising,
        and retries are theirs to spend anew. A job that waits for others waits for those that have not completed. A
        job that completed, or has nothing to run again, or depends on a job that failed, is a `Conflict`.
        """
        ...

    async def ripple(self, *, limit: int = 100) -> Rippled:
        """Tell up to `limit` jobs that others which they depend on have ended.

        The last one to complete lets a job begin; one that failed or was cancelled fails it, with the reason. Safe
        to repeat, and to do from many processes at once: each job is told once.
        """
        ...
