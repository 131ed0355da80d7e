"""A second reading of cron expressions: expressions made from sets of values, and a walk over the clock by minutes.

Nothing here uses Drumline's calendar. An expression is drawn together with what each of its fields means, so nothing is
parsed; the wall clock is `zoneinfo`'s, read minute by minute, and the rule for skipped and repeated times is applied as
the page on schedules states it.
"""

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

DAY: Final = 86_400
MINUTE: Final = timedelta(minutes=1)
LAST: Final = "L"
MONTHS: Final = {number: date(2000, number, 1).strftime("%b").upper() for number in range(1, 13)}
WEEKDAYS: Final = {number: date(2023, 1, 1 + number).strftime("%a").upper() for number in range(7)}


class FieldText(NamedTuple):
    """A field of an expression: its text, and the values that it stands for."""

    text: str
    values: frozenset[object]


class DrawnCron(NamedTuple):
    """An expression with the meaning of its fields."""

    second: FieldText
    minute: FieldText
    hour: FieldText
    day: FieldText
    month: FieldText
    weekday: FieldText

    @property
    def text(self) -> str:
        """The expression as a user writes it."""
        return " ".join(field.text for field in self)

    @property
    def is_fixed(self) -> bool:
        """Whether it names times of the day."""
        return "*" not in self.minute.text and "*" not in self.hour.text

    def has_day(self, shown: datetime) -> bool:
        """Tell whether the day that a clock shows matches."""
        if shown.month not in self.month.values:
            return False
        weekday, last = shown.isoweekday() % 7, monthrange(shown.year, shown.month)[1]
        number = (shown.day - 1) // 7 + 1
        by_month = shown.day in self.day.values or (LAST in self.day.values and shown.day == last)
        marks = {weekday, (weekday, number), *([(weekday, LAST)] if shown.day > last - 7 else [])}
        by_week = bool(marks & self.weekday.values)
        if self.day.text.startswith("*") or self.weekday.text.startswith("*"):
            return by_month and by_week
        return by_month or by_week

    def has_minute(self, shown: datetime) -> bool:
        """Tell whether the minute that a clock shows matches."""
        return shown.minute in self.minute.values and shown.hour in self.hour.values and self.has_day(shown)


def firings(cron: DrawnCron, zone: ZoneInfo, start: int, end: int) -> list[int]:
    """Return the seconds from `start` up to `end`, whole minutes, in which an expression fires."""
    found, shown_before = set[int](), set[datetime]()
    for at, shown, skipped in _minutes(zone, start - 2 * DAY, end):
        if cron.has_minute(shown) and not (cron.is_fixed and shown in shown_before):
            found.update(at + second for second in cron.second.values if isinstance(second, int))
        if cron.is_fixed and any(cron.has_minute(each) for each in skipped):
            found.add(at)
        shown_before.add(shown)
    return sorted(second for second in found if start <= second < end)


def _minutes(zone: ZoneInfo, start: int, end: int) -> Iterator[tuple[int, datetime, list[datetime]]]:
    """Yield each minute, what the clock shows, and what it has skipped just before."""
    newest: datetime | None = None
    for at in range(start, end, 60):
        shown = datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)
        newest = newest or shown
        skipped = range(1, (shown - newest) // MINUTE)
        yield at, shown, [newest + number * MINUTE for number in skipped]
        newest = max(newest, shown)


@st.composite
def _term(draw: st.DrawFn, least: int, most: int, words: dict[int, str]) -> FieldText:
    """Draw one term of a list; 7 is Sunday too where the words are days of the week."""
    is_week = words is WEEKDAYS
    top = 7 if is_week else most
    first, last = sorted((draw(st.integers(least, top)), draw(st.integers(least, top))))
    step = draw(st.integers(1, top))

    def shown(value: int) -> str:
        return words[value] if value in words and draw(st.booleans()) else str(value)

    form = draw(st.sampled_from(("one", "one", "range", "range/step", "from/step", "*/step", "*")))
    text, values = {
        "one": (shown(first), range(first, first + 1)),
        "range": (f"{first}-{last}", range(first, last + 1)),
        "range/step": (f"{first}-{last}/{step}", range(first, last + 1, step)),
        "from/step": (f"{first}/{step}", range(first, top + 1, step)),
        "*/step": (f"*/{step}", range(least, most + 1, step)),
        "*": ("*", range(least, most + 1)),
    }[form]
    return FieldText(text, frozenset(value % 7 if is_week else value for value in values))


def _field(least: int, most: int, words: dict[int, str] | None = None) -> st.SearchStrategy[FieldText]:
    return st.lists(_term(least, most, words or {}), min_size=1, max_size=3).map(_joined)


def _joined(terms: list[FieldText]) -> FieldText:
    return FieldText(",".join(term.text for term in terms), frozenset().union(*(term.values for term in terms)))


@st.composite
def _nth_weekday(draw: st.DrawFn) -> FieldText:
    weekday, number = draw(st.integers(0, 6)), draw(st.integers(1, 5) | st.just(LAST))
    text = f"{weekday}L" if number == LAST else f"{WEEKDAYS[weekday]}#{number}"
    return FieldText(text, frozenset({(weekday, number)}))


ALL: Final = st.just(FieldText("*", frozenset(range(100))))
_LAST_DAY: Final = st.just(FieldText(LAST, frozenset({LAST})))

crons = st.builds(
    DrawnCron,
    second=st.integers(0, 59).map(lambda second: FieldText(str(second), frozenset({second}))),
    minute=_field(0, 59),
    hour=_field(0, 23),
    day=ALL | _field(1, 31) | st.lists(_LAST_DAY | _term(1, 31, {}), min_size=1, max_size=2).map(_joined),
    month=ALL | ALL | _field(1, 12, MONTHS),
    weekday=ALL | _field(0, 6, WEEKDAYS) | st.lists(_nth_weekday(), min_size=1, max_size=2).map(_joined),
)
"""Expressions of six fields, with what they mean."""
