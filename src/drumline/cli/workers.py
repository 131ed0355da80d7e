"""Commands about workers."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.options import Yes
from drumline.cli.output import confirm, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column, cpu_text, size
from drumline.core.errors import Forbidden

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("List, inspect, drain and keep workers.")

WorkerId = Annotated[
    str, Argument(help="The worker's id.", metavar="ID", show_default=False, complete=completing.workers)
]
WorkerIds = Annotated[
    list[str], Argument(help="Ids of workers.", metavar="ID", show_default=False, complete=completing.workers)
]


def _state(worker: dict[str, object]) -> str:
    if worker["closed_at"]:
        return "closed"
    return "draining" if worker["should_drain"] else "open"


def _memory(worker: dict[str, Any]) -> str | None:
    return None if worker["memory"] is None else size(worker["memory"])


def _cpu(worker: dict[str, Any]) -> str | None:
    return None if worker["cpu"] is None else cpu_text(worker["cpu"])


COLUMNS = (
    Column("ID", "id", rank=11),
    Column("STATE", _state, rank=10),
    Column("HELD", lambda worker: f"{worker['held']}/{worker['capacity']}", rank=9),
    Column("MEMORY", _memory, rank=7),
    Column("CPU", _cpu, rank=6),
    Column("BEAT_AT", "beat_at", rank=8, is_time=True),
    Column("HOST", "host", rank=5, least=10),
    Column("PID", "pid", rank=4),
    Column("LABEL", "label", rank=3, least=8),
    Column("QUEUES", lambda worker: ",".join(worker["queues"]) or "all", rank=2, least=8),
    Column("APP_VERSION", lambda worker: worker.get("app_version"), rank=2, least=8, is_news=True),
    Column("VERSION", "version", rank=1),
    Column("TASKS", lambda worker: ",".join(worker["types"]), rank=0, least=12),
)


def _print_states(workers: list[dict[str, Any]]) -> None:
    for worker in workers:
        click.echo(f"{worker['id']}  {_state(worker)}")


@list_command(app, "list", COLUMNS, empty="No workers. Start one: drumline worker APP")
def list_workers(
    client: "ApiClient",
    closed: Annotated[bool, Option("--closed", help="Workers that left lately, too.")] = False,
) -> Any:
    """List workers, and the tasks that each can run."""
    return client.get("/workers", closed="true" if closed else None)["items"]


def _describe(_client: "ApiClient", worker: dict[str, Any]) -> None:
    from drumline.cli.describing import print_line
    from drumline.cli.tables import relative

    print_line("id", worker["id"])
    print_line("state", _state(worker))
    print_line("tasks", f"{worker['held']:,} of {worker['capacity']:,} at once")
    print_line("memory", _memory(worker) or "not known")
    print_line("cpu", f"{_cpu(worker)} of one core" if _cpu(worker) else "not known")
    print_line("heartbeat", relative(worker["beat_at"]))
    print_line("started", relative(worker["opened_at"]))
    print_line("left", relative(worker["closed_at"]))
    print_line("host", f"{worker['host']}, process {worker['pid']}" if worker["host"] else None)
    print_line("label", worker["label"])
    print_line("app", worker.get("app_version"))
    print_line("version", worker["version"])
    print_line("queues", ", ".join(worker["queues"]) or "all")
    print_line("runs", ", ".join(worker["types"]))


@server_command(app, describe=_describe, page=lambda worker: f"/workers/{segment(worker['id'])}")
def get(client: "ApiClient", id: WorkerId) -> Any:
    """Show a worker: its tasks, memory, processor time, heartbeat and version."""
    return client.get(f"/workers/{segment(id)}")


def _tell_drained(client: "ApiClient", drained: list[dict[str, Any]]) -> None:
    """Print the drained workers, and a warning if they were the last ones that take tasks."""
    _print_states(drained)
    try:
        left = [worker for worker in client.get("/workers")["items"] if _state(worker) == "open"]
    except Forbidden:
        return
    ids = " ".join(worker["id"] for worker in drained)
    if left:
        say(f"Until it has left, this undoes it: drumline workers undrain {ids}")
        return
    say("Warning: no other worker takes tasks; new ones wait until one does.")
    say(f"  undo it, until it has left:  drumline workers undrain {ids}")
    say("  start another:               drumline worker APP, or drumline dev again")


@server_command(app, describe=_tell_drained, reason=True)
def drain(client: "ApiClient", ids: WorkerIds, yes: Yes = False) -> Any:
    """Drain workers: they finish their tasks, take no more, and exit.

    Until a worker has left, undrain keeps it.
    """
    confirm(f"Drain {ids[0] if len(ids) == 1 else f'{len(ids)} workers'}?", yes=yes)
    return [client.post(f"/workers/{one}/drain") for one in ids]


@server_command(app, show=_print_states, reason=True)
def undrain(client: "ApiClient", ids: WorkerIds) -> Any:
    """Undo a drain: workers that have not left yet take tasks again."""
    return [client.delete(f"/workers/{one}/drain") for one in ids]
