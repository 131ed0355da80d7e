"""The command that signals a durable task."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli.commands import segment, server_command
from drumline.cli.options import TaskId
from drumline.cli.output import say
from drumline.cli.parameters import Argument, Option
from drumline.cli.submitting import payload_of

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient


def _print_sent(sent: dict[str, Any]) -> None:
    click.echo(sent["id"])
    if not sent["created"]:
        say("It was there already.")
    elif sent["woken"]:
        say("The task waited for it, and goes on.")
    else:
        say("It is kept until the task waits for it.")


@server_command(show=_print_sent, reason=True)
def signal(
    client: "ApiClient",
    id: TaskId,
    name: Annotated[str, Argument(help="The signal's name.", metavar="NAME", show_default=False)],
    payload: Annotated[
        str | None, Option("--payload", "-p", help="JSON, @FILE, or - for standard input.", metavar="JSON")
    ] = None,
    signal_id: Annotated[
        str | None, Option("--id", help="The signal's id: the same one sent twice is kept once.", metavar="TEXT")
    ] = None,
) -> Any:
    """Signal a durable task: it is kept until the task waits for it."""
    body: dict[str, Any] = {"payload": None if payload is None else payload_of(payload, [])}
    if signal_id is not None:
        body["id"] = signal_id
    return client.post(f"/tasks/{id}/signals/{segment(name)}", body)
