"""SQL from files: each statement begins with `-- name: get_key`, with its contract as a comment under it.

`-- name: get_key (sqlite)` begins one for SQLite only.
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

_HEADING: Final = re.compile(r"^-- name: ([a-z_]+)(?: \((postgres|sqlite)\))?\n", re.MULTILINE)


class NamedText(NamedTuple):
    """A statement as its file has it; `only` is the dialect that it is for, if it is not for all."""

    name: str
    only: str | None
    text: str


class Migration(NamedTuple):
    """A change of the schema."""

    number: int
    name: str
    script: str


def split(text: str) -> list[NamedText]:
    """Return the statements of a file."""
    headings = [*_HEADING.finditer(text), None]
    return [
        NamedText(this[1], this[2], text[this.end() : following.start() if following else None].strip())
        for this, following in pairwise(headings)
        if this is not None
    ]


def statements(package: str) -> Iterator[NamedText]:
    """Return every statement in the folder `sql` of a package."""
    for entry in (files(package) / "sql").iterdir():
        if entry.name.endswith(".sql"):
            yield from split(entry.read_text("utf-8"))


def named(package: str) -> dict[str, str]:
    """Return the text of every statement of a package, by name; two of one name are an error."""
    texts: dict[str, str] = {}
    for name, _, text in statements(package):
        if name in texts:
            raise ValueError(f"{package}: there are two statements {name}")
        texts[name] = text
    return texts


def migrations(package: str) -> list[Migration]:
    """Return the migrations of one store in order."""
    found = []
    for entry in (files(package) / "migrations").iterdir():
        if entry.name.endswith(".sql"):
            number, _, name = entry.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, entry.read_text("utf-8")))
    return sorted(found)
