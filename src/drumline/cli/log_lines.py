"""Lines of logs: their times, the attempt that wrote them, and the logs of all tasks of a job."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli.commands import server_command
from drumline.cli.options import JobId
from drumline.cli.output import say
from drumline.cli.parameters import Option
from drumline.cli.tables import between
from drumline.cli.terminal import SafePieces, is_terminal
from drumline.cli.times import Toward, optional_moment

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z(?= )")
"""What a line of Python's `logging` begins with in the log of a task."""
MOST_TASKS: Final = 1000
NOTHING_LOGGED: Final = "Nothing was logged."

LoggedSince = Annotated[
    str | None, Option("--since", help="Only what was logged then or later: 10m, 09:00.", metavar="TIME")
]


def moment_after(since: str | None) -> datetime | None:
    """Return the time that `--since` names, if it was given."""
    begin = optional_moment(since, flag="--since", toward=Toward.PAST)
    return None if begin is None else datetime.fromisoformat(begin)


def lines_of(pieces: Iterable[str]) -> Iterator[str]:
    """Yield whole lines, without their ends."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


def time_of(line: str) -> datetime | None:
    """Return the time that a line begins with, if it has one."""
    found = _TIME.match(line)
    if found is None:
        return None
    try:
        return datetime.fromisoformat(found[0])
    except ValueError:
        return None  # the 31st of February: a text that only looks like a time


def timed(lines: Iterable[str], start: datetime) -> Iterator[tuple[datetime, str]]:
    """Yield lines with their times; a line without one has that of the line before, the first that of the attempt."""
    at = start
    for line in lines:
        at = time_of(line) or at
        yield at, line


def stamped(at: datetime, line: str) -> str:
    """Return a line that begins with a time."""
    if time_of(line) is not None:
        return line
    return f"{at.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%S')}.{at.microsecond // 1000:03d}Z {line}"


def attempts_of(client: "ApiClient", id: str, only: int | None = None) -> Iterator[tuple[str, datetime, Iterator[str]]]:
    """Yield for each attempt of a task a line about it, when it started, and the lines that it logged."""
    seen: set[int] = set()
    for attempt in client.get(f"/tasks/{id}/attempts")["items"]:
        number = attempt["attempt"]
        # Executions that did not count share the number of the next one, and their logs come together.
        if number in seen or attempt["started_at"] is None or only not in {None, number}:
            continue
        seen.add(number)
        took = between(attempt["started_at"], attempt["finished_at"])
        facts = [attempt["outcome"], f"took {took}" if took else None, attempt["worker"]]
        mark = f"-- attempt {number}: {', '.join(str(fact) for fact in facts if fact)} --"
        started = datetime.fromisoformat(attempt["started_at"])
        yield mark, started, lines_of(client.stream(f"/tasks/{id}/log", attempt=number))


def print_attempts(
    client: "ApiClient", id: str, *, since: datetime | None, timestamps: bool, attempt: int | None, tail: int | None
) -> None:
    """Print the log of a task attempt by attempt, with a line before each; only what was logged since a time.

    With `tail` only the last lines of all attempts, and attempts that have none of them are left out.
    """
    shown: Iterable[tuple[str, str | None]] = _shown(client, id, since=since, timestamps=timestamps, attempt=attempt)
    if tail is not None:
        shown = deque((each for each in shown if each[1] is not None), maxlen=tail)
    text, last = SafePieces(colours=is_terminal()), None
    for mark, line in shown:
        if mark != last:
            click.echo(mark)
        last = mark
        if line is not None:
            click.echo(text.add(line + "\n"), nl=False)
    click.echo(text.close(), nl=False)
    if last is None:
        say(NOTHING_LOGGED)


def _shown(
    client: "ApiClient", id: str, *, since: datetime | None, timestamps: bool, attempt: int | None
) -> Iterator[tuple[str, str | None]]:
    """Yield for each attempt the line about it, and with it each line that it logged."""
    for mark, started, lines in attempts_of(client, id, attempt):
        yield mark, None
        for at, line in timed(lines, started):
            if since is None or at >= since:
                yield mark, stamped(at, line) if timestamps else line


def _logged(nodes: list[dict[str, Any]], keys: list[str] | None, *, failed: bool) -> list[dict[str, Any]]:
    """Return the tasks of a job that have started, in that order."""
    chosen = [
        node
        for node in nodes
        if node["started_at"] and (not keys or node["key"] in keys) and (not failed or node["status"] == "FAILED")
    ]
    return sorted(chosen, key=lambda node: (node["started_at"], node["key"]))


@server_command()
def job_logs(
    client: "ApiClient",
    id: JobId,
    keys: Annotated[
        list[str] | None, Option("--key", "-k", help="Only of this task of the job; may be repeated.", metavar="KEY")
    ] = None,
    failed: Annotated[bool, Option("--failed", help="Only of tasks that failed.")] = False,
    tail: Annotated[int | None, Option("--tail", help="Only the last lines of each task.", min=0, metavar="N")] = None,
    since: LoggedSince = None,
    timestamps: Annotated[bool, Option("--timestamps", help="Begin every line with its time.")] = False,
) -> None:
    """Print the logs of the tasks of a job, each line after the key of its task."""
    nodes = client.get(f"/jobs/{id}/graph")["nodes"]
    chosen = _logged(nodes, keys, failed=failed)
    if len(chosen) > MOST_TASKS:
        say(f"These are the first {MOST_TASKS:,} of {len(chosen):,} tasks; choose some with --key")
    text, after = SafePieces(colours=is_terminal()), moment_after(since)
    for node in chosen[:MOST_TASKS]:
        started = datetime.fromisoformat(node["started_at"])
        logged = timed(lines_of(client.stream(f"/tasks/{node['task_id']}/log")), started)
        wanted: Iterable[tuple[datetime, str]] = (each for each in logged if after is None or each[0] >= after)
        for at, line in wanted if tail is None else deque(wanted, maxlen=tail):
            click.echo(text.add(f"[{node['key']}] {stamped(at, line) if timestamps else line}\n"), nl=False)
    click.echo(text.close(), nl=False)
    if not chosen:
        say("No task of the job has started." if not (keys or failed) else "No tasks of the job match.")
