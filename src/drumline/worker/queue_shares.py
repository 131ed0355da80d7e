"""Shares a worker's free slots among its queues, by their weights.

Each queue earns credit for every slot that is handed out, as much as its weight is of all weights, and the queues with
most credit are asked first. A queue that has nothing to give loses its credit: no queue saves up credit, and no slot
waits for a queue that is empty.
"""

from collections.abc import Mapping


class QueueShares:
    """Credits slots to queues by their weights."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._weights = dict(weights)
        self._total = sum(weights.values())
        self._credit = dict.fromkeys(weights, 0.0)

    @property
    def are_even(self) -> bool:
        """Whether all weights are equal."""
        return len(set(self._weights.values())) <= 1

    def share(self, room: int) -> list[tuple[str, int]]:
        """Return how many tasks to ask each queue for, `room` in all, those with most credit first."""
        for queue, weight in self._weights.items():
            self._credit[queue] += room * weight / self._total
        shares: dict[str, int] = {}
        # Whole slots by credit; what is left over goes one by one to those who are owed most.
        for queue, credit in self._credit.items():
            shares[queue] = max(0, int(credit))
        for queue in sorted(self._credit, key=lambda queue: shares[queue] - self._credit[queue]):
            if sum(shares.values()) >= room:
                break
            shares[queue] += 1
        given, left = [], room
        for queue in sorted(shares, key=lambda queue: -self._credit[queue]):
            count = min(shares[queue], left)
            left -= count
            if count:
                given.append((queue, count))
        return given

    def took(self, queue: str, wanted: int, got: int) -> None:
        """Note what a queue gave when it was asked for so many."""
        self._credit[queue] = self._credit[queue] - got if got >= wanted else 0.0
