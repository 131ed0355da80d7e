"""Dead letters: the tasks that failed for good, grouped by cause, until somebody retries or discards them.

A dead letter is written in the transaction that fails its task, whoever fails it (`Executing.settle`, `Sessions.reap`),
and leaves in the transaction that queues the task again or prunes it. So a task has one exactly while it is failed and
nobody has resolved it. It refers to the task and to the attempt that failed it (`epoch`): payload, options, history
and log are read from there, nothing is copied.

What a complete message about a dead letter can say: everything in `DeadLetter` (task, tenant, queue, name, priority,
when, reason, fingerprint, error class, message, attempts, job), with `Querying.get` the payload, options and the whole
error, and with `Querying.attempts` the history.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Raw, Struct

from drumline.core.clock import Instant
from drumline.core.dead_letter import Reason
from drumline.core.errors import Conflict, NotFound
from drumline.core.event import Fact
from drumline.core.ids import JobId, TaskId
from drumline.core.task import Lane
from drumline.ports.changed import Changed


class DeadLetter(Struct, frozen=True, kw_only=True):
    """A task that failed for good."""

    task: TaskId
    lane: Lane
    at: Instant
    """When it failed."""
    epoch: int
    """The attempt that failed it. A task that is retried and fails again has another dead letter, with a higher one."""
    reason: Reason
    fingerprint: str
    kind: str
    """The class of the error."""
    message: str
    """What the error said, at most the first 500 characters."""
    attempts: int
    job: JobId | None = None


class DeadLetterFilter(Struct, frozen=True, kw_only=True):
    """Which dead letters; what is None does not narrow."""

    tenant: str | None = None
    queue: str | None = None
    name: str | None = None
    fingerprint: str | None = None
    kind: str | None = None
    reason: Reason | None = None
    since: Instant | None = None
    """Failed at this time or later."""
    until: Instant | None = None
    """Failed before this time."""
    tag: str | None = None
    job: JobId | None = None


class Mark(Struct, frozen=True):
    """A place in the list of dead letters."""

    at: Instant
    task: TaskId


class GroupOrder(StrEnum):
    """How groups are sorted, each downwards."""

    LAST_SEEN = "last_seen"
    COUNT = "count"


class GroupMark(Struct, frozen=True):
    """A place in the list of groups: the value that it is sorted by, and the fingerprint."""

    value: int
    fingerprint: str


class Example(Struct, frozen=True):
    """The latest dead letter of a group: its task, and what its error said, at most the first 500 characters."""

    task: TaskId
    message: str


class DeadLetterGroup(Struct, frozen=True, kw_only=True):
    """The dead letters of one cause, as far as the filter sees them."""

    fingerprint: str
    kind: str
    message: str
    """With all that varies folded away."""
    count: int
    first_at: Instant
    """When the cause was first seen, be it by tasks that have been retried or discarded since."""
    last_at: Instant
    names: tuple[str, ...]
    queues: tuple[str, ...]
    example: Example | None = None


class Trend(Struct, frozen=True, kw_only=True):
    """Stretches of time of equal length, in which failures are counted."""

    since: Instant
    step: int
    """How long each is, in milliseconds."""
    count: int
    """How many there are."""
    most: int = 100
    """The highest count of one stretch: beyond it nothing is read."""

    def starts(self) -> list[int]:
        """Return when they begin."""
        return [self.since + number * self.step for number in range(self.count)]


class PayloadEdit(Struct, frozen=True, kw_only=True):
    """The payload that a task had before it was edited."""

    epoch: int
    """Attempts up to this one ran with it."""
    at: Instant
    """When it was changed."""
    payload: Raw


def discarded(letter: DeadLetter) -> Fact:
    """Return the event of a discarded dead letter."""
    data = {"name": letter.lane.name, "queue": letter.lane.queue, "fingerprint": letter.fingerprint}
    return Fact("drumline.dead_letter.discarded", letter.task, letter.lane.tenant, data)


def edited(task: TaskId, lane: Lane, *, epoch: int) -> Fact:
    """Return the event of a task whose payload was edited; payloads are in no event."""
    data = {"name": lane.name, "queue": lane.queue, "epoch": epoch}
    return Fact("drumline.task.edited", task, lane.tenant, data)


class DeadLetters(Protocol):
    """Looking at and resolving dead letters. A `tenant` of None means every tenant's."""

    async def dead_letters(
        self, which: DeadLetterFilter, *, limit: int, before: Mark | None = None
    ) -> list[DeadLetter]:
        """Return dead letters, the latest first, starting below `before`."""
        ...

    async def get_dead_letters(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[DeadLetter | None]:
        """Return the dead letters of tasks; None for those that have none (for this tenant)."""
        ...

    async def dead_letter_groups(
        self,
        which: DeadLetterFilter,
        *,
        limit: int,
        order: GroupOrder = GroupOrder.LAST_SEEN,
        before: GroupMark | None = None,
    ) -> list[DeadLetterGroup]:
        """Return groups of one fingerprint each, starting below `before`.

        Tenant, queue, name, fingerprint and kind narrow what is counted. The other fields of a filter do not: a group
        is a standing count, which nothing has to be read for.
        """
        ...

    async def group_trends(
        self, fingerprints: Sequence[str], trend: Trend, *, tenant: str | None = None
    ) -> dict[str, list[int]]:
        """Return for each group how many of its dead letters are of each stretch of time, the earliest first.

        A group that has none in all that time is left out. Counting stops at `trend.most` in each stretch.
        """
        ...

    async def discard(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Resolve dead letters and leave their tasks failed; `Conflict` for a task that has none."""
        ...

    async def reasons(self, deaths: Sequence[tuple[TaskId, int]]) -> list[Reason | None]:
        """Return why attempts, given by task and number, were the last of their tasks; None where that is not known.

        It does not matter whether their dead letters are still there, or whether the tasks have died again since.
        """
        ...

    async def payload_edits(self, task: TaskId, *, tenant: str | None = None) -> list[PayloadEdit]:
        """Return what a task was given before, oldest first."""
        ...
