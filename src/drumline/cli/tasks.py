"""Commands about tasks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.artifacts import artifacts, download
from drumline.cli.describing import first_line, print_task
from drumline.cli.exits import ExitCode, exit_code_of
from drumline.cli.options import DryRun, Fields, Json, Jsonl, Key, Reason, TaskId, TaskIds, Url, Wide, Yes
from drumline.cli.output import Form, confirm, picked, print_json, print_list, say
from drumline.cli.submitting import submit
from drumline.cli.tables import Column
from drumline.cli.terminal import STATUSES, is_terminal
from drumline.cli.times import Toward, optional_moment, span_of
from drumline.cli.watching import logs, watch
from drumline.cli.whys import why
from drumline.core.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import Client

app = typer.Typer(help="Submit, look at and steer tasks.", no_args_is_help=True, rich_markup_mode=None)
app.command("submit")(submit)
app.command("watch")(watch)
app.command("logs")(logs)
app.command("artifacts")(artifacts)
app.command("download")(download)
app.command("why")(why)

COLUMNS = (
    Column("ID", lambda task: task["id"], rank=9),
    Column("STATUS", lambda task: task["status"], rank=9),
    Column("NAME", lambda task: task["name"], rank=8, least=8),
    Column("QUEUE", lambda task: task["queue"], rank=4, least=8),
    Column("PRIORITY", lambda task: task["priority"], rank=1),
    Column("ATTEMPT", lambda task: f"{task['attempt']}/{task['retries'] + 1}", rank=3),
    Column("CREATED", lambda task: task["created_at"], rank=6, is_time=True),
    Column("DUE", lambda task: task["due_at"], rank=2, is_time=True),
    Column("ERROR", lambda task: first_line(task["error"]), rank=7, least=16, is_news=True),
)


@app.command("list")
def list_tasks(
    status: Annotated[
        list[str] | None,
        typer.Option("--status", "-s", help="Only this status; may be repeated.", metavar="STATUS"),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue.", metavar="NAME")] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Only this task name.", metavar="NAME")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only with this tag.", metavar="TAG")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Only with this idempotency key.", metavar="KEY")] = None,
    worker: Annotated[str | None, typer.Option("--worker", help="Only held by this worker.", metavar="ID")] = None,
    job: Annotated[str | None, typer.Option("--job", help="Only of this job.", metavar="ID")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many at most.", min=1, metavar="N")] = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List tasks, newest first."""
    from drumline.cli.client import connect

    form = Form(as_json, as_jsonl, wide, fields)
    filters: dict[str, Any] = {
        "status": [_checked_status(one) for one in status or ()] or None,
        "queue": queue, "name": name, "tag": tag, "idempotency_key": key, "worker": worker,
        "job": job,
    }  # fmt: skip
    shown = "true" if "payload" in form.names else None
    tasks = connect(url, api_key).pages("/tasks", limit=limit, payload=shown, **filters)
    count = print_list(tasks, COLUMNS, form, nothing=_nothing(filters))
    if count == limit and is_terminal():
        say(f"These are the newest {count}; there may be more: --limit {count * 10}")


@app.command()
def counts(
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Only this queue.", metavar="NAME")] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Only this task name.", metavar="NAME")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only with this tag.", metavar="TAG")] = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Count tasks by status; a number with a + is the least that there are."""
    from drumline.cli.client import connect

    found = connect(url, api_key).get("/tasks/counts", queue=queue, name=name, tag=tag)
    if as_json:
        print_json(found)
        return
    for count in found["items"]:
        typer.echo(f"{count['status']:<11} {count['count']:>7,}{'+' if count['is_more'] else ''}")


@app.command()
def get(
    id: TaskId,
    attempts: Annotated[bool, typer.Option("--attempts", help="With --json: every execution too.")] = False,
    as_json: Json = False,
    fields: Fields = None,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Show one task: how it stands, what it was given, and how each attempt ended."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    task = client.get(f"/tasks/{id}")
    if as_json or fields:
        if attempts:
            task["attempts"] = client.get(f"/tasks/{id}/attempts")["items"]
        print_json(next(picked([task], names)) if (names := Form(fields=fields).names) else task)
        return
    executions = client.get(f"/tasks/{id}/attempts")["items"]
    print_task(task, executions, client.get(f"/tasks/{id}/artifacts")["items"])


@app.command()
def cancel(
    ids: TaskIds,
    force: Annotated[bool, typer.Option("--force", help="End running ones now, whatever their worker does.")] = False,
    reason: Reason = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Cancel tasks: waiting ones at once, running ones as soon as their worker hears of it."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    if dry_run:
        _print_as_they_stand(client, ids, "would be cancelled", as_json=as_json)
        return
    confirm(f"Cancel {_count(ids)}?", yes=yes)
    _do_each(ids, lambda one: client.post(f"/tasks/{one}/cancel", {"force": force}), as_json=as_json)


@app.command()
def retry(
    ids: TaskIds,
    reason: Reason = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Run failed, cancelled or skipped tasks again."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    if dry_run:
        _print_as_they_stand(client, ids, "would run again", as_json=as_json)
        return
    _do_each(ids, lambda one: client.post(f"/tasks/{one}/retry"), as_json=as_json)


@app.command()
def reschedule(
    ids: TaskIds,
    at: Annotated[
        str | None, typer.Option("--at", help="When to run: tomorrow 09:00, 2026-01-02T03:04Z.", metavar="TIME")
    ] = None,
    delay: Annotated[str | None, typer.Option("--delay", help="How far from now: 90, 1h30m.", metavar="TIME")] = None,
    priority: Annotated[
        str | None, typer.Option("--priority", help="-100 to 100, or critical, high, normal, low.", metavar="PRIORITY")
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Change when waiting tasks run, or their priority."""
    from drumline.cli.client import connect

    asked = {
        "run_at": optional_moment(at, flag="--at", toward=Toward.FUTURE),
        "delay": None if delay is None else span_of(delay, flag="--delay", toward=Toward.FUTURE),
        "priority": priority,
    }
    change = {name: value for name, value in asked.items() if value is not None}
    if not change:
        raise Invalid("give --at, --delay or --priority")
    client = connect(url, api_key, reason=reason)
    _do_each(ids, lambda one: client.patch(f"/tasks/{one}", change), as_json=as_json)


def _checked_status(text: str) -> str:
    from drumline.core.wording import suggestion

    status = text.upper()
    if status not in STATUSES:
        hint = suggestion(status, STATUSES) or f"; it is one of {', '.join(STATUSES)}"
        raise Invalid(f"there is no status {text}{hint}")
    return status


def _nothing(filters: dict[str, Any]) -> str:
    if any(filters.values()):
        return "No task is like that."
    return "There are no tasks yet. Try: drumline submit shell --arg shell='echo hello' --wait"


def _print_as_they_stand(client: "Client", ids: list[str], fate: str, *, as_json: bool) -> None:
    tasks = [client.get(f"/tasks/{one}") for one in ids]
    print_list(tasks, COLUMNS, Form(as_json=as_json), nothing="")
    say(f"{_count(ids).capitalize()} {fate}, as far as the state allows; nothing was changed.")


def _do_each(ids: list[str], act: Callable[[str], dict[str, Any]], *, as_json: bool) -> None:
    """Do something to each task; one that refuses is named and does not hold up the others."""
    if len(ids) == 1:
        _print_done([act(ids[0])], as_json=as_json)
        return
    done, code = [], ExitCode.OK
    for one in ids:
        try:
            done.append(act(one))
        except (Conflict, Invalid, NotFound) as error:
            say(f"{one}: {error}")
            code = code or exit_code_of(error)
    _print_done(done, as_json=as_json)
    if code:
        raise typer.Exit(code)


def _print_done(tasks: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(tasks)
        return
    for task in tasks:
        typer.echo(f"{task['id']}  {task['status']}")
    if any(task["status"] == "PROCESSING" and task["cancel_requested"] for task in tasks):
        say("Its worker is told to stop it; --force ends a running task now.")


def _count(ids: list[str]) -> str:
    return f"task {ids[0]}" if len(ids) == 1 else f"{len(ids)} tasks"
