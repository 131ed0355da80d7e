"""Times of beat entries: `crontab(…)` and intervals, as schedules of Drumline."""

from datetime import timedelta
from typing import Any

from drumline.core.errors import Invalid

_NAMES = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")


class crontab:  # noqa: N801 - Celery's name
    """A time by the fields of a cron expression: `crontab(minute=0, hour="*/3")`."""

    def __init__(
        self,
        minute: Any = "*",
        hour: Any = "*",
        day_of_week: Any = "*",
        day_of_month: Any = "*",
        month_of_year: Any = "*",
        **_: Any,
    ) -> None:
        self.minute = minute
        self.hour = hour
        self.day_of_week = day_of_week
        self.day_of_month = day_of_month
        self.month_of_year = month_of_year

    @property
    def expression(self) -> str:
        """The cron expression."""
        return " ".join(_written(getattr(self, name), name) for name in _NAMES)

    def __repr__(self) -> str:
        return f"<crontab: {self.expression}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, crontab) and other.expression == self.expression

    def __hash__(self) -> int:
        return hash(self.expression)


class schedule:  # noqa: N801 - Celery's name
    """An interval: `schedule(timedelta(minutes=5))`."""

    def __init__(self, run_every: timedelta | float, **_: Any) -> None:
        self.run_every = run_every if isinstance(run_every, timedelta) else timedelta(seconds=run_every)


def rule_of(when: Any, *, field: str) -> dict[str, Any]:
    """Return what a beat entry's `schedule` is as fields of a schedule."""
    match when:
        case crontab():
            return {"cron": when.expression}
        case schedule(run_every=interval):
            return {"interval": interval.total_seconds()}
        case timedelta():
            return {"interval": when.total_seconds()}
        case bool():
            pass
        case int() | float():
            return {"interval": float(when)}
        case _:
            pass
    raise Invalid(f"must be a crontab, a schedule, a timedelta or seconds, not {type(when).__name__}", field=field)


def _written(value: Any, name: str) -> str:
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, list | tuple | set | frozenset | range):
        return ",".join(map(str, sorted(value)))
    raise Invalid(f"must be a text, a number or a list of numbers, not {type(value).__name__}", field=name)
