"""What an error of user code means: try again, never again, or later. Unknown errors are worth a retry."""

import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from drumline.core.errors import Invalid
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Snoozed
from drumline.sdk.signals import Permanent, Retry, Snooze
from drumline.worker.texts import storable

LONGEST_MESSAGE: Final = 8 * 1024
LONGEST_TRACEBACK: Final = 32 * 1024

_OWN: Final = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "sdk"))


class Failure(Exception):
    """An end that an executor has decided already."""

    def __init__(self, outcome: Failed) -> None:
        super().__init__(outcome.error.message)
        self.outcome = outcome


def failure(kind: str, message: str, *, permanent: bool = False, retry_after: float | None = None) -> Failure:
    """Return a failure to raise from an executor."""
    error = ErrorInfo(kind, storable(message[:LONGEST_MESSAGE]))
    return Failure(Failed(error, permanent=permanent, retry_after=retry_after))


def refusal(error: Invalid) -> Failure:
    """Return the permanent failure of an attempt whose payload or result cannot be accepted, naming the field."""
    where = f"{error.field}: " if error.field else ""
    return failure("Invalid", f"{where}{error.message}", permanent=True)


def outcome_of_error(error: BaseException, *, permanent: bool = False) -> Outcome:
    """Return what to report when an attempt ended with an error; `permanent` is the task's own opinion of it."""
    match error:
        case Failure(outcome=outcome):
            return outcome
        case Snooze(delay=delay):
            return Snoozed(delay.total_seconds())
        case Retry(after=after):
            return Failed(describe(error), retry_after=None if after is None else after.total_seconds())
        case Permanent():
            return Failed(describe(error), permanent=True)
        case _:
            return Failed(describe(error), permanent=permanent)


def describe(error: BaseException) -> ErrorInfo:
    """Return an error for people: its type, its message, and the traceback of the user's own frames."""
    kind = type(error).__qualname__
    try:
        message = str(error)
    except BaseException as broken:  # noqa: BLE001 - the error's own __str__ is user code
        message = f"(its message cannot be shown: {type(broken).__name__})"
    lines = traceback.format_exception(type(error), error, _own_frames_cut(error.__traceback__))
    text = "".join(lines)[-LONGEST_TRACEBACK:]
    return ErrorInfo(storable(kind), storable(message[:LONGEST_MESSAGE]) or kind, storable(text))


def _own_frames_cut(trace: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the first frame that is not the worker's."""
    whole = trace
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OWN):
        trace = trace.tb_next
    return trace or whole
