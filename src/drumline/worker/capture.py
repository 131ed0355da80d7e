"""Routes what tasks log and print to the log of their attempt, told apart by a context variable."""

import io
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TextIO

from drumline.core.bound import CURRENT_BOUND
from drumline.core.masking import CURRENT_MASK, masked

FORMAT: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"

RecordMaker = Callable[..., logging.LogRecord]


def formatter() -> logging.Formatter:
    """Return the form of log lines in attempts' logs: UTC, level, logger, message."""
    made = logging.Formatter(FORMAT, TIME_FORMAT)
    made.converter = time.gmtime
    return made


class AttemptHandler(logging.Handler):
    """Gives records that are made inside an attempt to the attempt's log."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(formatter())

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record where it belongs."""
        attempt = CURRENT_BOUND.get()
        if attempt is not None:
            attempt.write(self.format(record) + "\n")
        elif record.levelno >= logging.WARNING and logging.root.handlers == [self] and logging.lastResort:
            # With no handler but ours, logging would have shown warnings by itself: do not make it silent.
            logging.lastResort.handle(record)


class Tee(io.TextIOBase):
    """A standard stream that also writes to the log of the attempt in which it is written to."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write to the stream, and to the attempt's log if there is one."""
        attempt = CURRENT_BOUND.get()
        if attempt is not None:
            attempt.write(text)
        self.stream.write(masked(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream itself."""
        self.stream.flush()

    def fileno(self) -> int:
        """Return the stream's own file number."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Tell whether the stream itself is a terminal."""
        return self.stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's own encoding."""
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the stream treats what it cannot encode."""
        return self.stream.errors

    @property
    def buffer(self) -> io.BufferedIOBase:
        """The stream's bytes; what is written there goes past the attempt's log."""
        return self.stream.buffer  # type: ignore[return-value]


def concealing(make: RecordMaker) -> RecordMaker:
    """Return what makes log records without the secrets that the attempt around them was given.

    Records go to every handler of the program, also to those that write to its own output.
    """

    def make_concealed(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        mask = CURRENT_MASK.get()
        if mask is not None:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
            record.msg, record.args, record.exc_info = mask.text(text), None, None
        return record

    return make_concealed


class Routing:
    """What is routed, for all workers of a process together: twice would write every line twice."""

    def __init__(self) -> None:
        self._users = 0
        self._lock = threading.Lock()
        self._undo = ExitStack()

    def begin(self) -> None:
        """Route from now on, if nobody has it done so far."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._undo.enter_context(_routed())

    def end(self) -> None:
        """Route no more, once nobody needs it."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._undo.close()


_routing = Routing()


@contextmanager
def captured() -> Iterator[None]:
    """Route logging, stdout and stderr inside the block."""
    _routing.begin()
    try:
        yield
    finally:
        _routing.end()


@contextmanager
def _routed() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    if not root.handlers and level > logging.INFO:
        # Nobody has configured logging: then a task's log.info should be seen in its log.
        root.setLevel(logging.INFO)
    handler = AttemptHandler()
    root.addHandler(handler)
    make_record = logging.getLogRecordFactory()
    logging.setLogRecordFactory(concealing(make_record))
    out, err = sys.stdout, sys.stderr
    tees = Tee(out), Tee(err)
    sys.stdout, sys.stderr = tees
    try:
        yield
    finally:
        # Somebody else may have replaced the streams meanwhile; only our own are taken back.
        if sys.stdout is tees[0]:
            sys.stdout = out
        if sys.stderr is tees[1]:
            sys.stderr = err
        logging.setLogRecordFactory(make_record)
        root.removeHandler(handler)
        root.setLevel(level)
