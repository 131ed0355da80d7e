"""Lines of captured output: their levels and times, and which of them a search finds.

Output is stored in pieces that end anywhere. `LogScanner` reads the pieces of one task from left to right, so that
lines have the numbers that they have in the whole log, and stops at any line to go on there later.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from drumline.core.clock import Instant, to_instant
from drumline.core.errors import Invalid

LONGEST_LINE: Final = 32 * 1024
"""Characters of a line that are searched."""
LONGEST_SHOWN: Final = 1000
"""Characters of a line that are returned."""
SHOWN_BEFORE: Final = 200
"""How many of them are before the text that was found, in a line that is cut."""

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LEVEL: Final = re.compile(r"(?:\d{4}-\d\d-\d\dT[\d:.]+Z )?(DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b", re.ASCII)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)


class LogLevel(StrEnum):
    """The level of a line, from the least severe."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_SEVERITY: Final = {level: place for place, level in enumerate(LogLevel)}
_LEVELS: Final = {
    "DEBUG": LogLevel.DEBUG,
    "INFO": LogLevel.INFO,
    "WARN": LogLevel.WARNING,
    "WARNING": LogLevel.WARNING,
    "ERROR": LogLevel.ERROR,
    "CRITICAL": LogLevel.ERROR,
    "FATAL": LogLevel.ERROR,
}


class LogPiece(NamedTuple):
    """A stretch of a task's output: characters of one stored piece, from `offset` on."""

    epoch: int
    seq: int
    offset: int
    text: str


class LogPlace(NamedTuple):
    """Where a line of a task's output begins, its number, and the level of the line before."""

    epoch: int = 0
    seq: int = 0
    offset: int = 0
    line: int = 1
    level: LogLevel | None = None
    is_inside: bool = False
    """Whether it is within the line of that number, which was searched as far as lines are."""


LOG_START: Final = LogPlace()


class LogMatch(NamedTuple):
    """A line that was found."""

    line: int
    """Its number in the log of the task, from 1."""
    epoch: int
    """The execution that began it."""
    level: LogLevel | None
    """Its own level, or that of the line before: a traceback belongs to the line that announced it."""
    at: Instant | None
    """The time that it begins with, if that can be stored."""
    text: str
    """Without the colours of terminals."""
    is_cut: bool


class LogSought(NamedTuple):
    """Which lines to find: those that contain a text, in letters of either case, of a level or a more severe one."""

    text: str = ""
    least: LogLevel | None = None


class LogScanner:
    """Finds lines in the output of one task."""

    def __init__(self, sought: LogSought, start: LogPlace) -> None:
        self._text = sought.text.lower()
        self._least = 0 if sought.least is None else _SEVERITY[sought.least]
        self._has_least = sought.least is not None
        self._line = start.line
        self._level = start.level
        self._begin = (start.epoch, start.seq, start.offset)
        """Where the line begins that is being read; or, within one that was searched, where reading goes on."""
        self._read = self._begin
        """The end of what was read."""
        self._parts: list[str] = []
        self._size = 0
        self._is_inside = start.is_inside

    @property
    def place(self) -> LogPlace:
        """Where to go on."""
        return LogPlace(*self._begin, self._line, self._level, self._is_inside)

    def add(self, piece: LogPiece, most: int) -> list[LogMatch]:
        """Read the piece that comes next; return what was found in it, and stop after `most`."""
        found: list[LogMatch] = []
        epoch, seq, at, _ = piece
        self._read = (epoch, seq, at + len(piece.text))
        *whole, rest = piece.text.split("\n")
        for text in whole:
            at += len(text) + 1
            match = self._ended(text, epoch)
            self._begin = (epoch, seq, at)
            if match is not None:
                found.append(match)
                if len(found) >= most:
                    return found
        if not self._parts:
            self._begin = (epoch, seq, at)
        if self._is_inside:
            self._begin = self._read
        elif rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size >= LONGEST_LINE:
                match = self.give_up_line()
                found += [] if match is None else [match]
        return found

    def give_up_line(self) -> LogMatch | None:
        """Return the line that is being read if it matches so far; the rest of it is not searched."""
        match = self._judged("".join(self._parts), self._begin[0], is_long=True)
        self._parts, self._size, self._is_inside, self._begin = [], 0, True, self._read
        return match

    def close(self) -> LogMatch | None:
        """Return the last line if it matches and has no end yet: there is no piece more."""
        return None if not self._parts else self._ended("", self._begin[0])

    def _ended(self, text: str, epoch: int) -> LogMatch | None:
        """Return the line that ends with a text, if it matches."""
        match = None
        if self._is_inside:
            self._is_inside = False
        elif self._parts:
            match = self._judged("".join((*self._parts, text)), self._begin[0])
            self._parts, self._size = [], 0
        else:
            match = self._judged(text, epoch)
        self._line += 1
        return match

    def _judged(self, line: str, epoch: int, *, is_long: bool = False) -> LogMatch | None:
        is_long = is_long or len(line) > LONGEST_LINE
        line = line[:LONGEST_LINE]
        if "\x1b" in line:
            line = _COLOURS.sub("", line)
        named = _LEVEL.match(line)
        if named is not None:
            self._level = _LEVELS[named[1]]
        folded = line.lower()
        if self._text not in folded:
            return None
        if self._has_least and (self._level is None or _SEVERITY[self._level] < self._least):
            return None
        line = line.rstrip()
        if not line:
            return None
        shown = _shown(line, folded.find(self._text))
        return LogMatch(self._line, epoch, self._level, _time(line), shown, is_long or len(line) > LONGEST_SHOWN)


def _shown(line: str, where: int) -> str:
    """Return a line, or of a long one the part around a place."""
    if len(line) <= LONGEST_SHOWN:
        return line
    start = max(0, min(where - SHOWN_BEFORE, len(line) - LONGEST_SHOWN))
    end = start + LONGEST_SHOWN
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _time(line: str) -> Instant | None:
    """Return the time that a line begins with; a task may write any."""
    found = _TIME.match(line)
    if found is None:
        return None
    try:
        return to_instant(datetime.fromisoformat(found[0]), field="at")
    except (ValueError, Invalid):  # the 31st of February; the year 1
        return None
