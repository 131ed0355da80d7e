"""Searching the logs of many tasks."""

from typing import Annotated

from msgspec import Meta, Struct

from drumline.aio.threads import off_loop
from drumline.api.operation import ApiCall, Operation, Reply, Tag
from drumline.api.shapes import moment
from drumline.api.task_queries import TaskQuery, filter_of
from drumline.core.access import Permission
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, SEVERAL, about, line, page_cursor
from drumline.core.log_lines import LogLevel, LogSought
from drumline.core.names import check_text
from drumline.core.state import Status
from drumline.core.views import Moment, TaskIdText
from drumline.engine.log_search import FoundLine

LONGEST_TEXT = 200
LINE_BYTES = 300
"""What writing a line as JSON costs besides its length, as bytes."""


class LogSearchQuery(TaskQuery, frozen=True, forbid_unknown_fields=True):
    """Which lines, of the logs of which tasks."""

    text: Annotated[str | None, line(LONGEST_TEXT, "Only lines that contain this text, in letters of either case.")] = (
        None
    )
    level: Annotated[
        LogLevel | None,
        about("Only lines of this level or a more severe one; a line without a level has that of the line before."),
    ] = None
    status: Annotated[tuple[Status, ...], SEVERAL] = ()
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor()] = None


class LogLineBody(Struct, frozen=True, kw_only=True):
    """A line that was found. `line` is its number in the log of the task; `is_cut` says that `text` is a part of it."""

    task_id: TaskIdText
    name: str
    queue: str
    status: Status
    attempt: int | None
    line: int
    at: Moment | None
    level: LogLevel | None
    text: str
    is_cut: bool


class LogLineList(Struct, frozen=True, kw_only=True):
    """Lines that were found, those of the newest task first, and how far the search got."""

    items: tuple[LogLineBody, ...]
    next_cursor: str | None
    is_partial: bool
    """Whether it stopped at its bounds before it had found `limit` lines: the cursor continues it."""
    tasks: int
    """How many tasks' logs were searched."""
    back_to: Moment | None
    """The logs of tasks that were submitted later were searched; null if all were."""


async def search_logs(call: ApiCall[None, LogSearchQuery]) -> Reply:
    """Return lines of the logs of many tasks, the newest task first."""
    query = call.query
    if query.text is None and query.level is None:
        raise Invalid("give a text to search for, or a level", field="text")
    text = "" if query.text is None else check_text(query.text, field="text", longest=LONGEST_TEXT)
    which = filter_of(call, query, frozenset(query.status))
    page = await call.engine.log_search.search(
        which, LogSought(text, query.level), limit=query.limit, cursor=query.cursor
    )
    now = call.engine.clock.now()

    def body(found: FoundLine) -> LogLineBody:
        view, match = found.task, found.match
        return LogLineBody(
            task_id=view.id,
            name=view.lane.name,
            queue=view.lane.queue,
            status=view.status(now),
            attempt=found.attempt,
            line=match.line,
            at=moment(match.at),
            level=match.level,
            text=match.text,
            is_cut=match.is_cut,
        )

    def listed() -> bytes:
        answer = LogLineList(
            items=tuple(map(body, page.items)),
            next_cursor=page.next_cursor,
            is_partial=page.is_partial,
            tasks=page.tasks,
            back_to=moment(page.back_to),
        )
        return encode(answer)

    return Reply(await off_loop(sum(len(found.match.text) + LINE_BYTES for found in page.items), listed))


OPERATIONS = (
    Operation(
        method="GET", path="/api/v1/logs", handler=search_logs, merges=True, tag=Tag.TASKS,
        summary="Search the logs of many tasks", query=LogSearchQuery, answer=LogLineList,
        permission=Permission.TASKS_READ,
    ),
)  # fmt: skip
