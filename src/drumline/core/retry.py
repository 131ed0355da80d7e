"""When a failed attempt is tried again: exponential backoff with a cap and optional jitter."""

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from drumline.core.errors import Invalid
from drumline.core.field_schema import YEAR_SECONDS, Schema, about

MOST_RETRIES = 1000
DEFAULT_RETRIES = 3
RETRIES_SCHEMA: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": MOST_RETRIES}


def backoff_note(description: str) -> Meta:
    """Return the note on a field that takes a backoff, or a number as its base."""
    number = {"type": "number", "minimum": 0, "maximum": YEAR_SECONDS}
    return about(description, anyOf=[{"$ref": "#/components/schemas/Backoff"}, number])


class Backoff(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How long to wait before each retry, in seconds.

    The n-th retry waits `base * factor ** (n - 1)`, at most `cap`; `jitter` (0 to 1) takes off up to that share at
    random, so that a herd of failures does not come back as a herd. The default waits 2, 4, 8 seconds.
    """

    base: Annotated[float, about(minimum=0, maximum=YEAR_SECONDS)] = 2.0
    factor: Annotated[float, about(minimum=1, maximum=100)] = 2.0
    cap: Annotated[float, about(minimum=0, maximum=YEAR_SECONDS)] = 3600.0
    jitter: Annotated[float, about(minimum=0, maximum=1)] = 0.0

    @classmethod
    def exponential(
        cls, base: float = 2.0, factor: float = 2.0, *, cap: float = 3600.0, jitter: float = 0.0
    ) -> "Backoff":
        """Wait `base`, `base * factor`, `base * factor²` … seconds."""
        return cls(base=base, factor=factor, cap=cap, jitter=jitter)

    @classmethod
    def constant(cls, seconds: float) -> "Backoff":
        """Wait the same time before every retry."""
        return cls(base=seconds, factor=1.0, cap=max(seconds, 0.0))

    def check(self, *, field: str = "backoff") -> "Backoff":
        """Return itself, or raise `Invalid` naming the part that makes no sense."""
        if not 0 <= self.base <= 86_400 * 366:
            raise Invalid("must be from 0 to a year", field=f"{field}.base")
        if not 1 <= self.factor <= 100:
            raise Invalid("must be from 1 to 100", field=f"{field}.factor")
        if not 0 <= self.cap <= 86_400 * 366:
            raise Invalid("must be from 0 to a year", field=f"{field}.cap")
        if not 0 <= self.jitter <= 1:
            raise Invalid("must be from 0 to 1", field=f"{field}.jitter")
        return self

    def delay(self, retry: int, random: Callable[[], float]) -> timedelta:
        """Return the wait before the given retry, counted from 1."""
        # An exponent of 64 passes any cap; beyond it a float would overflow.
        wait = min(self.cap, self.base * self.factor ** min(retry - 1, 64))
        return timedelta(seconds=wait * (1 - self.jitter * random()))


DEFAULT_BACKOFF = Backoff()


class RetryDefaults(Struct, frozen=True, kw_only=True):
    """What holds for tasks that say nothing of retries."""

    retries: int = DEFAULT_RETRIES
    backoff: Backoff = DEFAULT_BACKOFF


DEFAULT_RETRY = RetryDefaults()
