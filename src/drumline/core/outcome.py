"""How an attempt ended, as its worker reports it.

The engine decides what follows (`engine/settle.py`): whether a failure is tried again is the store's attempt count
and the task's policy, never the worker's opinion.
"""

from typing import Final

from msgspec import Raw, Struct

LONGEST_SHORTENED: Final = 1000
"""Characters of a message that are left of an error that is shortened."""
LEFT_OUT: Final = "[left out: later attempts have long errors]\n"
"""The traceback of an error that is shortened."""


class ErrorInfo(Struct, frozen=True, omit_defaults=True):
    """What went wrong, for people and for grouping."""

    kind: str
    message: str
    traceback: str = ""

    @property
    def size(self) -> int:
        """How many characters it has."""
        return len(self.kind) + len(self.message) + len(self.traceback)

    @property
    def shortened(self) -> "ErrorInfo":
        """The error without its traceback, and with the beginning of its message; says so where that is less."""
        short = ErrorInfo(self.kind, self.message[:LONGEST_SHORTENED])
        return short if short == self else ErrorInfo(short.kind, short.message, LEFT_OUT)


class Succeeded(Struct, frozen=True, tag="succeeded", tag_field="outcome", omit_defaults=True, gc=False):
    """The attempt did its work; `result` is JSON."""

    result: Raw = Raw(b"null")


class Failed(Struct, frozen=True, tag="failed", tag_field="outcome", omit_defaults=True):
    """The attempt failed. `retry_after` (seconds) overrides the task's own backoff."""

    error: ErrorInfo
    permanent: bool = False
    retry_after: float | None = None


class Snoozed(Struct, frozen=True, tag="snoozed", tag_field="outcome"):
    """The attempt wants to run again later; it does not count."""

    seconds: float


class Released(Struct, frozen=True, tag="released", tag_field="outcome"):
    """The worker gives the task back unfinished; the attempt does not count."""


class Stopped(Struct, frozen=True, tag="stopped", tag_field="outcome"):
    """The worker saw the cancellation and stopped the attempt."""


Outcome = Succeeded | Failed | Snoozed | Released | Stopped
