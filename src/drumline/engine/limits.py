"""Limiting how often keys ask: an exact sliding window, kept in the memory of this process.

A window remembers when each turn was given, so that no stretch of its length ever has more than the rate allows, and
the time until the next turn is known to the millisecond. Large rates are counted in lots of several turns, so that a
window never remembers more than some thousand times; a lot that was not used up in a twelfth of the window is void.
"""

from collections import OrderedDict, deque
from math import ceil
from typing import Final, NamedTuple

from drumline.core.clock import Clock
from drumline.core.rate import Rate
from drumline.ports.limiter import Taken

MOST_LOTS: Final = 1000
ALWAYS_TOLD: Final = 1000
"""Rates up to which every answer tells how many turns are left; beyond, only when they run short: a header costs."""
MOST_KEYS: Final = 10_000
LOT_SHARE: Final = 12
"""A lot may be used for this part of the window."""


class Granted(NamedTuple):
    """What a window gave: lots now, lots still free, and the seconds until the next one is."""

    lots: int
    free: int
    seconds: float


class Window:
    """The times at which the lots of one key were given."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.lot = max(1, rate.requests // MOST_LOTS)
        """Turns in one lot."""
        self.most = rate.requests // self.lot
        self._times: deque[float] = deque()

    def take(self, wanted: int, now: float) -> Granted:
        """Give up to `wanted` lots."""
        self._forget(now)
        lots = min(wanted, self.most - len(self._times))
        self.note(lots, now)
        return Granted(lots, self.most - len(self._times), self._seconds(now))

    def note(self, lots: int, now: float) -> None:
        """Remember lots that another limiter gave."""
        self._forget(now)
        self._times.extend([now] * min(lots, self.most - len(self._times)))

    def _forget(self, now: float) -> None:
        while self._times and self._times[0] <= now - self.rate.seconds:
            self._times.popleft()

    def _seconds(self, now: float) -> float:
        return self._times[0] + self.rate.seconds - now if self._times else 0.0


class LocalKeyTurns:
    """The turns of one key that this process has in hand, and what it knows of those to come."""

    def __init__(self, rate: Rate) -> None:
        self.window = Window(rate)
        self._turns = 0
        self._few = 0
        """So many turns in hand or less are given out one by one, and the response says how many are left."""
        self._void_at = 0.0
        self._free = self.window.most
        self._more_at = 0.0
        self._refused_until = 0.0

    def spend(self, now: float) -> Taken | None:
        """Give a turn that is in hand, or refuse while there surely is none; None if the limiter has to be asked."""
        if self._turns and now < self._void_at:
            self._turns -= 1
            return Taken(True, self._turns + self._free * self.window.lot, max(self._more_at - now, 0.0))
        if now < self._refused_until:
            return Taken(False, 0, self._refused_until - now)
        return None

    def take_unreported(self, now: float) -> bool:
        """Give a turn if enough are left that the response need not report the rest; False decides nothing."""
        if self._turns <= self._few or now >= self._void_at:
            return False
        self._turns -= 1
        return True

    def fill(self, granted: Granted, wanted: int, now: float) -> None:
        """Take in what was granted; less than was wanted means that there is no more for a while."""
        left = self._turns if now < self._void_at else 0
        self._turns = left + granted.lots * self.window.lot
        self._void_at = now + self.window.rate.seconds / LOT_SHARE
        self._free = granted.free
        self._more_at = now + granted.seconds
        self._refused_until = self._more_at if granted.lots < wanted else 0.0
        is_plenty = self.window.rate.requests > ALWAYS_TOLD and granted.free * 10 >= self.window.most
        self._few = 0 if is_plenty else self._turns

    def settle(self, now: float) -> Taken:
        """Give a turn or refuse it, after the limiter was asked."""
        return self.spend(now) or Taken(False, 0, max(self._more_at - now, 0.0))

    def wanted(self, turns: int) -> int:
        """Return the lots that so many turns need."""
        return ceil(turns / self.window.lot)


class KeyTurnsCache:
    """The turns of the keys that were used lately."""

    def __init__(self) -> None:
        self._turns_of_keys: OrderedDict[str, LocalKeyTurns] = OrderedDict()

    def of(self, key: str, rate: Rate) -> LocalKeyTurns:
        """Return the turns of a key; another rate than before makes it a new one."""
        turns = self._turns_of_keys.get(key)
        if turns is None or (turns.window.rate is not rate and turns.window.rate != rate):
            turns = self._turns_of_keys[key] = LocalKeyTurns(rate)
            if len(self._turns_of_keys) > MOST_KEYS:
                self._turns_of_keys.popitem(last=False)
        else:
            self._turns_of_keys.move_to_end(key)
        return turns


class LocalLimiter:
    """`ports.limiter.Limiter` in the memory of this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns_of_keys = KeyTurnsCache()

    def turns(self, key: str, rate: Rate) -> LocalKeyTurns:
        """Return the turns that a key has in hand."""
        return self._turns_of_keys.of(key, rate)

    def take_now(self, key: str, rate: Rate) -> Taken:
        """Answer at once."""
        now = self._clock.monotonic()
        turns = self._turns_of_keys.of(key, rate)
        taken = turns.spend(now)
        if taken is not None:
            return taken
        turns.fill(turns.window.take(1, now), 1, now)
        return turns.settle(now)

    async def take(self, key: str, rate: Rate) -> Taken:
        """Answer."""
        return self.take_now(key, rate)

    async def close(self) -> None:
        """Have nothing to let go of."""
