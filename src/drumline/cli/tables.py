"""Tables, times and sizes for people.

What a terminal has no room for is left out by rank, and the rest is never cut to nothing.
"""

import re
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import click

from drumline.cli.terminal import STATUS_COLOURS, is_terminal, painted

GAP = "  "
EMPTY = "-"
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "m"))
_FAR_SECONDS = 366 * 86_400.0
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BREAKS = re.compile(r"(?<! ) *+[\r\n\t][ \r\n\t]*")


class Column(NamedTuple):
    """A column of a list."""

    title: str
    show: str | Callable[[dict[str, Any]], object]
    """The field of an item that it shows, or a function of the item."""
    rank: int = 0
    """On a narrow terminal columns of the lowest rank are left out first."""
    least: int | None = None
    """How narrow it may be cut; None if it is whole or not at all."""
    is_time: bool = False
    is_news: bool = False
    """Whether it is empty as a rule: then it goes first, and otherwise by its rank."""


def print_table(
    items: Iterable[dict[str, Any]], columns: Sequence[Column], *, width: int | None, is_relative: bool
) -> None:
    """Print a table, fitted to `width` if there is one; times relative to now with `is_relative`."""
    rows = [[_cell(column, item, is_relative=is_relative) for column in columns] for item in items]
    widths = [max(map(width_of, cells)) for cells in zip([column.title for column in columns], *rows, strict=True)]
    if width is not None:
        widths = fit(
            widths,
            [_ranked(column, cells) for column, cells in zip(columns, _turned(rows, columns), strict=True)],
            width,
        )
    click.echo(_line([column.title for column in columns], widths, bold=True))
    for row in rows:
        click.echo(_line(row, widths))


def _turned(rows: Sequence[Sequence[str]], columns: Sequence[Column]) -> list[list[str]]:
    """Return the cells of each column."""
    return [[row[number] for row in rows] for number in range(len(columns))]


def _ranked(column: Column, cells: Sequence[str]) -> Column:
    """Return a column with the rank that it deserves by what is in it."""
    return column._replace(rank=-1) if column.is_news and all(cell == EMPTY for cell in cells) else column


def print_fitted(items: Iterable[dict[str, Any]], columns: Sequence[Column]) -> None:
    """Print a table as it fits the terminal, times as seen from now; whole and exact where there is none."""
    is_fitted = is_terminal()
    print_table(items, columns, width=terminal_width() if is_fitted else None, is_relative=is_fitted)


def terminal_width() -> int:
    """Return how many characters a line of the terminal has."""
    return shutil.get_terminal_size().columns


def fit(widths: list[int], columns: Sequence[Column], width: int) -> list[int]:
    """Return the widths that fit: columns by rank, 0 for one left out, what may be cut cut as little as needed."""
    widths = list(widths)
    floors = [
        have if column.least is None else min(have, column.least) for have, column in zip(widths, columns, strict=True)
    ]
    for number in sorted(range(len(columns)), key=lambda number: columns[number].rank):
        if _total(floors) <= width or sum(map(bool, floors)) == 1:
            break
        floors[number] = 0
    # What was left out for a wide column of a higher rank may fit now that that one is out as well.
    for number in sorted(range(len(columns)), key=lambda number: -columns[number].rank):
        floor = min(widths[number], columns[number].least or widths[number])
        if not floors[number] and _total([*floors, floor]) <= width:
            floors[number] = floor
    widths = [have if floor else 0 for have, floor in zip(widths, floors, strict=True)]
    over = _total(widths) - width
    for number in sorted(range(len(columns)), key=lambda number: floors[number] - widths[number]):
        cut = min(max(over, 0), widths[number] - floors[number])
        widths[number] -= cut
        over -= cut
    return widths


def tidy(text: str) -> str:
    """Return a text of others on one line, without what could play tricks on a terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text.strip("\r\n")))


def _total(widths: list[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + len(GAP) * (len(shown) - 1)


def _cell(column: Column, item: dict[str, Any], *, is_relative: bool) -> str:
    value = item[column.show] if isinstance(column.show, str) else column.show(item)
    if column.is_time and is_relative and isinstance(value, str):
        value = relative(value)
    return EMPTY if value is None or value == "" else tidy(str(value))


def _line(cells: Sequence[str], widths: Sequence[int], *, bold: bool = False) -> str:
    shown = [(cut(cell, width), width) for cell, width in zip(cells, widths, strict=True) if width]
    padded = [
        painted(cell, STATUS_COLOURS.get(cell), bold=bold) + " " * (width - width_of(cell)) for cell, width in shown
    ]
    return GAP.join(padded).rstrip()


def cut(cell: str, width: int) -> str:
    """Return a text in at most so many columns, with a sign where it was cut."""
    if width_of(cell) <= width:
        return cell
    while cell and width_of(cell) >= width:
        cell = cell[:-1]
    return f"{cell}…"


def width_of(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


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


def cpu_text(share: float) -> str:
    """Return processor time, a share of one core, as a percentage; several cores are more than 100%."""
    return f"{share * 100:.0f}%"


def size(count: int) -> str:
    """Return a number of bytes in a unit that suits it."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
