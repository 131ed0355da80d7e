"""Commands about alerts: rules, what fires, and when it fired."""

from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli import completing
from drumline.cli.commands import Flags, flags, group, list_command, server_command
from drumline.cli.describing import print_line
from drumline.cli.options import Limit, Yes
from drumline.cli.output import confirm, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column, between, relative, tidy
from drumline.cli.times import Toward, moment
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Create, list and mute alerts: rules that fire when tasks fail, wait or run too long.")

MOST: Final = 1000
RECENT: Final = 5
MEASURES: Final = (
    "failure_rate", "wait_p95", "run_p95", "backlog", "oldest_wait", "late_schedule", "burn_rate"
)  # fmt: skip
IN_SECONDS: Final = ("wait_p95", "run_p95", "oldest_wait", "late_schedule")

Id = Annotated[
    str,
    Argument(help="The alert's id or name.", metavar="ID", show_default=False, complete=completing.alerts),
]


def shown(measure: str, value: float | None) -> str:
    """Return a value of a measure as people read it."""
    if value is None:
        return ""
    if measure == "failure_rate":
        return f"{value * 100:.3g} %"
    if measure in IN_SECONDS:
        from datetime import timedelta

        from drumline.core.duration import format_duration

        return format_duration(timedelta(seconds=round(value, 3 if value < 1 else 1)))
    return f"{value:.3g}x" if measure == "burn_rate" else f"{value:,.0f}"


def _state(alert: dict[str, Any]) -> str:
    if not alert["enabled"]:
        return "paused"
    return f"{alert['state']} (muted)" if alert["muted_until"] else str(alert["state"])


ALERTS = (
    Column("ID", "id", rank=5),
    Column("NAME", "name", rank=9, least=10),
    Column("STATE", _state, rank=8),
    Column("SEVERITY", "severity", rank=6),
    Column("VALUE", lambda alert: shown(alert["measure"], alert["value"]), rank=7),
    Column("SUMMARY", "summary", rank=4, least=20),
    Column("SINCE", "since", rank=3, is_time=True),
)
INCIDENTS = (
    Column("FIRED_AT", "fired_at", rank=9, is_time=True),
    Column("LASTED", lambda one: between(one["fired_at"], one["resolved_at"]) or "fires now", rank=8),
    Column("NAME", "name", rank=7, least=10),
    Column("SEVERITY", "severity", rank=5),
    Column("PEAK", lambda one: f"{one['peak']:.4g}", rank=4),
    Column("REASON", "reason", rank=3, is_news=True),
    Column("ALERT", "alert", rank=1),
)


@flags
class Condition(Flags):
    """What an alert looks at."""

    threshold: Annotated[
        str | None, Option("--above", help="Fire above this: 5%, 30s, 1000 or 14.4.", metavar="VALUE")
    ] = None
    window: Annotated[str | None, Option("--window", help="How far back to look.", metavar="TIME")] = None
    hold: Annotated[str | None, Option("--for", help="How long it has to hold before it fires.", metavar="TIME")] = None
    least: Annotated[int | None, Option("--least", help="Minimum tasks in the window.", metavar="N")] = None
    severity: Annotated[
        str | None,
        Option(
            "--severity",
            help="critical, warning or info.",
            metavar="SEVERITY",
            complete=completing.of("critical", "warning", "info"),
        ),
    ] = None
    task: Annotated[
        str | None, Option("--task", help="Only tasks of this name.", metavar="NAME", complete=completing.task_names)
    ] = None
    queue: Annotated[
        str | None, Option("--queue", "-q", help="Only this queue.", metavar="NAME", complete=completing.queues)
    ] = None
    schedule: Annotated[
        str | None,
        Option("--schedule", help="Only this schedule, by name.", metavar="NAME", complete=completing.schedules),
    ] = None
    note: Annotated[str | None, Option("--note", help="What to do about it.", metavar="TEXT")] = None

    def body(self) -> dict[str, Any]:
        """Return the fields of a request that are given."""
        given = {("for" if name == "hold" else name): value for name, value in vars(self).items()}
        return {name: value for name, value in given.items() if value is not None}


def _describe(client: "ApiClient", alert: dict[str, Any]) -> None:
    """Print an alert, and when it last fired."""
    print_line("id", alert["id"])
    print_line("name", tidy(alert["name"]))
    print_line("state", f"{_state(alert)}, {relative(alert['since'])}")
    print_line("muted", f"until {alert['muted_until']}" if alert["muted_until"] else None)
    print_line("condition", alert["summary"])
    print_line("severity", alert["severity"])
    print_line("value", shown(alert["measure"], alert["value"]) or "nothing to measure")
    print_line("evaluated", relative(alert["evaluated_at"]) if alert["evaluated_at"] else None)
    print_line("note", alert["note"])
    incidents = client.get("/alert-incidents", alert=alert["id"], limit=RECENT)["items"]
    for incident in incidents:
        lasted = between(incident["fired_at"], incident["resolved_at"])
        words = f"{relative(incident['fired_at'])}, {f'for {lasted}' if lasted else 'fires now'}"
        print_line("fired" if incident is incidents[0] else "", words)


def _print(alert: dict[str, Any]) -> None:
    click.echo(f"{alert['id']}  {tidy(alert['name'])}: {alert['summary']}  {_state(alert)}")


@list_command(app, "list", ALERTS, empty="There are no alerts.", unmatched="No alert is in that state.")
def list_alerts(
    client: "ApiClient",
    state: Annotated[
        str | None,
        Option(
            "--state",
            "-s",
            help="ok, pending, firing or resolved.",
            metavar="STATE",
            complete=completing.of("ok", "pending", "firing", "resolved"),
        ),
    ] = None,
    limit: Limit = MOST,
) -> Any:
    """List alerts and where they stand, newest first."""
    return client.pages("/alerts", limit=limit, state=state)


@list_command(app, "history", INCIDENTS, empty="No alert has fired.")
def history(
    client: "ApiClient",
    id: Annotated[
        str | None,
        Argument(help="An alert's id or name.", metavar="ID", show_default=False, complete=completing.alerts),
    ] = None,
    limit: Limit = 100,
) -> Any:
    """List the times that alerts fired, the latest first."""
    alert = None if id is None else id_of(client, "alerts", id)
    return client.pages("/alert-incidents", limit=limit, alert=alert)


@server_command(app, describe=_describe, fields=True, page=lambda alert: f"/alerts/{alert['id']}")
def get(client: "ApiClient", id: Id) -> Any:
    """Show an alert, and when it last fired."""
    return client.get(f"/alerts/{id_of(client, 'alerts', id)}")


@server_command(app, show=_print, reason=True)
def create(
    client: "ApiClient",
    name: Annotated[str, Argument(help="Its name.", metavar="NAME", show_default=False)],
    measure: Annotated[
        str,
        Option(
            "--on",
            help=f"What to look at: {', '.join(MEASURES[:-1])} or {MEASURES[-1]}.",
            metavar="MEASURE",
            show_default=False,
            complete=completing.of(*MEASURES),
        ),
    ],
    given: Condition,
    slo: Annotated[
        str | None,
        Option("--slo", help="For burn_rate: the objective's id or name.", metavar="ID", complete=completing.slos),
    ] = None,
) -> Any:
    """Create an alert: what it looks at, and above which value it fires."""
    if given.threshold is None:
        raise Invalid("--above says from which value on it fires", field="--above")
    body = {"name": name, "measure": measure, **given.body()}
    if slo is not None:
        body["slo"] = id_of(client, "slos", slo)
    return client.post("/alerts", body)


@server_command(app, show=_print, reason=True)
def edit(
    client: "ApiClient",
    id: Id,
    name: Annotated[str | None, Option("--name", help="A new name.", metavar="NAME")] = None,
    *,
    given: Condition,
) -> Any:
    """Change an alert; what is not given stays, an empty text removes a filter. Another condition begins anew."""
    body = given.body() | ({} if name is None else {"name": name})
    for field in ("task", "queue", "schedule", "note"):
        if body.get(field) == "":
            body[field] = None
    return client.patch(f"/alerts/{id_of(client, 'alerts', id)}", body)


@server_command(app, show=_print, reason=True)
def mute(
    client: "ApiClient",
    id: Id,
    until: Annotated[
        str, Option("--until", help="Until when: 2h, tomorrow 09:00, 2026-12-01.", metavar="TIME", show_default=False)
    ],
) -> Any:
    """Mute an alert until a time: it is evaluated, and nobody is notified."""
    at = moment(until, flag="--until", toward=Toward.FUTURE)
    return client.patch(f"/alerts/{id_of(client, 'alerts', id)}", {"muted_until": at})


@server_command(app, show=_print, reason=True)
def unmute(client: "ApiClient", id: Id) -> Any:
    """End the mute of an alert; subscribers are notified if it is firing."""
    return client.patch(f"/alerts/{id_of(client, 'alerts', id)}", {"muted_until": None})


@server_command(app, show=_print, reason=True)
def pause(client: "ApiClient", id: Id) -> Any:
    """Pause an alert: it is not evaluated, and resolved if it fires."""
    return client.patch(f"/alerts/{id_of(client, 'alerts', id)}", {"enabled": False})


@server_command(app, show=_print, reason=True)
def resume(client: "ApiClient", id: Id) -> Any:
    """Evaluate a paused alert again."""
    return client.patch(f"/alerts/{id_of(client, 'alerts', id)}", {"enabled": True})


@server_command(app, "delete", reason=True)
def delete(client: "ApiClient", id: Id, yes: Yes = False) -> None:
    """Delete an alert and its history."""
    found = id_of(client, "alerts", id)
    confirm(f"Delete the alert {id}?", yes=yes)
    client.delete(f"/alerts/{found}")
    say(f"{id} is deleted.")


def id_of(client: "ApiClient", noun: str, text: str) -> str:
    """Return the id behind an id or a name, or raise `NotFound` for a name that there is not."""
    from drumline.core.ids import parse_task_id

    try:
        return parse_task_id(text)
    except Invalid:
        found = client.get(f"/{noun}", name=text, limit=1)["items"]
        if not found:
            one = {"alerts": "alert", "slos": "objective"}[noun]
            raise NotFound(f"there is no {one} {text}\nSee them with `drumline {noun} list`.") from None
        return str(found[0]["id"])
