"""Completion of commands and flags by the Tab key."""

from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The shells that can be taught."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Which shell.")]) -> None:
    """Print the completion script of a shell.

    Let the shell read it: source <(drumline completion bash).
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # public by its docs only

    typer.echo(get_completion_script(prog_name="drumline", complete_var="_DRUMLINE_COMPLETE", shell=shell.value))
