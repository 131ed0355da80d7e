"""The `drumline` program: its commands, and what is said when one fails."""

import signal
import sys
from functools import cache
from typing import NoReturn

import click

from drumline._version import __version__
from drumline.cli.catalogue import SECTIONS
from drumline.cli.errors import ExitCode, exit_code_of, message_of
from drumline.cli.invocation import program_flags
from drumline.cli.output import say, say_error
from drumline.cli.parameters import Group
from drumline.cli.streams import OutputFailed, checked_streams, drop_unwritten
from drumline.core.errors import DrumlineError

DEPENDENCIES = {"aiosmtplib", "cryptography", "httptools", "httpx", "rich", "starlette", "structlog", "uvicorn", "yaml"}
"""The packages that only some commands need; an installation without dependencies may lack them."""


@cache
def command() -> Group:
    """Return all commands."""
    program = Group("Run tasks in the background, durably.", name="drumline", sections=SECTIONS)
    program.context_settings = {"help_option_names": ["-h", "--help"]}
    program.params += program_flags()
    program.params.append(
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Print the version.",
        )
    )
    return program


def main() -> None:
    """Run a command; whatever Drumline raises on purpose becomes a message and a promised exit status."""
    signal.signal(signal.SIGINT, _interrupted)
    try:
        with checked_streams():
            sys.exit(_run())
    except OutputFailed as error:  # the last of it, in the buffers
        say_error(f"Error: {error.message}")
        sys.exit(ExitCode.FAILED)
    finally:
        drop_unwritten(sys.stderr)


def _run() -> ExitCode:
    try:
        command()(prog_name="drumline")
    except DrumlineError as error:
        say_error(f"Error: {message_of(error, sys.argv[1:])}")
        return exit_code_of(error)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in DEPENDENCIES:
            raise
        say_error(f"Error: this needs the package {package}: pip install drumline")
        return ExitCode.FAILED
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        say_error(f"Error: {what}{error.strerror or error}")
        return ExitCode.FAILED
    return ExitCode.OK


def _print_version(context: click.Context, _parameter: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(__version__)
        context.exit()


def _interrupted(_number: int, _frame: object) -> NoReturn:
    say("")
    sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
