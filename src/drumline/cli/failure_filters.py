"""Which failures are meant: flags that several commands share, and what they are in a request."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.times import Toward, moment
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import Client

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of failed tasks.", metavar="[ID]...", show_default=False)]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="Only of this queue.", metavar="NAME")]
Name = Annotated[str | None, typer.Option("--name", "-n", help="Only of this task name.", metavar="NAME")]
Kind = Annotated[str | None, typer.Option("--kind", help="Only this class of error.", metavar="CLASS")]
Group = Annotated[str | None, typer.Option("--fingerprint", "-f", help="Only of this group.", metavar="FINGERPRINT")]
Why = Annotated[
    str | None,
    typer.Option("--why", help="Only retries_exhausted, permanent, poison or unresolved_input.", metavar="REASON"),
]
Since = Annotated[str | None, typer.Option("--since", help="Failed then or later: 2h, 2026-10-01.", metavar="TIME")]
Until = Annotated[str | None, typer.Option("--until", help="Failed before that: 30m, yesterday 09:00.", metavar="TIME")]
Tag = Annotated[str | None, typer.Option("--tag", help="Only with this tag.", metavar="TAG")]
Job = Annotated[str | None, typer.Option("--job", help="Only of this job.", metavar="ID")]
All = Annotated[bool, typer.Option("--all", help="All failures there are.")]
Rate = Annotated[float | None, typer.Option("--rate", help="How many a second, at most.", metavar="N")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, for those who will wonder.", metavar="TEXT")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Print the operation's id, and do not wait for its end.")]
Limit = Annotated[int, typer.Option("--limit", "-l", help="How many at most.", min=1, metavar="N")]


def check_group(client: "Client", fingerprint: str | None) -> None:
    """Raise `NotFound` for a group that does not exist: a typing error is no empty list."""
    if fingerprint is not None:
        from urllib.parse import quote

        client.get(f"/failures/groups/{quote(fingerprint, safe='')}")


def choice(ids: list[str] | None, wanted: dict[str, Any], *, everything: bool) -> dict[str, Any]:
    """Return which failures are meant as a request says it, or raise `Invalid` unless that is clear."""
    if sum([bool(ids), bool(wanted), everything]) != 1:
        raise Invalid("say which: ids, or filters such as --queue and --fingerprint, or --all")
    if ids:
        return {"ids": ids}
    return {"all": True} if everything else {"filter": wanted}


def wanted_of(**words: str | None) -> dict[str, Any]:
    """Return the filters that were given, by their names in the API."""
    wanted: dict[str, Any] = {name: value for name, value in words.items() if value is not None}
    for name in ("since", "until"):
        if name in wanted:
            wanted[name] = moment(wanted[name], flag=f"--{name}", toward=Toward.PAST)
    return wanted
