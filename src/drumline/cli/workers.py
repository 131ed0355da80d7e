"""Commands about workers."""

from typing import Annotated

import typer

from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide, Yes
from drumline.cli.output import Form, confirm, print_json, print_list
from drumline.cli.tables import Column

app = typer.Typer(help="Look at and drain workers.", no_args_is_help=True, rich_markup_mode=None)


def _state(worker: dict[str, object]) -> str:
    if worker["closed_at"]:
        return "closed"
    return "draining" if worker["should_drain"] else "open"


COLUMNS = (
    Column("ID", lambda worker: worker["id"], rank=9),
    Column("STATE", _state, rank=8),
    Column("HELD", lambda worker: f"{worker['held']}/{worker['capacity']}", rank=7),
    Column("LAST BEAT", lambda worker: worker["beat_at"], rank=6, is_time=True),
    Column("HOST", lambda worker: worker["host"], rank=5, least=10),
    Column("PID", lambda worker: worker["pid"], rank=4),
    Column("LABEL", lambda worker: worker["label"], rank=3, least=8),
    Column("QUEUES", lambda worker: ",".join(worker["queues"]) or "all", rank=2, least=8),
    Column("VERSION", lambda worker: worker["version"], rank=1),
    Column("TASKS", lambda worker: ",".join(worker["types"]), rank=0, least=12),
)


@app.command("list")
def list_workers(
    closed: Annotated[bool, typer.Option("--closed", help="Those that left lately too.")] = False,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List the workers there are, and what each can run."""
    from drumline.cli.client import connect

    workers = connect(url, api_key).get("/workers", closed="true" if closed else None)["items"]
    print_list(
        workers, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="No worker is there: drumline worker APP"
    )


@app.command()
def drain(
    ids: Annotated[list[str], typer.Argument(help="Ids of workers.", metavar="ID", show_default=False)],
    reason: Reason = None,
    yes: Yes = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Ask workers to finish what they hold, take nothing more, and leave."""
    from drumline.cli.client import connect

    confirm(f"Drain {ids[0] if len(ids) == 1 else f'{len(ids)} workers'}?", yes=yes)
    client = connect(url, api_key, reason=reason)
    workers = [client.post(f"/workers/{one}/drain") for one in ids]
    if as_json:
        print_json(workers)
        return
    for worker in workers:
        typer.echo(f"{worker['id']}  {_state(worker)}")
