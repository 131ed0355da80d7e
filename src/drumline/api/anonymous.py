"""How often an address may ask without a key that is good. Each server counts for itself, in memory.

For each address one time is kept: when it would have used up its turns if it had asked at an even pace. Whoever asks is
let in while that is less than the rate's seconds ahead of now.
"""

from collections import OrderedDict
from math import ceil
from typing import Final

from drumline.api.addresses import group_of
from drumline.core.clock import Clock
from drumline.core.errors import RateLimited
from drumline.core.rate import Rate

MOST_ADDRESSES: Final = 20_000
"""Addresses that are remembered; beyond that, the one that asked the longest time ago is forgotten."""


class AnonymousRateLimiter:
    """Counts requests by address."""

    def __init__(self, rate: Rate | None, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._paced_to: OrderedDict[str, float] = OrderedDict()

    def take(self, address: str) -> None:
        """Count a request, or raise `RateLimited` if the address has none left; that one is not counted."""
        rate = self._rate
        if rate is None:
            return
        group, now = group_of(address), self._clock.monotonic()
        paced_to = max(self._paced_to.get(group, now), now) + rate.seconds / rate.requests
        wait = paced_to - now - rate.seconds
        if wait > 1e-9:
            raise RateLimited(
                f"this address may ask {rate.requests} times in {rate.seconds:g} seconds without a valid API key; "
                f"try again in {max(ceil(wait), 1)} s",
                retry_after=wait,
            )
        self._paced_to[group] = paced_to
        self._paced_to.move_to_end(group)
        if len(self._paced_to) > MOST_ADDRESSES:
            self._paced_to.popitem(last=False)
