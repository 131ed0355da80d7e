"""The list of all paths at the end of the HTTP reference, made from the table of operations."""

from itertools import groupby
from pathlib import Path

from drumline.api.operation import Operation, Tag
from drumline.api.routes import OPERATIONS

HEADING = "\n## All paths\n"
INTRODUCTION = """
<!-- Made by `make reference` from the table of operations in src/drumline/api: change it there. -->

The [worker protocol](worker-protocol.md) has a page of its own.
"""


def http_page(path: Path) -> str:
    """Return the page as it is, with its list of paths written anew."""
    written, _, _ = path.read_text(encoding="utf-8").partition(HEADING)
    shown = sorted((one for one in OPERATIONS if not one.is_hidden), key=lambda one: list(Tag).index(one.tag))
    chapters = (_chapter(tag, list(operations)) for tag, operations in groupby(shown, key=lambda one: one.tag))
    return written + HEADING + INTRODUCTION + "".join(chapters)


def _chapter(tag: Tag, operations: list[Operation]) -> str:
    rows = "\n".join(
        f"| `{one.method} {one.path}` | {one.summary}{' (no key needed)' * one.is_open} |" for one in operations
    )
    return f"\n### {tag.value.capitalize()}\n\n| | |\n|---|---|\n{rows}\n"
