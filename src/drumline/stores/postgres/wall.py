"""The second wall around tenants: a role to which the policies of the tables show one tenant's rows and no others.

Connections of our own act as that role for as long as they last, and are told the tenant when it changes. Behind a
pooler role and tenant are said at the beginning of each transaction, and end with it.
"""

from typing import Final
from weakref import WeakKeyDictionary

import structlog

from drumline.stores.postgres.connection import Connection, Rows, fetch

log: structlog.stdlib.BoundLogger = structlog.get_logger()

LOOK_AGAIN: Final = 60.0
"""Seconds after which a wall that was missing is looked for again."""
ADVICE: Final = "see docs/how-to/second-wall.md; until then only our own statements keep tenants apart"


class Wall:
    """What is known of the wall, and who is behind it."""

    def __init__(self) -> None:
        self.role = ""
        """The role of tenants; empty while the wall is missing."""
        self._missing: str | None = None
        self._looked_at = float("-inf")
        self._tenants: WeakKeyDictionary[Connection, str] = WeakKeyDictionary()

    def is_unsure(self, now: float) -> bool:
        """Tell whether it should be looked at."""
        return not self.role and now - self._looked_at > LOOK_AGAIN

    def look(self, rows: Rows, now: float) -> None:
        """Take over the answer of the statement `wall`; if row security is missing, log it once."""
        ((role, missing),) = rows
        self._looked_at = now
        self.role = role if missing is None else ""
        if missing != self._missing and missing is not None:
            log.warning("wall.missing", reason=missing, advice=ADVICE)
        self._missing = missing

    def lose(self) -> None:
        """Note that the role cannot be used any more; the next request looks it up again."""
        self.role = ""
        self._looked_at = float("-inf")

    def is_behind(self, connection: Connection, tenant: str) -> bool:
        """Tell whether a connection that acts as the role is this tenant's."""
        return self._tenants.get(connection) == tenant

    async def enter(self, connection: Connection, tenant: str) -> None:
        """Make a connection that acts as the role a tenant's."""
        if not self.is_behind(connection, tenant):
            await fetch(connection, "enter_wall", {"tenant": tenant})
            self._tenants[connection] = tenant

    def words(self, tenant: str) -> list[str]:
        """Return what a transaction through a pooler begins with."""
        role = self.role.replace('"', '""')
        name = tenant.replace("\\", "\\\\").replace("'", "''")
        return [f"SELECT set_config('drumline.tenant', E'{name}', true)", f'SET LOCAL ROLE "{role}"']
