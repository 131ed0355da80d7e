"""What is done about tasks that failed for good: retry, discard, purge."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from drumline.cli.bulk import finish, follow, which
from drumline.cli.failure_filters import (
    All,
    Group,
    Ids,
    Job,
    Kind,
    Name,
    NoWait,
    Queue,
    Rate,
    Reason,
    Since,
    Tag,
    Until,
    Why,
    check_group,
    choice,
    wanted_of,
)
from drumline.cli.moments import relative, span
from drumline.cli.options import DryRun, Json, Key, Url, Yes
from drumline.cli.output import confirm, print_json, say
from drumline.cli.tables import tidy
from drumline.cli.times import Toward, span_of
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import Client


class Manner(NamedTuple):
    """How an act on many failures shall be done."""

    yes: bool
    dry_run: bool
    no_wait: bool
    as_json: bool


def retry(
    ids: Ids = None,
    queue: Queue = None,
    name: Name = None,
    fingerprint: Group = None,
    kind: Kind = None,
    why: Why = None,
    since: Since = None,
    until: Until = None,
    tag: Tag = None,
    job: Job = None,
    everything: All = False,
    rate: Rate = None,
    payload: Annotated[
        str | None, typer.Option("--payload", help="For one task: what to give it instead, as JSON.", metavar="JSON")
    ] = None,
    reason: Reason = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Run failed tasks again: one, some that a filter finds, or all; those that fail later are not touched."""
    from drumline.cli.client import connect, read_json

    wanted = wanted_of(
        queue=queue, name=name, fingerprint=fingerprint, kind=kind, reason=why, since=since, until=until, tag=tag,
        job=job,
    )  # fmt: skip
    chosen = choice(ids, wanted, everything=everything)
    client = connect(url, api_key)
    check_group(client, fingerprint)
    if payload is not None and (not ids or len(ids) != 1):
        raise Invalid("--payload is for one task: give its id")
    if ids and len(ids) == 1 and not dry_run:
        body = {} if payload is None else {"payload": read_json(payload, field="--payload")}
        _print_task(client.post(f"/failures/{ids[0]}/retry", body), as_json=as_json)
        return
    _do_many(client, "retry", {**chosen, "rate": rate, "reason": reason}, Manner(yes, dry_run, no_wait, as_json))


def discard(
    ids: Ids = None,
    queue: Queue = None,
    name: Name = None,
    fingerprint: Group = None,
    kind: Kind = None,
    why: Why = None,
    since: Since = None,
    until: Until = None,
    tag: Tag = None,
    job: Job = None,
    everything: All = False,
    reason: Reason = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Take failures off the list: one, some that a filter finds, or all; their tasks stay failed."""
    from drumline.cli.client import connect

    wanted = wanted_of(
        queue=queue, name=name, fingerprint=fingerprint, kind=kind, reason=why, since=since, until=until, tag=tag,
        job=job,
    )  # fmt: skip
    chosen = choice(ids, wanted, everything=everything)
    client = connect(url, api_key)
    check_group(client, fingerprint)
    _do_many(client, "discard", {**chosen, "reason": reason}, Manner(yes, dry_run, no_wait, as_json))


def purge(
    older_than: Annotated[
        str,
        typer.Option("--older-than", help="How old they must be: 30d, 2026-10-01.", metavar="TIME", show_default=False),
    ],
    reason: Reason = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Take old failures off the list; their tasks stay failed until they are pruned."""
    from drumline.cli.client import connect

    asked = {"older_than": span_of(older_than, flag="--older-than", toward=Toward.PAST), "reason": reason}
    _do_many(connect(url, api_key), "purge", asked, Manner(yes, dry_run, no_wait, as_json))


def _do_many(client: "Client", act: str, asked: dict[str, Any], manner: Manner) -> None:
    """Tell how many failures are meant, ask, let it be done, and see to its end."""
    asked = {name: value for name, value in asked.items() if value is not None}
    found = client.post(f"/failures/{act}", {**asked, "dry_run": True})
    if manner.dry_run or not found["total"]:
        if manner.as_json:
            print_json(found)
        else:
            fate = f"{_count(found)} would be dealt with; nothing was changed."
            typer.echo(fate if found["total"] else "No failure is like that.")
        return
    confirm(f"{act.capitalize()} {_count(found)}{_pace(found)}?", yes=manner.yes)
    bulk = client.post(f"/failures/{act}", _as_seen(asked, found))
    if manner.no_wait:
        print_json(bulk) if manner.as_json else typer.echo(bulk["id"])
        return
    say(f"To stop it: drumline bulk abort {bulk['id']}; Ctrl-C only stops the watching.")
    finish(follow(client, bulk, as_json=manner.as_json), as_json=manner.as_json)


def _as_seen(asked: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return a request that means no failure which came in after they were counted."""
    if found["newest_at"] is None or "older_than" in asked:
        return asked
    last = datetime.fromisoformat(found["newest_at"]) + timedelta(milliseconds=1)
    rest = {name: value for name, value in asked.items() if name != "all"}
    return {**rest, "filter": {**asked.get("filter", {}), "until": last.isoformat()}}


def _count(found: dict[str, Any]) -> str:
    some = "1 failure" if found["total"] == 1 else f"{found['total']:,} failures"
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


def _print_task(task: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(task)
    else:
        typer.echo(f"{task['id']}  {task['status']}")
