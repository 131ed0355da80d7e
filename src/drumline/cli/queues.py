"""Commands about queues."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide
from drumline.cli.output import Form, print_json, print_list
from drumline.cli.tables import Column
from drumline.core.errors import Forbidden, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import Client

app = typer.Typer(help="Look at, pause and resume queues.", no_args_is_help=True, rich_markup_mode=None)

COLUMNS = (
    Column("NAME", lambda queue: queue["name"], rank=9, least=12),
    Column("PENDING", lambda queue: queue["pending"], rank=6),
    Column("QUEUED", lambda queue: queue["queued"], rank=8),
    Column("PROCESSING", lambda queue: queue["processing"], rank=7),
    Column("OLDEST DUE", lambda queue: queue["oldest_due_at"], rank=4, is_time=True),
    Column("PAUSED", lambda queue: (queue["reason"] or "yes") if queue["is_paused"] else None, rank=5, least=10),
)

Name = Annotated[str, typer.Argument(help="The queue's name.", metavar="NAME", show_default=False)]


@app.command("list")
def list_queues(
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List the queues that have tasks or are paused."""
    from drumline.cli.client import connect

    queues = connect(url, api_key).get("/queues")["items"]
    print_list(
        queues, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="No queue has a task, and none is paused."
    )


@app.command()
def pause(
    name: Name,
    create: Annotated[
        bool, typer.Option("--create", help="Also a queue that has never had a task: those to come will wait.")
    ] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for those who will wonder.")] = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Hand out no more tasks of a queue; running ones go on."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    if not create:
        _check_known(client, name, "pause it before its first task with --create")
    _print(client.post(f"/queues/{_path(name)}/pause", {"reason": reason}), as_json=as_json)


@app.command()
def resume(name: Name, reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Hand out a paused queue's tasks again."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    _check_known(client, name, "it is not paused")
    _print(client.post(f"/queues/{_path(name)}/resume"), as_json=as_json)


def _check_known(client: "Client", name: str, hint: str) -> None:
    """Raise `NotFound` for a queue that has, and had, no task, is not paused, and that no worker names."""
    from drumline.core.wording import suggestion

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


def _print(queue: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(queue)
    else:
        typer.echo(f"{queue['name']}  {'paused' if queue['is_paused'] else 'running'}")


def _path(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")
