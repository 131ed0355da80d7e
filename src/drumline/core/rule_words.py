"""When a schedule fires, as a sentence: `every day at 09:30, Europe/Berlin`."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from drumline.core.clock import to_datetime
from drumline.core.cron import LAST, Cron, parse_cron
from drumline.core.duration import format_duration
from drumline.core.timetable import Rule

WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
MOST_TIMES: Final = 6
"""Times of the day that are listed one by one."""

_EVERY_DAY: Final = frozenset(range(1, 32))
_EVERY_WEEKDAY: Final = frozenset(range(7))
_NTH: Final = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}


def in_words(rule: Rule) -> str:
    """Return what a rule says, as people say it."""
    if rule.run_at is not None:
        return f"once, at {to_datetime(rule.run_at):%Y-%m-%d %H:%M:%S} UTC"
    if rule.interval_ms is not None:
        return f"every {_span(rule.interval_ms)}"
    return f"{cron_in_words(parse_cron(rule.cron or ''))}, {rule.timezone}"


def cron_in_words(cron: Cron) -> str:
    """Return what an expression says, as people say it; the zone is not part of it."""
    times, days = _times(cron), _days(cron)
    if times.startswith("at "):
        return f"{days or 'every day'} {times}"
    return f"{times} {days.removeprefix('every day ')}" if days else times


def _span(ms: int) -> str:
    for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        if ms == size:
            return unit
        if ms % size == 0:
            return f"{ms // size} {unit}s"
    return format_duration(timedelta(milliseconds=ms))


def _times(cron: Cron) -> str:
    second, minute, hour = cron.fields[:3]
    if cron.per_day <= MOST_TIMES:
        has_seconds = cron.seconds != (0,)
        return "at " + _listed([_clock(*time, has_seconds) for time in _each_time(cron)])
    seconds = "" if second == "0" else _every(second, cron.seconds, "second", 60)
    if minute == "*" and seconds:
        return seconds if hour == "*" else f"{seconds} {_hours(cron.hours)}"
    minutes = _every(minute, cron.minutes, "minute", 60)
    if minutes.startswith("at ") and "*" in hour:
        minutes = _every(hour, cron.hours, "hour", 24) + ("" if minute == "0" else f" {minutes}")
    elif hour != "*":
        minutes = f"{minutes} {_hours(cron.hours)}"
    return f"{minutes}, {seconds}" if seconds else minutes


def _each_time(cron: Cron) -> list[tuple[int, int, int]]:
    return [(hour, minute, second) for hour in cron.hours for minute in cron.minutes for second in cron.seconds]


def _clock(hour: int, minute: int, second: int, has_seconds: bool) -> str:
    return f"{hour:02}:{minute:02}:{second:02}" if has_seconds else f"{hour:02}:{minute:02}"


def _every(text: str, values: Sequence[int], unit: str, size: int) -> str:
    """Return one field: `every minute`, `every 5 minutes`, or `at minutes 5 and 35`."""
    if text == "*":
        return f"every {unit}"
    step = values[1] - values[0] if len(values) > 1 else size
    if step < size and size % step == 0 and list(values) == list(range(0, size, step)):
        return f"every {step} {unit}s"
    return f"at {unit}{'s' if len(values) > 1 else ''} {_spans(values)}"


def _hours(values: Sequence[int]) -> str:
    return f"from {values[0]:02}:00 to {values[-1]:02}:59" if _is_run(values) else f"in hours {_spans(values)}"


def _days(cron: Cron) -> str:
    """Return which days; nothing for every day."""
    days = cron.days
    months = "" if len(cron.months) == 12 else _run_or_list(cron.months, [MONTHS[month - 1] for month in cron.months])
    by_month = "" if days.of_month >= _EVERY_DAY else _of_month(days.of_month, months or "the month")
    by_week = "" if days.of_week >= _EVERY_WEEKDAY else _of_week(days.of_week, days.nth)
    if by_month and by_week:
        return f"{by_month} if that is {by_week}" if days.needs_both else f"{by_month} and {by_week}"
    if by_month or not months:
        return by_month or by_week
    return f"{by_week} in {months}" if by_week else f"every day in {months}"


def _of_month(numbers: frozenset[int], month: str) -> str:
    plain = sorted(numbers - {LAST})
    words = [_run_or_list(plain, [_ordinal(number) for number in plain])] if plain else []
    if LAST in numbers:
        words.append("last day")
    return f"on the {_listed(words)} of {month}"


def _of_week(weekdays: frozenset[int], nth: frozenset[tuple[int, int]]) -> str:
    if weekdays == frozenset(range(1, 6)) and not nth:
        return "on weekdays"
    # People begin the week on Monday, whatever number Sunday has.
    plain = sorted(weekdays, key=lambda day: (day - 1) % 7)
    words = [_run_or_list([(day - 1) % 7 for day in plain], [WEEKDAYS[day] for day in plain])] if plain else []
    words += [f"the {_NTH[which]} {WEEKDAYS[day]} of the month" for day, which in sorted(nth)]
    return f"on {_listed(words)}"


def _spans(values: Sequence[int]) -> str:
    return _run_or_list(values, [str(value) for value in values])


def _run_or_list(values: Sequence[int], words: Sequence[str]) -> str:
    return f"{words[0]} to {words[-1]}" if len(values) > 2 and _is_run(values) else _listed(words)


def _is_run(values: Sequence[int]) -> bool:
    return list(values) == list(range(values[0], values[-1] + 1))


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
