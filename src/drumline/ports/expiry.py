"""The part of the store that knows when tasks expire. `Submitting.submit` and its like note it with each task."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import TaskId


class DueExpiries(Struct, frozen=True):
    """Tasks whose expiry time has come."""

    waiting: Mapping[TaskId, Instant]
    """Those that wait and have not started, with that time: they are to be cancelled."""
    over: Sequence[TaskId]
    """Those that have started in time, or ended: there is nothing left to do."""


class Expiry(Protocol):
    """Tasks that are cancelled if they have not started by a time."""

    async def expired(self, tasks: Sequence[TaskId]) -> dict[TaskId, Instant]:
        """Return which tasks expired before they started, and when; a task that was claimed too late is one of them."""
        ...

    async def due_expiries(self, *, limit: int) -> DueExpiries:
        """Return up to `limit` tasks whose expiry time has come, earliest first."""
        ...

    async def forget_expiries(self, tasks: Sequence[TaskId]) -> None:
        """Let tasks expire no more: they have started in time, or ended. A later retry of one does not expire."""
        ...
