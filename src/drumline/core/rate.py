"""How often something may be asked for: so many times in so many seconds."""

import re
from datetime import timedelta
from typing import Final

from msgspec import Struct

from drumline.core.duration import format_duration, parse_duration
from drumline.core.errors import Invalid

UNLIMITED: Final = "unlimited"
MOST_REQUESTS: Final = 1_000_000_000
LONGEST_SECONDS: Final = 86_400.0

_RATE = re.compile(r"\s*(\d{1,10})\s*/\s*(\S+)\s*")


class Rate(Struct, frozen=True):
    """At most `requests` in any stretch of `seconds`."""

    requests: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.requests}/{format_duration(timedelta(seconds=self.seconds))}"

    @property
    def per_second(self) -> float:
        """How many a second it comes to."""
        return self.requests / self.seconds


def parse_rate(text: str, *, field: str) -> Rate | None:
    """Return a rate such as `100/60s` or `50/s`, None for `unlimited`, or raise `Invalid` naming `field`."""
    if text.strip().lower() == UNLIMITED:
        return None
    match = _RATE.fullmatch(text)
    if match is None:
        raise Invalid('must be a rate such as "100/60s", or "unlimited"', field=field)
    period = f"1{match[2]}" if match[2] in {"s", "m", "h", "d"} else match[2]
    seconds = parse_duration(period, field=field).total_seconds()
    requests = int(match[1])
    if not 1 <= requests <= MOST_REQUESTS:
        raise Invalid(f"must allow from 1 to {MOST_REQUESTS:,} requests", field=field)
    if not 1 <= seconds <= LONGEST_SECONDS:
        raise Invalid("must be over a second to a day", field=field)
    return Rate(requests, seconds)
