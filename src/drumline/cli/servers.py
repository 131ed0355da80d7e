"""Commands that run for long: everything in one process, or its parts apart."""

import os
import signal
import sys
from collections.abc import Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli.options import Apps, Concurrency, Config, Data, Host, Key, LogLevel, Port, Queues
from drumline.cli.output import say
from drumline.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from drumline.settings import Settings, Sources


class MigrateAct(StrEnum):
    """What else `migrate` does."""

    STATUS = "status"


def dev(
    apps: Apps = None,
    host: Host = None,
    port: Port = None,
    data: Data = None,
    concurrency: Concurrency = None,
    queues: Queues = None,
    reload: Annotated[bool, Option("--reload", help="Start again whenever a source file changes.")] = False,
    config: Config = None,
    log_level: LogLevel = None,
) -> None:
    """Run everything in one process: API, scheduler, notifier and worker."""
    settings, sources = load_settings(
        config, host=host, port=port, data=data, concurrency=concurrency, queues=queues, log_level=log_level
    )
    if reload:
        from drumline.lifecycle.reload import run_again_on_change

        run_again_on_change(apps or [])
        return
    from drumline.lifecycle.servers import run_dev

    run_process(settings, run_dev(settings, apps or [], say=click.echo, sources=sources))


def api(
    host: Host = None, port: Port = None, data: Data = None, config: Config = None, log_level: LogLevel = None
) -> None:
    """Run an API server."""
    settings, sources = load_settings(config, host=host, port=port, data=data, log_level=log_level)
    from drumline.lifecycle.servers import run_api

    run_process(settings, run_api(settings, say=say, sources=sources))


def scheduler(data: Data = None, config: Config = None, log_level: LogLevel = None) -> None:
    """Run the scheduler's duties; any number of schedulers may run."""
    settings, sources = load_settings(config, data=data, log_level=log_level)
    from drumline.lifecycle.processes import run_scheduler

    run_process(settings, run_scheduler(settings, sources))


def notifier(data: Data = None, config: Config = None, log_level: LogLevel = None) -> None:
    """Run a notifier, which calls webhooks and sends mail.

    Any number of notifiers may run.
    """
    settings, sources = load_settings(config, data=data, log_level=log_level)
    from drumline.lifecycle.notifier_process import run_notifier

    run_process(settings, run_notifier(settings, sources))


def worker(
    apps: Apps = None,
    url: Annotated[
        str | None,
        Option("--url", help="Work through the API at this address. [env: DRUMLINE_URL]", metavar="URL"),
    ] = None,
    api_key: Key = None,
    data: Data = None,
    concurrency: Concurrency = None,
    queues: Queues = None,
    config: Config = None,
    log_level: LogLevel = None,
) -> None:
    """Run a worker; without an app it runs the built-in tasks.

    With --url it needs nothing but that address and a key; without, it works on the store itself.
    """
    settings, sources = load_settings(
        config, url=url, api_key=api_key, data=data, concurrency=concurrency, queues=queues, log_level=log_level
    )
    from drumline.lifecycle.processes import run_worker

    run_process(settings, run_worker(settings, apps or [], sources))


def migrate(
    act: Annotated[
        MigrateAct | None,
        Argument(help="status: change nothing, and tell what is missing.", metavar="[status]", show_default=False),
    ] = None,
    as_sql: Annotated[
        bool, Option("--sql", help="Change nothing; print the statements, for PostgreSQL, as a script.")
    ] = False,
    data: Data = None,
    config: Config = None,
    log_level: LogLevel = None,
) -> None:
    """Bring the store's schema to this version.

    Safe to run at any time, any number of times.

    With several databases that of every shard is migrated, one after the other.
    """
    settings, _ = load_settings(config, data=data, log_level=log_level)
    from drumline.lifecycle.processes import run_migrate

    if (act is not None or as_sql) and settings.sqlite_path is not None:
        say("A store on SQLite is migrated whenever it is opened.")
        return
    if act is not None or as_sql:
        run_process(settings, _tell_missing(settings, as_sql=as_sql))
        return
    run_process(settings, run_migrate(settings))
    say("The schema is up to date.")


async def _tell_missing(settings: "Settings", *, as_sql: bool) -> None:
    """Print what the databases lack, one line for each migration, or as scripts."""
    from drumline.lifecycle.migrations import missing_migrations

    found = await missing_migrations(settings)
    if as_sql:
        from drumline.stores.postgres.migrating import script_of

        for shard, missing in found:
            if missing:
                click.echo(f"-- database {shard}\n{script_of(missing)}")
    else:
        for shard, missing in found:
            for each in missing:
                click.echo(f"{shard}  {each.number:04}  {each.name}")
    lacking = sum(len(missing) for _, missing in found)
    if not lacking:
        say("The schema is up to date.")
    elif not as_sql:
        say(f"{lacking} {'migration is' if lacking == 1 else 'migrations are'} missing: drumline migrate applies them.")


def load_settings(
    config: str | None,
    *,
    url: str | None = None,
    api_key: str | None = None,
    host: str | None = None,
    port: int | None = None,
    data: Path | None = None,
    concurrency: int | None = None,
    queues: list[str] | None = None,
    log_level: str | None = None,
) -> "tuple[Settings, Sources]":
    """Return the settings and their sources, from which they are loaded again when they change."""
    from drumline.settings import Sources

    prepare_process()
    flags = {
        "url": url,
        "api_key": api_key,
        "host": host,
        "port": port,
        "data": None if data is None else str(data),
        "worker.concurrency": concurrency,
        "worker.queues": queues or None,
        "log.level": log_level,
    }
    sources = Sources(os.environ, flags=flags, config=config)
    return sources.load().settings, sources


def prepare_process() -> None:
    """Do what has to come before everything else in a process that runs for long."""
    from drumline.observe.lean_structlog import import_structlog

    end_by_sigterm()
    import_structlog()


def end_by_sigterm() -> None:
    """End with status 0 when SIGTERM comes while the process is still being put together: nothing runs yet."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def run_process(settings: "Settings", process: Coroutine[Any, Any, None]) -> None:
    """Run a process to its end; what goes wrong in one of its services is raised as it is."""
    from drumline.core.errors import DrumlineError
    from drumline.core.redaction import Redaction
    from drumline.core.streams import lenient_streams
    from drumline.lifecycle.processes import run
    from drumline.observe.logging import set_up_logging

    log = settings.log
    set_up_logging(
        log.level,
        log.format,
        redaction=Redaction(settings.redact.fields),
        tasks=log.tasks,
        tasks_per_second=log.tasks_per_second,
    )
    try:
        with lenient_streams():
            run(process)
    except* DrumlineError as group:
        # Services fail as a group; the first error on purpose says it all.
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
