"""Commands about flow limits."""

from typing import Annotated, Any

import typer

from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide
from drumline.cli.output import Form, print_json, print_list
from drumline.cli.tables import Column

app = typer.Typer(
    help="Limit how many tasks run at once, and how often they start.", no_args_is_help=True, rich_markup_mode=None
)

COLUMNS = (
    Column("NAME", lambda limit: limit["name"], rank=9, least=10),
    Column("QUEUE", lambda limit: limit["queue"], rank=7),
    Column("TASK", lambda limit: limit["task"], rank=7, least=8),
    Column("KEY", lambda limit: limit["key"], rank=5),
    Column("AT ONCE", lambda limit: limit["max_concurrent"], rank=8),
    Column("RATE", lambda limit: limit["rate"], rank=8),
    Column("RUNNING", lambda limit: limit["running"], rank=6),
    Column("CREATED", lambda limit: limit["created_at"], rank=3, is_time=True),
)

Name = Annotated[str, typer.Argument(help="The limit's name.", metavar="NAME", show_default=False)]


@app.command("list")
def list_limits(
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List limits, and how many tasks run under each."""
    from drumline.cli.client import connect

    limits = connect(url, api_key).get("/limits")["items"]
    print_list(limits, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="There is no limit.")


@app.command("set")
def set_limit(
    name: Name,
    queue: Annotated[str | None, typer.Option("--queue", help="The queue that it is about.", metavar="QUEUE")] = None,
    task: Annotated[str | None, typer.Option("--task", help="The task name that it is about.", metavar="NAME")] = None,
    max_concurrent: Annotated[
        int | None, typer.Option("--max-concurrent", help="How many may run at once.", metavar="N")
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", help="How many may start in a time: 50/s, 100/10m.", metavar="RATE")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Count each key by itself: limit_key, or payload.customer_id.", metavar="KEY"),
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Set a limit, in place of the one of that name."""
    from drumline.cli.client import connect

    options = {"queue": queue, "task": task, "max_concurrent": max_concurrent, "rate": rate, "key": by}
    body = {option: value for option, value in options.items() if value is not None}
    _print(connect(url, api_key, reason=reason).put(f"/limits/{_path(name)}", body), as_json=as_json)


@app.command()
def get(name: Name, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Look at a limit."""
    from drumline.cli.client import connect

    _print(connect(url, api_key).get(f"/limits/{_path(name)}"), as_json=as_json)


@app.command()
def delete(name: Name, reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Delete a limit; its tasks are handed out like all others."""
    from drumline.cli.client import connect

    connect(url, api_key, reason=reason).delete(f"/limits/{_path(name)}")
    if as_json:
        print_json({"name": name, "deleted": True})
    else:
        typer.echo(f"{name} is deleted.")


def _print(limit: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(limit)
        return
    about = " and ".join(f"{noun} {limit[noun]}" for noun in ("queue", "task") if limit[noun] is not None)
    at_once = f"{limit['max_concurrent']} at once" if limit["max_concurrent"] is not None else None
    allowed = ", ".join(part for part in (at_once, limit["rate"]) if part is not None)
    by = f" for each {limit['key']}" if limit["key"] is not None else ""
    typer.echo(f"{limit['name']}  {about}: {allowed}{by}; {limit['running']} running")


def _path(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
