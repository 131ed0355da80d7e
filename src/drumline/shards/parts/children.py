"""Children of durable tasks over several stores: each is with its parent, whose slot it has."""

from drumline.core.children import NewChildren, OutcomePage, ParentTask
from drumline.core.errors import Fenced, Moved, NotFound
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.ports.children import NOTED_AT_ONCE, LinkPage, NotesDone, SlotLeft, StartedChildren
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part


class Children(Part):
    """`ports.children.Children`."""

    async def parent(self, lease: Lease) -> ParentTask | None:
        """Return what children of the task of a lease inherit; None if the lease is not current."""
        return await self._router.one(lease.task, lambda store: store.children.parent(lease))

    async def start(self, children: NewChildren) -> StartedChildren | Fenced | Moved | SlotLeft:
        """Store children where their parent is."""
        return await self._router.one(children.lease.task, lambda store: store.children.start(children))

    async def outcomes(self, lease: Lease, name: str, key: str, *, first: int, limit: int) -> OutcomePage | Fenced:
        """Return how children of a call ended, from a place on."""
        return await self._router.one(
            lease.task, lambda store: store.children.outcomes(lease, name, key, first=first, limit=limit)
        )

    async def pending(self, parent: TaskId, name: str, key: str, *, limit: int) -> list[TaskId]:
        """Return children of a call that have not ended, the first of them by their places."""
        return await self._router.one(
            parent,
            lambda store: store.children.pending(parent, name, key, limit=limit),
            is_absent=lambda each: not each,
        )

    async def links(
        self,
        parent: TaskId,
        *,
        after: TaskId | None,
        limit: int,
        round: int | None = None,
        tenant: str | None = None,
    ) -> LinkPage | NotFound:
        """Return children of a task, or of a round of it, in the order of name, key and place, after one of them."""
        return await self._router.one(
            parent,
            lambda store: store.children.links(parent, after=after, limit=limit, round=round, tenant=tenant),
            is_absent=is_not_found,
        )

    async def work_notes(self, *, limit: int = NOTED_AT_ONCE) -> NotesDone:
        """Do what is noted in each store."""
        parts = await self._router.each(lambda store: store.children.work_notes(limit=limit))
        return NotesDone(
            tuple(change for part in parts for change in part.changed), all(part.is_done for part in parts)
        )
