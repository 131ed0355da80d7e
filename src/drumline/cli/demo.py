"""`drumline demo`: a demonstration workload, on a server that is running or on one of its own."""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import click

from drumline.cli.options import Host, Key, LogLevel, Port, Url
from drumline.cli.output import say
from drumline.cli.parameters import Option
from drumline.cli.servers import prepare_process, run_process

if TYPE_CHECKING:
    from drumline.settings import Settings

Seed = Annotated[int, Option("--seed", help="The same seed gives the same demo.", metavar="N")]
Rate = Annotated[float, Option("--rate", help="Tasks a second once every screen is filled; 0 for none.", min=0.0)]
For = Annotated[
    str | None,
    Option("--for", help="How long to go on, such as 10m; for ever when not given.", metavar="DURATION"),
]
DemoData = Annotated[
    Path | None,
    Option("--data", help="The data folder: of the server to feed, or for a new one.", metavar="FOLDER"),
]


def demo(
    seed: Seed = 7,
    rate: Rate = 3.0,
    for_: For = None,
    url: Url = None,
    api_key: Key = None,
    host: Host = None,
    port: Port = None,
    data: DemoData = None,
    log_level: LogLevel = None,
) -> None:
    """Fill every screen with the work of a small shop.

    There are orders, jobs, schedules, and whatever can go wrong. It feeds the server that --url or the data folder
    names; where none is running it starts its own, on any free port and in a temporary folder unless told otherwise.
    Tasks of the demo do nothing outside of their process.
    """
    prepare_process()
    from drumline.core.duration import parse_duration
    from drumline.demo.run import DemoOptions, run_demo, run_demo_server

    seconds = None if for_ is None else parse_duration(for_, field="--for").total_seconds()
    options = DemoOptions(seed=seed, rate=rate, seconds=seconds)
    settings = _load(url=url, api_key=api_key, host=host, port=port, data=data, log_level=log_level)
    with ExitStack() as stack:
        running = _running(settings)
        if running is not None:
            say(f"Feeding {running.url} with the demo of seed {seed}. Ctrl-C ends it.")
            run_process(running, run_demo(running, options, say=say))
            return
        if data is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="drumline-demo-"))
            settings = _load(host=host, port=0 if port is None else port, data=Path(folder), log_level=log_level)
        run_process(settings, run_demo_server(settings, options, say=click.echo))


def _load(
    *,
    url: str | None = None,
    api_key: str | None = None,
    host: str | None = None,
    port: int | None = None,
    data: Path | None = None,
    log_level: str | None = None,
) -> "Settings":
    from drumline.settings import load_settings

    flags = {
        "url": url,
        "api_key": api_key,
        "host": host,
        "port": port,
        "data": None if data is None else str(data),
        "log.level": log_level or "error",
    }
    return load_settings(os.environ, flags=flags)


def _running(settings: "Settings") -> "Settings | None":
    """Return the settings with the server that is meant, if one is named or runs on the data folder."""
    import msgspec

    from drumline.lifecycle.data_folder import read_note, with_stored_key
    from drumline.sdk.http import HttpTransport

    note = read_note(settings.data) if settings.url is None else None
    address = settings.url or (note.url if note else None)
    if address is None:
        return None
    there = with_stored_key(msgspec.structs.replace(settings, url=address))
    if settings.url is None:
        transport = HttpTransport(address, api_key=there.api_key)
        try:
            if not transport.is_answering():
                return None
        finally:
            transport.close()
    return there
