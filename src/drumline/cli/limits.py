"""Commands about flow limits."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Limit how many tasks run at once, and how often they start.")

COLUMNS = (
    Column("NAME", "name", rank=9, least=10),
    Column("QUEUE", "queue", rank=7),
    Column("TASK", "task", rank=7, least=8),
    Column("KEY", "key", rank=5),
    Column("MAX_CONCURRENT", "max_concurrent", rank=8),
    Column("RATE", "rate", rank=8),
    Column("RUNNING", "running", rank=6),
    Column("CREATED_AT", "created_at", rank=3, is_time=True),
)

Name = Annotated[
    str, Argument(help="The limit's name.", metavar="NAME", show_default=False, complete=completing.limits)
]


def print_limit(limit: dict[str, Any]) -> None:
    """Print a limit, and what each shard has of it where there are several."""
    click.echo(limit_line(limit))
    for share in limit.get("shards", ()):
        click.echo(f"  {share['shard']}: {_share_text(share)}")


def limit_line(limit: dict[str, Any]) -> str:
    """Return a limit on one line."""
    about = " and ".join(f"{noun} {limit[noun]}" for noun in ("queue", "task") if limit[noun] is not None)
    at_once = f"{limit['max_concurrent']} at once" if limit["max_concurrent"] is not None else None
    allowed = ", ".join(part for part in (at_once, limit["rate"]) if part is not None)
    by = f" for each {limit['key']}" if limit["key"] is not None else ""
    return f"{limit['name']}  {about}: {allowed}{by}; {limit['running']} running"


def _share_text(share: dict[str, Any]) -> str:
    """Return what a shard has of a limit, as text."""
    if share["running"] is None:
        return "cannot be reached, or has not heard of it yet"
    running = f"{share['running']} running"
    at_once = f"{running}, a share of {share['max_concurrent']}" if share["max_concurrent"] is not None else running
    return at_once if share["rate"] is None else f"{at_once}; {share['rate']} starts of the rate"


@list_command(app, "list", COLUMNS, empty="There is no limit.")
def list_limits(client: "ApiClient") -> Any:
    """List limits, and how many tasks run under each."""
    return client.get("/limits")["items"]


@server_command(app, "set", show=print_limit, reason=True)
def set_limit(
    client: "ApiClient",
    name: Name,
    queue: Annotated[
        str | None, Option("--queue", help="The queue that it is about.", metavar="QUEUE", complete=completing.queues)
    ] = None,
    task: Annotated[
        str | None,
        Option("--task", help="The task name that it is about.", metavar="NAME", complete=completing.task_names),
    ] = None,
    max_concurrent: Annotated[
        int | None, Option("--max-concurrent", help="How many may run at once.", metavar="N")
    ] = None,
    rate: Annotated[
        str | None, Option("--rate", help="How many may start in a time: 50/s, 100/10m.", metavar="RATE")
    ] = None,
    by: Annotated[
        str | None,
        Option("--by", help="Count each key by itself: limit_key, or payload.customer_id.", metavar="KEY"),
    ] = None,
) -> Any:
    """Set a limit, in place of the one of that name."""
    if queue is None and task is None:
        raise Invalid("say what it limits: --queue, --task, or both")
    if max_concurrent is None and rate is None:
        raise Invalid("say how much: --max-concurrent 5, --rate 50/s, or both")
    options = {"queue": queue, "task": task, "max_concurrent": max_concurrent, "rate": rate, "key": by}
    body = {option: value for option, value in options.items() if value is not None}
    return client.put(f"/limits/{segment(name)}", body)


@server_command(app, show=print_limit)
def get(client: "ApiClient", name: Name) -> Any:
    """Show a limit."""
    return client.get(f"/limits/{segment(name)}")


@server_command(app, show=lambda limit: click.echo(f"{limit['name']} is deleted."), reason=True)
def delete(client: "ApiClient", name: Name) -> Any:
    """Delete a limit; its tasks run without it."""
    client.delete(f"/limits/{segment(name)}")
    return {"name": name, "deleted": True}
