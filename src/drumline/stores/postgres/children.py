"""Children of durable tasks on PostgreSQL, where the slot of their parent may have moved to another database."""

from drumline.core.children import NewChildren
from drumline.core.errors import Fenced, Moved
from drumline.core.slots import slot_of
from drumline.ports.children import SlotLeft, StartedChildren
from drumline.stores.driver import Line
from drumline.stores.parts.children import Children
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.submitting import MOVED


class PostgresChildren(Children):
    """`Children` behind the fence of slots."""

    async def start(self, children: NewChildren) -> StartedChildren | Fenced | Moved | SlotLeft:
        """Store children of the task of a current lease; refused if this database takes no new work of their slot."""
        try:
            return await super().start(children)
        except SlotClosed:
            slot = slot_of(children.lease.task)
            rows = await self._database.fetch(Line.SETTLE, "closed_since", repeat=True, slot=slot)
            return SlotLeft(rows[0][0]) if rows else MOVED
