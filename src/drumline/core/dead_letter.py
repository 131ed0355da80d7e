"""A dead letter: a task that failed for good, and why, until somebody retries or discards it."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from drumline.core.fingerprint import fingerprint
from drumline.core.outcome import ErrorInfo

POISON: Final = "Poison"
"""The kind of error of a task that took its workers down."""
LONGEST_SAID: Final = 500
UNKNOWN: Final = ErrorInfo("Unknown", "nothing was said about the failure")


class Reason(StrEnum):
    """Why there was no further attempt."""

    RETRIES_EXHAUSTED = "retries_exhausted"
    """It failed as often as it may."""
    PERMANENT = "permanent"
    """Its error says that trying again is of no use."""
    POISON = "poison"
    """Worker after worker died while running it."""
    UNRESOLVED_INPUT = "unresolved_input"
    """It never ran: its payload needs a parent's result that is not there."""


class FailureCause(Struct, frozen=True):
    """Why a task failed for good, as its dead letter says it. Those of one fingerprint are one group."""

    reason: Reason
    fingerprint: str
    kind: str
    """The class of the error."""
    message: str
    """The error's message with all that varies folded away."""
    said: str
    """The beginning of the message as it was."""


def cause_of(error: ErrorInfo | None, reason: Reason = Reason.PERMANENT) -> FailureCause:
    """Return the cause of a failure, given why there was no further attempt."""
    error = error or UNKNOWN
    made = fingerprint(error)
    return FailureCause(reason, made.text, error.kind, made.message, error.message[:LONGEST_SAID])
