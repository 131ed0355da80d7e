"""Searching the logs of many tasks."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from drumline.cli import completing
from drumline.cli.commands import checked_status, list_command
from drumline.cli.filtering import FilterText, Since, Until
from drumline.cli.options import Limit, Statuses, Tag
from drumline.cli.output import say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column
from drumline.cli.task_acts import Name, Queue
from drumline.cli.terminal import STATUSES
from drumline.cli.times import Toward, optional_moment
from drumline.core.errors import Invalid
from drumline.core.log_lines import LogLevel

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

PAGE: Final = 200

COLUMNS: Final = (
    Column("TASK_ID", "task_id", rank=8),
    Column("NAME", "name", rank=5, least=12),
    Column("ATTEMPT", "attempt", rank=1),
    Column("LINE", "line", rank=7),
    Column("LEVEL", "level", rank=4),
    Column("TEXT", "text", rank=9, least=40),
)


@list_command(
    None,
    "search-logs",
    COLUMNS,
    empty="No lines match.",
    more="These are the first {count}; there may be more: --limit {ten_times}",
)
def search_logs(
    client: "ApiClient",
    text: Annotated[
        str | None,
        Argument(help="The text, in letters of either case; not needed with --level.", metavar="TEXT"),
    ] = None,
    level: Annotated[
        str | None,
        Option(
            "--level",
            help="Only lines of this level or a more severe one: debug, info, warning, error.",
            metavar="LEVEL",
            complete=completing.of(*LogLevel),
        ),
    ] = None,
    filter: FilterText = None,
    status: Statuses = None,
    queue: Queue = None,
    name: Name = None,
    tag: Tag = None,
    job: Annotated[
        str | None, Option("--job", help="Only of this job.", metavar="ID", complete=completing.jobs)
    ] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 100,
) -> Any:
    """Search the logs of many tasks for a text; those of the newest task come first."""
    if text is None and level is None:
        raise Invalid("give a text to search for, or --level")
    return _lines(
        client, limit, text=text, level=_level(level), filter=filter,
        status=[checked_status(one, STATUSES) for one in status or ()] or None,
        queue=queue, name=name, tag=tag, job=job,
        since=optional_moment(since, flag="--since", toward=Toward.PAST),
        until=optional_moment(until, flag="--until", toward=Toward.PAST),
    )  # fmt: skip


def _level(text: str | None) -> str | None:
    if text is not None and text.lower() not in set(LogLevel):
        raise Invalid(f"there is no level {text}; it is one of {', '.join(LogLevel)}")
    return None if text is None else text.lower()


def _lines(client: "ApiClient", limit: int, **query: object) -> Iterator[dict[str, Any]]:
    """Yield up to `limit` lines, however many requests that takes; a search is given up at some time."""
    from drumline.cli.client import MOST_SEARCHES

    cursor, tasks, back_to = None, 0, None
    for _ in range(MOST_SEARCHES):
        with _progress(tasks, back_to):
            answer = client.get("/logs", limit=min(limit, PAGE), cursor=cursor, **query)
        yield from answer["items"]
        limit -= len(answer["items"])
        tasks += answer["tasks"]
        cursor, back_to = answer["next_cursor"], answer["back_to"]
        if limit <= 0 or cursor is None:
            return
    say(
        f"{_searched(tasks, back_to)}; older tasks may have more lines. "
        "Narrow it: --since, --until, --status, --name, --queue."
    )


@contextmanager
def _progress(tasks: int, back_to: str | None) -> Iterator[None]:
    """Show on a terminal how far a search got, while it goes on."""
    if back_to is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(_searched(tasks, back_to)):
        yield


def _searched(tasks: int, back_to: str | None) -> str:
    return f"Searched the logs of {tasks:,} {'task' if tasks == 1 else 'tasks'}, back to {back_to}"
