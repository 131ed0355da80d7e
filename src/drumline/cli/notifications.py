"""Commands about notifications: subscriptions to events, and the deliveries that come of them."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import Flags, flags, group, list_command, server_command
from drumline.cli.events import warn_of_unknown_types
from drumline.cli.options import Json, Reason, Yes
from drumline.cli.output import confirm, print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.short_ids import is_short, resolved
from drumline.cli.tables import Column, relative, tidy
from drumline.cli.times import duration
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

subscriptions = group("Subscribe webhooks and mail addresses to events.")
deliveries = group("List deliveries of notifications, and send them again.")

PREFIX = "drumline."
TEST_SECONDS = 20


def _target(subscription: dict[str, Any]) -> str:
    return str(subscription["webhook"] or subscription["email"])


def _state(subscription: dict[str, Any]) -> str:
    if subscription["enabled"]:
        return "enabled"
    return f"disabled: {subscription['disabled_reason']}" if subscription["disabled_reason"] else "disabled"


def _filters(subscription: dict[str, Any]) -> str:
    given = ((name, subscription[name]) for name in ("task", "queue", "job", "tag"))
    return " ".join(f"{name}:{value}" for name, value in given if value)


def _event_types(subscription: dict[str, Any]) -> str:
    return ",".join(event.removeprefix(PREFIX) for event in subscription["events"])


SUBSCRIPTIONS = (
    Column("ID", "id", rank=9),
    Column("NAME", "name", rank=8, least=10),
    Column("STATE", _state, rank=7, least=10),
    Column("TARGET", _target, rank=6, least=16),
    Column("EVENTS", _event_types, rank=5, least=12),
    Column("ONLY", _filters, rank=4, least=10),
    Column("CREATED_AT", "created_at", rank=3, is_time=True),
)
DELIVERIES = (
    Column("ID", "id", rank=9),
    Column("STATE", "state", rank=8),
    Column("EVENT", lambda delivery: delivery["event_type"].removeprefix(PREFIX), rank=5, least=10),
    Column("TARGET", "target", rank=6, least=10),
    Column("ATTEMPTS", "attempts", rank=2),
    Column("STATUS", "status", rank=3),
    Column("NEXT_AT", "next_at", rank=1, is_time=True),
    Column("CREATED_AT", "created_at", rank=4, is_time=True),
    Column("ERROR", "error", rank=7, least=14, is_news=True),
)

Name = Annotated[
    str,
    Argument(
        help="The subscription's id or name.", metavar="ID", show_default=False, complete=completing.subscriptions
    ),
]
DeliveryId = Annotated[
    str,
    Argument(
        help="The delivery's id.", metavar="ID", show_default=False, complete=completing.deliveries, ids_of="deliveries"
    ),
]


@flags
class Subscribed(Flags):
    """The target of a subscription, and its events and filters."""

    webhook: Annotated[str | None, Option("--webhook", help="The URL to call.", metavar="URL")] = None
    email: Annotated[str | None, Option("--email", help="The address to write to.", metavar="ADDRESS")] = None
    events: Annotated[
        list[str] | None,
        Option(
            "--on",
            help="A type of event, such as task.failed or job.*; may be repeated.",
            metavar="EVENT",
            complete=completing.event_types,
        ),
    ] = None
    task: Annotated[
        str | None,
        Option("--task", help="Only of tasks with this name.", metavar="NAME", complete=completing.task_names),
    ] = None
    queue: Annotated[
        str | None,
        Option("--queue", "-q", help="Only of tasks in this queue.", metavar="NAME", complete=completing.queues),
    ] = None
    job: Annotated[str | None, Option("--job", help="Only of this job, by id or name.", metavar="ID")] = None
    tag: Annotated[str | None, Option("--tag", help="Only of what has this tag.", metavar="TAG")] = None


def _print_subscription(subscription: dict[str, Any]) -> None:
    shown = {
        "id": subscription["id"],
        "name": subscription["name"],
        "state": _state(subscription),
        "target": _target(subscription),
        "events": ", ".join(subscription["events"]),
        "only": _filters(subscription),
        "secret": subscription.get("secret"),
    }
    for word, value in shown.items():
        if value:
            click.echo(f"{word:<8}{tidy(str(value))}")


def _print_created(subscription: dict[str, Any]) -> None:
    _print_subscription(subscription)
    if "secret" in subscription:
        say("\nCopy the secret now: it is not shown again. Receivers check signatures with it.")


def _print_delivery(delivery: dict[str, Any]) -> None:
    """Print everything about a delivery that is worth reading."""
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
            click.echo(f"{word:<9}{tidy(str(value))}")
    if "event" in delivery:
        click.echo(json.dumps(delivery["event"], ensure_ascii=False, indent=2))


def _print_states(sent: list[dict[str, Any]]) -> None:
    for delivery in sent:
        click.echo(f"{delivery['id']}  {delivery['state']}")


@list_command(
    subscriptions, "list", SUBSCRIPTIONS, empty="There are no subscriptions: drumline subscriptions create -h"
)
def list_subscriptions(client: "ApiClient") -> Any:
    """List the subscriptions, oldest first."""
    return client.get("/subscriptions")["items"]


@server_command(subscriptions, "get", show=_print_subscription)
def get_subscription(client: "ApiClient", id: Name) -> Any:
    """Show a subscription."""
    return client.get(f"/subscriptions/{_id_of(client, id)}")


@server_command(subscriptions, show=_print_created, reason=True)
def create(
    client: "ApiClient",
    name: Annotated[str, Argument(help="Its name.", metavar="NAME", show_default=False)],
    given: Subscribed,
    secret: Annotated[
        str | None, Option("--secret", help="A secret of your own for a webhook.", metavar="WHSEC")
    ] = None,
) -> Any:
    """Subscribe to events; without --on to failures of tasks and jobs. A webhook's secret is printed once."""
    if (given.webhook is None) == (given.email is None):
        raise Invalid("say where to: --webhook URL or --email ADDRESS")
    body = {"name": name, **vars(given), "secret": secret}
    if not given.events:
        del body["events"]
    made = client.post("/subscriptions", body)
    warn_of_unknown_types(given.events or [])
    return made


@server_command(subscriptions, show=_print_subscription, reason=True)
def change(
    client: "ApiClient",
    id: Name,
    name: Annotated[str | None, Option("--name", help="A new name.", metavar="NAME")] = None,
    *,
    given: Subscribed,
) -> Any:
    """Change a subscription; what is not given stays, and an empty text removes a filter."""
    body = {field: value for field, value in {"name": name, **vars(given)}.items() if value is not None}
    for field in ("task", "queue", "job", "tag"):
        if field in body:
            body[field] = body[field] or None
    if not given.events:
        body.pop("events", None)
    return client.patch(f"/subscriptions/{_id_of(client, id)}", body)


@server_command(subscriptions, show=_print_subscription, reason=True)
def enable(client: "ApiClient", id: Name) -> Any:
    """Enable a disabled subscription; it gets events from now on."""
    return client.patch(f"/subscriptions/{_id_of(client, id)}", {"enabled": True})


@server_command(subscriptions, show=_print_subscription, reason=True)
def disable(client: "ApiClient", id: Name, reason: Reason = None) -> Any:
    """Disable a subscription; deliveries that wait for it fail."""
    return client.patch(f"/subscriptions/{_id_of(client, id)}", {"enabled": False, "reason": reason})


@server_command(subscriptions, "test")
def send_test(client: "ApiClient", id: Name, as_json: Json = False) -> None:
    """Send a test to the target of a subscription, and print the result."""
    sent = client.post(f"/subscriptions/{_id_of(client, id)}/test?wait={TEST_SECONDS}")
    if as_json:
        print_json(sent)
    else:
        del sent["event"]  # people who try something out want to know how it went
        _print_delivery(sent)
    if sent["attempts"] == 0:
        say("No notifier has tried it yet: is one running? (drumline notifier)")
    if sent["state"] != "delivered":
        raise click.exceptions.Exit(1)


@server_command(subscriptions, reason=True)
def rotate(
    client: "ApiClient",
    id: Annotated[
        str | None,
        Argument(
            help="The subscription's id or name.", metavar="ID", show_default=False, complete=completing.subscriptions
        ),
    ] = None,
    for_tasks: Annotated[
        bool, Option("--for-tasks", help="The secret of the webhooks that tasks and jobs name themselves.")
    ] = False,
    overlap: Annotated[str, Option("--overlap", help="How long the old secret signs too.", metavar="TIME")] = "24h",
    as_json: Json = False,
) -> None:
    """Create a new signing secret, which is printed once; the old one signs too until the overlap ends."""
    if (id is None) != for_tasks:
        raise Invalid("name a subscription, or say --for-tasks", field="ID")
    path = "/notify/rotate" if id is None else f"/subscriptions/{_id_of(client, id)}/rotate"
    made = client.post(path, {"overlap": duration(overlap, flag="--overlap")})
    if as_json:
        print_json(made)
    else:
        click.echo(made["secret"])
        say(f"The old one signs too for {overlap}.")


@server_command(subscriptions, "rm", reason=True)
def remove(client: "ApiClient", id: Name, yes: Yes = False) -> None:
    """Delete a subscription; deliveries that wait for it fail."""
    found = _id_of(client, id)
    confirm(f"Delete the subscription {id}?", yes=yes)
    client.delete(f"/subscriptions/{found}")
    say(f"{id} is deleted.")


def _id_of(client: "ApiClient", text: str) -> str:
    """Return the id behind an id, a name or a short id, or raise `NotFound` if no subscription has it."""
    from drumline.core.ids import parse_task_id

    try:
        return parse_task_id(text)
    except Invalid:
        for subscription in client.get("/subscriptions")["items"]:
            if subscription["name"] == text:
                return str(subscription["id"])
        if is_short(text):
            return str(resolved(client, "subscriptions", text))
        raise NotFound(f"there is no subscription {text}\nSee them with `drumline subscriptions list`.") from None


@list_command(deliveries, "list", DELIVERIES, empty="There are no deliveries.")
def list_deliveries(
    client: "ApiClient",
    state: Annotated[
        str | None,
        Option(
            "--state",
            help="Only pending, delivered or failed ones.",
            metavar="STATE",
            complete=completing.of("pending", "delivered", "failed"),
        ),
    ] = None,
    subscription: Annotated[
        str | None,
        Option("--subscription", help="Only of this subscription.", metavar="ID", complete=completing.subscriptions),
    ] = None,
    subject: Annotated[
        str | None, Option("--subject", help="Only about this task, job …, by its id.", metavar="ID")
    ] = None,
    limit: Annotated[int, Option("--limit", help="How many at most.", min=1)] = 50,
) -> Any:
    """List deliveries, newest first."""
    wanted = None if subscription is None else _id_of(client, subscription)
    return client.pages("/deliveries", limit=limit, state=state, subscription=wanted, subject=subject)


@server_command(deliveries, "get", show=_print_delivery)
def get_delivery(client: "ApiClient", id: DeliveryId) -> Any:
    """Show a delivery: what it sends, and what the receiver answered."""
    return client.get(f"/deliveries/{id}")


@server_command(deliveries, show=_print_states)
def resend(
    client: "ApiClient",
    ids: Annotated[
        list[str],
        Argument(
            help="Ids of deliveries.",
            metavar="ID",
            show_default=False,
            complete=completing.deliveries,
            ids_of="deliveries",
        ),
    ],
) -> Any:
    """Send deliveries again now, whatever their state, with the same content and id."""
    return [client.post(f"/deliveries/{one}/resend") for one in ids]
