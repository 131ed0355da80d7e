"""The `drumline` program: its commands, and what is said when one fails."""

import os
import signal
import sys
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

from drumline._version import __version__
from drumline.cli import (
    audit,
    bulk,
    config,
    events,
    failures,
    jobs,
    keys,
    limits,
    notifications,
    queues,
    schedules,
    secrets,
    servers,
    shards,
    tasks,
    tenants,
    workers,
)
from drumline.cli.backup import backup, restored
from drumline.cli.demo import demo
from drumline.cli.docs import docs
from drumline.cli.doctor import doctor
from drumline.cli.errors import ExitCode, exit_code_of, message_of
from drumline.cli.options import Json
from drumline.cli.output import print_json, say
from drumline.cli.streams import OutputFailed, checked_streams, drop_unwritten
from drumline.cli.submitting import submit
from drumline.cli.watching import logs, watch
from drumline.core.errors import DrumlineError

DEPENDENCIES = {"aiosmtplib", "cryptography", "httptools", "httpx", "rich", "starlette", "structlog", "uvicorn", "yaml"}
"""The packages that only some commands need; an installation without dependencies may lack them."""

# Help by Rich would take longer to import than the help takes to read.
app = typer.Typer(
    name="drumline",
    help="Run tasks in the background, durably.",
    no_args_is_help=True,
    rich_markup_mode=None,
    # Typer knows the shells only if it may also add two flags for them: they are added only when a shell asks.
    add_completion="_DRUMLINE_COMPLETE" in os.environ,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("dev")(servers.dev)
app.command("demo")(demo)
app.command("submit")(submit)
app.command("watch")(watch)
app.command("logs")(logs)
app.add_typer(tasks.app, name="tasks")
app.add_typer(failures.app, name="failures")
app.add_typer(bulk.app, name="bulk")
app.add_typer(jobs.app, name="jobs")
app.add_typer(schedules.app, name="schedules")
app.add_typer(queues.app, name="queues")
app.add_typer(limits.app, name="limits")
app.add_typer(workers.app, name="workers")
app.command("events")(events.events)
app.add_typer(events.app, name="consumers")
app.add_typer(notifications.subscriptions, name="subscriptions")
app.add_typer(notifications.deliveries, name="deliveries")
app.add_typer(keys.app, name="keys")
app.add_typer(keys.sign_ins, name="sign-ins")
app.add_typer(tenants.app, name="tenants")
app.add_typer(secrets.app, name="secrets")
app.add_typer(audit.app, name="audit")
app.add_typer(config.app, name="config")
app.add_typer(shards.app, name="shards")
app.command("doctor")(doctor)
app.command("docs")(docs)
app.command("api")(servers.api)
app.command("scheduler")(servers.scheduler)
app.command("worker")(servers.worker)
app.command("notifier")(servers.notifier)
app.command("migrate")(servers.migrate)
app.command("backup")(backup)
app.command("restored")(restored)


class Shell(StrEnum):
    """The shells that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="Which shell.")]) -> None:
    """Print the completion script of a shell.

    Let the shell read it: source <(drumline completion bash).
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # public by its docs only

    typer.echo(get_completion_script(prog_name="drumline", complete_var="_DRUMLINE_COMPLETE", shell=shell.value))


@app.command()
def version(as_json: Json = False) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": __version__})
    else:
        typer.echo(__version__)


def main() -> None:
    """Run a command; whatever Drumline raises on purpose becomes a message and a promised exit status."""
    signal.signal(signal.SIGINT, _interrupted)
    try:
        with checked_streams():
            sys.exit(_run())
    except OutputFailed as error:  # the last of it, in the buffers
        say(f"Error: {error.message}")
        sys.exit(ExitCode.FAILED)
    finally:
        drop_unwritten(sys.stderr)


@cache
def command() -> Any:
    """Return all commands."""
    return typer.main.get_command(app)


def _run() -> ExitCode:
    try:
        command()(prog_name="drumline")
    except DrumlineError as error:
        say(f"Error: {message_of(error, sys.argv[1:])}")
        return exit_code_of(error)
    except ModuleNotFoundError as error:
        if error.name not in DEPENDENCIES:
            raise
        say(f"Error: this needs the package {error.name}: pip install drumline")
        return ExitCode.FAILED
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        say(f"Error: {what}{error.strerror or error}")
        return ExitCode.FAILED
    return ExitCode.OK


def _interrupted(_number: int, _frame: object) -> NoReturn:
    say("")
    sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
