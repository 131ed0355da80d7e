"""Children of durable tasks (`core.children`)."""

from typing import Protocol

from msgspec import Struct

from drumline.core.children import ChildLink, NewChildren, OutcomePage, ParentTask
from drumline.core.errors import Fenced, Moved, NotFound
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.ports.changed import Changed
from drumline.ports.hint import Hint

NOTED_AT_ONCE = 500
"""Children that one transaction cancels or retries."""


class StartedChildren(Struct, frozen=True):
    """The ids of children that are there, in their order."""

    ids: tuple[TaskId, ...]
    count: int = 0
    """How many children the call has by now."""
    new: tuple[Hint, ...] = ()
    """Those that were not there before."""


class SlotLeft(Struct, frozen=True):
    """The slot of a task was moved away from its database, where the task stays until it has ended or is drained."""

    since: int
    """Since when the slot was there; ids of a slot's tasks are not older where these are stored."""


class LinkPage(Struct, frozen=True):
    """Children of a task in the order of name, key and place, and whether there are others after them."""

    links: tuple[ChildLink, ...] = ()
    has_more: bool = False


class NotesDone(Struct, frozen=True):
    """What was done about children: what changed, and whether more has to be done."""

    changed: tuple[Changed, ...] = ()
    is_done: bool = True


class Children(Protocol):
    """Starts children of tasks, tells how they ended, and lets the ends and retries of parents reach them."""

    async def parent(self, lease: Lease) -> ParentTask | None:
        """Return what children of the task of a lease inherit; None if the lease is not current."""
        ...

    async def start(self, children: NewChildren) -> StartedChildren | Fenced | Moved | SlotLeft:
        """Store children of the task of a current lease, with the links to them, in one transaction.

        Of those that are there already under their place, the first ones stay. `SlotLeft` if the database takes no new
        work of their slot any more: those that name `STAYS` instead of an entry are stored there all the same. `Moved`
        if it does, by another entry than they name.
        """
        ...

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int, limit: int) -> OutcomePage | Fenced:
        """Return how children of a call ended, from a place on, as many as about `PAGE_BYTES` have room for."""
        ...

    async def pending(self, parent: TaskId, name: str, key: str, *, limit: int) -> list[TaskId]:
        """Return children of a call that have not ended, the first of them by their places."""
        ...

    async def links(
        self,
        parent: TaskId,
        *,
        after: TaskId | None,
        limit: int,
        round: int | None = None,
        tenant: str | None = None,
    ) -> LinkPage | NotFound:
        """Return children of a task, or of a round of it, in the order of name, key and place, after one of them.

        How those of a round that is over ended is not in its links.
        """
        ...

    async def work_notes(self, *, limit: int = NOTED_AT_ONCE) -> NotesDone:
        """Do what is noted about the children of a task, as much as one transaction has room for each.

        The children of a task that has ended are cancelled: queued ones at once, running ones are asked to stop; those
        that are left alone by their call are not. The children of a task that was retried, whose bad outcomes it has
        forgotten, are retried. Of a call that has its answer, what still runs is cancelled, and so are the children of
        a round that is over. The parent is locked, and it is looked at again.
        """
        ...
