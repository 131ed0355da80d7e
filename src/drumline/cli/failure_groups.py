"""Commands that decide about groups of failures: acknowledge, resolve, ignore and open them."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import segment, server_command
from drumline.cli.describing import print_cause, print_line
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import relative
from drumline.cli.times import Toward, moment
from drumline.core.errors import NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

SAMPLE = 5
BARS = " ▁▂▃▄▅▆▇█"

Fingerprint = Annotated[
    str,
    Argument(
        help="The fingerprint of a group: see failures groups.",
        metavar="FINGERPRINT",
        show_default=False,
        complete=completing.groups,
    ),
]
Note = Annotated[str | None, Option("--note", help="A note to keep with the group.", metavar="TEXT")]
Owner = Annotated[str | None, Option("--owner", help="Who takes care of it.", metavar="NAME")]


def describe_group(client: "ApiClient", group: dict[str, Any]) -> None:
    """Print a group of failures, and its latest tasks."""
    print_line("group", group["fingerprint"])
    print_line("state", _state(group))
    print_line("owner", group["owner"])
    print_line("note", group["note"])
    print_line("error", f"{group['kind']}: {group['message']}")
    print_line(
        "failures", f"{group['count']:,}, first {relative(group['first_at'])}, last {relative(group['last_at'])}"
    )
    print_line("24 hours", sparkline(group["trend"]) if group["trend"] and any(group["trend"]) else None)
    print_line("tasks", ", ".join(group["names"]))
    print_line("queues", ", ".join(group["queues"]))
    latest = client.get("/failures", fingerprint=group["fingerprint"], limit=SAMPLE)["items"]
    for failure in latest:
        print_line("latest" if failure is latest[0] else "", f"{failure['id']}  {relative(failure['failed_at'])}")
    if latest:
        _describe_example(client, latest[0]["id"])


def _describe_example(client: "ApiClient", task: str) -> None:
    """Print the payload and the error of the latest task, which may be gone by now."""
    try:
        example = client.get(f"/tasks/{segment(task)}")
    except NotFound:
        return
    click.echo()
    print_line("example", example["name"])
    print_cause(example)


def sparkline(counts: list[int]) -> str:
    """Return counts as a row of bars."""
    most = max([*counts, 1])
    return "".join(BARS[-(-count * (len(BARS) - 1) // most)] for count in counts)


def _state(group: dict[str, Any]) -> str:
    words = str(group["state"])
    if group["ignored_until"]:
        words += f" until {group['ignored_until']}"
    if group["decided_at"] and group["state"] != "open":
        words += f" ({group['decided_by']}, {relative(group['decided_at'])})"
    return words


def _print(group: dict[str, Any]) -> None:
    click.echo(f"{group['fingerprint']}  {group['state']}")


def _decide(client: "ApiClient", fingerprint: str, note: str | None, owner: str | None, **fields: Any) -> Any:
    given = {"note": note, "owner": owner, **fields}
    body = {name: value for name, value in given.items() if value is not None}
    return client.patch(f"/failures/groups/{segment(fingerprint)}", body)


@server_command(show=_print, reason=True)
def ack(client: "ApiClient", fingerprint: Fingerprint, owner: Owner = None, note: Note = None) -> Any:
    """Acknowledge a group of failures: its cause is being looked into."""
    return _decide(client, fingerprint, note, owner, state="acknowledged")


@server_command(show=_print, reason=True)
def resolve(client: "ApiClient", fingerprint: Fingerprint, owner: Owner = None, note: Note = None) -> Any:
    """Resolve a group of failures; it is shown as regressed when a task fails with it again."""
    return _decide(client, fingerprint, note, owner, state="resolved")


@server_command(show=_print, reason=True)
def ignore(
    client: "ApiClient",
    fingerprint: Fingerprint,
    until: Annotated[
        str,
        Option("--until", help="Until when: 24h, tomorrow 09:00, 2026-12-01.", metavar="TIME", show_default=False),
    ],
    owner: Owner = None,
    note: Note = None,
) -> Any:
    """Ignore a group of failures until a time."""
    return _decide(
        client, fingerprint, note, owner, state="ignored", until=moment(until, flag="--until", toward=Toward.FUTURE)
    )


@server_command(show=_print, reason=True)
def reopen(client: "ApiClient", fingerprint: Fingerprint, owner: Owner = None, note: Note = None) -> Any:
    """Open a group of failures again that was acknowledged, resolved or ignored."""
    return _decide(client, fingerprint, note, owner, state="open")
