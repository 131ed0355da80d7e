"""Flags by which lists are filtered and sorted, and their text as the server reads it."""

from collections.abc import Iterable
from typing import Annotated, Any

from drumline.cli import completing
from drumline.cli.parameters import Option
from drumline.cli.times import Toward, moment
from drumline.core.errors import Invalid

FilterText = Annotated[
    str | None,
    Option(
        "--filter",
        help="Terms that all have to hold: 'name:charge* -queue:bulk payload.order_id=17 duration>5s'.",
        metavar="TERMS",
    ),
]
ErrorText = Annotated[str | None, Option("--error", help="Only with this text in the error.", metavar="TEXT")]
Sort = Annotated[
    str | None,
    Option(
        "--sort",
        help="Sort those listed by a field, such as name; downwards with a - before it.",
        metavar="FIELD",
        complete=completing.sort_fields,
    ),
]
Since = Annotated[str | None, Option("--since", help="Submitted then or later: 2h, 2026-10-01.", metavar="TIME")]
Until = Annotated[str | None, Option("--until", help="Submitted before: 30m, yesterday 09:00.", metavar="TIME")]


def quoted(text: str) -> str:
    """Return a text as a value of a filter, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def terms(text: str | None, *, error: str | None = None, since: str | None = None, until: str | None = None) -> Any:
    """Return a filter with the terms that flags stand for; None if there are none."""
    parts = [text] if text else []
    if error is not None:
        parts.append(f"error:{quoted(error)}")
    if since is not None:
        parts.append(f"created>={_zulu(since, '--since')}")
    if until is not None:
        parts.append(f"created<{_zulu(until, '--until')}")
    return " ".join(parts) or None


def sorted_by(items: Iterable[dict[str, Any]], sort: str | None) -> Iterable[dict[str, Any]]:
    """Return items in the order of a field, those without a value last."""
    if sort is None:
        return items
    from drumline.core.json_errors import suggestion

    name, listed = sort.removeprefix("-"), list(items)
    for item in listed:
        if name not in item:
            raise Invalid(f"there is no field {name}{suggestion(name, item) or '; there are ' + ', '.join(item)}")
    known = [item for item in listed if item[name] is not None]
    rest = [item for item in listed if item[name] is None]
    return sorted(known, key=lambda item: _key(item[name]), reverse=sort.startswith("-")) + rest


def _key(value: Any) -> tuple[bool, Any]:
    """Return what a value is sorted by: numbers by their size, all else by its text."""
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)


def _zulu(text: str, flag: str) -> str:
    return moment(text, flag=flag, toward=Toward.PAST)
