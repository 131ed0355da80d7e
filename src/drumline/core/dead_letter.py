"""A dead letter: a task that failed for good, and why, until somebody retries or discards it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from drumline.core.fingerprint import fingerprint
from drumline.core.outcome import ErrorInfo

POISON: Final = "Poison"
"""The kind of error of a task that took its workers down."""
UNRESOLVED_INPUT: Final = "UnresolvedInput"
"""The kind of error of a task whose payload needs a result that is not there."""
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


_TELLING: Final[Mapping[str, Reason]] = MappingProxyType(
    {POISON: Reason.POISON, UNRESOLVED_INPUT: Reason.UNRESOLVED_INPUT}
)


class Cause(Struct, frozen=True):
    """Why a task failed for good, as its dead letter says it. Those of one fingerprint are one group."""

    reason: Reason
    fingerprint: str
    kind: str
    """The class of the error."""
    message: str
    """The error's message with all that varies folded away."""
    said: str
    """The beginning of the message as it was."""


def cause_of(error: ErrorInfo | None, reason: Reason = Reason.PERMANENT) -> Cause:
    """Return the cause of a failure; kinds of errors that tell the reason themselves need none."""
    error = error or UNKNOWN
    made = fingerprint(error)
    return Cause(_TELLING.get(error.kind, reason), made.text, error.kind, made.message, error.message[:LONGEST_SAID])
