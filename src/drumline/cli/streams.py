"""The standard streams of a command: closed, full or too narrow ones become errors of one line, never tracebacks."""

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

from drumline.cli.terminal import safe
from drumline.core.errors import DrumlineError, Invalid
from drumline.core.streams import LenientStream

_ERRORS: Final = "drumline-plain"
_PLAIN: Final = {
    **dict.fromkeys("─━═", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯", "+"),
    **dict.fromkeys("●○◐✓", "*"),
    **dict.fromkeys("→▶", ">"),
    "…": "...",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "✗": "x",
    "⊘": "/",
    "·": ".",
}
"""What the signs that Drumline draws with are where the encoding lacks them."""


class OutputFailed(DrumlineError):
    """What a command prints cannot be written."""

    code = "output_failed"


class CheckedOutput(io.TextIOBase):
    """Standard output; when it cannot be written to, the command ends with an error that says so.

    A terminal is sent colours, and no other command that a text of others may hold.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, or raise `OutputFailed`; a reader that has seen enough is no failure."""
        if self.isatty():
            text = safe(text, colours=True)
        with _told():
            return int(self._open().write(text))

    def flush(self) -> None:
        """Flush the stream, or raise `OutputFailed`."""
        if self.stream is not None:
            with _told():
                self.stream.flush()

    def close(self) -> None:
        """Leave the stream as it is: it belongs to the process, and may be closed when this object goes."""

    def fileno(self) -> int:
        """Return the stream's own descriptor."""
        return int(self._open().fileno())

    def isatty(self) -> bool:
        """Tell whether the stream is a terminal."""
        return self.stream is not None and self.stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's own encoding."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of characters that the encoding lacks."""
        return getattr(self.stream, "errors", None)

    @property
    def buffer(self) -> "CheckedBytes":
        """The stream's bytes."""
        return CheckedBytes(self._open().buffer)

    def _open(self) -> Any:
        if self.stream is None:
            raise OutputFailed("standard output is closed")
        return self.stream


class CheckedBytes:
    """The bytes of standard output."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        """Write bytes, or raise `OutputFailed`."""
        with _told():
            return int(self._stream.write(data))

    def flush(self) -> None:
        """Flush the stream, or raise `OutputFailed`."""
        with _told():
            self._stream.flush()


@contextmanager
def checked_streams() -> Iterator[None]:
    """Prepare the standard streams for a command, and give them back at the end."""
    _reserve_descriptors()
    out, err = sys.stdout, sys.stderr
    _degrade(out)
    _degrade(err)
    sys.stdout, sys.stderr = CheckedOutput(out), LenientStream(err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err
        _finish(out)


def drop_unwritten(stream: TextIO | None) -> None:
    """Drop what is left in the buffers of standard error and cannot be written.

    Python would try once more when the process ends, and end it with the status 120.
    """
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # closed, so that nothing is written at the end
            _lead_nowhere(stream)


def bare_output() -> TextIO:
    """Return standard output itself, for what moves the cursor to draw."""
    out: TextIO = getattr(sys.stdout, "stream", None) or sys.stdout
    return out


def read_stdin(what: str) -> str:
    """Return the text of standard input; `what` names it in errors."""
    try:
        return _stdin(what).read()
    except UnicodeDecodeError as error:
        raise Invalid(f"{what} on standard input is not text in {error.encoding}: {error.reason}") from error
    except (OSError, ValueError) as error:
        raise Invalid(f"{what} cannot be read from standard input: {error}") from error


def stdin_is_terminal() -> bool:
    """Tell whether there is a person to ask."""
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:
        return False


def is_utf8(stream: TextIO) -> bool:
    """Tell whether a stream can show every character."""
    try:
        return codecs.lookup(stream.encoding or "ascii").name in {"utf-8", "utf-16", "utf-32"}
    except (LookupError, TypeError):
        return False


def _stdin(what: str) -> TextIO:
    if sys.stdin is None:
        raise Invalid(f"{what} should come from standard input, which is closed")
    return sys.stdin


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OutputFailed(f"cannot write to standard output: {reason}") from error
    except ValueError as error:  # already closed
        raise OutputFailed(f"cannot write to standard output: {error}") from error


def _reserve_descriptors() -> None:
    """Open what was closed before the start as the null device: else the next file or socket would take its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno == errno.EBADF:
                os.open(os.devnull, os.O_RDWR)


def _degrade(stream: TextIO | None) -> None:
    """Let a stream that cannot show every character write something like it."""
    if isinstance(stream, io.TextIOWrapper) and not is_utf8(stream):
        codecs.register_error(_ERRORS, _plain)
        stream.reconfigure(errors=_ERRORS)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each) or each.encode("ascii", "backslashreplace").decode() for each in missing), error.end


def _finish(out: TextIO | None) -> None:
    """Write what is left in the buffers; what cannot be written is dropped, for it would fail once more at the end."""
    if out is None:
        return
    try:
        with _told():
            out.flush()
    except (OutputFailed, BrokenPipeError) as error:
        _lead_nowhere(out)
        if isinstance(error, OutputFailed) and not isinstance(sys.exc_info()[1], OutputFailed):
            raise


def _lead_nowhere(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, stream.fileno())
    finally:
        os.close(null)
