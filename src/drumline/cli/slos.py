"""Commands about service level objectives of task types."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli import completing
from drumline.cli.alerts import id_of
from drumline.cli.commands import group, list_command, server_command
from drumline.cli.describing import print_line
from drumline.cli.failure_groups import sparkline
from drumline.cli.options import Limit, Yes
from drumline.cli.output import confirm, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column, relative, tidy
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Create and list service level objectives of task types, with their error budgets.")

DAY: Final = 86_400
BARS: Final = 60

Id = Annotated[
    str,
    Argument(help="The objective's id or name.", metavar="ID", show_default=False, complete=completing.slos),
]
Target = Annotated[str, Option("--target", help="The share that has to go well: 99.5% or 0.995.", metavar="SHARE")]


def _objective(slo: dict[str, Any]) -> str:
    share = f"{slo['target'] * 100:g} %"
    what = "succeed" if slo["objective"] == "success" else f"start within {slo['within']:g} s"
    return f"{share} of {slo['task']} {what} over {slo['period'] / DAY:g}d"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.4g} %"


def share_of(text: str) -> float:
    """Return a share that is written as a number or in per cent, or raise `Invalid`."""
    try:
        return float(Decimal(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1))
    except ArithmeticError as error:
        raise Invalid("must be a share such as 99.5% or 0.995", field="--target") from error


def _burn(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.3g}x"


SLOS = (
    Column("ID", "id", rank=3),
    Column("NAME", "name", rank=9, least=10),
    Column("OBJECTIVE", _objective, rank=6, least=20),
    Column("SHARE", lambda slo: _percent(slo["share"]), rank=7),
    Column("BUDGET_LEFT", lambda slo: _percent(slo["budget_left"]), rank=8),
    Column("BURN_1H", lambda slo: _burn(slo["burn_1h"]), rank=5),
    Column("BURN_6H", lambda slo: _burn(slo["burn_6h"]), rank=4),
)


def _describe(_client: "ApiClient", slo: dict[str, Any]) -> None:
    """Print an objective, and what it has spent."""
    print_line("id", slo["id"])
    print_line("name", tidy(slo["name"]))
    print_line("objective", _objective(slo))
    print_line("queue", slo["queue"])
    share = _percent(slo["share"])
    print_line("share", f"{share} ({slo['good']:,} of {slo['total']:,})" if share else "no tasks yet")
    print_line("budget", f"{_percent(slo['budget_left'])} left")
    print_line("burn", f"{_burn(slo['burn_1h']) or '0x'} in 1h, {_burn(slo['burn_6h']) or '0x'} in 6h")
    bad = [point["total"] - point["good"] for point in slo["points"] or ()]
    print_line("bad", sparkline(_folded(bad)) if any(bad) else None)
    print_line("counted", relative(slo["counted_at"]) if slo["counted_at"] else "not yet")


def _folded(counts: list[int]) -> list[int]:
    """Return counts in so few groups that they fit in a line."""
    width = -(-len(counts) // BARS)
    return [sum(counts[start : start + width]) for start in range(0, len(counts), width)]


def _print(slo: dict[str, Any]) -> None:
    click.echo(f"{slo['id']}  {tidy(slo['name'])}: {_objective(slo)}")


@list_command(app, "list", SLOS, empty="There are no objectives.", unmatched="No objective is about that task.")
def list_slos(
    client: "ApiClient",
    task: Annotated[
        str | None, Option("--task", help="Only of this task.", metavar="NAME", complete=completing.task_names)
    ] = None,
    limit: Limit = 1000,
) -> Any:
    """List objectives with their error budgets, newest first."""
    return client.pages("/slos", limit=limit, task=task)


@server_command(app, describe=_describe, fields=True)
def get(client: "ApiClient", id: Id) -> Any:
    """Show an objective, and what it has spent of its budget."""
    return client.get(f"/slos/{id_of(client, 'slos', id)}")


@server_command(app, show=_print, reason=True)
def create(
    client: "ApiClient",
    name: Annotated[str, Argument(help="Its name.", metavar="NAME", show_default=False)],
    task: Annotated[
        str, Option("--task", help="The tasks that it is about.", metavar="NAME", complete=completing.task_names)
    ],
    target: Target,
    start_within: Annotated[
        str | None, Option("--start-within", help="They have to start in this time, not to succeed.", metavar="TIME")
    ] = None,
    period: Annotated[str, Option("--period", help="Over how long, from 1d to 30d.", metavar="TIME")] = "30d",
    queue: Annotated[
        str | None, Option("--queue", "-q", help="Only in this queue.", metavar="NAME", complete=completing.queues)
    ] = None,
    no_alerts: Annotated[bool, Option("--no-alerts", help="Create no alerts with it.")] = False,
) -> Any:
    """Create an objective, and two alerts on how fast its error budget is spent."""
    body: dict[str, Any] = {"name": name, "task": task, "target": share_of(target), "period": period, "queue": queue}
    if start_within is not None:
        body |= {"objective": "start", "within": start_within}
    return client.post("/slos", body | {"alerts": not no_alerts})


@server_command(app, show=_print, reason=True)
def edit(
    client: "ApiClient",
    id: Id,
    name: Annotated[str | None, Option("--name", help="A new name.", metavar="NAME")] = None,
    target: Annotated[str | None, Option("--target", help="Another share.", metavar="SHARE")] = None,
    start_within: Annotated[str | None, Option("--start-within", help="Another time.", metavar="TIME")] = None,
    period: Annotated[str | None, Option("--period", help="Another period.", metavar="TIME")] = None,
) -> Any:
    """Change an objective; what is not given stays. With another target, time or period it is counted anew."""
    given = {
        "name": name,
        "target": None if target is None else share_of(target),
        "within": start_within,
        "period": period,
    }
    body = {field: value for field, value in given.items() if value is not None}
    return client.patch(f"/slos/{id_of(client, 'slos', id)}", body)


@server_command(app, "delete", reason=True)
def delete(client: "ApiClient", id: Id, yes: Yes = False) -> None:
    """Delete an objective, its history and its alerts."""
    found = id_of(client, "slos", id)
    confirm(f"Delete the objective {id} and its alerts?", yes=yes)
    client.delete(f"/slos/{found}")
    say(f"{id} is deleted.")
