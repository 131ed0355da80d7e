"""What goes on here, told to whoever asks: log lines, output and the code itself. Most never do."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Protocol


class CurrentAttempt(Protocol):
    """Something that log lines are about while it goes on."""

    def facts(self) -> Mapping[str, str | int]:
        """Return what to write on every line."""
        ...

    def write(self, text: str) -> None:
        """Keep output; safe from any thread, and never waits for the network."""
        ...

    def context(self) -> Any:
        """Return what its code may know of it; None if there is nothing to know."""
        ...


CURRENT_ATTEMPT: ContextVar[CurrentAttempt | None] = ContextVar("drumline log lines", default=None)
"""What goes on here now; threads that a worker starts inherit it."""
