"""Commands about copies of the store."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from drumline.cli.options import Config, Data, Json, Yes
from drumline.cli.output import confirm, print_json, say
from drumline.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from drumline.settings import Settings


def backup(
    target: Annotated[Path, Argument(help="The file to make.", metavar="FILE", show_default=False)],
    replace: Annotated[bool, Option("--replace", help="Replace a file that is there.")] = False,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Copy the SQLite store to a file, while everything runs.

    The copy is the store at one moment, checked. Large payloads and results of the data folder are copied beside it,
    to FILE.blobs. A PostgreSQL store is copied with pg_dump.
    """
    import msgspec

    from drumline.lifecycle.backup import back_up, back_up_blobs, sqlite_file

    settings = _settings(data, config)
    made = back_up(Path(sqlite_file(settings)), target, replace=replace)
    blobs = back_up_blobs(settings, target)
    if as_json:
        print_json({**msgspec.to_builtins(made), "blobs": 0 if blobs is None else blobs[1]})
        return
    click.echo(f"{made.file}  {made.size:,} bytes, schema {made.schema}, in {made.seconds:.1f} s")
    if blobs is not None:
        click.echo(f"{blobs[0]}  {blobs[1]:,} large payloads and results")


def restored(
    force: Annotated[bool, Option("--force", help="Run even if the store seems to be in use.")] = False,
    yes: Yes = False,
    data: Data = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Finish a restore: run it once on a restored store.

    Run it before anything else is started on that store. It migrates the store, gives its log of events a new name,
    and lets Redis forget what it knows of a later time. On a store that is in use it does nothing.
    """
    import asyncio

    import msgspec

    from drumline.lifecycle.backup import check_idle, finish_restore

    settings = _settings(data, config)
    if not force:
        asyncio.run(check_idle(settings))
    where = settings.sqlite_path or "the PostgreSQL store"
    confirm(f"Was {where} restored from a copy, and does nothing run on it?", yes=yes)
    done = asyncio.run(finish_restore(settings))
    if as_json:
        print_json(msgspec.to_builtins(done))
        return
    say(f"Events come from the log {done.log} from now on. {done.forgotten:,} keys of Redis are forgotten.")
    if done.workers:
        say(f"{done.workers} workers were at work then: what they held runs again, unless they are still there.")


def _settings(data: Path | None, config: str | None) -> "Settings":
    from drumline.settings import load_settings

    return load_settings(os.environ, flags={"data": None if data is None else str(data)}, config=config)
