"""Looking at tasks and queues as they stand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.attempt import AttemptView
from drumline.core.clock import Instant
from drumline.core.filters import Filter
from drumline.core.ids import JobId, SessionId, TaskId
from drumline.core.state import Status
from drumline.core.task import Lane, TaskView


class TaskFilter(Struct, frozen=True, kw_only=True):
    """Which tasks to list; what is None does not narrow."""

    tenant: str | None = None
    statuses: frozenset[Status] = frozenset()
    queue: str | None = None
    name: str | None = None
    tag: str | None = None
    idempotency_key: str | None = None
    worker: SessionId | None = None
    job: JobId | None = None
    finished_since: Instant | None = None
    """Ended at this time or later, and not run again since."""
    since: Instant | None = None
    """Submitted at this time or later."""
    until: Instant | None = None
    """Submitted before this time."""
    also: Filter | None = None
    """What else has to hold: conditions that no index answers, for `search_tasks`."""


class Found(Struct, frozen=True):
    """Tasks that a search has found, and the id below which it goes on; None if it has seen everything."""

    tasks: tuple[TaskView, ...]
    rest: TaskId | None


class WaitingType(Struct, frozen=True):
    """The due tasks of one type in a queue."""

    name: str
    queued: int
    oldest_due_at: Instant


class QueueView(Struct, frozen=True, kw_only=True):
    """A queue and what waits in it."""

    tenant: str
    name: str
    pending: int
    queued: int
    processing: int
    oldest_due_at: Instant | None
    is_paused: bool
    reason: str | None = None
    waiting: tuple[WaitingType, ...] = ()
    """What is due, by the types of tasks."""


class Holder(Struct, frozen=True):
    """The session that runs or ran an execution; none where it ended without one."""

    session: SessionId | None
    nonce: int
    attempt: int
    """The number of the attempt that it was."""


class Count(Struct, frozen=True):
    """A number of tasks: exact, or `is_more` where there may be more that were not looked at."""

    count: int
    is_more: bool = False


def count_up_to(limit: int, found: int, *, is_more: bool = False) -> Count:
    """Return what was counted up to a limit; `is_more` where some were not looked at for another reason."""
    return Count(min(found, limit), is_more or found >= limit)


class Querying(Protocol):
    """Looking. Never changes anything. A `tenant` of None sees every tenant's; another's things are not there."""

    async def now(self) -> Instant:
        """Return the store's time."""
        ...

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks as they stand; None for those that do not exist (for this tenant)."""
        ...

    async def list_tasks(
        self,
        which: TaskFilter,
        *,
        limit: int,
        before: TaskId | None = None,
        payload: bool = False,
        errors: bool = True,
    ) -> list[TaskView]:
        """Return tasks, newest first, starting below `before`; without `errors` none has its error."""
        ...

    async def small_payloads(
        self, tasks: Sequence[TaskId], *, largest: int, tenant: str | None = None
    ) -> list[bytes | None]:
        """Return payloads of tasks that were listed; None for those above `largest` bytes or in the blob store."""
        ...

    async def search_tasks(
        self,
        which: TaskFilter,
        *,
        limit: int,
        before: TaskId | None = None,
        payload: bool = False,
        errors: bool = True,
    ) -> Found:
        """Return tasks, newest first, starting below `before`, that match the filter with all its conditions.

        A search looks at a bounded number of tasks (`Effort`): it may return fewer than `limit`, even none, and an id
        from which to go on. It also ends where the errors of those that it has found are long, unless they are left
        out: without `errors`.
        """
        ...

    async def attempts(self, task: TaskId, *, tenant: str | None = None) -> list[AttemptView]:
        """Return a task's executions, oldest first, the running one included.

        If their errors are long together, those of the earlier ones are shortened (`ErrorInfo.shortened`).
        """
        ...

    async def holders(self, executions: Sequence[tuple[TaskId, int]]) -> list[Holder | None]:
        """Return who runs or ran each execution, by task and epoch; None for one that there never was."""
        ...

    async def queues(self, *, tenant: str | None = None) -> list[QueueView]:
        """Return the queues that have tasks or are paused."""
        ...

    async def count_lanes(self, *, up_to: int, tenant: str | None = None) -> int:
        """Return how many lanes there are, or a tenant has; up to `up_to` perhaps too many: unused numbers count."""
        ...

    async def existing_lanes(self, lanes: Iterable[Lane]) -> frozenset[Lane]:
        """Return those of some lanes that there are."""
        ...

    async def count_ahead(self, task: TaskView, *, limit: int) -> int:
        """Return how many due tasks of a queued task's queue come before it, counting up to `limit`."""
        ...

    async def count_tasks(
        self,
        *,
        limit: int,
        looked_at: int | None = None,
        tenant: str | None = None,
        queue: str | None = None,
        name: str | None = None,
    ) -> Mapping[Status, Count]:
        """Return how many tasks have each status, counting each up to `limit`, however many others there are.

        Of each way to end, the newest `looked_at` ends are looked at, `limit` when not said.
        """
        ...
