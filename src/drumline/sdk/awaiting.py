"""Waiting for an end, in steps: long polls, one after the other, through restarts of the server."""

from collections.abc import Callable
from typing import Final, TypeVar

from drumline.core.clock import Clock
from drumline.core.errors import Unavailable
from drumline.sdk.client import Steps
from drumline.sdk.transport import Ask, Pause

T = TypeVar("T")

LONG_POLL: Final = 10.0
"""Seconds of one question "has it ended?"; short enough that a lost connection is noticed."""
OUTAGE: Final = 60.0
"""Seconds that waiting endures a server that cannot be reached, so that a restart does not end it."""


def ended(
    ask: Callable[[float], Ask[T]], has_ended: Callable[[T], bool], *, seconds: float, clock: Clock
) -> Steps[T | None]:
    """Return what is asked for once it has ended, or as it was last seen when the time is over.

    `ask` makes the question from the seconds that its answer may be waited for.
    """
    now = clock.monotonic()
    deadline, lost_after = now + seconds, now + OUTAGE
    seen: T | None = None
    while True:
        try:
            seen = yield ask(min(LONG_POLL, max(deadline - now, 0.0)))
        except Unavailable:
            if clock.monotonic() > min(deadline, lost_after):
                raise
            yield Pause(0.5)
            now = clock.monotonic()
            continue
        now = clock.monotonic()
        if has_ended(seen) or now >= deadline:
            return seen
        lost_after = now + OUTAGE
