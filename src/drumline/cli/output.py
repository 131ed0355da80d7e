"""What goes where: data on standard output, everything else on standard error.

On a terminal lists are fitted to its width and coloured, and times are as seen from now; in a pipe everything is whole
and plain. `--json` is one valid document, `--jsonl` one object per line; `--fields` picks from each item.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import click

from drumline.cli.errors import ExitCode
from drumline.cli.invocation import invocation
from drumline.cli.streams import is_utf8, stdin_is_terminal
from drumline.cli.tables import Column, print_table, terminal_width
from drumline.cli.terminal import is_terminal, safe
from drumline.core.errors import Invalid
from drumline.core.links import INTERFACE


class OutputFormat(StrEnum):
    """How data is printed, other than as a table."""

    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    NAME = "name"


class Form(NamedTuple):
    """The output format of a list or an object."""

    output: OutputFormat | None = None
    """None means a table, or a description."""
    wide: bool = False
    fields: str | None = None
    """Names of fields, separated by commas."""
    jq: str | None = None
    """An expression that the program jq applies to the JSON."""

    @classmethod
    def of(
        cls, *, as_json: bool = False, as_jsonl: bool = False, wide: bool = False, fields: str | None = None
    ) -> "Form":
        """Return the format that `--json` or `--jsonl` ask for."""
        return cls(OutputFormat.JSON if as_json else OutputFormat.JSONL if as_jsonl else None, wide, fields)

    @property
    def is_chosen(self) -> bool:
        """Whether data is wanted instead of a description."""
        return self.output is not None or self.jq is not None or bool(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields to print; none means all."""
        return tuple(name.strip() for name in (self.fields or "").split(",") if name.strip())


def say(text: str) -> None:
    """Print a message to standard error, unless `--quiet` was given."""
    if not invocation().quiet:
        say_error(text)


def say_error(text: str) -> None:
    """Print what went wrong to standard error."""
    click.echo(safe(text), err=True)


def print_json(value: Any) -> None:
    """Print one JSON document, or the same in the format that `-o` or `--jq` chose."""
    form = invocation().form
    if form is None:
        _print_document(value)
    elif form.output is OutputFormat.JSONL and form.jq is None:
        _print_lines(value if isinstance(value, list) else [value])
    else:
        _print_data(value, form)


def _print_document(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=not is_utf8(sys.stdout), indent=2))


def print_json_line(value: object) -> None:
    """Print one JSON object on a line of its own."""
    click.echo(json.dumps(value, ensure_ascii=not is_utf8(sys.stdout), separators=(",", ":")))


def print_object(value: Any, form: Form) -> None:
    """Print an object in a format, as JSON unless another was chosen, with all fields or only those of `--fields`."""
    if form.names:
        value = next(picked([value], form.names))
    if form.output is OutputFormat.JSONL and form.jq is None:
        print_json_line(value)
    else:
        _print_data(value, form._replace(output=form.output or OutputFormat.JSON))


def open_page(server: str, path: str) -> str | None:
    """Open a page of the web interface in a browser; where there is none, return its address."""
    import webbrowser

    url = f"{server}{INTERFACE}{path}"
    return None if webbrowser.open(url) else url


def print_list(items: Iterable[dict[str, Any]], columns: Sequence[Column], form: Form, *, nothing: str) -> int:
    """Print items in a format, and return how many; `nothing` is the message if there are none."""
    asked = invocation().form
    if asked is not None and form.output is not None:
        form = form._replace(output=asked.output, jq=asked.jq)
    if form.names:
        items = picked(items, form.names)
        columns = [_field_column(name) for name in form.names]
    if form.output is OutputFormat.JSONL and form.jq is None:
        return _print_lines(items)
    items = list(items)
    if form.output is not None or form.jq is not None:
        _print_data(items, form)
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
    if yes or invocation().yes:
        return
    if not (stdin_is_terminal() and sys.stderr.isatty()):
        say_error(f"{question}\nThis needs a yes, and there is no terminal to ask on: add --yes.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    if not click.confirm(question, err=True):
        raise click.exceptions.Exit(ExitCode.USAGE)


def _name_of(item: dict[str, Any]) -> str:
    """Return what other commands take for an object: its id, or its name."""
    return str(item.get("id") or item.get("task_id") or item.get("name") or item.get("fingerprint") or "")


def _print_data(value: Any, form: Form) -> None:
    """Print an object or a list of objects other than as a table."""
    if form.jq is not None:
        _print_filtered(value, form.jq)
    elif form.output is OutputFormat.YAML:
        _print_yaml(value)
    elif form.output is OutputFormat.NAME:
        for item in value if isinstance(value, list) else [value]:
            click.echo(_name_of(item))
    else:
        _print_document(value)


def _print_yaml(value: object) -> None:
    import yaml

    plain = json.loads(json.dumps(value))  # of plain types, which YAML knows
    click.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=is_utf8(sys.stdout)), nl=False)


def _print_filtered(value: object, expression: str) -> None:
    """Print what the program jq makes of a value; texts without quotes."""
    command = ["jq", "--raw-output", f"({expression})" if expression.startswith("-") else expression]
    try:
        done = subprocess.run(  # noqa: S603 - a person's own expression, given to jq alone
            command, input=json.dumps(value), capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise Invalid("needs the program jq, which is not installed", field="--jq") from None
    if done.returncode:
        raise Invalid(done.stderr.strip() or f"jq ended with status {done.returncode}", field="--jq")
    click.echo(safe(done.stdout), nl=False)


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
