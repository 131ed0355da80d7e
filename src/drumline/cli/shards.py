"""Commands about shards. An address has a password in it: it can be read from standard input or the environment."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.describing import print_line, shown_moment
from drumline.cli.errors import ExitCode
from drumline.cli.options import GiveUp, Json, Yes
from drumline.cli.output import confirm, print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.streams import read_stdin, stdin_is_terminal
from drumline.cli.tables import Column
from drumline.core.errors import Invalid, Overloaded, Unavailable
from drumline.core.slots import SLOTS

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

POLL_SECONDS = 0.5
NONE: Final = "none"
STDIN: Final = "-"
ENVIRONMENT: Final = "env:"

app = group("Spread an installation over several PostgreSQL databases.")


def state_of(shard: dict[str, Any]) -> str:
    """Return the state of a shard in a word or two."""
    return f"{shard['state']}, away" if shard["is_away"] else str(shard["state"])


COLUMNS = (
    Column("NAME", "name", rank=9, least=10),
    Column("STATE", state_of, rank=8),
    Column("SLOTS", "slots", rank=8),
    Column("MOVING", lambda shard: shard["unfinished"] or None, rank=7, is_news=True),
    Column("QUEUED", "queued", rank=7),
    Column("RUNNING", "running", rank=7),
    Column("LEFT", "left", rank=7, is_news=True),
    Column("ADDRESS", "address", rank=6, least=16),
    Column("QUEUE_ADDRESS", "queue_address", rank=4, least=12),
    Column("ADDED_AT", "added_at", rank=5, is_time=True),
)

Name = Annotated[
    str, Argument(help="The shard's name.", metavar="NAME", show_default=False, complete=completing.shards)
]
StoreUrl = Annotated[
    str | None,
    Option(
        "--store-url",
        help="Where its PostgreSQL is; - reads the address from standard input, env:NAME from a variable.",
        metavar="URL",
    ),
]
QueueUrl = Annotated[
    str | None,
    Option("--queue-url", help="Where its Redis is, if it has one of its own; likewise.", metavar="URL"),
]
NoWait = Annotated[bool, Option("--no-wait", help="Do not wait until it is empty.")]

Show = Callable[[dict[str, Any]], None]
"""Shows a shard as it is now."""


def _describe(shard: dict[str, Any]) -> None:
    print_line("name", shard["name"])
    print_line("state", state_of(shard))
    print_line("slots", f"{shard['slots']:,} of {SLOTS:,}")
    print_line("moving", f"{shard['unfinished']:,}" if shard["unfinished"] else None)
    for name in ("queued", "running", "left"):
        print_line(name, None if shard[name] is None else f"{shard[name]:,}")
    print_line("address", shard["address"])
    print_line("queue", shard["queue_address"])
    print_line("added", shown_moment(shard["added_at"]))


def _print_added(shard: dict[str, Any]) -> None:
    _describe(shard)
    say(f"It has no slots yet: drumline shards move --to {shard['name']}, or drumline shards move --evenly")


@list_command(app, "list", COLUMNS, empty="There is no shard.")
def list_shards(client: "ApiClient") -> Any:
    """List shards with their slots and load, the directory first."""
    return client.get("/shards")["items"]


@server_command(app, show=_describe, fields=True)
def get(client: "ApiClient", name: Name) -> Any:
    """Show a shard."""
    return client.get(f"/shards/{segment(name)}")


@server_command(app, show=_print_added, reason=True)
def add(client: "ApiClient", name: Name, store_url: StoreUrl = None, queue_url: QueueUrl = None) -> Any:
    """Add an empty database as a shard: it is migrated, and gets no task until slots are moved to it.

    Without --store-url its address is typed at the terminal.
    """
    addresses = Addresses()
    store = addresses.read(STDIN if store_url is None else store_url, field="store_url")
    queue = None if queue_url is None else addresses.read(queue_url, field="queue_url")
    return client.post("/shards", {"name": name, "store_url": store, "queue_url": queue})


@server_command(app, show=_describe, reason=True)
def change(client: "ApiClient", name: Name, store_url: StoreUrl = None, queue_url: QueueUrl = None) -> Any:
    """Change the addresses of a shard, for another login or after its database has moved.

    `--queue-url none` takes its Redis away. It has to be the same database: an empty one is refused.
    """
    if store_url is None and queue_url is None:
        raise Invalid("name another address with --store-url or --queue-url")
    addresses = Addresses()
    body: dict[str, str | None] = {}
    if store_url is not None:
        body["store_url"] = addresses.read(store_url, field="store_url")
    if queue_url is not None:
        body["queue_url"] = None if queue_url == NONE else addresses.read(queue_url, field="queue_url")
    return client.patch(f"/shards/{segment(name)}", body)


@server_command(app, show=lambda moved: click.echo(f"{moved['slots']:,} slots moved"), reason=True)
def move(
    client: "ApiClient",
    taker: Annotated[
        str | None,
        Option("--to", help="The shard that takes new work of them.", metavar="NAME", complete=completing.shards),
    ] = None,
    giver: Annotated[
        str | None,
        Option(
            "--from",
            help="The shard that gives them. [default: those with most]",
            metavar="NAME",
            complete=completing.shards,
        ),
    ] = None,
    slots: Annotated[
        int | None,
        Option("--slots", help="How many. [default: all of --from, or to make it even]", min=1, max=SLOTS),
    ] = None,
    evenly: Annotated[bool, Option("--evenly", help="Give all active shards as many slots as each other.")] = False,
) -> Any:
    """Move slots to a shard: it takes the new work of theirs. Tasks that are stored stay where they are."""
    if evenly == (taker is not None):
        raise Invalid("name a shard with --to, or spread all slots with --evenly")
    if evenly and (giver is not None or slots is not None):
        raise Invalid("--from and --slots go with --to")
    return client.post("/slots/move", {"taker": taker, "giver": giver, "slots": slots})


@server_command(app, reason=True)
def drain(
    client: "ApiClient",
    name: Name,
    no_wait: NoWait = False,
    yes: Yes = False,
    timeout: GiveUp = None,
    as_json: Json = False,
) -> None:
    """Empty a shard: others take its new work at once, and schedulers move the tasks that wait in it.

    Running tasks end where they are. Interrupting this command, or --timeout, does not interrupt the draining.
    """
    confirm(f"Drain the shard {name}? Its slots and its tasks go to the other active shards.", yes=yes)
    shard = client.post(f"/shards/{segment(name)}/drain")
    if not no_wait:
        shard = follow(client, shard, timeout=timeout, as_json=as_json)
    print_json(shard) if as_json else _print_drained(shard)
    if not no_wait and not is_empty(shard):
        raise click.exceptions.Exit(ExitCode.TIMED_OUT)


@server_command(app, show=_describe, reason=True)
def keep(client: "ApiClient", name: Name) -> Any:
    """End the draining of a shard: what is left in it stays, and slots can be moved to it again."""
    return client.delete(f"/shards/{segment(name)}/drain")


@server_command(app, reason=True)
def remove(client: "ApiClient", name: Name, yes: Yes = False) -> None:
    """Remove a shard that was drained. Its database stays as it is."""
    confirm(f"Remove the shard {name}?", yes=yes)
    client.delete(f"/shards/{segment(name)}")
    say(f"{name} is removed; its database can be deleted once every process runs without it.")


class Addresses:
    """Reads addresses from where flags say: standard input, a variable, or the flag itself."""

    def __init__(self) -> None:
        self._lines: list[str] | None = None

    def read(self, text: str, *, field: str) -> str:
        """Return the address that a flag gives."""
        if text == STDIN:
            return self._next(field)
        if not text.startswith(ENVIRONMENT):
            return text
        name = text.removeprefix(ENVIRONMENT)
        if not os.environ.get(name):
            raise Invalid(f"the variable {name} is not set", field=field)
        return os.environ[name]

    def _next(self, field: str) -> str:
        """Return the next line of standard input, or what is typed."""
        if stdin_is_terminal():
            typed: str = click.prompt(f"Address ({field})", hide_input=True, err=True)
            return typed.strip()
        if self._lines is None:
            self._lines = [line.strip() for line in read_stdin("the address").splitlines() if line.strip()]
        if not self._lines:
            raise Invalid("standard input has no line with an address", field=field)
        return self._lines.pop(0)


def is_empty(shard: dict[str, Any]) -> bool:
    """Tell whether nothing is left in a shard that is drained."""
    return not (shard["left"] is None or shard["left"] or shard["slots"] or shard["unfinished"])


def follow(client: "ApiClient", shard: dict[str, Any], *, timeout: float | None, as_json: bool) -> dict[str, Any]:
    """Show how a shard empties, and return it once it is empty, is kept or the time is up."""
    from drumline.cli.client import retrying

    deadline = None if timeout is None else time.monotonic() + timeout
    client = retrying(client, deadline=deadline)
    try:
        with _display(shard, as_json=as_json) as show:
            while True:
                show(shard)
                is_up = deadline is not None and time.monotonic() >= deadline
                if is_empty(shard) or shard["state"] != "draining" or is_up:
                    return shard
                time.sleep(POLL_SECONDS)
                try:
                    shard = client.get(f"/shards/{segment(shard['name'])}")
                except (Unavailable, Overloaded):
                    return shard  # the time is up, and the server is away
    except SystemExit:  # Ctrl-C
        say(f"{shard['name']} is being drained still; look with: drumline shards get {shard['name']}")
        raise


@contextmanager
def _display(shard: dict[str, Any], *, as_json: bool) -> Iterator[Show]:
    """Give what shows how a shard empties: a bar on the terminal, or nothing."""
    if as_json or not sys.stderr.isatty():
        yield lambda _shard: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"drain {shard['name']}", total=shard["left"])
        most = 0

        def show(now: dict[str, Any]) -> None:
            nonlocal most
            if now["left"] is None:
                progress.update(bar, description=f"drain {now['name']} (away)")
                return
            most = max(most, now["left"])
            running = f", {now['running']:,} running" if now["running"] else ""
            progress.update(bar, description=f"drain {now['name']}{running}", total=most, completed=most - now["left"])

        yield show


def _print_drained(shard: dict[str, Any]) -> None:
    if is_empty(shard):
        click.echo(f"{shard['name']} is empty")
        say(f"Take it away with: drumline shards remove {shard['name']}")
        return
    left = "an unknown number of" if shard["left"] is None else f"{shard['left']:,}"
    click.echo(f"{shard['name']} is {state_of(shard)}, with {left} tasks left")
    if shard["state"] == "draining":
        say(f"Schedulers go on with it; look with: drumline shards get {shard['name']}")
