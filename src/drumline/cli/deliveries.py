"""Commands about deliveries: what was told to whom, and how that went."""

import json
from typing import Annotated, Any

import typer

from drumline.cli.moments import relative
from drumline.cli.options import Fields, Json, Jsonl, Key, Url, Wide
from drumline.cli.output import Form, print_json, print_list
from drumline.cli.tables import Column, tidy

app = typer.Typer(help="Look at what was told to whom, and send it again.", no_args_is_help=True, rich_markup_mode=None)

COLUMNS = (
    Column("ID", lambda delivery: delivery["id"], rank=9),
    Column("STATE", lambda delivery: delivery["state"], rank=8),
    Column("EVENT", lambda delivery: delivery["event_type"].removeprefix("drumline."), rank=5, least=10),
    Column("TARGET", lambda delivery: delivery["target"], rank=6, least=10),
    Column("TRIES", lambda delivery: delivery["attempts"], rank=2),
    Column("STATUS", lambda delivery: delivery["status"], rank=3),
    Column("NEXT", lambda delivery: delivery["next_at"], rank=1, is_time=True),
    Column("CREATED", lambda delivery: delivery["created_at"], rank=4, is_time=True),
    Column("ERROR", lambda delivery: delivery["error"], rank=7, least=14, is_news=True),
)

Id = Annotated[str, typer.Argument(help="The delivery's id.", metavar="ID", show_default=False)]


@app.command("list")
def list_deliveries(
    state: Annotated[
        str | None, typer.Option("--state", help="Only pending, delivered or failed ones.", metavar="STATE")
    ] = None,
    subscription: Annotated[
        str | None, typer.Option("--subscription", help="Only of this subscription.", metavar="ID")
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", help="Only about this task, job …, by its id.", metavar="ID")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="How many at most.", min=1)] = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List deliveries, newest first."""
    from drumline.cli.client import connect

    found = connect(url, api_key).pages(
        "/deliveries", limit=limit, state=state, subscription=subscription, subject=subject
    )
    print_list(found, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="Nobody was told anything.")


@app.command()
def get(id: Id, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Look at a delivery, with what it sends and what was answered."""
    from drumline.cli.client import connect

    print_delivery(connect(url, api_key).get(f"/deliveries/{id}"), as_json=as_json)


@app.command()
def resend(
    ids: Annotated[list[str], typer.Argument(help="Ids of deliveries.", metavar="ID", show_default=False)],
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Send deliveries again, now, however they ended: the same words under the same id."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    sent = [client.post(f"/deliveries/{one}/resend") for one in ids]
    if as_json:
        print_json(sent)
        return
    for delivery in sent:
        typer.echo(f"{delivery['id']}  {delivery['state']}")


def print_delivery(delivery: dict[str, Any], *, as_json: bool) -> None:
    """Print everything about a delivery that is worth reading."""
    if as_json:
        print_json(delivery)
        return
    took = "" if delivery["latency_ms"] is None else f", in {delivery['latency_ms']} ms"
    shown = {
        "id": delivery["id"],
        "state": delivery["state"],
        "event": f"{delivery['event_type']} ({delivery['event_id']})",
        "subject": delivery["subject"],
        "target": delivery["target"],
        "tries": f"{delivery['attempts']}{took}",
        "next": relative(delivery["next_at"]),
        "status": delivery["status"],
        "error": delivery["error"],
        "answer": delivery["response"],
    }
    for word, value in shown.items():
        if value not in (None, ""):
            typer.echo(f"{word:<9}{tidy(str(value))}")
    if "event" in delivery:
        typer.echo(json.dumps(delivery["event"], ensure_ascii=False, indent=2))
