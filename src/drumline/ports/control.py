"""What people do to tasks and queues."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Raw, Struct

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.ports.changed import Changed


class Change(Struct, frozen=True, kw_only=True):
    """A reschedule: what is None stays as it is."""

    task: TaskId
    run_at: Instant | None = None
    delay_ms: int | None = None
    priority: int | None = None


class Controlling(Protocol):
    """What people do to tasks and queues. A `tenant` of None means every tenant's."""

    async def cancel(
        self,
        tasks: Sequence[TaskId],
        *,
        tenant: str | None = None,
        force: bool = False,
        errors: Mapping[TaskId, ErrorInfo] | None = None,
    ) -> list[Changed | NotFound | Conflict]:
        """Cancel waiting tasks at once and ask running ones to stop; `force` ends running ones too, now.

        With `errors` only waiting ones are cancelled, each with its error.
        """
        ...

    async def reschedule(
        self, changes: Sequence[Change], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Change when queued tasks are due, or their priority."""
        ...

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Changed | NotFound | Conflict]:
        """Queue ended tasks again, due now, with their retries to spend anew; epochs go on rising."""
        ...

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None, is_copy: bool = False) -> None:
        """Hand out no more tasks of a queue; running ones go on. With `is_copy` another shard has the event of it."""
        ...

    async def resume_queue(self, queue: str, *, tenant: str, is_copy: bool = False) -> None:
        """Hand out a paused queue's tasks again. With `is_copy` another shard has the event of it."""
        ...

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload; what it was given before is kept as a `PayloadEdit`.

        Raises `NotFound` or `Conflict` as `retry` does, and then changes nothing.
        """
        ...
