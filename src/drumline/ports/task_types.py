"""The part of the store that keeps types of tasks. `ports.sessions.Sessions.open_session` publishes them."""

from collections.abc import Sequence
from typing import Protocol

from drumline.core.task_type import StoredType

TypeKey = tuple[str, str]
"""The tenant that asks, and the name of the type."""


class TaskTypes(Protocol):
    """Types of tasks as workers publish them. Who publishes one last wins."""

    async def find_types(self, wanted: Sequence[TypeKey]) -> list[StoredType | None]:
        """Return types as a tenant sees them: as published by its own workers, or else by those of every tenant."""
        ...
