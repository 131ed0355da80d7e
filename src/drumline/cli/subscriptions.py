"""Commands about subscriptions: who is told of what."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.deliveries import print_delivery
from drumline.cli.options import Fields, Json, Jsonl, Key, Reason, Url, Wide, Yes
from drumline.cli.output import Form, confirm, print_json, print_list, say
from drumline.cli.tables import Column, tidy
from drumline.cli.times import duration

if TYPE_CHECKING:
    from drumline.cli.client import Client

app = typer.Typer(help="Say who is told of what, by webhook or by mail.", no_args_is_help=True, rich_markup_mode=None)

PREFIX = "drumline."
TEST_SECONDS = 20


def _target(subscription: dict[str, Any]) -> str:
    return str(subscription["webhook"] or subscription["email"])


def _state(subscription: dict[str, Any]) -> str:
    if subscription["enabled"]:
        return "enabled"
    return f"disabled: {subscription['disabled_reason']}" if subscription["disabled_reason"] else "disabled"


def _narrowed(subscription: dict[str, Any]) -> str:
    given = ((name, subscription[name]) for name in ("task", "queue", "job", "tag"))
    return " ".join(f"{name}:{value}" for name, value in given if value)


COLUMNS = (
    Column("ID", lambda subscription: subscription["id"], rank=9),
    Column("NAME", lambda subscription: subscription["name"], rank=8, least=10),
    Column("STATE", _state, rank=7, least=10),
    Column("TARGET", _target, rank=6, least=16),
    Column(
        "EVENTS",
        lambda subscription: ",".join(event.removeprefix(PREFIX) for event in subscription["events"]),
        rank=5,
        least=12,
    ),
    Column("ONLY", _narrowed, rank=4, least=10),
    Column("CREATED", lambda subscription: subscription["created_at"], rank=3, is_time=True),
)

Name = Annotated[str, typer.Argument(help="The subscription's id or name.", metavar="ID", show_default=False)]
Events = Annotated[
    list[str] | None,
    typer.Option("--on", help="A type of event, such as task.failed or job.*; may be repeated.", metavar="EVENT"),
]
Task = Annotated[str | None, typer.Option("--task", help="Only of tasks with this name.", metavar="NAME")]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="Only of tasks in this queue.", metavar="NAME")]
Job = Annotated[str | None, typer.Option("--job", help="Only of this job, by id or name.", metavar="ID")]
Tag = Annotated[str | None, typer.Option("--tag", help="Only of what has this tag.", metavar="TAG")]
Webhook = Annotated[str | None, typer.Option("--webhook", help="The URL to call.", metavar="URL")]
Email = Annotated[str | None, typer.Option("--email", help="The address to write to.", metavar="ADDRESS")]
Overlap = Annotated[str, typer.Option("--overlap", help="How long the old secret signs too.", metavar="TIME")]


@app.command("list")
def list_subscriptions(
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List the subscriptions, oldest first."""
    from drumline.cli.client import connect

    found = connect(url, api_key).get("/subscriptions")["items"]
    print_list(found, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing="Nobody has subscribed to anything.")


@app.command()
def get(id: Name, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Look at a subscription."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    _print(client.get(f"/subscriptions/{_id_of(client, id)}"), as_json=as_json)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What people call it.", metavar="NAME", show_default=False)],
    webhook: Webhook = None,
    email: Email = None,
    events: Events = None,
    task: Task = None,
    queue: Queue = None,
    job: Job = None,
    tag: Tag = None,
    secret: Annotated[
        str | None, typer.Option("--secret", help="A secret of your own for a webhook.", metavar="WHSEC")
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Subscribe to events; without --on to failures of tasks and jobs. A webhook's secret is printed once."""
    from drumline.cli.client import connect

    body = {
        "name": name,
        "webhook": webhook,
        "email": email,
        "task": task,
        "queue": queue,
        "job": job,
        "tag": tag,
        "secret": secret,
        **({"events": events} if events else {}),
    }
    made = connect(url, api_key, reason=reason).post("/subscriptions", body)
    _print(made, as_json=as_json)
    if not as_json and "secret" in made:
        say("\nKeep the secret: nobody can tell it again. Receivers check signatures with it.")


@app.command()
def change(
    id: Name,
    name: Annotated[str | None, typer.Option("--name", help="A new name.", metavar="NAME")] = None,
    webhook: Webhook = None,
    email: Email = None,
    events: Events = None,
    task: Task = None,
    queue: Queue = None,
    job: Job = None,
    tag: Tag = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Change a subscription; what is not given stays, and an empty text takes a narrowing away."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    narrowed = {"task": task, "queue": queue, "job": job, "tag": tag}
    body = {
        **{key: value for key, value in (("name", name), ("webhook", webhook), ("email", email)) if value is not None},
        **{key: value or None for key, value in narrowed.items() if value is not None},
        **({"events": events} if events else {}),
    }
    _print(client.patch(f"/subscriptions/{_id_of(client, id)}", body), as_json=as_json)


@app.command()
def enable(id: Name, reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Tell a disabled subscription's target again, of what happens from now on."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    _print(client.patch(f"/subscriptions/{_id_of(client, id)}", {"enabled": True}), as_json=as_json)


@app.command()
def disable(id: Name, reason: Reason = None, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Tell a subscription's target nothing more; what waits to be delivered for it fails."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    body = {"enabled": False, "reason": reason}
    _print(client.patch(f"/subscriptions/{_id_of(client, id)}", body), as_json=as_json)


@app.command("test")
def send_test(id: Name, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Send a test to a subscription's target, and say how it went."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    sent = client.post(f"/subscriptions/{_id_of(client, id)}/test?wait={TEST_SECONDS}")
    if not as_json:
        del sent["event"]  # people who try something out want to know how it went
    print_delivery(sent, as_json=as_json)
    if sent["attempts"] == 0:
        say("No notifier has tried it yet: is one running? (drumline notifier)")
    if sent["state"] != "delivered":
        raise typer.Exit(1)


@app.command()
def rotate(
    id: Annotated[
        str | None, typer.Argument(help="The subscription's id or name.", metavar="ID", show_default=False)
    ] = None,
    for_tasks: Annotated[
        bool, typer.Option("--for-tasks", help="The secret of the webhooks that tasks and jobs name themselves.")
    ] = False,
    overlap: Overlap = "24h",
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Make a new secret, which is printed once; for a while the old one signs too."""
    from drumline.cli.client import connect
    from drumline.core.errors import Invalid

    if (id is None) != for_tasks:
        raise Invalid("name a subscription, or say --for-tasks", field="ID")
    client = connect(url, api_key, reason=reason)
    path = "/notify/rotate" if id is None else f"/subscriptions/{_id_of(client, id)}/rotate"
    made = client.post(path, {"overlap": duration(overlap, flag="--overlap")})
    if as_json:
        print_json(made)
    else:
        typer.echo(made["secret"])
        say(f"The old one signs too for {overlap}.")


@app.command()
def rm(id: Name, yes: Yes = False, reason: Reason = None, url: Url = None, api_key: Key = None) -> None:
    """Forget a subscription; what waits to be delivered for it fails."""
    from drumline.cli.client import connect

    client = connect(url, api_key, reason=reason)
    found = _id_of(client, id)
    confirm(f"Forget the subscription {id}?", yes=yes)
    client.delete(f"/subscriptions/{found}")
    say(f"{id} is forgotten.")


def _id_of(client: "Client", text: str) -> str:
    """Return the id behind an id or a name; a name that nobody has is left to the server to refuse."""
    from drumline.core.errors import Invalid, NotFound
    from drumline.core.ids import parse_task_id

    try:
        return parse_task_id(text)
    except Invalid:
        for subscription in client.get("/subscriptions")["items"]:
            if subscription["name"] == text:
                return str(subscription["id"])
        raise NotFound(f"there is no subscription {text}\nSee them with `drumline subscriptions list`.") from None


def _print(subscription: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(subscription)
        return
    shown = {
        "id": subscription["id"],
        "name": subscription["name"],
        "state": _state(subscription),
        "target": _target(subscription),
        "events": ", ".join(subscription["events"]),
        "only": _narrowed(subscription),
        "secret": subscription.get("secret"),
    }
    for word, value in shown.items():
        if value:
            typer.echo(f"{word:<8}{tidy(str(value))}")
