"""Locking out addresses that guess keys: after some wrong ones an address has to wait, longer each time.

Only different keys count: a program that sends the same wrong one over and over is set up wrong, and guesses nothing.
Keys that are known to be good pass all the same, so one client behind a proxy does not lock out the others there.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from drumline.api.addresses import group_of
from drumline.core.clock import Clock
from drumline.core.errors import RateLimited

FREE: Final = 20
"""Wrong keys that cost nothing: people mistype."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
FORGET_SECONDS: Final = 600.0
MOST_ADDRESSES: Final = 10_000
MOST_WRONG: Final = 10_000


@dataclass(slots=True)
class Failures:
    """The wrong keys that an address has tried."""

    count: int = 0
    last_at: float = 0.0
    paused_until: float = 0.0


class Lockout:
    """Counts wrong keys by address, for a limited number of addresses: the least recent are forgotten first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: OrderedDict[str, Failures] = OrderedDict()
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        """Digests of wrong keys that were tried lately."""
        self._good: OrderedDict[str, None] = OrderedDict()

    def is_wrong(self, digest: bytes) -> bool:
        """Tell whether a key was tried lately and found wrong: trying it again is not another guess."""
        return digest in self._wrong

    def note_good(self, address: str) -> None:
        """Note that an address sent a configured key: wrong keys from there do not lock it out later."""
        group = group_of(address)
        self._good[group] = None
        self._good.move_to_end(group)
        if len(self._good) > MOST_ADDRESSES:
            self._good.popitem(last=False)

    def is_good(self, address: str) -> bool:
        """Tell whether an address came with the first key before."""
        return group_of(address) in self._good

    def check(self, address: str) -> None:
        """Raise `RateLimited` while an address has to wait."""
        record = self._records.get(group_of(address))
        now = self._clock.monotonic()
        if record is not None and now < record.paused_until:
            raise RateLimited(
                "too many wrong API keys or sign-ins came from this address", retry_after=record.paused_until - now
            )

    def failed(self, address: str, digest: bytes) -> None:
        """Note a wrong key; the same one again is no other guess."""
        if digest in self._wrong:
            self._wrong.move_to_end(digest)
            return
        self._wrong[digest] = None
        if len(self._wrong) > MOST_WRONG:
            self._wrong.popitem(last=False)
        now = self._clock.monotonic()
        group = group_of(address)
        record = self._records.pop(group, None)
        if record is None or now - record.last_at > FORGET_SECONDS:
            record = Failures()
        self._records[group] = record
        if len(self._records) > MOST_ADDRESSES:
            self._records.popitem(last=False)
        record.count += 1
        record.last_at = now
        if record.count > FREE:
            pause = FIRST_PAUSE * 2.0 ** min(record.count - FREE - 1, 16)
            record.paused_until = now + min(pause, LONGEST_PAUSE)
