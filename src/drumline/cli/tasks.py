"""Commands about tasks, and about the files that they made."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import checked_status, do_each, group, list_command, segment, server_command
from drumline.cli.describing import first_line, print_task
from drumline.cli.options import DryRun, Fields, Json, Limit, Statuses, Tag, TaskId, TaskIds, Yes
from drumline.cli.output import Form, confirm, print_list, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.submitting import submit
from drumline.cli.tables import Column, relative, size
from drumline.cli.terminal import STATUSES
from drumline.cli.times import Toward, optional_moment, span_of
from drumline.cli.watching import logs, watch
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Submit, list and control tasks.")
app.add("submit")(submit)
app.add("watch")(watch)
app.add("logs")(logs)

COLUMNS = (
    Column("ID", "id", rank=9),
    Column("STATUS", "status", rank=9),
    Column("NAME", "name", rank=8, least=8),
    Column("QUEUE", "queue", rank=4, least=8),
    Column("PRIORITY", "priority", rank=1),
    Column("ATTEMPT", lambda task: f"{task['attempt']}/{task['retries'] + 1}", rank=3),
    Column("CREATED_AT", "created_at", rank=6, is_time=True),
    Column("DUE_AT", "due_at", rank=2, is_time=True),
    Column("ERROR", lambda task: first_line(task["error"]), rank=7, least=16, is_news=True),
)
ARTIFACTS = (
    Column("NAME", "name", rank=9, least=16),
    Column("SIZE", lambda artifact: size(artifact["size"]), rank=8),
    Column("CONTENT_TYPE", "content_type", rank=7, least=10),
    Column("CREATED_AT", "created_at", rank=6, is_time=True),
)

Queue = Annotated[
    str | None, Option("--queue", "-q", help="Only this queue.", metavar="NAME", complete=completing.queues)
]
Name = Annotated[
    str | None, Option("--name", "-n", help="Only this task name.", metavar="NAME", complete=completing.task_names)
]


def _print_counts(found: dict[str, Any]) -> None:
    for count in found["items"]:
        click.echo(f"{count['status']:<11} {count['count']:>7,}{'+' if count['is_more'] else ''}")


def _print_reasons(answer: dict[str, Any]) -> None:
    for reason in answer["reasons"]:
        until = relative(reason["until"])
        click.echo(f"{reason['text'][:1].upper()}{reason['text'][1:]}{f' ({until})' if until else ''}.")


def _print_done(tasks: list[dict[str, Any]]) -> None:
    for task in tasks:
        click.echo(f"{task['id']}  {task['status']}")
    if any(task["status"] == "PROCESSING" and task["cancel_requested"] for task in tasks):
        say("Its worker is told to stop it; --force ends a running task now.")


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


@list_command(
    app,
    "list",
    COLUMNS,
    empty="There are no tasks yet. Try: drumline submit shell --arg shell='echo hello' --wait",
    unmatched="No task is like that.",
    more="These are the newest {count}; there may be more: --limit {ten_times}",
)
def list_tasks(
    client: "ApiClient",
    status: Statuses = None,
    queue: Queue = None,
    name: Name = None,
    tag: Tag = None,
    key: Annotated[str | None, Option("--key", help="Only with this idempotency key.", metavar="KEY")] = None,
    worker: Annotated[str | None, Option("--worker", help="Only held by this worker.", metavar="ID")] = None,
    job: Annotated[str | None, Option("--job", help="Only of this job.", metavar="ID")] = None,
    limit: Limit = 50,
    fields: Fields = None,
) -> Any:
    """List tasks, newest first."""
    return client.pages(
        "/tasks", limit=limit, payload="true" if "payload" in Form(fields=fields).names else None,
        status=[checked_status(one, STATUSES) for one in status or ()] or None,
        queue=queue, name=name, tag=tag, idempotency_key=key, worker=worker, job=job,
    )  # fmt: skip


@server_command(app, show=_print_counts)
def counts(client: "ApiClient", queue: Queue = None, name: Name = None, tag: Tag = None) -> Any:
    """Count tasks by status; a number with a + is a lower bound."""
    return client.get("/tasks/counts", queue=queue, name=name, tag=tag)


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


@server_command(app, reason=True)
def cancel(
    client: "ApiClient",
    ids: TaskIds,
    force: Annotated[bool, Option("--force", help="End running ones now, whatever their worker does.")] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Cancel tasks: waiting ones at once, running ones as soon as their worker hears of it."""
    if dry_run:
        _print_dry_run(client, ids, "would be cancelled", as_json=as_json)
        return
    confirm(f"Cancel {_count(ids)}?", yes=yes)
    do_each(ids, lambda one: client.post(f"/tasks/{one}/cancel", {"force": force}), _print_done, as_json=as_json)


@server_command(app, reason=True)
def retry(client: "ApiClient", ids: TaskIds, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Run failed, cancelled or skipped tasks again."""
    if dry_run:
        _print_dry_run(client, ids, "would run again", as_json=as_json)
        return
    do_each(ids, lambda one: client.post(f"/tasks/{one}/retry"), _print_done, as_json=as_json)


@server_command(app, reason=True)
def reschedule(
    client: "ApiClient",
    ids: TaskIds,
    at: Annotated[
        str | None, Option("--at", help="When to run: tomorrow 09:00, 2026-01-02T03:04Z.", metavar="TIME")
    ] = None,
    delay: Annotated[str | None, Option("--delay", help="How far from now: 90, 1h30m.", metavar="TIME")] = None,
    priority: Annotated[
        str | None, Option("--priority", help="-100 to 100, or critical, high, normal, low.", metavar="PRIORITY")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change when waiting tasks run, or their priority."""
    asked = {
        "run_at": optional_moment(at, flag="--at", toward=Toward.FUTURE),
        "delay": None if delay is None else span_of(delay, flag="--delay", toward=Toward.FUTURE),
        "priority": priority,
    }
    change = {name: value for name, value in asked.items() if value is not None}
    if not change:
        raise Invalid("give --at, --delay or --priority")
    do_each(ids, lambda one: client.patch(f"/tasks/{one}", change), _print_done, as_json=as_json)


def _print_dry_run(client: "ApiClient", ids: list[str], outcome: str, *, as_json: bool) -> None:
    tasks = [client.get(f"/tasks/{one}") for one in ids]
    print_list(tasks, COLUMNS, Form.of(as_json=as_json), nothing="")
    say(f"{_count(ids).capitalize()} {outcome}, as far as the state allows; nothing was changed.")


def _count(ids: list[str]) -> str:
    return f"task {ids[0]}" if len(ids) == 1 else f"{len(ids)} tasks"


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
