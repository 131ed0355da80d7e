"""An error as text for people: its frames, its notes, what caused it, and the errors inside a group.

Written in the form that Python itself prints, but bounded whatever user code has raised: long chains, wide groups and
deep recursion are cut in the middle, and each error is visited once.
"""

import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from drumline.core.shorten import shorten

LONGEST: Final = 32 * 1024
MOST_ERRORS: Final = 60
"""Errors that are shown in all, in chains and groups together."""
LINKED_ENDS: Final = 10
"""Errors that are shown of each end of a chain."""
HEAD_FRAMES: Final = 40
TAIL_FRAMES: Final = 60
MOST_GROUPED: Final = 15
MOST_NOTES: Final = 20
LONGEST_TEXT: Final = 8 * 1024
"""Characters of one message or note."""
CAUSE: Final = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT: Final = "\nDuring handling of the above exception, another exception occurred:\n\n"

_OWN: Final = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "sdk"))


def traceback_of(error: BaseException) -> str:
    """Return the whole story of an error, within `LONGEST` characters; never raises."""
    try:
        return shorten("".join(_Writer().chain(error)), LONGEST)
    except BaseException as broken:  # noqa: BLE001 - properties and __str__ of an error are user code
        return f"(its traceback cannot be shown: {type(broken).__name__})\n"


def message_of(error: BaseException) -> str:
    """Return what an error says; never raises."""
    try:
        return str(error)
    except BaseException as broken:  # noqa: BLE001 - the error's own __str__ is user code
        return f"(its message cannot be shown: {type(broken).__name__})"


class _Writer:
    """Writes one error with all that belongs to it."""

    def __init__(self) -> None:
        self._shown = 0
        self._seen: set[int] = set()

    def chain(self, error: BaseException) -> Iterator[str]:
        """Yield an error after those that led to it, the first cause first."""
        links = self._links(error)
        left_out = len(links) - 2 * LINKED_ENDS
        if left_out > 0:
            del links[LINKED_ENDS : LINKED_ENDS + left_out]
        for place in range(len(links) - 1, -1, -1):
            each, phrase = links[place]
            if left_out > 0 and place == LINKED_ENDS - 1:
                yield f"\n[{left_out:,} exceptions left out]\n\n"
            yield from self._one(each)
            yield phrase

    def _links(self, error: BaseException) -> list[tuple[BaseException, str]]:
        """Return an error and those that led to it, each with the phrase that leads to the one before it."""
        links: list[tuple[BaseException, str]] = []
        each: BaseException | None = error
        phrase = ""
        while each is not None and id(each) not in self._seen:
            self._seen.add(id(each))
            links.append((each, phrase))
            if each.__cause__ is not None:
                each, phrase = each.__cause__, CAUSE
            elif not each.__suppress_context__:
                each, phrase = each.__context__, CONTEXT
            else:
                each = None
        return links

    def _one(self, error: BaseException) -> Iterator[str]:
        self._shown += 1
        if self._shown > MOST_ERRORS:
            yield f"[{type(error).__qualname__} left out]\n"
            return
        yield from _frames(_own_frames_cut(error.__traceback__))
        yield from _last_lines(error)
        if isinstance(error, BaseExceptionGroup):
            yield from self._members(error)

    def _members(self, group: "BaseExceptionGroup[Any]") -> Iterator[str]:
        members = group.exceptions
        for number, member in enumerate(members[:MOST_GROUPED], start=1):
            yield f"  +---------------- {number} ----------------\n"
            if self._shown >= MOST_ERRORS:
                yield f"  | [{len(members) - number + 1:,} exceptions left out]\n"
                return
            text = shorten("".join(self.chain(member)), LONGEST)
            yield "".join(f"  | {line}\n" for line in text.splitlines())
        if len(members) > MOST_GROUPED:
            yield f"  | [{len(members) - MOST_GROUPED:,} exceptions left out]\n"


def _frames(trace: TracebackType | None) -> Iterator[str]:
    if trace is None:
        return
    yield "Traceback (most recent call last):\n"
    count = sum(1 for _ in traceback.walk_tb(trace))
    if count <= HEAD_FRAMES + TAIL_FRAMES:
        yield from traceback.extract_tb(trace).format()
        return
    yield from traceback.extract_tb(trace, limit=HEAD_FRAMES).format()
    yield f"  [{count - HEAD_FRAMES - TAIL_FRAMES:,} frames left out]\n"
    yield from traceback.extract_tb(trace, limit=-TAIL_FRAMES).format()


def _last_lines(error: BaseException) -> Iterator[str]:
    if isinstance(error, SyntaxError):
        yield from traceback.format_exception_only(error)  # with the line that cannot be parsed
        return
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in {"builtins", "__main__"}:
        name = f"{kind.__module__}.{name}"
    message = shorten(message_of(error), LONGEST_TEXT)
    yield f"{name}: {message}\n" if message else f"{name}\n"
    notes = getattr(error, "__notes__", None)
    for note in notes[:MOST_NOTES] if isinstance(notes, list) else ():
        yield shorten(str(note), LONGEST_TEXT) + "\n"


def _own_frames_cut(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame that is not the worker's."""
    whole = trace
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN):
        trace = trace.tb_next
    return trace or whole
