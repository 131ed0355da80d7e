"""Figures over time, as the store keeps them: counted once from the event log, never from the tasks.

Only how many tasks wait is looked at now and then: see `sample_depth`.
"""

from collections.abc import Sequence
from typing import Protocol

from drumline.core.clock import Instant
from drumline.core.stats import CountedEvents, DurationCount, Figure, Level, Stat, StatsRange


class Stats(Protocol):
    """Counts events, and returns what was counted."""

    async def gather_stats(self, *, limit: int) -> CountedEvents:
        """Count what the next rows of the log say, up to `limit` rows, and return what that was.

        The counts and the place in the log are one transaction: nothing is counted twice or left out, whoever dies
        where, and however many count at once.
        """
        ...

    async def read_stats(self, stretch: StatsRange) -> list[Stat]:
        """Return the figures of a stretch of time, summed over the lanes that it narrows to."""
        ...

    async def read_durations(self, names: Sequence[str], stretch: StatsRange) -> list[DurationCount]:
        """Return how long tasks of these names waited and ran in a stretch of time; its own name does not narrow."""
        ...

    async def total_stats(self) -> list[Figure]:
        """Return what happened since the beginning, by queue and name, of all tenants together."""
        ...

    async def sample_depth(self, *, apart_ms: int) -> bool:
        """Note how many tasks of each lane are due and wait to be run, unless that was done in the last `apart_ms`.

        Tell whether it was done. Whoever does it at the same time, or again after a lost answer, adds one more sample
        of the same level, which its mean does not mind. All tasks that wait are looked at, a
        million in 0.2 s: do it seldom.
        """
        ...

    async def read_depth(self, stretch: StatsRange) -> list[Level]:
        """Return how many tasks waited, of each bucket in which samples were taken; 0 is a level like any other."""
        ...

    async def oldest_due(self, *, tenant: str | None, queue: str | None, name: str | None) -> Instant | None:
        """Return when the task was due that has been due and waiting for longest; one look for each lane."""
        ...

    async def oldest_fire(self, *, tenant: str | None, schedule: str | None, since: Instant) -> Instant | None:
        """Return when the fire of a schedule was due that has been due for longest and has not begun.

        It has begun when a worker took its task, or the first one of its job. Only fires from `since` on are looked at,
        and not those that people asked for. `schedule` is a name.
        """
        ...

    async def prune_stats(self, *, step: int, before: Instant) -> int:
        """Delete the figures of one width from before a time; return how many."""
        ...
