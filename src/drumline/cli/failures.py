"""Commands about tasks that failed for good: look at them. What is done about them: `resolving.py`."""

from typing import Annotated, Any

import typer

from drumline.cli.describing import print_line, print_task
from drumline.cli.failure_filters import (
    Group,
    Job,
    Kind,
    Limit,
    Name,
    Queue,
    Since,
    Tag,
    Until,
    Why,
    check_group,
    wanted_of,
)
from drumline.cli.options import Fields, Json, Jsonl, Key, TaskId, Url, Wide
from drumline.cli.output import Form, print_json, print_list, say
from drumline.cli.resolving import discard, purge, retry
from drumline.cli.tables import Column
from drumline.cli.terminal import is_terminal

app = typer.Typer(help="Look at, retry and discard failed tasks.", no_args_is_help=True, rich_markup_mode=None)


def _error(failure: dict[str, Any]) -> str:
    return f"{failure['kind']}: {failure['message']}".partition("\n")[0]


COLUMNS = (
    Column("ID", lambda failure: failure["id"], rank=9),
    Column("FAILED", lambda failure: failure["failed_at"], rank=6, is_time=True),
    Column("NAME", lambda failure: failure["name"], rank=7, least=8),
    Column("QUEUE", lambda failure: failure["queue"], rank=3, least=8),
    Column("REASON", lambda failure: failure["reason"], rank=2),
    Column("ATTEMPTS", lambda failure: failure["attempts"], rank=1),
    Column("FINGERPRINT", lambda failure: failure["fingerprint"], rank=4),
    Column("ERROR", _error, rank=8, least=20),
)
GROUPS = (
    Column("FINGERPRINT", lambda group: group["fingerprint"], rank=9),
    Column("COUNT", lambda group: f"{group['count']:,}", rank=9),
    Column("LAST SEEN", lambda group: group["last_at"], rank=7, is_time=True),
    Column("FIRST SEEN", lambda group: group["first_at"], rank=4, is_time=True),
    Column("TASKS", lambda group: ", ".join(group["names"]), rank=5, least=12),
    Column("QUEUES", lambda group: ", ".join(group["queues"]), rank=2, least=8),
    Column("ERROR", _error, rank=8, least=24),
)


@app.command("list")
def list_failures(
    queue: Queue = None,
    name: Name = None,
    fingerprint: Group = None,
    kind: Kind = None,
    why: Why = None,
    since: Since = None,
    until: Until = None,
    tag: Tag = None,
    job: Job = None,
    limit: Limit = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List the tasks that failed for good, the latest first."""
    from drumline.cli.client import connect

    wanted = wanted_of(
        queue=queue, name=name, fingerprint=fingerprint, kind=kind, reason=why, since=since, until=until, tag=tag,
        job=job,
    )  # fmt: skip
    client = connect(url, api_key)
    check_group(client, fingerprint)
    found = client.pages("/failures", limit=limit, **wanted)
    nothing = "No failure is like that." if wanted else "Nothing has failed for good."
    count = print_list(found, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing=nothing)
    if count == limit and is_terminal():
        say(f"These are the latest {count}; by cause: drumline failures groups")


@app.command()
def groups(
    queue: Queue = None,
    name: Name = None,
    kind: Kind = None,
    by_count: Annotated[bool, typer.Option("--by-count", help="The largest first, not what was seen last.")] = False,
    limit: Limit = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List failures by their cause, with counts."""
    from drumline.cli.client import connect

    sort = "count" if by_count else None
    found = connect(url, api_key).pages("/failures/groups", limit=limit, queue=queue, name=name, kind=kind, sort=sort)
    print_list(found, GROUPS, Form(as_json, as_jsonl, wide, fields), nothing="Nothing has failed for good.")


@app.command()
def show(id: TaskId, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Show one failure: why it was given up, its payload, and how each attempt ended."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    file = client.get(f"/failures/{id}")
    if as_json:
        print_json(file)
        return
    failure = file["failure"]
    times = "1 attempt" if failure["attempts"] == 1 else f"{failure['attempts']} attempts"
    print_line("reason", f"{failure['reason']}, after {times}")
    print_line("group", failure["fingerprint"])
    print_line("job", failure["job"])
    print_task(file["task"], file["attempts"], client.get(f"/tasks/{id}/artifacts")["items"])
    if file["edits"]:
        say("Its payload was changed; what it was given before: --json")


app.command()(retry)
app.command()(discard)
app.command()(purge)
