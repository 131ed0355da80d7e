"""Commands about the program itself: help, completion, version."""

from enum import StrEnum
from typing import Annotated

import click

from drumline._version import __version__
from drumline.cli import completing
from drumline.cli.options import Json
from drumline.cli.output import print_json
from drumline.cli.parameters import Argument

COMPLETE_VARIABLE = "_DRUMLINE_COMPLETE"
"""Set by the completion scripts of the shells."""


class Shell(StrEnum):
    """The shells that complete commands."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, Argument(help="Which shell.", metavar="SHELL")]) -> None:
    """Print the completion script of a shell.

    Let the shell read it: source <(drumline completion bash).
    """
    from click.shell_completion import get_completion_class

    from drumline.cli.bash_completion import register

    register()
    kind = get_completion_class(shell.value)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell.value}")
    root = click.get_current_context().find_root()
    click.echo(kind(root.command, {}, "drumline", COMPLETE_VARIABLE).source())


def show_help(
    command: Annotated[
        list[str] | None,
        Argument(
            help="The command, such as tasks list.", metavar="COMMAND", show_default=False, complete=completing.commands
        ),
    ] = None,
) -> None:
    """Show the help of a command."""
    from drumline.core.json_errors import suggestion

    context = click.get_current_context().find_root()
    for name in command or ():
        found = context.command.get_command(context, name) if isinstance(context.command, click.Group) else None
        if found is None:
            known = context.command.list_commands(context) if isinstance(context.command, click.Group) else []
            words = " ".join(command or ())
            raise click.UsageError(f"there is no command {words}{suggestion(name, known)}", ctx=context)
        context = click.Context(found, info_name=name, parent=context)
    click.echo(context.get_help())


def version(as_json: Json = False) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": __version__})
    else:
        click.echo(__version__)
