"""Bulk operations, as the store keeps them, with the general promises of `ports/store.py`.

The tasks that an operation is about are frozen when it is asked for, in one transaction: whatever fails or is submitted
later is not included. Each piece of it is carried out and noted in one transaction, so that it is dealt with once,
whichever process is killed in the middle. A dead letter that was resolved or replaced meanwhile is left alone.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.bulk import BulkId, BulkItem, BulkState, BulkView, ItemOutcome, NewBulk
from drumline.core.clock import Instant
from drumline.core.errors import Conflict, Invalid, NotFound
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.ports.changed import Changed
from drumline.ports.dead_letters import DeadLetterFilter


class Survey(Struct, frozen=True, kw_only=True):
    """What a filter finds: how many dead letters, and when the first and the last of them failed."""

    count: int
    oldest_at: Instant | None = None
    newest_at: Instant | None = None


class Advanced(Struct, frozen=True, kw_only=True):
    """What a step of a bulk operation did, and the operation after it."""

    view: BulkView
    changed: tuple[Changed, ...] = ()


def bulk_fact(what: str, view: BulkView) -> Fact:
    """Return the event of an operation that was started, completed or aborted."""
    counts = {"total": view.total, "done": view.done, "skipped": view.skipped, "failed": view.failed}
    data = {"act": view.act, "reason": view.plan.reason, **counts}
    return Fact(f"drumline.bulk.{what}", view.id, view.tenant or "", data)


def too_many(most: int) -> Invalid:
    """Return the refusal of an operation that is about too many tasks."""
    return Invalid(f"finds more than {most:,} tasks, the most for one bulk operation; narrow it", field="filter")


def stale(task: TaskId) -> Conflict:
    """Return why nothing is done about a dead letter that is not the one which was chosen."""
    return Conflict(f"the dead letter of task {task} was resolved meanwhile")


def refusal(answer: Changed | NotFound | Conflict) -> tuple[ItemOutcome, str] | None:
    """Return how it is noted that an act did not hold for a task; None if it did."""
    if isinstance(answer, Changed):
        return None
    return (ItemOutcome.SKIPPED if isinstance(answer, Conflict) else ItemOutcome.FAILED), answer.message


class Bulks(Protocol):
    """Acts on many tasks. A `tenant` of None sees every tenant's."""

    async def survey(self, which: DeadLetterFilter, *, most: int) -> Survey:
        """Return what a filter finds now, looking no further than `most` + 1."""
        ...

    async def begin_bulk(
        self, bulk: NewBulk, *, which: DeadLetterFilter | None = None, tasks: Sequence[TaskId] = (), most: int
    ) -> BulkView:
        """Store an operation with the dead letters that a filter finds, the oldest first, or with these tasks.

        Raises `Invalid` if they are more than `most`; then nothing is stored.
        """
        ...

    async def advance_bulk(self, bulk: BulkId, *, limit: int) -> Advanced | None:
        """Deal with the next tasks of an operation, at most `limit` and what its rate allows by the store's clock.

        None if it is not running, or another process is dealing with it right now.
        """
        ...

    async def abort_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Deal with no more tasks of an operation. Raises `NotFound`, and `Conflict` if it has ended."""
        ...

    async def take_back_bulk(self, bulk: BulkId) -> None:
        """Abort an operation, if it was stored and has not ended. One that is being stored is waited for.

        For an operation over several databases that could not be stored in all of them.
        """
        ...

    async def get_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Return an operation, or raise `NotFound`."""
        ...

    async def bulks(
        self,
        *,
        tenant: str | None = None,
        states: frozenset[BulkState] = frozenset(),
        limit: int,
        before: BulkId | None = None,
    ) -> list[BulkView]:
        """Return operations, newest first, starting below `before`."""
        ...

    async def bulk_items(
        self,
        bulk: BulkId,
        *,
        outcomes: frozenset[ItemOutcome] = frozenset(),
        limit: int,
        after: int = 0,
        tenant: str | None = None,
    ) -> list[BulkItem]:
        """Return the tasks of an operation in their order, behind a place; those with certain outcomes, if named."""
        ...

    async def running_bulks(self) -> list[BulkId]:
        """Return the operations that have not ended, oldest first."""
        ...

    async def prune_bulks(self, *, ended_before: Instant) -> int:
        """Forget operations that ended before a time, and causes of failures that were last seen before it.

        Causes that still have dead letters are kept. Return how many operations that were.
        """
        ...
