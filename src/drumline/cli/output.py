"""What goes where: data on standard output, everything else on standard error.

On a terminal lists are fitted to its width and coloured, and times are as seen from now; in a pipe everything is whole
and plain. `--json` is one valid document, `--jsonl` one object per line; `--fields` picks from each item.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import click

from drumline.cli.errors import ExitCode
from drumline.cli.streams import is_utf8, stdin_is_terminal
from drumline.cli.tables import Column, print_table, terminal_width
from drumline.cli.terminal import is_terminal, safe
from drumline.core.errors import Invalid


class Form(NamedTuple):
    """The output format of a list."""

    as_json: bool = False
    as_jsonl: bool = False
    wide: bool = False
    fields: str | None = None
    """Names of fields, separated by commas."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fields to print; none means all."""
        return tuple(name.strip() for name in (self.fields or "").split(",") if name.strip())


def say(text: str) -> None:
    """Print a message to standard error."""
    click.echo(safe(text), err=True)


def print_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, ensure_ascii=not is_utf8(sys.stdout), indent=2))


def print_json_line(value: object) -> None:
    """Print one JSON object on a line of its own."""
    click.echo(json.dumps(value, ensure_ascii=not is_utf8(sys.stdout), separators=(",", ":")))


def print_object(value: Any, fields: str | None) -> None:
    """Print an object as JSON, with all fields or only those of `--fields`."""
    names = Form(fields=fields).names
    print_json(next(picked([value], names)) if names else value)


def print_list(items: Iterable[dict[str, Any]], columns: Sequence[Column], form: Form, *, nothing: str) -> int:
    """Print items in a format, and return how many; `nothing` is the message if there are none."""
    if form.names:
        items = picked(items, form.names)
        columns = [_field_column(name) for name in form.names]
    if form.as_jsonl:
        return _print_lines(items)
    items = list(items)
    if form.as_json:
        print_json(items)
    elif not items and is_terminal():
        say(nothing)
    else:
        is_fitted = is_terminal() and not form.wide
        print_table(items, columns, width=terminal_width() if is_fitted else None, is_relative=is_fitted)
    return len(items)


def picked(items: Iterable[dict[str, Any]], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield items with only the named fields, in that order; a field that no item has is a mistake."""
    from drumline.core.json_errors import suggestion

    for item in items:
        for name in names:
            if name not in item and name not in _SOMETIMES:
                hint = suggestion(name, item) or f"; there are {', '.join(item)}"
                raise Invalid(f"there is no field {name}{hint}", field="--fields")
        yield {name: item.get(name) for name in names}


_SOMETIMES = frozenset({"payload", "result", "attempts", "artifacts"})


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if the person agrees; `--yes` is the only way around the question."""
    if yes:
        return
    if not (stdin_is_terminal() and sys.stderr.isatty()):
        say(f"{question}\nThis needs a yes, and there is no terminal to ask on: add --yes.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    if not click.confirm(question, err=True):
        raise click.exceptions.Exit(ExitCode.USAGE)


def _print_lines(items: Iterable[dict[str, Any]]) -> int:
    count = 0
    for item in items:
        print_json_line(item)
        count += 1
    return count


def _field_column(name: str) -> Column:
    def show(item: dict[str, Any]) -> object:
        value = item[name]
        return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)

    least = None if name in {"id", "status"} else 12
    return Column(name.upper(), show, rank=9 if least is None else 1, least=least, is_time=name.endswith("_at"))
