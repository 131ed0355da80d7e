"""When a failed delivery is tried again, and when the notifier gives up."""

from collections.abc import Callable
from datetime import timedelta
from random import SystemRandom
from typing import Final

from drumline.core.duration import millis
from drumline.core.retry import Backoff

DEFAULT_BACKOFF: Final = Backoff(base=5.0, factor=3.0, cap=7200.0, jitter=0.2)
"""5 s, 15 s, 45 s, 2 min, 7 min, 20 min, 1 h, and then each two hours; a little less, by chance."""

_RANDOM: Final = SystemRandom()


class RetryPolicy:
    """Computes the delay before the next try of a delivery, until `give_up_after` has passed."""

    def __init__(
        self,
        *,
        give_up_after: timedelta,
        backoff: Backoff = DEFAULT_BACKOFF,
        random: Callable[[], float] = _RANDOM.random,
    ) -> None:
        self._give_up_after = give_up_after
        self._backoff = backoff
        self._random = random

    def delay_ms(self, attempt: int, *, at_least: float = 0.0) -> int | None:
        """Return the delay after failed try number `attempt`; None if it was the last.

        Tries are counted, not hours: a delivery that is sent again by hand gets all tries again.
        """
        waited = sum((self._backoff.delay(number, _never) for number in range(1, attempt + 1)), timedelta())
        if waited > self._give_up_after:
            return None
        return millis(max(self._backoff.delay(attempt, self._random), timedelta(seconds=at_least)))


def _never() -> float:
    return 0.0
