"""Commands about queues."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.bulk_running import BulkOptions, run_bulk
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.options import Why
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column
from drumline.core.errors import Forbidden, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("List, pause, resume and purge queues.")

COLUMNS = (
    Column("NAME", "name", rank=9, least=12),
    Column("PENDING", "pending", rank=6),
    Column("QUEUED", "queued", rank=8),
    Column("PROCESSING", "processing", rank=7),
    Column("OLDEST_DUE_AT", "oldest_due_at", rank=4, is_time=True),
    Column("PAUSED", lambda queue: (queue["reason"] or "yes") if queue["is_paused"] else None, rank=5, least=10),
)

Name = Annotated[
    str, Argument(help="The queue's name.", metavar="NAME", show_default=False, complete=completing.queues)
]


def _print_queue(queue: dict[str, Any]) -> None:
    click.echo(f"{queue['name']}  {'paused' if queue['is_paused'] else 'running'}")


@list_command(app, "list", COLUMNS, empty="No queue has a task, and none is paused.")
def list_queues(client: "ApiClient") -> Any:
    """List the queues that have tasks or are paused."""
    return client.get("/queues")["items"]


def _describe(_client: "ApiClient", found: dict[str, Any]) -> None:
    from drumline.cli.describing import print_line
    from drumline.cli.limits import limit_line
    from drumline.cli.tables import relative, span

    queue = found["queue"]
    print_line("queue", queue["name"])
    print_line("state", f"paused: {queue['reason'] or 'no reason given'}" if queue["is_paused"] else "running")
    print_line("tasks", f"{queue['queued']:,} queued, {queue['pending']:,} pending, {queue['processing']:,} processing")
    print_line("oldest", None if queue["oldest_due_at"] is None else f"due {relative(queue['oldest_due_at'])}")
    unserved = queue["unserved"]
    print_line("no worker", f"for {unserved:,} {'task' if unserved == 1 else 'tasks'}" if unserved else None)
    rates = f"{found['submitted_per_second']:g} in, {found['ended_per_second']:g} out per second (15 minutes)"
    print_line("rates", rates)
    if queue["queued"]:
        left = found["drain_seconds"]
        print_line("drained", "not at this rate" if left is None else f"in about {span(left)}")
    for limit in found["limits"]:
        if limit["queue"] is not None:
            print_line("limit", limit_line(limit))
    for limit in found["limits"]:
        if limit["queue"] is None:
            print_line("task limit", f"{limit_line(limit)}, in all queues together")


@server_command(app, describe=_describe, page=lambda found: f"/queues/{segment(found['queue']['name'])}")
def get(client: "ApiClient", name: Name) -> Any:
    """Show a queue: its tasks, its rates, when it will be empty, and its limits."""
    _check_known(client, name, "see drumline queues list")
    return client.get(f"/queues/{segment(name)}")


@server_command(app)
def purge(client: "ApiClient", name: Name, options: BulkOptions) -> None:
    """Purge a queue: cancel its tasks that wait; running ones go on."""
    _check_known(client, name, "there is nothing to purge")
    selection = {"act": "cancel", "filter": {"queue": name, "status": ["PENDING", "QUEUED"]}}
    run_bulk(client, "cancel", "/bulk", selection, options, noun="task")


@server_command(app, show=_print_queue)
def pause(
    client: "ApiClient",
    name: Name,
    create: Annotated[bool, Option("--create", help="Pause a queue that has never had a task.")] = False,
    reason: Why = None,
) -> Any:
    """Pause a queue: none of its tasks is started; running ones go on."""
    if not create:
        _check_known(client, name, "pause it before its first task with --create")
    return client.post(f"/queues/{segment(name)}/pause", {"reason": reason})


@server_command(app, show=_print_queue, reason=True)
def resume(client: "ApiClient", name: Name) -> Any:
    """Resume a paused queue."""
    _check_known(client, name, "it is not paused")
    return client.post(f"/queues/{segment(name)}/resume")


def _check_known(client: "ApiClient", name: str, hint: str) -> None:
    """Raise `NotFound` for a queue that has, and had, no task, is not paused, and that no worker names."""
    from drumline.core.json_errors import suggestion

    try:
        queues = {queue["name"] for queue in client.get("/queues")["items"]}
        if name in queues or client.get("/tasks", queue=name, limit=1)["items"]:
            return
        queues |= {queue for type_ in client.get("/types")["items"] for queue in type_["queues"]}
    except Forbidden:
        return  # a key that may not look around: the server decides
    if name not in queues:
        near = suggestion(name, sorted(queues | {"default"}))
        raise NotFound(f"there has never been a task in a queue {name}{near or '; ' + hint}", field="name")
