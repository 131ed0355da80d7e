"""What goes on here: what its log lines have in common, told only when one is written, and where its output goes."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Protocol


class Bound(Protocol):
    """Something that log lines are about while it goes on."""

    def facts(self) -> Mapping[str, str | int]:
        """Return what to write on every line."""
        ...

    def write(self, text: str) -> None:
        """Keep output; safe from any thread, and never waits for the network."""
        ...


CURRENT_BOUND: ContextVar[Bound | None] = ContextVar("drumline log lines", default=None)
"""What goes on here now; threads that a worker starts inherit it."""
