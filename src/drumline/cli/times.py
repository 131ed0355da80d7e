"""Times as people write them in flags: `1h`, `30d`, `tomorrow 09:00`, `2026-10-01`, `2026-10-01T09:00Z`.

One rule for all flags. A duration counts back from now where the flag is about the past, and forward where it is about
what is to come; `2h ago` and `in 2h` say it outright. A time without a zone is local time, which is told.
"""

import re
from datetime import datetime, time, timedelta, tzinfo
from enum import Enum
from typing import Final
from zoneinfo import ZoneInfo

from drumline.cli.output import say
from drumline.core.duration import parse_duration
from drumline.core.errors import Invalid

EXAMPLES: Final = "1h, 30d, now, tomorrow 09:00, 2026-10-01, 2026-10-01T09:00Z"

_DAYS: Final = {"today": 0, "tomorrow": 1, "yesterday": -1}
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_LONGEST: Final = 64


class Toward(Enum):
    """Where a flag looks to."""

    PAST = -1
    FUTURE = 1


def moment(text: str, *, flag: str, toward: Toward, zone: str | None = None) -> str:
    """Return a time as the API takes it, or raise `Invalid` naming the flag; `zone` is that of times without one."""
    now = datetime.now(_zone(zone)).astimezone(_zone(zone))
    found = _found(text.strip(), now, toward)
    if found is None:
        raise Invalid(f"{flag}: {text!r} is not a time; write {EXAMPLES}", field=flag)
    at, is_assumed = found
    if is_assumed:
        whose = f"in {zone}" if zone else f"local time, {at.tzname()}"
        say(f"{flag} is {at.isoformat(timespec='seconds')} ({whose})")
    return at.isoformat()


def optional_moment(text: str | None, *, flag: str, toward: Toward, zone: str | None = None) -> str | None:
    """Return a time as the API takes it, if one was given."""
    return None if text is None else moment(text, flag=flag, toward=toward, zone=zone)


def span_of(text: str, *, flag: str, toward: Toward) -> str:
    """Return the duration between now and a time, in the form of the API; a duration is returned as given."""
    try:
        parse_duration(text, field=flag)
    except Invalid:
        at = datetime.fromisoformat(moment(text, flag=flag, toward=toward))
    else:
        return text
    seconds = (at - datetime.now(at.tzinfo)).total_seconds() * toward.value
    if seconds < 0:
        raise Invalid(f"{flag}: {text!r} lies in the {'past' if toward is Toward.FUTURE else 'future'}", field=flag)
    return f"{seconds:.3f}s"


def duration(text: str | None, *, flag: str) -> str | None:
    """Return a duration as it was given, or raise `Invalid` naming the flag."""
    if text is not None:
        try:
            parse_duration(text, field=flag)
        except Invalid as error:
            raise Invalid(f"{flag}: {text!r} {error.message}", field=flag) from error
    return text


def _found(text: str, now: datetime, toward: Toward) -> tuple[datetime, bool] | None:
    """Return a time, and whether its zone was assumed; None for what is no time."""
    words = text.lower().split()
    if not words or len(text) > _LONGEST:
        return None
    if words == ["now"]:
        return now, False
    try:
        return _relative(words, now, toward) or _by_day(words, now, toward) or _by_date(text, now)
    except (OverflowError, ValueError):
        return None


def _relative(words: list[str], now: datetime, toward: Toward) -> tuple[datetime, bool] | None:
    sign = toward.value
    if words[0] == "in":
        words, sign = words[1:], 1
    elif words[-1] == "ago":
        words, sign = words[:-1], -1
    text = "".join(words)
    if text[:1] in {"+", "-"}:
        text, sign = text[1:], 1 if text[0] == "+" else -1
    try:
        away = parse_duration(text, field="time")
    except Invalid:
        return None
    return now + sign * away, False


def _by_day(words: list[str], now: datetime, toward: Toward) -> tuple[datetime, bool] | None:
    """Return a time of today, tomorrow or yesterday; one without a day is the next one, or the last one."""
    day = _DAYS.get(words[0])
    rest = words if day is None else words[1:]
    clock = _CLOCK.fullmatch(rest[0]) if len(rest) == 1 else None
    if clock is None and (day is None or rest):
        return None
    at = time() if clock is None else time(int(clock[1]), int(clock[2]), int(clock[3] or 0))
    found = _local(datetime.combine(now.date() + timedelta(days=day or 0), at), now.tzinfo)
    if day is None and (found - now).total_seconds() * toward.value < 0:
        found = _local(datetime.combine(now.date() + timedelta(days=toward.value), at), now.tzinfo)
    return found, True


def _by_date(text: str, now: datetime) -> tuple[datetime, bool] | None:
    if not text[:4].isdigit() or text[4:5] != "-":
        return None  # Python would also take 20261001, which may as well be a number of seconds
    at = datetime.fromisoformat(text)
    return (at, False) if at.tzinfo else (_local(at, now.tzinfo), True)


def _local(at: datetime, zone: tzinfo | None) -> datetime:
    """Return a time of the wall clock in a zone; without one that of this machine, by the rules of that day."""
    return at.replace(tzinfo=zone) if isinstance(zone, ZoneInfo) else at.replace(tzinfo=None).astimezone()


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError):  # the server says what is wrong with it
        return ZoneInfo("UTC")
