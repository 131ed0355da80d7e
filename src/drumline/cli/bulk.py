"""Commands about bulk operations, and how one is followed to its end."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, server_command
from drumline.cli.describing import print_line, shown_moment
from drumline.cli.errors import ExitCode
from drumline.cli.options import GiveUp, Json, Jsonl, Limit, Yes
from drumline.cli.output import confirm, print_json, print_json_line, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column, print_fitted, tidy
from drumline.core.errors import Overloaded, Unavailable

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

POLL_SECONDS = 0.25
SHOWN_ITEMS = 20

app = group("List and abort bulk operations.")

BulkId = Annotated[
    str,
    Argument(help="The operation's id.", metavar="ID", show_default=False, complete=completing.bulks, ids_of="bulk"),
]


def which(bulk: dict[str, Any]) -> str:
    """Return the filter of a bulk operation as text."""
    if bulk["filter"] is None:
        return "named one by one"
    words = [
        _word(value) if name == "expression" else f"{name}:{_word(value)}" for name, value in bulk["filter"].items()
    ]
    return " ".join(words) or "all"


def _word(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


COLUMNS = (
    Column("ID", "id", rank=9),
    Column("ACT", "act", rank=8),
    Column("STATE", "state", rank=8),
    Column("TOTAL", "total", rank=7),
    Column("DONE", "done", rank=7),
    Column("SKIPPED", "skipped", rank=5),
    Column("FAILED", "failed", rank=5),
    Column("CREATED_AT", "created_at", rank=6, is_time=True),
    Column("WHICH", which, rank=4, least=16),
    Column("REASON", "reason", rank=3, least=12),
)
ITEMS = (
    Column("ID", "id", rank=9),
    Column("OUTCOME", "outcome", rank=8),
    Column("ERROR", "error", rank=7, least=20),
)

Show = Callable[[dict[str, Any]], None]
"""Shows an operation as it is now."""


@list_command(app, "list", COLUMNS, empty="There are no bulk operations.")
def list_bulks(
    client: "ApiClient",
    state: Annotated[
        list[str] | None,
        Option(
            "--state",
            help="Only running, completed or aborted ones; may be repeated.",
            metavar="STATE",
            complete=completing.of("running", "completed", "aborted"),
        ),
    ] = None,
    limit: Limit = 50,
) -> Any:
    """List bulk operations, newest first."""
    return client.pages("/bulk", limit=limit, state=state or None)


def _describe(client: "ApiClient", bulk: dict[str, Any]) -> None:
    print_line("id", bulk["id"])
    print_line("act", bulk["act"] + (f", {bulk['rate']:g} a second" if bulk["rate"] else ""))
    print_line("state", bulk["state"])
    print_line("which", tidy(which(bulk)))
    print_line("reason", tidy(bulk["reason"] or ""))
    print_line("tasks", f"{bulk['done']:,} of {bulk['total']:,} done, {_left(bulk):,} left")
    for name in ("skipped", "failed"):
        print_line(name, f"{bulk[name]:,}" if bulk[name] else None)
    print_line("created", shown_moment(bulk["created_at"]))
    print_line("finished", shown_moment(bulk["finished_at"]))
    path = f"/bulk/{bulk['id']}/items"
    refused = client.get(path, outcome="failed,skipped", limit=SHOWN_ITEMS)
    if refused["items"]:
        click.echo()
        print_fitted(refused["items"], ITEMS)
        if refused["next_cursor"]:
            say(f"These are the first {SHOWN_ITEMS}; all of them: GET /api/v1{path}?outcome=failed,skipped")


@server_command(app, describe=_describe, fields=True, page=lambda bulk: f"/bulk/{bulk['id']}")
def get(client: "ApiClient", id: BulkId) -> Any:
    """Show a bulk operation, and the tasks that it skipped."""
    return client.get(f"/bulk/{id}")


@server_command(app)
def watch(
    client: "ApiClient",
    id: BulkId,
    timeout: GiveUp = None,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
) -> None:
    """Watch a bulk operation until it ends."""
    bulk = follow(client, client.get(f"/bulk/{id}"), timeout=timeout, as_json=as_json, as_jsonl=as_jsonl)
    finish(bulk, as_json=as_json, as_jsonl=as_jsonl)


@server_command(app, show=lambda bulk: click.echo(summary(bulk)))
def abort(client: "ApiClient", id: BulkId, yes: Yes = False) -> Any:
    """Abort a bulk operation; what was done stays done."""
    bulk = client.get(f"/bulk/{id}")
    confirm(f"Abort this {bulk['act']}, with {_left(bulk):,} of {bulk['total']:,} tasks left?", yes=yes)
    return client.post(f"/bulk/{id}/abort")


def follow(
    client: "ApiClient",
    bulk: dict[str, Any],
    *,
    timeout: float | None = None,
    as_json: bool = False,
    as_jsonl: bool = False,
) -> dict[str, Any]:
    """Show how an operation goes, and return it once it has ended or the time is up."""
    from drumline.cli.client import retrying

    deadline = None if timeout is None else time.monotonic() + timeout
    client = retrying(client, deadline=deadline)
    with _display(bulk, as_json=as_json, as_jsonl=as_jsonl) as show:
        while True:
            show(bulk)
            if bulk["state"] != "running" or (deadline is not None and time.monotonic() >= deadline):
                return bulk
            time.sleep(POLL_SECONDS)
            try:
                bulk = client.get(f"/bulk/{bulk['id']}")
            except (Unavailable, Overloaded):
                return bulk  # the time is up, and the server is away


def finish(bulk: dict[str, Any], *, as_json: bool, as_jsonl: bool = False) -> None:
    """Print how an operation ended, and exit accordingly."""
    if as_json:
        print_json(bulk)
    elif not as_jsonl:
        click.echo(summary(bulk))
        if bulk["failed"] or bulk["skipped"]:
            say(f"Why some were skipped or failed: drumline bulk get {bulk['id']}")
    if bulk["state"] == "running":
        say("The time is up; the operation goes on.")
        raise click.exceptions.Exit(ExitCode.TIMED_OUT)
    if bulk["failed"]:
        raise click.exceptions.Exit(ExitCode.FAILED)


def summary(bulk: dict[str, Any]) -> str:
    """Return an operation in one line."""
    parts = [f"{bulk['done']:,} of {bulk['total']:,} done"]
    parts += [f"{bulk[name]:,} {name}" for name in ("skipped", "failed") if bulk[name]]
    return f"{bulk['id']}  {bulk['act']} {bulk['state']}: {', '.join(parts)}"


def _left(bulk: dict[str, Any]) -> int:
    return int(bulk["total"] - bulk["done"] - bulk["skipped"] - bulk["failed"])


@contextmanager
def _display(bulk: dict[str, Any], *, as_json: bool, as_jsonl: bool) -> Iterator[Show]:
    """Give what shows an operation: lines of JSON, a bar on the terminal, or nothing."""
    if as_jsonl:
        yield print_json_line
    elif as_json or not sys.stderr.isatty():
        yield lambda _bulk: None
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task(bulk["act"], total=bulk["total"])
            yield lambda now: progress.update(bar, completed=now["total"] - _left(now))
