"""Exporting tasks that a filter means, as CSV or as JSON lines, page by page."""

import csv
import io
from collections.abc import AsyncIterator, Iterable
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta

from drumline.aio.threads import off_loop
from drumline.api.operation import ApiCall, Operation, Stream, Tag
from drumline.api.shapes import TaskBody, shown, task_body, weight_of
from drumline.api.task_queries import TaskQuery, filter_of
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.field_schema import SEVERAL, about
from drumline.core.state import Status
from drumline.core.task import TaskView
from drumline.ports.store import TaskFilter

JSON_LINES: Final = b"application/jsonl"
CSV: Final = b"text/csv; charset=utf-8"
MOST_ROWS: Final = 100_000
AT_ONCE: Final = 500
MOST_SEARCHES: Final = 200
"""Searches that may end without a whole page before an export is given up."""
PATIENCE: Final = 60.0
"""Seconds that a client may take to accept a page."""

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""How texts begin that a spreadsheet would take for a formula."""

COLUMNS: Final = (
    "id", "status", "name", "queue", "priority", "attempt", "retries", "created_at", "due_at", "started_at",
    "finished_at", "error_kind", "error_message", "tags", "idempotency_key", "job_id", "worker", "tenant",
)  # fmt: skip


class ExportFormat(StrEnum):
    """How tasks are written."""

    CSV = "csv"
    JSONL = "jsonl"


class ExportQuery(TaskQuery, frozen=True, forbid_unknown_fields=True):
    """Which tasks to export, and how."""

    status: Annotated[tuple[Status, ...], SEVERAL] = ()
    format: Annotated[ExportFormat, about("A table, or one task as JSON in each line.")] = ExportFormat.CSV
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS), about("How many tasks at most.")] = MOST_ROWS
    payload: Annotated[bool, about("Whether to include payloads and results.")] = False


async def export_tasks(call: ApiCall[None, ExportQuery]) -> Stream:
    """Write tasks, newest first. What stopped before the end says so in its last line, with the cursor it got to."""
    which = filter_of(call, call.query, frozenset(call.query.status))
    is_csv = call.query.format is ExportFormat.CSV
    return Stream(_exported(call, which), CSV if is_csv else JSON_LINES, PATIENCE)


async def _exported(call: ApiCall[None, ExportQuery], which: TaskFilter) -> AsyncIterator[bytes]:
    query = call.query
    is_csv = query.format is ExportFormat.CSV
    if is_csv:
        yield _table([(*COLUMNS, "payload", "result") if query.payload else COLUMNS])
    left, searches, cursor = query.limit, 0, None
    while left > 0 and searches < MOST_SEARCHES:
        page = await call.engine.queries.list_tasks(
            which,
            limit=min(left, AT_ONCE, call.context.limits.page),
            cursor=cursor,
            payload=query.payload,
            traceback=False,
        )
        if page.items:
            yield await _written(call, page.items)
        left, cursor = left - len(page.items), page.next_cursor
        searches += page.is_partial
        if cursor is None:
            return
    yield (
        _table([(f"# incomplete, continue with cursor {cursor}",)])
        if is_csv
        else encode({"is_complete": False, "next_cursor": cursor}) + b"\n"
    )


async def _written(call: ApiCall[None, ExportQuery], views: tuple[TaskView, ...]) -> bytes:
    now, hidden, query = call.engine.clock.now(), call.engine.redaction, call.query

    def written() -> bytes:
        bodies = [task_body(shown(view, hidden), now=now) for view in views]
        if query.format is ExportFormat.JSONL:
            return b"".join(encode(body) + b"\n" for body in bodies)
        return _table(_cells(body, payload=query.payload) for body in bodies)

    return await off_loop(sum(map(weight_of, views)), written)


def _cells(task: TaskBody, *, payload: bool) -> tuple[Any, ...]:
    error = task.error
    special = {
        "error_kind": None if error is None else error.kind,
        "error_message": None if error is None else error.message,
        "tags": ", ".join(task.tags),
    }
    cells = tuple(special[name] if name in special else getattr(task, name, None) for name in COLUMNS)
    if not payload:
        return cells
    return (*cells, *(None if data is UNSET else bytes(encode(data)).decode() for data in (task.payload, task.result)))


def _table(rows: Iterable[tuple[Any, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([tuple(map(_safe, row)) for row in rows])
    return text.getvalue().encode()


def _safe(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    text = "" if cell is None or cell is UNSET else cell if isinstance(cell, int | float) else str(cell)
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA) else text


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/tasks/export", handler=export_tasks, tag=Tag.TASKS,
        summary="Export tasks as CSV or JSON lines", query=ExportQuery, media=CSV, other_media=(JSON_LINES,),
        answer=str,
        permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
