"""Watching a task to its end, and reading its log."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli.commands import server_command
from drumline.cli.describing import first_line, progress_text
from drumline.cli.errors import exit_code_for
from drumline.cli.log_lines import NOTHING_LOGGED, LoggedSince, lines_of, moment_after, print_attempts, stamped, timed
from drumline.cli.options import Json, TaskId, TaskIds
from drumline.cli.output import print_json, print_json_line, say
from drumline.cli.parameters import Option
from drumline.cli.tables import relative, tidy
from drumline.cli.terminal import SafePieces, is_terminal
from drumline.cli.watch_many import WatchOptions, watch_all
from drumline.core.errors import Invalid, Overloaded, Unavailable

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})
POLL_SECONDS = 1.0
AGAIN_SECONDS = 0.2
"""How soon a stream that has ended too early is opened again."""
WARN_SECONDS = 3.0
"""How long a due task may wait before the missing worker is reported."""

NEEDED = {
    "shell": "DRUMLINE_ALLOW_SHELL=1 drumline worker",
    "send-email": "DRUMLINE_SMTP_HOST=… drumline worker",
}
"""How to start a worker for a built-in task that has to be allowed first."""

Show = Callable[[dict[str, Any]], None]
"""Shows a task as it is now."""


@server_command()
def watch(client: "ApiClient", ids: TaskIds, options: WatchOptions) -> None:
    """Watch tasks until they end; several are printed as each ends."""
    watch_all(client, [f"/tasks/{one}" for one in ids], options, watch_task)


def watch_task(client: "ApiClient", path: str, options: WatchOptions) -> dict[str, Any]:
    """Show a task until it ends or the time is up, and return it."""
    with _display(as_json=options.as_json, as_jsonl=options.as_jsonl) as show:
        task = _wait_for_task(client, path, timeout=options.timeout, show=show)
    if options.as_json:
        print_json(task)
    elif not options.as_jsonl:
        _print_end(task)
    return task


@server_command()
def logs(
    client: "ApiClient",
    id: TaskId,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until the task has ended.")] = False,
    tail: Annotated[int | None, Option("--tail", help="Only the last lines.", min=0, metavar="N")] = None,
    attempt: Annotated[int | None, Option("--attempt", help="Only this attempt.", min=1, metavar="N")] = None,
    since: LoggedSince = None,
    timestamps: Annotated[
        bool, Option("--timestamps", help="Begin every line with its time, and mark where each attempt begins.")
    ] = False,
    raw: Annotated[bool, Option("--raw", help="As it was written, control characters included.")] = False,
    as_json: Json = False,
) -> None:
    """Print the log of a task.

    Control sequences are removed; colours stay on a terminal.
    """
    is_timed, after = since is not None or timestamps, moment_after(since)
    _check_log_flags(follow=follow, tail=tail, raw=raw, as_json=as_json, is_timed=is_timed)
    if is_timed and not follow:
        print_attempts(client, id, since=after, timestamps=timestamps, attempt=attempt, tail=tail)
        return
    path = f"/tasks/{id}/log"
    if follow and attempt is None:
        pieces = _followed_log(client, id, path)
    else:
        pieces = client.stream(path, follow="true" if follow else None, attempt=attempt)
    if is_timed:
        pieces = _timed_log(pieces, _first_start(client, id), since=after, timestamps=timestamps)
    if as_json:
        print_json({"id": id, "log": "".join(pieces)})
        return
    if not _print_log(pieces if tail is None else _last_lines(pieces, tail), raw=raw):
        say(NOTHING_LOGGED)


def _first_start(client: "ApiClient", id: str) -> datetime:
    """Return when a task has begun to log; now, if it has not started."""
    starts = [attempt["started_at"] for attempt in client.get(f"/tasks/{id}/attempts")["items"]]
    return min((datetime.fromisoformat(at) for at in starts if at), default=datetime.now(UTC))


def _timed_log(pieces: Iterable[str], start: datetime, *, since: datetime | None, timestamps: bool) -> Iterator[str]:
    """Yield a log as it comes, line by line: only what was logged since a time, with times if they are wanted."""
    for at, line in timed(lines_of(pieces), start):
        if since is None or at >= since:
            yield (stamped(at, line) if timestamps else line) + "\n"


def _check_log_flags(*, follow: bool, tail: int | None, raw: bool, as_json: bool, is_timed: bool) -> None:
    """Raise `Invalid` for flags of `logs` that do not go together."""
    if is_timed and (raw or as_json):
        raise Invalid("--since and --timestamps do not go with --raw and --json")
    if follow and as_json:
        raise Invalid("--json is one document, and --follow has no end to wait for: give one of them")
    if follow and tail is not None:
        raise Invalid("--tail ends with the log's last line now, and --follow goes on: give one of them")
    if raw and is_terminal():
        raise Invalid("--raw is for files and pipes: a task's log could command this terminal anything")


def _print_log(pieces: Iterable[str], *, raw: bool) -> bool:
    """Print a log as it comes; tell whether there was any."""
    text, is_any = SafePieces(colours=is_terminal()), False
    for piece in pieces:
        sys.stdout.write(piece if raw else text.add(piece))
        sys.stdout.flush()
        is_any = is_any or bool(piece)
    sys.stdout.write(text.close())
    return is_any


def _last_lines(pieces: Iterable[str], count: int) -> Iterator[str]:
    """Yield the last lines of a log, holding no more than those."""
    lines: deque[str] = deque(maxlen=count)
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        lines.extend(whole)
    if rest:
        lines.append(rest)
        yield "\n".join(lines)
    elif lines:
        yield "\n".join(lines) + "\n"


def _followed_log(client: "ApiClient", id: str, path: str) -> Iterator[str]:
    """Yield a task's log until the task has ended, opening the stream again where it was whenever it breaks.

    A server that stops ends its streams in order, too: whether the log is whole is told by the task.
    """
    from drumline.cli.client import NoAnswer, retrying

    has_ended = client.get(f"/tasks/{id}")["status"] in ENDED
    told = 0
    while True:
        is_last = has_ended
        seen = 0
        try:
            for piece in client.stream(path, follow="true"):
                new = piece[max(told - seen, 0) :]
                seen += len(piece)
                told += len(new)
                yield new
        except NoAnswer:
            is_last = False  # a quiet task, or a connection that died without a word
        except (Unavailable, Overloaded) as error:
            is_last = False
            say(f"{error.message.splitlines()[0]}; following again from where it was")
        if is_last:
            return
        has_ended = retrying(client).get(f"/tasks/{id}")["status"] in ENDED
        if not has_ended:
            time.sleep(AGAIN_SECONDS)


def wait_for_result(client: "ApiClient", id: str, *, as_json: bool) -> None:
    """Wait for a task's end, print its result, and exit as it ended."""
    with _display(as_json=as_json, as_jsonl=False) as show:
        task = _wait_for_task(client, f"/tasks/{id}", timeout=None, show=show)
    if as_json:
        print_json(task)
    elif task["status"] == "COMPLETED":
        print_json(task.get("result"))
    else:
        _print_end(task)
    raise click.exceptions.Exit(exit_code_for(task["status"]))


def wait_for_end(
    client: "ApiClient",
    path: str,
    *,
    timeout: float | None,
    show: Show,
    warn: "Callable[[ApiClient, dict[str, Any]], None]",
    warn_after: float,
    is_waiting: Callable[[dict[str, Any]], bool],
) -> dict[str, Any]:
    """Show a task or job each time it has changed, and return it once it has ended or the time is up.

    `warn` is called once when it has been waiting for `warn_after` seconds.
    """
    from drumline.cli.client import retrying

    deadline = None if timeout is None else time.monotonic() + timeout
    last: dict[str, Any] | None = None
    is_warned, since = False, time.monotonic()
    while True:
        left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, max(deadline - time.monotonic(), 0.0))
        try:
            found: dict[str, Any] = client.get(path, wait=left if last else None)
        except (Unavailable, Overloaded):
            if last is None:
                raise
            return last  # the time is up, and the server cannot be reached
        client = retrying(client, deadline=deadline)
        if found != last:
            show(found)
            since = time.monotonic()
        last = found
        if not is_warned and is_waiting(found) and time.monotonic() - since > warn_after:
            is_warned = True
            warn(client, found)
        if found["status"] in ENDED or (deadline is not None and time.monotonic() >= deadline):
            return found


def _wait_for_task(client: "ApiClient", path: str, *, timeout: float | None, show: Show) -> dict[str, Any]:
    return wait_for_end(
        client,
        path,
        timeout=timeout,
        show=show,
        warn=_warn_if_no_worker,
        warn_after=WARN_SECONDS,
        is_waiting=lambda task: task["status"] == "QUEUED",
    )


def _warn_if_no_worker(client: "ApiClient", task: dict[str, Any]) -> None:
    workers = client.get("/workers")["items"]
    if not any(task["name"] in worker["types"] for worker in workers):
        how = NEEDED.get(task["name"], "drumline worker APP")
        say(f"No live worker has a task named {task['name']}; it waits for one: {how}")


@contextmanager
def _display(*, as_json: bool, as_jsonl: bool) -> Iterator[Show]:
    """Give what shows a task: lines of JSON, a line on the terminal that stays up to date, or nothing."""
    if as_jsonl:
        yield print_json_line
    elif as_json or not sys.stderr.isatty():
        yield lambda _task: None
    else:
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status("") as line:
            yield lambda task: line.update(escape(tidy(_summary(task))))


def _summary(task: dict[str, Any]) -> str:
    if task["status"] == "PENDING":
        return f"{task['name']}  PENDING, due {relative(task['due_at'])}{_last_error(task)}"
    if task["status"] == "PROCESSING":
        how_far = f"  {text}" if (text := progress_text(task)) else ""
        return f"{task['name']}  PROCESSING, attempt {task['attempt']} of {task['retries'] + 1}{how_far}"
    return f"{task['name']}  {task['status']}{_last_error(task)}"


def _last_error(task: dict[str, Any]) -> str:
    return f"; attempt {task['attempt']}: {first_line(task['error'])}" if task["error"] else ""


def _print_end(task: dict[str, Any]) -> None:
    click.echo(f"{task['id']}  {task['status']}")
    if task["error"] and task["status"] == "FAILED":
        say(f"{task['error']['kind']}: {task['error']['message']}")
        say(f"More: drumline tasks get {task['id']}")
    elif task["status"] not in ENDED:
        say("The time is up; the task continues.")
