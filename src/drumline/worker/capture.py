"""Routes log records and printed output of tasks to the log of their attempt, found by a context variable."""

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from drumline.core.current_attempt import CURRENT_ATTEMPT
from drumline.core.log_fields import extra_of
from drumline.core.masking import CURRENT_MASK, masked
from drumline.core.redaction import DEFAULT_REDACTION
from drumline.core.streams import LenientStream

FORMAT: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"

RecordMaker = Callable[..., logging.LogRecord]


class LineFormatter(logging.Formatter):
    """The form of log lines in attempts' logs: UTC, level, logger, message, and what `extra=` was given."""

    def __init__(self) -> None:
        super().__init__(FORMAT, TIME_FORMAT)
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text; a mistake in a logging call is shown, and does not fail the task."""
        try:
            return super().format(record)
        except Exception as error:  # noqa: BLE001 - arguments that do not fit, or a __str__ that raises
            return f"{record.levelname} {record.name}: {_unformatted(record, error)}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name in the standard library
        """Return the line with the fields at its end."""
        extra = DEFAULT_REDACTION.value(extra_of(record))
        fields = [f" {name}={value if _is_word(value) else _as_json(value)}" for name, value in extra.items()]
        return super().formatMessage(record) + "".join(fields)


class AttemptHandler(logging.Handler):
    """Gives records that are made inside an attempt to the attempt's log."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LineFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record where it belongs."""
        attempt = CURRENT_ATTEMPT.get()
        if attempt is not None:
            attempt.write(self.format(record) + "\n")
        elif record.levelno >= logging.WARNING and logging.root.handlers == [self] and logging.lastResort:
            # With no handler but ours, logging would have shown warnings by itself: do not make it silent.
            logging.lastResort.handle(record)


class Tee(LenientStream):
    """A standard stream that also writes to the log of the attempt in which it is written to.

    What the stream itself cannot take is dropped: a task must not fail because of where its worker's output goes.
    """

    def write(self, text: str) -> int:
        """Write to the stream, and to the attempt's log if there is one."""
        attempt = CURRENT_ATTEMPT.get()
        if attempt is not None:
            attempt.write(text)
        return super().write(masked(text))


def message_of(record: logging.LogRecord) -> str:
    """Return the message of a record; a mistake in a logging call is shown, and does not fail the task."""
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - arguments that do not fit, or a __str__ that raises
        return _unformatted(record, error)


def _unformatted(record: logging.LogRecord, error: Exception) -> str:
    text = f"{record.msg!r} " if isinstance(record.msg, str) else ""
    return f"{text}(cannot be formatted: {type(error).__name__}, line {record.lineno} of {record.filename})"


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and not {" ", '"', "="} & set(value) and value != ""


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def concealing(make: RecordMaker) -> RecordMaker:
    """Return what makes log records without the secrets that the attempt around them was given.

    Records go to every handler of the program, also to those that write to its own output.
    """

    def make_concealed(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        mask = CURRENT_MASK.get()
        if mask is not None:
            text = message_of(record)
            if record.exc_info:
                text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
            record.msg, record.args, record.exc_info = mask.text(text), None, None
        return record

    return make_concealed


class Routing:
    """What is routed, for all workers of a process together: twice would write every line twice."""

    def __init__(self) -> None:
        self._users: set[object] = set()
        self._lock = threading.Lock()
        self._undo = ExitStack()

    def begin(self, user: object) -> None:
        """Start routing, if no worker of this process has done so."""
        with self._lock:
            self._users.add(user)
            if len(self._users) == 1:
                self._undo.enter_context(_routed())

    def end(self, user: object) -> None:
        """Stop routing, once no worker of this process needs it; one that was left behind is not counted twice."""
        with self._lock:
            if user in self._users:
                self._users.remove(user)
                self._close_if_unused()

    def end_all(self) -> None:
        """Stop routing, whoever has begun it."""
        with self._lock:
            self._users.clear()
            self._close_if_unused()

    def _close_if_unused(self) -> None:
        if not self._users:
            self._undo.close()


_routing = Routing()


@contextmanager
def captured() -> Iterator[None]:
    """Route logging, stdout and stderr inside the block."""
    user = object()
    _routing.begin(user)
    try:
        yield
    finally:
        _routing.end(user)


def abandon_capture() -> None:
    """Stop routing for workers that cannot do so themselves any more: simulated processes that were killed."""
    _routing.end_all()


@contextmanager
def _routed() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    if not root.handlers and level > logging.INFO:
        # Logging is not configured: then a task's log.info should still appear in its log.
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
        # Other code may have replaced the streams meanwhile; only our own are restored.
        if sys.stdout is tees[0]:
            sys.stdout = out
        if sys.stderr is tees[1]:
            sys.stderr = err
        logging.setLogRecordFactory(make_record)
        root.removeHandler(handler)
        root.setLevel(level)
