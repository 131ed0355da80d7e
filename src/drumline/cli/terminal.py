"""What a person's terminal can show, and texts of others that are shown on it without commanding it.

A task's log, an error's message or a name may hold escape sequences that move the cursor over earlier lines, set the
window's title or the clipboard, or have the terminal type something by itself. Control characters become the
replacement character, except for line breaks and tabs; colours may stay where they are wanted.
"""

import os
import re
import sys
from typing import Final

import click

STATUS_COLOURS = {
    "PENDING": "blue",
    "QUEUED": "cyan",
    "PROCESSING": "yellow",
    "COMPLETED": "green",
    "FAILED": "red",
    "CANCELLED": "magenta",
    "SKIPPED": "magenta",
}
STATUSES = tuple(STATUS_COLOURS)

RESET: Final = "\x1b[0m"

_COLOUR: Final = re.compile(r"(\x1b\[[0-9;]{0,40}m)")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BEGUN: Final = re.compile(r"\x1b(\[[0-9;]{0,40})?\Z|\r\Z")


def is_terminal() -> bool:
    """Tell whether standard output is a person's terminal."""
    return sys.stdout.isatty()


def painted(text: str, colour: str | None = None, *, bold: bool = False) -> str:
    """Return a text in colour, unless standard output is no terminal or NO_COLOR is set."""
    if not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not (colour or bold):
        return text
    return click.style(text, fg=colour, bold=bold)


def safe(text: str, *, colours: bool = False) -> str:
    """Return a text that commands a terminal nothing; with `colours` it may still be coloured."""
    if _CONTROL.search(text) is None:
        return text
    parts = _COLOUR.split(text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(
        (part if colours else "") if number % 2 else _CONTROL.sub("\N{REPLACEMENT CHARACTER}", part)
        for number, part in enumerate(parts)
    )


class SafePieces:
    """Makes a text safe that comes piece by piece: what may go on in the next piece waits for it."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._held = ""
        self._is_coloured = False

    def add(self, piece: str) -> str:
        """Return what can be shown by now."""
        text = self._held + piece
        begun = _BEGUN.search(text)
        self._held = "" if begun is None else begun[0]
        shown = safe(text[: len(text) - len(self._held)], colours=self._colours)
        self._is_coloured = self._is_coloured or "\x1b" in shown
        return shown

    def close(self) -> str:
        """Return the rest; what comes after it has no colour of it."""
        rest, self._held = safe(self._held, colours=self._colours), ""
        return rest + (RESET if self._is_coloured else "")
