"""Commands about outboxes: tables in databases of programs, in which tasks wait to be relayed."""

from typing import Annotated, Any

import click

from drumline.cli.commands import group
from drumline.cli.options import Config, Data, Json, LogLevel
from drumline.cli.output import print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.servers import load_settings, run_process
from drumline.cli.shards import Addresses

MOST_SHOWN = 100

app = group("Create and look at outboxes, where tasks of transactions in other databases wait.")

Url = Annotated[
    str,
    Argument(
        help="The database: postgresql://… or sqlite:///…; - reads it from standard input, env:NAME from a variable.",
        metavar="URL",
        show_default=False,
    ),
]


@app.add("install")
def install(url: Url) -> None:
    """Create the table of an outbox in a database, or bring one of an older version up to date; its rows stay."""
    outbox = _outbox(url)
    _run(outbox.install())
    say(f"The outbox at {outbox.address} is ready.")


@app.add("show")
def show(url: Url, as_json: Json = False) -> None:
    """Print how many tasks wait in an outbox, and those that were set aside, with the reason."""
    waiting, set_aside = _run(_outbox(url).look(MOST_SHOWN))
    if as_json:
        print_json({"waiting": waiting, "set_aside": [row._asdict() for row in set_aside]})
        return
    click.echo(f"{waiting:,} waiting, {len(set_aside)} set aside")
    for row in set_aside:
        click.echo(f"{row.id}  {row.tenant}  {row.error}")


@app.add("retry")
def retry(url: Url) -> None:
    """Let the tasks of an outbox that were set aside wait again."""
    say(f"{_run(_outbox(url).retry()):,} tasks wait again.")


def relay(
    urls: Annotated[list[str], Argument(help="The databases.", metavar="URL...", show_default=False)],
    tenants: Annotated[
        list[str] | None,
        Option("--tenant", help="A tenant whose tasks are stored, besides default."),
    ] = None,
    once: Annotated[bool, Option("--once", help="Store what waits now, and end.")] = False,
    data: Data = None,
    config: Config = None,
    log_level: LogLevel = None,
) -> None:
    """Relay outboxes: store the tasks that wait in databases of programs.

    Schedulers do it, too, for the databases of the setting outbox.urls. Any number of relays may run.
    """
    settings, _ = load_settings(config, data=data, log_level=log_level)
    from drumline.lifecycle.processes import run_relay

    given = Addresses()
    addresses = [given.read(url, field="url") for url in urls]
    run_process(settings, run_relay(settings, addresses, ["default", *(tenants or ())], once=once))


def _outbox(url: str) -> Any:
    from drumline.transactions.relay import Outbox

    return Outbox(Addresses().read(url, field="url"))


def _run(work: Any) -> Any:
    import asyncio

    return asyncio.run(work)
