"""The end of the HTTP reference: the fields of a task request, and all paths."""

from itertools import groupby
from pathlib import Path

from msgspec import structs

from drumline.api.operation import Operation, Tag
from drumline.api.routes import OPERATIONS
from drumline.api.schema import Schemas
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.task import TaskRequest

FIELDS = """
## Fields of a task

<!-- Made by `make reference` from TaskRequest in src/drumline/core/task.py: change it there. -->

Tasks of jobs have the same ones, but for the idempotency key, which a job has as a whole.

| field | meaning |
|---|---|
"""
HEADING = "\n## All paths\n"
INTRODUCTION = """
<!-- Made by `make reference` from the table of operations in src/drumline/api: change it there. -->

The [worker protocol](worker-protocol.md) has a page of its own.
"""


def http_page(path: Path) -> str:
    """Return the page as it is, with its lists of fields and paths written anew."""
    written = path.read_text(encoding="utf-8").partition(HEADING)[0].partition(FIELDS)[0]
    shown = sorted((one for one in OPERATIONS if not one.is_hidden), key=lambda one: list(Tag).index(one.tag))
    chapters = (_chapter(tag, list(operations)) for tag, operations in groupby(shown, key=lambda one: one.tag))
    return written + FIELDS + _fields() + HEADING + INTRODUCTION + "".join(chapters)


def _fields() -> str:
    fields = Schemas(structs.asdict(DEFAULT_LIMITS)).fields(TaskRequest)
    return "".join(f"| `{name}` | {schema['description']} |\n" for name, schema, _ in fields)


def _chapter(tag: Tag, operations: list[Operation]) -> str:
    rows = "\n".join(
        f"| `{one.method} {one.path}` | {one.summary}{' (no key needed)' * one.is_open} |" for one in operations
    )
    return f"\n### {tag.value.capitalize()}\n\n| | |\n|---|---|\n{rows}\n"
