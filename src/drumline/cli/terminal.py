"""What a person's terminal can and wants to show."""

import os
import sys

import typer

STATUS_COLOURS = {
    "PENDING": typer.colors.BLUE,
    "QUEUED": typer.colors.CYAN,
    "PROCESSING": typer.colors.YELLOW,
    "COMPLETED": typer.colors.GREEN,
    "FAILED": typer.colors.RED,
    "CANCELLED": typer.colors.MAGENTA,
    "SKIPPED": typer.colors.MAGENTA,
}
STATUSES = tuple(STATUS_COLOURS)


def is_terminal() -> bool:
    """Tell whether standard output is a person's terminal."""
    return sys.stdout.isatty()


def painted(text: str, colour: str | None = None, *, bold: bool = False) -> str:
    """Return a text in colour where standard output can show it and nobody has said no."""
    if not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not (colour or bold):
        return text
    return typer.style(text, fg=colour, bold=bold)
