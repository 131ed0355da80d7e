"""`jobs graph`: how a job's tasks hang together, drawn in the terminal, as Mermaid or as JSON."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli.commands import server_command
from drumline.cli.options import JobId, Json
from drumline.cli.output import print_json
from drumline.cli.parameters import Option
from drumline.cli.terminal import is_terminal
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

POLL_SECONDS = 0.5


@server_command()
def graph(
    client: "ApiClient",
    id: JobId,
    mermaid: Annotated[bool, Option("--mermaid", help="Print it as a Mermaid flowchart.")] = False,
    full: Annotated[bool, Option("--full", help="Fold nothing: every task by itself.")] = False,
    follow: Annotated[bool, Option("--follow", "-f", help="Draw it anew until the job has ended.")] = False,
    as_json: Json = False,
) -> None:
    """Draw a job's tasks and their dependencies.

    Alike tasks are drawn as one; what is too large to draw is listed by layers.
    """
    if sum((mermaid, as_json, follow)) > 1:
        raise Invalid("give one of --mermaid, --json and --follow")
    found = _follow(client, id, is_full=full) if follow else client.get(f"/jobs/{id}/graph")
    if as_json:
        print_json(found)
    elif mermaid:
        from drumline.cli.picture import vertices_of
        from drumline.core.mermaid import mermaid as written

        click.echo(written(vertices_of(found), folded=not full), nl=False)
    else:
        from drumline.cli.picture import print_graph

        print_graph(found, is_full=full)


def _follow(client: "ApiClient", id: str, *, is_full: bool) -> Any:
    """Show the graph on a terminal as it changes, and return it once the job has ended."""
    from drumline.cli.watching import ENDED

    found = client.get(f"/jobs/{id}/graph")
    if not is_terminal():
        while found["status"] not in ENDED:
            client.get(f"/jobs/{id}", wait=POLL_SECONDS * 10)
            found = client.get(f"/jobs/{id}/graph")
        return found
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from drumline.cli.picture import picture_of, remarks_on
    from drumline.cli.streams import bare_output
    from drumline.cli.tables import terminal_width

    def drawn() -> Text:
        lines = picture_of(found, width=terminal_width(), is_full=is_full) or ["(too large to draw while it changes)"]
        return Text.from_ansi("\n".join([*lines, *remarks_on(found)]), no_wrap=True)

    # The last picture is printed by the caller: a live one is cut at the height of the terminal.
    console = Console(file=bare_output())
    with Live(drawn(), console=console, transient=True, auto_refresh=False, vertical_overflow="crop") as live:
        while found["status"] not in ENDED:
            time.sleep(POLL_SECONDS)
            found = client.get(f"/jobs/{id}/graph")
            live.update(drawn(), refresh=True)
    return found
