"""Commands about tasks, and about the files that they made."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import checked_status, group, list_command, segment, server_command
from drumline.cli.describing import print_task, sentence_of
from drumline.cli.filtering import ErrorText, FilterText, Since, Sort, Until, sorted_by, terms
from drumline.cli.log_search import search_logs
from drumline.cli.options import Fields, Limit, Statuses, Tag, TaskId
from drumline.cli.output import Form, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.replaying import fork, replay
from drumline.cli.signalling import signal
from drumline.cli.steps import COLUMNS as STEP_COLUMNS
from drumline.cli.steps import timeline
from drumline.cli.submitting import submit
from drumline.cli.tables import Column, size
from drumline.cli.task_acts import Name, Queue, cancel, reschedule, retry
from drumline.cli.task_columns import COLUMNS
from drumline.cli.terminal import STATUSES
from drumline.cli.timelines import task_timeline
from drumline.cli.times import Toward, optional_moment
from drumline.cli.watching import logs, watch
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

Round = Annotated[
    int | None, Option("--round", help="Of this round of the task, which ctx.restart has ended.", metavar="NUMBER")
]

app = group("Submit, list and control tasks.")
app.add("submit")(submit)
app.add("watch")(watch)
app.add("logs")(logs)
app.add("search-logs")(search_logs)
app.add("cancel")(cancel)
app.add("retry")(retry)
app.add("reschedule")(reschedule)
app.add("signal")(signal)
app.add("fork")(fork)
app.add("replay")(replay)
app.add("timeline")(task_timeline)

ARTIFACTS = (
    Column("NAME", "name", rank=9, least=16),
    Column("SIZE", lambda artifact: size(artifact["size"]), rank=8),
    Column("CONTENT_TYPE", "content_type", rank=7, least=10),
    Column("CREATED_AT", "created_at", rank=6, is_time=True),
)


def _print_counts(found: dict[str, Any]) -> None:
    for count in found["items"]:
        click.echo(f"{count['status']:<11} {count['count']:>7,}{'+' if count['is_more'] else ''}")


def _print_reasons(answer: dict[str, Any]) -> None:
    for reason in answer["reasons"]:
        click.echo(sentence_of(reason))


def _describe(client: "ApiClient", task: dict[str, Any]) -> None:
    path = f"/tasks/{task['id']}"
    attempts = task.get("attempts") or client.get(f"{path}/attempts")["items"]
    print_task(task, attempts, client.get(f"{path}/artifacts")["items"])


@list_command(app, "artifacts", ARTIFACTS, empty="The task has made no files.")
def artifacts(client: "ApiClient", id: TaskId) -> Any:
    """List the files that a task made."""
    return client.get(f"/tasks/{id}/artifacts")["items"]


@server_command(app)
def download(
    client: "ApiClient",
    id: TaskId,
    name: Annotated[
        str | None, Argument(help="Which file, if there are several.", metavar="NAME", show_default=False)
    ] = None,
    output: Annotated[
        str | None,
        Option("--output", "-o", help="Where to put it, - for standard output. [default: its name]", metavar="FILE"),
    ] = None,
    force: Annotated[bool, Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Fetch a file that a task made."""
    artifact = _wanted(client, id, name)
    data = client.fetch(f"/tasks/{id}/artifacts/{segment(artifact['name'])}")
    if output == "-":
        sys.stdout.buffer.write(data)
        return
    path = Path(output) if output else Path(Path(artifact["name"]).name)
    try:
        with path.open("wb" if force else "xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Invalid(f"{path} is there already: name another with --output, or add --force") from error
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}") from error
    click.echo(path)
    say(f"{size(len(data))}, {artifact['content_type']}")


@server_command(app, show=_print_reasons)
def why(client: "ApiClient", id: TaskId) -> Any:
    """Show why a task is not running."""
    return client.get(f"/tasks/{id}/why")


CHILD_COLUMNS = (
    Column("ID", "id", rank=9),
    Column("NAME", "name", rank=7, least=12),
    Column("STATUS", "status", rank=8),
    Column("CALL", "call", rank=6, least=12),
    Column("KEY", "key", rank=5, least=6),
    Column("PLACE", "place", rank=4),
    Column("QUEUE", "queue", rank=3),
    Column("ON_END", "on_end", rank=2),
)


@list_command(app, "children", CHILD_COLUMNS, empty="The task has started no others.")
def children(client: "ApiClient", id: TaskId, limit: Limit = 1000, round: Round = None) -> Any:
    """Show the tasks that a durable task has started, with the calls that started them."""
    return client.pages(f"/tasks/{id}/children", limit=limit, round=round)


@list_command(app, "steps", STEP_COLUMNS, empty="The task has recorded nothing, and waits for nothing.")
def steps(client: "ApiClient", id: TaskId, limit: Limit = 1000, round: Round = None) -> Any:
    """List what a durable task has done, and what it waits for; before it, rounds that are over."""
    return timeline(client, id, limit, round, with_rounds=True)


@list_command(
    app,
    "list",
    COLUMNS,
    empty="There are no tasks yet. Try: drumline submit shell --arg shell='echo hello' --wait",
    unmatched="No tasks match.",
    more="These are the newest {count}; there may be more: --limit {ten_times}",
)
def list_tasks(
    client: "ApiClient",
    status: Statuses = None,
    queue: Queue = None,
    name: Name = None,
    tag: Tag = None,
    key: Annotated[str | None, Option("--key", help="Only with this idempotency key.", metavar="KEY")] = None,
    worker: Annotated[
        str | None, Option("--worker", help="Only held by this worker.", metavar="ID", complete=completing.workers)
    ] = None,
    job: Annotated[
        str | None, Option("--job", help="Only of this job.", metavar="ID", complete=completing.jobs)
    ] = None,
    since: Since = None,
    until: Until = None,
    error: ErrorText = None,
    filter: FilterText = None,
    sort: Sort = None,
    limit: Limit = 50,
    fields: Fields = None,
) -> Any:
    """List tasks, newest first."""
    found = client.pages(
        "/tasks", limit=limit, payload="true" if "payload" in Form(fields=fields).names else None,
        status=[checked_status(one, STATUSES) for one in status or ()] or None,
        queue=queue, name=name, tag=tag, idempotency_key=key, worker=worker, job=job,
        since=optional_moment(since, flag="--since", toward=Toward.PAST),
        until=optional_moment(until, flag="--until", toward=Toward.PAST), filter=terms(filter, error=error),
    )  # fmt: skip
    return sorted_by(found, sort)


@server_command(app)
def export(
    client: "ApiClient",
    filter: FilterText = None,
    status: Statuses = None,
    queue: Queue = None,
    name: Name = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    error: ErrorText = None,
    format: Annotated[
        str, Option("--format", help="csv or jsonl.", metavar="FORMAT", complete=completing.of("csv", "jsonl"))
    ] = "csv",
    payload: Annotated[bool, Option("--payload", help="With payloads and results.")] = False,
    limit: Annotated[int, Option("--limit", "-l", help="How many at most.", min=1, metavar="N")] = 100_000,
    file: Annotated[
        Path | None, Option("--file", help="Write to this file, not to standard output.", metavar="FILE")
    ] = None,
) -> None:
    """Export tasks as a table (CSV) or as lines of JSON, newest first."""
    pieces = client.stream(
        "/tasks/export", format=format, limit=limit, payload="true" if payload else None,
        status=[checked_status(one, STATUSES) for one in status or ()] or None, queue=queue, name=name, tag=tag,
        since=optional_moment(since, flag="--since", toward=Toward.PAST),
        until=optional_moment(until, flag="--until", toward=Toward.PAST), filter=terms(filter, error=error),
    )  # fmt: skip
    if file is None:
        for piece in pieces:
            sys.stdout.write(piece)
        return
    with file.open("w", encoding="utf-8", newline="") as written:
        written.writelines(pieces)
    say(f"The tasks are in {file}.")


@server_command(app, show=_print_counts)
def counts(
    client: "ApiClient", queue: Queue = None, name: Name = None, tag: Tag = None, filter: FilterText = None
) -> Any:
    """Count tasks by status; a number with a + is a lower bound."""
    return client.get("/tasks/counts", queue=queue, name=name, tag=tag, filter=filter)


@server_command(app, describe=_describe, fields=True, page=lambda task: f"/tasks/{task['id']}")
def get(
    client: "ApiClient",
    id: TaskId,
    attempts: Annotated[bool, Option("--attempts", help="With --json: every execution too.")] = False,
) -> Any:
    """Show a task: its status, its payload, and how each attempt ended."""
    task = client.get(f"/tasks/{id}")
    if attempts:
        task["attempts"] = client.get(f"/tasks/{id}/attempts")["items"]
    return task


def _wanted(client: "ApiClient", id: str, name: str | None) -> dict[str, Any]:
    items: list[dict[str, Any]] = client.get(f"/tasks/{id}/artifacts")["items"]
    if not items:
        raise NotFound(f"task {id} has made no files")
    found = [item for item in items if name in {None, item["name"]}]
    if len(found) == 1:
        return found[0]
    names = ", ".join(item["name"] for item in items)
    if name is None:
        raise Invalid(f"task {id} has made several files: {names}")
    raise NotFound(f"task {id} has made no file {name}, but {names}")
