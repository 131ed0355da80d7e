"""The attempt that is running: its log fields, captured output and `ctx`."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Protocol


class CurrentAttempt(Protocol):
    """Log fields, captured output and `ctx` of the attempt that is running."""

    def facts(self) -> Mapping[str, str | int]:
        """Return the fields of every log line."""
        ...

    def write(self, text: str) -> None:
        """Keep output; safe from any thread, and never waits for the network."""
        ...

    def context(self) -> Any:
        """Return the attempt's `ctx`; None if its executor makes none."""
        ...


CURRENT_ATTEMPT: ContextVar[CurrentAttempt | None] = ContextVar("drumline log lines", default=None)
"""The attempt that is running here; threads that a worker starts inherit it."""
