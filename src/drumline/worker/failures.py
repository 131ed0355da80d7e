"""Maps errors of user code to outcomes: retry, fail for good, or snooze. Unknown errors are retried."""

from typing import Final

from drumline.core.errors import Invalid
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Snoozed
from drumline.sdk.signals import Permanent, Retry, Snooze
from drumline.worker.texts import storable
from drumline.worker.tracebacks import message_of, traceback_of

LONGEST_MESSAGE: Final = 8 * 1024


class ExecutorFailure(Exception):
    """An end that an executor has decided already."""

    def __init__(self, outcome: Failed) -> None:
        super().__init__(outcome.error.message)
        self.outcome = outcome


def failure(kind: str, message: str, *, permanent: bool = False, retry_after: float | None = None) -> ExecutorFailure:
    """Return a failure to raise from an executor."""
    error = ErrorInfo(kind, storable(message[:LONGEST_MESSAGE]))
    return ExecutorFailure(Failed(error, permanent=permanent, retry_after=retry_after))


def refusal(error: Invalid) -> ExecutorFailure:
    """Return the permanent failure of an attempt whose payload or result cannot be accepted, naming the field."""
    where = f"{error.field}: " if error.field else ""
    return failure("Invalid", f"{where}{error.message}", permanent=True)


def outcome_of_error(error: BaseException, *, permanent: bool = False) -> Outcome:
    """Return the outcome of an attempt that raised an error; `permanent` if its definition gives up on it."""
    match error:
        case ExecutorFailure(outcome=outcome):
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
    """Return an error for people: its type, its message, and the traceback with all that led to it."""
    kind = type(error).__qualname__
    message = message_of(error)
    return ErrorInfo(
        storable(kind), storable(message[:LONGEST_MESSAGE]) or storable(kind), storable(traceback_of(error))
    )
