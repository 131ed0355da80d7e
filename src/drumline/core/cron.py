"""Cron expressions: five fields, or six with seconds first.

An expression is a set of *labels*: times as a wall clock shows them, whatever zone it hangs in. Here a label is the
number of seconds from the label 1970-01-01 00:00:00, so that labels are compared and counted like instants. What
instant a label stands for, and what becomes of those that a zone skips or repeats, is decided in `core/timetable.py`.
"""

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from drumline.core.errors import Invalid
from drumline.core.json_errors import suggestion
from drumline.core.names import LONGEST_CRON
from drumline.core.zone import DAY, LAST_YEAR

MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
LAST: Final = 0
"""In a field of days, "the last one of the month"."""

_CYCLE_MONTHS: Final = 400 * 12
"""The calendar repeats after 400 years: a day that did not come by then never comes."""
_KEPT_MONTHS: Final = 64
_EPOCH: Final = date(1970, 1, 1).toordinal()
_LAST_DAY: Final = date(LAST_YEAR, 12, 31).toordinal() - _EPOCH
_TERM: Final = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/(\w+))?")


class Field(NamedTuple):
    """What one of the fields may hold."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()


SECOND: Final = Field("second", 0, 59)
MINUTE: Final = Field("minute", 0, 59)
HOUR: Final = Field("hour", 0, 23)
DAY_OF_MONTH: Final = Field("day of the month", 1, 31)
MONTH: Final = Field("month", 1, 12, MONTHS)
DAY_OF_WEEK: Final = Field("day of the week", 0, 7, WEEKDAYS)


class Days(NamedTuple):
    """Which days of a month match."""

    of_month: frozenset[int]
    """Numbers, and `LAST`."""
    of_week: frozenset[int]
    """0 is Sunday."""
    nth: frozenset[tuple[int, int]]
    """A day of the week and which one of the month it is, or `LAST`."""
    needs_both: bool
    """Whether a day must match by month and by week: so it is when either field begins with a star."""

    def match(self, day: int, weekday: int, length: int) -> bool:
        """Tell whether a day of a month of some length matches."""
        by_month = day in self.of_month or (day == length and LAST in self.of_month)
        if self.needs_both is not by_month:
            return by_month
        if weekday in self.of_week or (weekday, (day + 6) // 7) in self.nth:
            return True
        return day + 7 > length and (weekday, LAST) in self.nth


class Cron:
    """An expression, understood. Made by `parse_cron`."""

    def __init__(self, text: str, fields: tuple[str, ...]) -> None:
        second, minute, hour, day, month, weekday = fields
        self.text = text
        self.fields = fields
        self.seconds = _values(second, SECOND)
        self.minutes = _values(minute, MINUTE)
        self.hours = _values(hour, HOUR)
        self.months = _values(month, MONTH)
        self.days = _days(day, weekday)
        self.is_fixed = "*" not in minute and "*" not in hour
        """Whether it names times of the day, as against every so many minutes or hours."""
        self.per_day = len(self.seconds) * len(self.minutes) * len(self.hours)
        self._is_daily = (day, month, weekday) == ("*", "*", "*")
        self._months: dict[tuple[int, int], tuple[int, ...]] = {}

    def first_label(self, label: int) -> int | None:
        """Return the first matching label from this one on, or None if there is none."""
        day, time = divmod(label, DAY)
        first = self._first_day(day)
        if first == day:
            found = self._first_time(time)
            if found is not None:
                return day * DAY + found
            first = self._first_day(day + 1)
        return None if first is None else first * DAY + self._earliest

    def count(self, start: int, end: int) -> int:
        """Return how many labels match from `start` up to `end`."""
        if end <= start:
            return 0
        (first, begin), (last, until) = divmod(start, DAY), divmod(end, DAY)
        if first == last:
            return self._has_day(first) * (self._times_before(until) - self._times_before(begin))
        partial = self._has_day(first) * (self.per_day - self._times_before(begin))
        partial += self._has_day(last) * self._times_before(until)
        return partial + self._days_between(first + 1, last) * self.per_day

    @property
    def _earliest(self) -> int:
        return self.hours[0] * 3600 + self.minutes[0] * 60 + self.seconds[0]

    def _first_time(self, time: int) -> int | None:
        """Return the first matching second of a day from this one on."""
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        if hour in self.hours:
            if minute in self.minutes:
                at = bisect_left(self.seconds, second)
                if at < len(self.seconds):
                    return hour * 3600 + minute * 60 + self.seconds[at]
            at = bisect_left(self.minutes, minute + 1)
            if at < len(self.minutes):
                return hour * 3600 + self.minutes[at] * 60 + self.seconds[0]
        at = bisect_left(self.hours, hour + 1)
        return self.hours[at] * 3600 + self._earliest % 3600 if at < len(self.hours) else None

    def _times_before(self, time: int) -> int:
        """Return how many seconds of a day match before this one."""
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        count = bisect_left(self.hours, hour) * len(self.minutes)
        if hour in self.hours:
            count += bisect_left(self.minutes, minute)
        count *= len(self.seconds)
        if hour in self.hours and minute in self.minutes:
            count += bisect_left(self.seconds, second)
        return count

    def _has_day(self, day: int) -> bool:
        return self._first_day(day) == day

    def _first_day(self, day: int) -> int | None:
        """Return the first matching day from this one on; days are numbered from 1970."""
        if day > _LAST_DAY:
            return None
        if self._is_daily:
            return day
        one = date.fromordinal(day + _EPOCH)
        for year, month in _months_from(one.year, one.month):
            least = one.day if (year, month) == (one.year, one.month) else 1
            days = self._days_of(year, month)
            at = bisect_left(days, least)
            if at < len(days):
                return date(year, month, days[at]).toordinal() - _EPOCH
        return None

    def _days_between(self, start: int, end: int) -> int:
        if self._is_daily:
            return max(end - start, 0)
        count, day = 0, self._first_day(start)
        while day is not None and day < end:
            one = date.fromordinal(day + _EPOCH)
            _, length = monthrange(one.year, one.month)
            beyond = day + length - one.day + 1
            stop = min(end, beyond) - day + one.day
            days = self._days_of(one.year, one.month)
            count += bisect_left(days, stop) - bisect_left(days, one.day)
            day = self._first_day(beyond) if beyond < end else None
        return count

    def _days_of(self, year: int, month: int) -> tuple[int, ...]:
        """Return the matching days of a month."""
        known = self._months.get((year, month))
        if known is None:
            if len(self._months) >= _KEPT_MONTHS:
                self._months.clear()
            known = self._months[year, month] = tuple(self._find_days(year, month))
        return known

    def _find_days(self, year: int, month: int) -> Iterator[int]:
        if month not in self.months:
            return
        monday_first, length = monthrange(year, month)
        for day in range(1, length + 1):
            if self.days.match(day, (monday_first + day) % 7, length):
                yield day


@lru_cache(maxsize=4096)
def parse_cron(text: str) -> Cron:
    """Return an expression, or raise `Invalid` naming the field `cron` if it is none, or never fires."""
    if len(text) > LONGEST_CRON:
        raise _wrong(f"must be at most {LONGEST_CRON} characters")
    plain = text.strip()
    if plain.startswith("@"):
        plain = _macro(plain.lower())
    fields = tuple(plain.upper().split())
    if len(fields) == 5:
        fields = ("0", *fields)
    if len(fields) != 6:
        raise _wrong(f"must have 5 fields, or 6 with seconds first, not {len(fields)}")
    cron = Cron(" ".join(text.split()), fields)
    if cron.first_label(0) is None:
        raise _wrong("never fires: no month that it names has such a day")
    return cron


def _macro(name: str) -> str:
    if name not in MACROS:
        raise _wrong(f"{name} is not one of {', '.join(MACROS)}{suggestion(name, MACROS)}")
    return MACROS[name]


def _months_from(year: int, month: int) -> Iterator[tuple[int, int]]:
    for number in range(year * 12 + month - 1, year * 12 + month + _CYCLE_MONTHS):
        if number // 12 > LAST_YEAR:
            return
        yield number // 12, number % 12 + 1


def _days(day: str, weekday: str) -> Days:
    of_month, of_week, nth = set[int](), set[int](), set[tuple[int, int]]()
    for term in day.split(","):
        of_month.update((LAST,) if term == "L" else _term(term, DAY_OF_MONTH))
    for term in weekday.split(","):
        name, mark, number = term.partition("#")
        if mark:
            which = _number(number, Field("number after #", 1, 5))
            nth.add((_number(name, DAY_OF_WEEK) % 7, which))
        elif term != "L" and term.endswith("L"):
            nth.add((_number(term[:-1], DAY_OF_WEEK) % 7, LAST))
        else:
            of_week.update(value % 7 for value in _term(term, DAY_OF_WEEK))
    needs_both = day.startswith("*") or weekday.startswith("*")
    return Days(frozenset(of_month), frozenset(of_week), frozenset(nth), needs_both)


def _values(text: str, field: Field) -> tuple[int, ...]:
    return tuple(sorted({value for term in text.split(",") for value in _term(term, field)}))


def _term(term: str, field: Field) -> range:
    """Return the values of one term of a list: `*`, `5`, `5-9`, `*/10`, `5-59/10` or `5/10`."""
    parts = _TERM.fullmatch(term)
    if parts is None:
        raise _wrong(f"{term!r} is not understood as a {field.name}")
    first, last, every = parts.groups()
    step = 1 if every is None else _number(every, Field("step", 1, field.most))
    if first == "*":
        if last is not None:
            raise _wrong(f"{term!r} is not understood as a {field.name}")
        most = 6 if field is DAY_OF_WEEK else field.most
        return range(field.least, most + 1, step)
    start = _number(first, field)
    if last is None:
        end = start if every is None else field.most
    else:
        end = _number(last, field)
        if field is DAY_OF_WEEK and last == "SUN":
            end = 7
    if end < start:
        raise _wrong(f"{first}-{last} goes backwards; write two ranges with a comma between them")
    return range(start, end + 1, step)


def _number(text: str, field: Field) -> int:
    if text in field.words:
        return field.words.index(text) + (field.least if field is MONTH else 0)
    if not (text.isascii() and text.isdigit()) or len(text) > 4:
        names = f", or {field.words[0]} to {field.words[-1]}" if field.words else ""
        raise _wrong(f"{field.name} {text!r} is not a number from {field.least} to {field.most}{names}")
    value = int(text)
    if not field.least <= value <= field.most:
        raise _wrong(f"{field.name} {value} is not from {field.least} to {field.most}")
    return value


def _wrong(reason: str) -> Invalid:
    return Invalid(reason, field="cron")
