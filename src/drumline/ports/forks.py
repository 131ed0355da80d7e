"""New tasks that begin with the records of others."""

from typing import Protocol

from msgspec import Struct

from drumline.core.errors import Conflict, Invalid, KeyReused, Moved, NotFound
from drumline.core.ids import TaskId
from drumline.core.task import NewTask, Submitted


class NewFork(Struct, frozen=True, kw_only=True):
    """A task to be made from another."""

    source: TaskId
    task: NewTask
    step: str
    """Records before the one of this name and key are copied."""
    key: str
    id: str
    """The sender's: the same request sent twice makes one task."""
    fingerprint: bytes
    """Digest of what was asked for."""
    tenant: str | None = None
    """Whose tasks may be forked; None means every tenant's."""


class Forked(Struct, frozen=True):
    """A task that was made from another, and how many records it was given."""

    submitted: Submitted
    records: int


ForkAnswer = Forked | NotFound | Invalid | Conflict | KeyReused | Moved


class Forks(Protocol):
    """Makes tasks from others."""

    async def fork(self, new: NewFork) -> ForkAnswer:
        """Store a task with the records that another has before a step, in one transaction.

        The step has a record, or the task waits for it: otherwise `Invalid`. The same id again gives the first answer;
        with another request it is `KeyReused`.
        """
        ...
