"""Bulk operations from the command line: count, ask, start, watch."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli.bulk import finish, follow, which
from drumline.cli.commands import Flags, flags
from drumline.cli.options import DryRun, Json, Yes
from drumline.cli.output import confirm, print_json, say
from drumline.cli.parameters import Option
from drumline.cli.tables import relative, span, tidy
from drumline.core.errors import Forbidden, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient


_DONE: Final = {
    "cancel": "cancelled",
    "retry": "retried",
    "reschedule": "rescheduled",
    "discard": "discarded",
    "purge": "discarded",
}


@flags
class BulkOptions(Flags):
    """How something is done to many tasks."""

    reason: Annotated[str | None, Option("--reason", help="The reason, stored with it.", metavar="TEXT")] = None
    yes: Yes = False
    dry_run: DryRun = False
    no_wait: Annotated[bool, Option("--no-wait", help="Print the operation's id, and do not wait for its end.")] = False
    as_json: Json = False


def run_bulk(
    client: "ApiClient", act: str, path: str, selection: dict[str, Any], options: BulkOptions, *, noun: str
) -> None:
    """Count what is meant, ask for confirmation, start the bulk operation, and watch it to its end."""
    asked = {name: value for name, value in (selection | {"reason": options.reason}).items() if value is not None}
    found = client.post(path, {**asked, "dry_run": True})
    if options.dry_run or not found["total"]:
        text = f"{_count(found, noun)} would be {_DONE[act]}; nothing was changed."
        print_json(found) if options.as_json else click.echo(text if found["total"] else f"No {noun}s match.")
        if found["total"] and not options.as_json:
            _print_sample(client, found)
        return
    confirm(f"{act.capitalize()} {_count(found, noun)}{_pace(found)}?", yes=options.yes)
    bulk = client.post(path, _as_seen(asked, found))
    if options.no_wait:
        print_json(bulk) if options.as_json else click.echo(bulk["id"])
        return
    say(f"To stop it: drumline bulk abort {bulk['id']}; Ctrl-C only stops the watching.")
    finish(follow(client, bulk, as_json=options.as_json), as_json=options.as_json)


def _print_sample(client: "ApiClient", found: dict[str, Any]) -> None:
    """Print some of the tasks that are meant."""
    for one in found["sample"]:
        try:
            task = client.get(f"/tasks/{one}")
        except (Forbidden, NotFound):  # a key that may not read it, or a task that was pruned just now
            click.echo(f"  {one}")
        else:
            click.echo(f"  {one}  {task['status']:<10}  {tidy(task['name'])}")
    if found["total"] > len(found["sample"]):
        click.echo(f"  … and {found['total'] - len(found['sample']):,} more")


def _as_seen(asked: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return a request that means nothing which came in after they were counted."""
    if found["newest_at"] is None or "older_than" in asked or "act" in asked:
        return asked  # the server freezes tasks that have not ended as they are when it begins
    last = datetime.fromisoformat(found["newest_at"]) + timedelta(milliseconds=1)
    rest = {name: value for name, value in asked.items() if name != "all"}
    return {**rest, "filter": {**asked.get("filter", {}), "until": last.isoformat()}}


def _count(found: dict[str, Any], noun: str) -> str:
    some = f"1 {noun}" if found["total"] == 1 else f"{found['total']:,} {noun}s"
    words = which(found)
    text = some + (f" ({tidy(words)})" if found["filter"] and words != "all" else "")
    oldest, newest = relative(found["oldest_at"]), relative(found["newest_at"])
    if oldest is None:
        return text
    return f"{text}, {newest}" if oldest == newest else f"{text}, from {oldest} to {newest}"


def _pace(found: dict[str, Any]) -> str:
    if not found["rate"]:
        return ""
    return f", {found['rate']:g} a second, which takes {span(found['total'] / found['rate'])}"
