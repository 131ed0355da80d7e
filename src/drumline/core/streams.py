"""Standard streams that never raise: a line that cannot be written is dropped."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


class LenientStream(io.TextIOBase):
    """Writes to a stream as far as that is possible.

    The reader of a pipe may be gone, the disk full, the descriptor closed, the encoding too small. None of that may
    stop a process, or keep it from stopping.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        """The stream itself; None if its descriptor was closed when the process started."""

    def write(self, text: str) -> int:
        """Write a text; characters that the stream cannot encode are escaped."""
        stream = self.stream
        if stream is None:
            return len(text)
        with suppress(OSError, ValueError):  # a closed stream raises ValueError
            try:
                stream.write(text)
            except UnicodeEncodeError:
                encoding = stream.encoding or "ascii"
                stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        if self.stream is not None:
            with suppress(OSError, ValueError):
                self.stream.flush()

    def fileno(self) -> int:
        """Return the stream's own descriptor."""
        if self.stream is None:
            raise io.UnsupportedOperation("fileno")
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Tell whether the stream is a terminal."""
        return is_terminal(self.stream)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's own encoding."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    @property
    def buffer(self) -> io.BufferedIOBase:
        """The stream's bytes; what is written there may raise."""
        if self.stream is None:
            raise AttributeError("buffer")
        return self.stream.buffer  # type: ignore[return-value]

    @property
    def errors(self) -> str:  # type: ignore[override]
        """What becomes of characters that the encoding lacks."""
        return "backslashreplace"


@contextmanager
def lenient_streams() -> Iterator[None]:
    """Make standard output and standard error never raise inside the block, even if their reader is gone."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = LenientStream(_bare(out)), LenientStream(_bare(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def _bare(stream: TextIO) -> TextIO | None:
    """Return the stream that a checked or lenient one writes to."""
    return getattr(stream, "stream", stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal; one that is closed is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False
