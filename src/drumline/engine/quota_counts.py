"""What waits of tenants, as a process counts it."""

from dataclasses import dataclass
from typing import Final

SHORTEST_AGE: Final = 0.25
LONGEST_AGE: Final = 10.0
"""Seconds for which a count is good: when all is used up, and when all is free."""
COST_SHARE: Final = 10
"""Counting may take this part of the time at most."""


@dataclass(slots=True)
class QuotaCount:
    """What waits of a tenant: as counted, no further than `most`, and let in since."""

    counted: int
    most: int
    at: float
    took: float
    since: int = 0

    def is_good(self, quota: int, now: float) -> bool:
        """Tell whether it need not be counted again."""
        if self.counted >= self.most < quota:  # the quota was raised, and there may be more than was counted
            return False
        free = max(quota - self.counted - self.since, 0) / max(quota, 1)
        return now - self.at < max(SHORTEST_AGE + LONGEST_AGE * free, COST_SHARE * self.took)


class QuotaCounts:
    """Counts by tenant. The engines of one process share them, so that together they let in what one would."""

    def __init__(self) -> None:
        self.counts: dict[str, QuotaCount] = {}
        self.flying: dict[str, int] = {}
        """Tasks that were let in and are on their way into the store: a count may or may not see them."""
