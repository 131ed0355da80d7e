"""Commands about tasks."""

from typing import Annotated, Any

import typer

from drumline.cli.options import Json, Jsonl, Key, TaskId, TaskIds, Url, Wide, Yes
from drumline.cli.output import STATUS_STYLES, Column, confirm, is_terminal, print_json, print_list, say
from drumline.cli.submitting import submit
from drumline.cli.watching import logs, watch

app = typer.Typer(help="Submit, look at and steer tasks.", no_args_is_help=True, rich_markup_mode=None)
app.command("submit")(submit)
app.command("watch")(watch)
app.command("logs")(logs)

COLUMNS = (
    Column("ID", lambda task: task["id"], may_be_cut=False),
    Column("STATUS", lambda task: task["status"], may_be_cut=False),
    Column("NAME", lambda task: task["name"]),
    Column("QUEUE", lambda task: task["queue"]),
    Column("PRIORITY", lambda task: task["priority"]),
    Column("ATTEMPT", lambda task: f"{task['attempt']}/{task['retries'] + 1}"),
    Column("CREATED", lambda task: task["created_at"]),
    Column("DUE", lambda task: task["due_at"]),
    Column("ERROR", lambda task: _first_line(task["error"])),
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
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many at most.", min=1, metavar="N")] = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List tasks, newest first."""
    from drumline.cli.client import connect

    statuses = [_checked_status(one) for one in status or ()]
    tasks = connect(url, api_key).pages(
        "/tasks", limit=limit, status=statuses or None, queue=queue, name=name, tag=tag, idempotency_key=key,
        worker=worker,
    )  # fmt: skip
    print_list(tasks, COLUMNS, as_json=as_json, as_jsonl=as_jsonl, wide=wide)


@app.command()
def get(
    id: TaskId,
    attempts: Annotated[bool, typer.Option("--attempts", help="Show every execution too.")] = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Show one task."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    task = client.get(f"/tasks/{id}")
    if attempts:
        task["attempts"] = client.get(f"/tasks/{id}/attempts")["items"]
    if as_json:
        print_json(task)
    else:
        _print_task(task)


@app.command()
def cancel(
    ids: TaskIds,
    force: Annotated[bool, typer.Option("--force", help="End running ones now, whatever their worker does.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Cancel tasks: waiting ones at once, running ones as soon as their worker hears of it."""
    from drumline.cli.client import connect

    confirm(f"Cancel {_count(ids)}?", yes=yes)
    client = connect(url, api_key)
    answers = [client.post(f"/tasks/{one}/cancel", {"force": force}) for one in ids]
    _print_done(answers, as_json=as_json)


@app.command()
def retry(ids: TaskIds, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Run failed, cancelled or skipped tasks again."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    _print_done([client.post(f"/tasks/{one}/retry") for one in ids], as_json=as_json)


@app.command()
def reschedule(
    ids: TaskIds,
    at: Annotated[str | None, typer.Option("--at", help="When to run: 2026-01-02T03:04:05Z.", metavar="TIME")] = None,
    delay: Annotated[str | None, typer.Option("--delay", help="How far from now: 90, 1h30m.", metavar="TIME")] = None,
    priority: Annotated[
        str | None, typer.Option("--priority", help="-100 to 100, or critical, high, normal, low.", metavar="PRIORITY")
    ] = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Change when waiting tasks run, or their priority."""
    from drumline.cli.client import connect

    asked = {"run_at": at, "delay": delay, "priority": priority}
    change = {name: value for name, value in asked.items() if value is not None}
    if not change:
        raise typer.BadParameter("give --at, --delay or --priority")
    client = connect(url, api_key)
    _print_done([client.patch(f"/tasks/{one}", change) for one in ids], as_json=as_json)


def _checked_status(text: str) -> str:
    from difflib import get_close_matches

    status = text.upper()
    if status not in STATUS_STYLES:
        near = get_close_matches(status, STATUS_STYLES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(STATUS_STYLES)}"
        raise typer.BadParameter(f"there is no status {text}; {hint}")
    return status


def _print_done(tasks: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(tasks)
        return
    for task in tasks:
        typer.echo(f"{task['id']}  {task['status']}")
        if task["status"] == "PROCESSING" and task["cancel_requested"]:
            say("Its worker is told within a few seconds; --force ends it now.")


def _print_task(task: dict[str, Any]) -> None:
    import json

    styles = {"COMPLETED": typer.colors.GREEN, "FAILED": typer.colors.RED, "PROCESSING": typer.colors.YELLOW}
    status = typer.style(task["status"], fg=styles.get(task["status"]), bold=True) if is_terminal() else task["status"]
    typer.echo(f"{'id':<12} {task['id']}\n{'status':<12} {status}")
    later = ("id", "status", "payload", "result", "error", "attempts")
    for name, value in task.items():
        if name not in later and value not in (None, [], False):
            typer.echo(f"{name:<12} {json.dumps(value) if isinstance(value, dict | list) else value}")
    for name in ("payload", "result"):
        if name in task:
            typer.echo(f"{name:<12} {json.dumps(task[name], ensure_ascii=False)}")
    if task["error"]:
        typer.echo(f"{'error':<12} {task['error']['kind']}: {task['error']['message']}")
        typer.echo(task["error"]["traceback"].rstrip(), nl=bool(task["error"]["traceback"]))
    for attempt in task.get("attempts", ()):
        error = f"  {_first_line(attempt['error'])}" if attempt["error"] else ""
        typer.echo(
            f"attempt {attempt['attempt']:<4} {attempt['outcome']}  {attempt['worker'] or '-'}  "
            f"{attempt['started_at'] or '-'} .. {attempt['finished_at'] or '-'}{error}"
        )


def _first_line(error: dict[str, Any] | None) -> str | None:
    return None if error is None else f"{error['kind']}: {error['message']}".partition("\n")[0]


def _count(ids: list[str]) -> str:
    return f"task {ids[0]}" if len(ids) == 1 else f"{len(ids)} tasks"
