"""How many tasks stand where, without ever counting a whole table."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from drumline.core.state import Status


class Count(Struct, frozen=True):
    """A number of tasks: exact, or `is_more` where there may be more that were not looked at."""

    count: int
    is_more: bool = False


class Counting(Protocol):
    """Counting tasks."""

    async def count_tasks(
        self, *, limit: int, tenant: str | None = None, queue: str | None = None, name: str | None = None
    ) -> Mapping[Status, Count]:
        """Return how many tasks have each status, looking at no more than the newest `limit` of it.

        Of tasks that have not ended, the newest `limit` are looked at for all their statuses together.
        """
        ...
