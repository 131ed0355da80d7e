"""Cron expressions, durations, rates and times."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from drumline.api.reading import read_time
from drumline.core.clock import LATEST, Instant, moment_of
from drumline.core.cron import parse_cron
from drumline.core.duration import LONGEST, format_duration, millis, parse_duration
from drumline.core.rate import LONGEST_SECONDS, MOST_REQUESTS, parse_rate
from drumline.core.timetable import Rule, timetable
from drumline.core.zone import zone_of
from tests.fuzz.cron_reference import DAY, DrawnCron, crons, firings
from tests.fuzz.properties import accepted, fuzz, steps

ZONES: Final = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca", "Asia/Tehran",
    "Pacific/Apia", "Pacific/Chatham", "America/Havana", "Asia/Kathmandu", "UTC",
)  # fmt: skip
MOST_STEPS: Final = 1_000_000
"""Calls in which the next day of any expression is found: each day of 400 years is looked at once."""

near_cron = st.lists(
    st.from_regex(r"[\d*/,\-?LW#A-Z]{1,12}", fullmatch=True) | st.sampled_from(["*", "*/5", "1-5", "MON#2", "L", "0"]),
    min_size=4,
    max_size=7,
).map(" ".join)
units = st.sampled_from(
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
)
decimals = st.decimals(min_value=0, max_value=10_000, places=3).map(lambda number: f"{number:f}")


def offset(zone: ZoneInfo, second: int) -> timedelta | None:
    return datetime.fromtimestamp(second, zone).utcoffset()


@st.composite
def windows(draw: st.DrawFn) -> tuple[str, int, int]:
    """Draw a zone and a window of three days, more often than not around a change of the clock."""
    name = draw(st.sampled_from(ZONES))
    zone = ZoneInfo(name)
    first = draw(st.integers(10_957, 24_400)) * DAY  # a day from 2000 to 2036
    if draw(st.integers(0, 3)):
        days = (day for day in range(first, first + 400 * DAY, DAY) if offset(zone, day) != offset(zone, day + DAY))
        first = next(days, first) - DAY
    return name, first, first + 3 * DAY


@fuzz(40)
@given(crons, windows())
def test_the_fire_times_are_those_of_a_walk_over_the_clock(cron: DrawnCron, window: tuple[str, int, int]) -> None:
    name, start, end = window
    if accepted(lambda: parse_cron(cron.text)) is None:
        return  # it never fires
    table = timetable.__wrapped__(Rule(cron=cron.text, timezone=name))
    before, last = Instant(start * 1000 - 1), Instant(end * 1000 - 1)

    found = [fire // 1000 for fire in table.times(before, last)]

    assert found == firings(cron, ZoneInfo(name), start, end)
    assert table.count(before, last) == len(found)


@fuzz()
@given(st.text(max_size=60) | near_cron | crons.map(lambda cron: cron.text))
@example("0 0 31 2,4,6,9,11 *")
@example("0 0 29 2 MON#5")
def test_a_cron_is_understood_in_bounded_work(text: str) -> None:
    assert steps(lambda: accepted(lambda: parse_cron.__wrapped__(text))) <= MOST_STEPS


@fuzz()
@given(crons)
def test_the_text_of_a_cron_is_the_same_cron(drawn: DrawnCron) -> None:
    cron = accepted(lambda: parse_cron(f"  {drawn.text.lower()}\t"))

    if cron is not None:
        again = parse_cron(cron.text)
        assert (again.text, again.fields, again.days) == (cron.text, cron.fields, cron.days)


@fuzz(50)
@given(st.text(max_size=40) | st.from_regex(r"[A-Za-z_]{1,12}(/[A-Za-z_]{1,12}){0,2}", fullmatch=True))
@example("\x00")
@example("../../etc/passwd")
@example("Europe")
@example("a" * 5000)
@example("\ud800")
def test_a_zone_is_known_or_refused(name: str) -> None:
    zone = accepted(lambda: zone_of(name))

    assert zone is None or zone.stretch(1_700_000_000).start <= 1_700_000_000


@fuzz(200)
@given(
    st.text(max_size=70)
    | st.from_regex(r"[+-]?[\d.eE]{0,8}\s?(ms|s|m|h|d|w|min)?", fullmatch=True)
    | st.floats()
    | st.integers()
    | st.timedeltas()
)
@example(10**400)
@example(-(10**400))
def test_a_duration_is_between_nothing_and_a_century_and_is_written_as_it_is_read(value: Any) -> None:
    read = accepted(lambda: parse_duration(value, field="delay"))

    if read is not None:
        assert timedelta(0) <= read <= LONGEST
        assert millis(parse_duration(format_duration(read), field="delay")) == millis(read)


@fuzz()
@given(st.lists(st.tuples(decimals, units), min_size=1, max_size=4))
def test_the_parts_of_a_duration_are_added_up(parts: list[tuple[str, tuple[str, int]]]) -> None:
    text = "".join(number + unit for number, (unit, _) in parts)
    exact = sum((Fraction(number) * size for number, (_, size) in parts), Fraction())

    read = accepted(lambda: parse_duration(text, field="delay"))

    if read is None:
        assert exact > millis(LONGEST) or len(text) > 64
    else:
        assert abs(millis(read) - exact) <= 1


@fuzz()
@given(
    st.text(max_size=20) | st.from_regex(r"\s?\d{1,11}\s?/\s?(\d{1,3}(\.\d{1,3})?)?(s|m|h|d|ms|)\s?", fullmatch=True)
)
def test_a_rate_is_within_its_bounds_and_is_written_as_it_is_read(text: str) -> None:
    rate = accepted(lambda: parse_rate(text, field="rate"))

    if rate is not None:
        assert 1 <= rate.requests <= MOST_REQUESTS
        assert 1 <= rate.seconds <= LONGEST_SECONDS
        again = parse_rate(str(rate), field="rate")
        assert again is not None
        assert (again.requests, round(again.seconds, 3)) == (rate.requests, round(rate.seconds, 3))


@fuzz()
@given(st.integers(0, LATEST))
@example(0)
@example(LATEST)
def test_a_moment_is_read_as_it_is_written(number: int) -> None:
    assert read_time(moment_of(Instant(number)), field="since") == number


@fuzz()
@given(
    st.text(max_size=30)
    | st.datetimes(timezones=st.none() | st.just(UTC) | st.timezones()).map(lambda moment: moment.isoformat())
    | st.from_regex(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?", fullmatch=True)
)
@example("0001-01-01T00:00:00+23:59")
@example("9999-12-31T23:59:59-23:59")
def test_a_time_is_an_instant_or_refused(text: str) -> None:
    instant = accepted(lambda: read_time(text, field="since"))

    assert instant is None or 0 <= instant <= LATEST
