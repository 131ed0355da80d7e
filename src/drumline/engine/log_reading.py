"""Reads the log of a task in portions of bounded size, from its beginning or from one of its executions on."""

from collections.abc import Collection
from typing import Final, NamedTuple

from drumline.core.ids import TaskId
from drumline.core.log_lines import LOG_START, LogPlace
from drumline.ports.outputs import Outputs


class Portion(NamedTuple):
    """How much of a log one statement reads at most."""

    pieces: int
    longest: int
    """Characters of each piece."""


SMALL: Final = Portion(100, 16 * 1024)
LARGE: Final = Portion(2, 1024 * 1024)
"""Many pieces, or, after a piece that was longer, few long ones: some 2 Mi characters."""


class LogReader:
    """Where reading a log got to: of a whole task, or of some of its executions."""

    def __init__(
        self, outputs: Outputs, task: TaskId, *, epochs: Collection[int] | None = None, tenant: str | None = None
    ) -> None:
        self._outputs = outputs
        self._task = task
        self._epochs = None if epochs is None else frozenset(epochs)
        self._last = None if epochs is None else max(epochs)
        self._tenant = tenant
        self._at = LOG_START if epochs is None else LogPlace(min(epochs))
        self._portion = SMALL

    async def read(self) -> str:
        """Return how the log goes on; nothing if this is its end, for now."""
        texts: list[str] = []
        is_end = False
        while not is_end and not any(texts):
            is_end = await self._read(texts)
        return "".join(texts)

    async def _read(self, texts: list[str]) -> bool:
        """Add what one statement reads; tell whether nothing follows."""
        portion = self._portion
        pieces = await self._outputs.log_from(
            self._task, self._at, pieces=portion.pieces, longest=portion.longest, tenant=self._tenant
        )
        self._portion = LARGE if any(len(piece.text) >= SMALL.longest for piece in pieces) else SMALL
        for piece in pieces:
            if self._last is not None and piece.epoch > self._last:
                return True
            if self._epochs is None or piece.epoch in self._epochs:
                texts.append(piece.text)
            if len(piece.text) >= portion.longest:
                self._at = LogPlace(piece.epoch, piece.seq, piece.offset + len(piece.text))
                return False
            self._at = LogPlace(piece.epoch, piece.seq + 1)
        return len(pieces) < portion.pieces
