"""Durations as people write them: seconds, `"1h30m"`, or ISO 8601 (`"PT1H30M"`)."""

import math
import re
from datetime import timedelta

from drumline.core.errors import Invalid

LONGEST = timedelta(days=366 * 100)

_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)(ms|[wdhms])")
_PLAIN = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ISO = re.compile(
    r"P(?!$)(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?"
    r"(?:T(?!$)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_ISO_SECONDS = (604_800.0, 86_400.0, 3_600.0, 60.0, 1.0)

LEAST_EXPIRES = timedelta(milliseconds=1)
MOST_EXPIRES = timedelta(days=366)

Duration = float | int | str | timedelta
"""What callers may write where a duration is asked for."""


def parse_duration(value: Duration, *, field: str) -> timedelta:
    """Return `value` as a duration of zero or more, or raise `Invalid` naming `field`."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        seconds = _seconds_of(value.strip(), field)
    else:
        seconds = _number_of(value)
    if not math.isfinite(seconds) or seconds < 0:
        raise Invalid("must be zero or more", field=field)
    if seconds > LONGEST.total_seconds():
        raise Invalid("must be at most 100 years", field=field)
    return timedelta(seconds=seconds)


def parse_expires(value: Duration, *, field: str = "expires") -> int:
    """Return how long after it was due a task may start, in milliseconds, or raise `Invalid` naming `field`."""
    parsed = parse_duration(value, field=field)
    if not LEAST_EXPIRES <= parsed <= MOST_EXPIRES:
        raise Invalid("must be from 0.001 s to 366 days", field=field)
    return millis(parsed)


def _number_of(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer that no float can hold
        return LONGEST.total_seconds() + 1 if value > 0 else -1.0


def _seconds_of(text: str, field: str) -> float:
    if len(text) > 64:
        raise Invalid("is too long for a duration", field=field)
    if _NUMBER.fullmatch(text):
        return float(text)
    if _PLAIN.fullmatch(text.lower()):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text.lower()))
    iso = _ISO.fullmatch(text.upper())
    if iso:
        return sum(float(part) * scale for part, scale in zip(iso.groups(), _ISO_SECONDS, strict=True) if part)
    raise Invalid('must be seconds, or a text such as "1h30m" (w, d, h, m, s, ms) or "PT1H30M"', field=field)


def millis(duration: timedelta) -> int:
    """Return a duration in whole milliseconds."""
    return round(duration.total_seconds() * 1000)


def format_duration(duration: timedelta) -> str:
    """Return a duration as people read it, such as `1h30m` or `2.5s`."""
    return format_millis(millis(duration))


def format_millis(rest: int) -> str:
    """Return milliseconds as people read them."""
    if rest == 0:
        return "0s"
    text = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text + (f"{rest / 1000:g}s" if rest else "")
