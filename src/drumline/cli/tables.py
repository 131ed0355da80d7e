"""Tables for people: what a terminal has no room for is left out by rank, and the rest is never cut to nothing."""

import re
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import typer

from drumline.cli.moments import relative
from drumline.cli.terminal import STATUS_COLOURS, is_terminal, painted

GAP = "  "
EMPTY = "-"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BREAKS = re.compile(r"(?<! ) *+[\r\n\t][ \r\n\t]*")


class Column(NamedTuple):
    """A column of a list."""

    title: str
    show: Callable[[dict[str, Any]], object]
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
    typer.echo(_line([column.title for column in columns], widths, bold=True))
    for row in rows:
        typer.echo(_line(row, widths))


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
        floors[number] = widths[number] = 0
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
    value = column.show(item)
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
