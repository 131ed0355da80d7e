"""How many tasks stand where, without ever counting a whole table."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from drumline.core.state import Status


class Count(Struct, frozen=True):
    """A number of tasks: exact, or `is_more` where there may be more that were not looked at."""

    count: int
    is_more: bool = False


def count_up_to(limit: int, found: int, *, is_more: bool = False) -> Count:
    """Return what was counted up to a limit; `is_more` where some were not looked at for another reason."""
    return Count(min(found, limit), is_more or found >= limit)


class Counting(Protocol):
    """Counting tasks."""

    async def count_tasks(
        self,
        *,
        limit: int,
        looked_at: int | None = None,
        tenant: str | None = None,
        queue: str | None = None,
        name: str | None = None,
    ) -> Mapping[Status, Count]:
        """Return how many tasks have each status, counting each up to `limit`, however many others there are.

        Of each way to end, the newest `looked_at` ends are looked at, `limit` when not said.
        """
        ...
