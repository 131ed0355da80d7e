"""Times and sizes as people on a terminal read them: how long ago, how soon, how much."""

import time
from datetime import datetime

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "m"))
_FAR_SECONDS = 366 * 86_400.0


def since_epoch(moment: str) -> float:
    """Return a time of the API as seconds since 1970."""
    return datetime.fromisoformat(moment).timestamp()


def relative(moment: str | None, now: float | None = None) -> str | None:
    """Return a time as seen from now: `12s ago`, `in 5m`; the date alone when it is years away."""
    if moment is None:
        return None
    away = since_epoch(moment) - (time.time() if now is None else now)
    if abs(away) < 1:
        return "now"
    if abs(away) > _FAR_SECONDS:
        return moment[:10]
    return f"in {span(away)}" if away > 0 else f"{span(-away)} ago"


def between(start: str | None, end: str | None) -> str | None:
    """Return how long something took, or nothing while it has not ended."""
    return None if start is None or end is None else span(since_epoch(end) - since_epoch(start))


def span(seconds: float) -> str:
    """Return a duration by its largest unit, and the next one where that still matters: `7m`, `1h30m`, `2.5s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}".removesuffix(".0") + "s" if seconds < 10 else f"{seconds:.0f}s"
    whole = int(seconds)
    for number, (size, unit) in enumerate(_UNITS):
        if whole >= size:
            count, rest = divmod(whole, int(size))
            smaller, name = (_UNITS[number + 1]) if number + 1 < len(_UNITS) else (1.0, "s")
            more = int(rest // smaller)
            return f"{count}{unit}{more}{name}" if count < 10 and more else f"{count}{unit}"
    return f"{whole}s"


def size(count: int) -> str:
    """Return a number of bytes in a unit that suits it."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
