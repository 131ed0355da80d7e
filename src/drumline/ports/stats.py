"""Figures over time, as the store keeps them: counted once from the log of what changed, never from the tasks."""

from typing import Protocol

from drumline.core.clock import Instant
from drumline.core.stats import Gathered, Stat


class Stats(Protocol):
    """Counting, and looking at what was counted."""

    async def gather_stats(self, *, limit: int) -> Gathered:
        """Count what the next rows of the log say, up to `limit` rows, and return what that was.

        The counts and the place in the log are one transaction: nothing is counted twice or left out, whoever dies
        where, and however many count at once.
        """
        ...

    async def read_stats(
        self,
        *,
        since: Instant,
        until: Instant,
        step: int,
        tenant: str | None = None,
        queue: str | None = None,
        name: str | None = None,
    ) -> list[Stat]:
        """Return the figures of a stretch of time in one of the widths `core.stats.STEPS`."""
        ...

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""
        ...
