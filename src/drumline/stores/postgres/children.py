"""Children of durable tasks on PostgreSQL, where the slot of their parent may have moved to another database."""

from drumline.core.children import NewChildren
from drumline.core.errors import Fenced, Moved
from drumline.ports.children import StartedChildren
from drumline.stores.parts.children import Children
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.submitting import MOVED


class PostgresChildren(Children):
    """`Children` behind the fence of slots."""

    async def start(self, children: NewChildren) -> StartedChildren | Fenced | Moved:
        """Store children of the task of a current lease; refused if this database takes no new work of their slot."""
        try:
            return await super().start(children)
        except SlotClosed:
            return MOVED
