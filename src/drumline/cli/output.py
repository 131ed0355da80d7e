"""What goes where: data on standard output, everything else on standard error.

On a terminal lists are fitted to its width and coloured; in a pipe they are whole and plain. `--json` is one valid
document, `--jsonl` one object per line.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import typer

from drumline.cli.exits import ExitCode

STATUS_STYLES = {
    "PENDING": "blue",
    "QUEUED": "cyan",
    "PROCESSING": "yellow",
    "COMPLETED": "green",
    "FAILED": "bold red",
    "CANCELLED": "magenta",
    "SKIPPED": "magenta",
}


class Column(NamedTuple):
    """A column of a list: its title, what it shows of an item, and whether a narrow terminal may cut it."""

    title: str
    show: Callable[[dict[str, Any]], object]
    may_be_cut: bool = True


def is_terminal() -> bool:
    """Tell whether standard output is a person's terminal."""
    return sys.stdout.isatty()


def say(text: str) -> None:
    """Tell the person something that is not data."""
    typer.echo(text, err=True)


def print_json(value: object) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_line(value: object) -> None:
    """Print one JSON object on a line of its own."""
    typer.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def print_list(
    items: Iterable[dict[str, Any]], columns: Sequence[Column], *, as_json: bool, as_jsonl: bool, wide: bool = False
) -> None:
    """Print items in the form that was asked for."""
    if as_json:
        print_json(list(items))
    elif as_jsonl:
        for item in items:
            print_json_line(item)
    elif is_terminal() and not wide:
        _print_fitted(items, columns)
    else:
        _print_plain(items, columns)


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if the person agrees; `--yes` is the only way around the question."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"{question}\nThis needs a yes, and there is no terminal to ask on: add --yes.")
        raise typer.Exit(ExitCode.USAGE)
    if not typer.confirm(question, err=True):
        raise typer.Exit(ExitCode.USAGE)


def _cells(item: dict[str, Any], columns: Sequence[Column]) -> list[str]:
    shown = (column.show(item) for column in columns)
    return ["-" if value is None or value == "" else str(value) for value in shown]


def _print_plain(items: Iterable[dict[str, Any]], columns: Sequence[Column]) -> None:
    rows = [[column.title for column in columns], *(_cells(item, columns) for item in items)]
    widths = [max(len(row[number]) for row in rows) for number in range(len(columns))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_fitted(items: Iterable[dict[str, Any]], columns: Sequence[Column]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.title, no_wrap=True, overflow="ellipsis" if column.may_be_cut else "fold")
    for item in items:
        table.add_row(*(Text(cell, style=STATUS_STYLES.get(cell, "")) for cell in _cells(item, columns)))
    Console().print(table)
