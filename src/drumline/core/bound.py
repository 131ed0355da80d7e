"""What the log lines of an execution have in common, told only when a line is written."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Protocol


class Bound(Protocol):
    """Something that log lines are about while it goes on."""

    def facts(self) -> Mapping[str, str | int]:
        """Return what to write on every line."""
        ...


CURRENT_BOUND: ContextVar[Bound | None] = ContextVar("drumline log lines", default=None)
"""What goes on here now."""
