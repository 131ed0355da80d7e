"""Commands about workers."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, server_command
from drumline.cli.options import Yes
from drumline.cli.output import confirm
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("List and drain workers.")


def _state(worker: dict[str, object]) -> str:
    if worker["closed_at"]:
        return "closed"
    return "draining" if worker["should_drain"] else "open"


COLUMNS = (
    Column("ID", "id", rank=9),
    Column("STATE", _state, rank=8),
    Column("HELD", lambda worker: f"{worker['held']}/{worker['capacity']}", rank=7),
    Column("BEAT_AT", "beat_at", rank=6, is_time=True),
    Column("HOST", "host", rank=5, least=10),
    Column("PID", "pid", rank=4),
    Column("LABEL", "label", rank=3, least=8),
    Column("QUEUES", lambda worker: ",".join(worker["queues"]) or "all", rank=2, least=8),
    Column("VERSION", "version", rank=1),
    Column("TASKS", lambda worker: ",".join(worker["types"]), rank=0, least=12),
)


def _print_states(workers: list[dict[str, Any]]) -> None:
    for worker in workers:
        click.echo(f"{worker['id']}  {_state(worker)}")


@list_command(app, "list", COLUMNS, empty="No worker is there: drumline worker APP")
def list_workers(
    client: "ApiClient",
    closed: Annotated[bool, Option("--closed", help="Workers that left lately, too.")] = False,
) -> Any:
    """List workers, and the tasks that each can run."""
    return client.get("/workers", closed="true" if closed else None)["items"]


@server_command(app, show=_print_states, reason=True)
def drain(
    client: "ApiClient",
    ids: Annotated[
        list[str], Argument(help="Ids of workers.", metavar="ID", show_default=False, complete=completing.workers)
    ],
    yes: Yes = False,
) -> Any:
    """Drain workers: they finish their tasks, take no more, and exit."""
    confirm(f"Drain {ids[0] if len(ids) == 1 else f'{len(ids)} workers'}?", yes=yes)
    return [client.post(f"/workers/{one}/drain") for one in ids]
