"""Flags of the program itself: `drumline --context prod --yes tasks retry ID`.

They may be after the command as well, where it has no flag of the same name.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from drumline.cli.output import Form

_KEY: Final = "drumline.invocation"


@dataclass(slots=True)
class Invocation:
    """What was said about this call of the program, whatever its command."""

    context: str | None = None
    """The context to use instead of the current one."""
    yes: bool = False
    """Whether every question is answered with yes."""
    quiet: bool = False
    """Whether messages are left out, except errors."""
    form: "Form | None" = None
    """The format in which a command that prints by itself prints its JSON, if `-o` or `--jq` was given."""


def invocation() -> Invocation:
    """Return what was said about the call that is running."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Invocation()
    found: Invocation = context.meta.setdefault(_KEY, Invocation())
    return found


def program_flags() -> list[click.Parameter]:
    """Return the flags that come before the command."""
    return [*_flags()]


def flags_after(own: Iterable[click.Parameter]) -> list[click.Parameter]:
    """Return the flags of the program that a command takes beside its own; its help leaves them out."""
    taken = {flag for parameter in own for flag in (*parameter.opts, *parameter.secondary_opts)}
    after: list[click.Parameter] = []
    for flag in _flags():
        flag.opts = [name for name in flag.opts if name not in taken]
        flag.hidden = True
        if flag.opts and f"--{flag.name}" not in taken:
            after.append(flag)
    return after


def _flags() -> list[click.Option]:
    return [
        _flag(
            "--context", metavar="NAME", help="The server to talk to, as drumline login named it.", complete=_contexts
        ),
        _flag("--yes", "-y", is_flag=True, help="Answer every question with yes."),
        _flag("--quiet", "-q", is_flag=True, help="Print no messages, only data and errors."),
    ]


def _contexts(context: click.Context, _parameter: click.Parameter, text: str) -> list[str]:
    """Return the contexts that a shell may complete `--context` to."""
    from drumline.cli.completing import contexts

    return [name for name in contexts(context, text) if name.startswith(text)]


def _flag(
    name: str,
    *others: str,
    help: str,
    metavar: str | None = None,
    is_flag: bool = False,
    complete: "Callable[[click.Context, click.Parameter, str], list[str]] | None" = None,
) -> click.Option:
    field = name.removeprefix("--")

    def note(_context: click.Context, _parameter: click.Parameter, value: object) -> None:
        if value:
            setattr(invocation(), field, value)

    return click.Option(
        [name, *others],
        expose_value=False,
        callback=note,
        help=help,
        metavar=metavar,
        is_flag=is_flag,
        shell_complete=complete,
    )
