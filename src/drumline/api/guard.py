"""Slowing down whoever tries keys: after some that were wrong, an address has to wait, longer and longer.

Only different keys count: a program that sends the same wrong one over and over is set up wrong, and guesses nothing.
Keys that are known to be good pass all the same, so a neighbour behind the same proxy locks nobody out who was in.
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
class Record:
    """What an address has tried."""

    failures: int = 0
    last_at: float = 0.0
    paused_until: float = 0.0


class Guard:
    """Remembers who tried wrong keys; so many addresses at most, the longest quiet ones are forgotten first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        """Digests of wrong keys that were tried lately."""
        self._good: OrderedDict[str, None] = OrderedDict()

    def is_wrong(self, digest: bytes) -> bool:
        """Tell whether a key was tried lately and found wrong: trying it once more tells nobody anything."""
        return digest in self._wrong

    def note_good(self, address: str) -> None:
        """Note that an address came with the first key: whoever tries keys from there later does not lock it out."""
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
            record = Record()
        self._records[group] = record
        if len(self._records) > MOST_ADDRESSES:
            self._records.popitem(last=False)
        record.failures += 1
        record.last_at = now
        if record.failures > FREE:
            pause = FIRST_PAUSE * 2.0 ** min(record.failures - FREE - 1, 16)
            record.paused_until = now + min(pause, LONGEST_PAUSE)
