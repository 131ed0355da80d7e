"""Limits how much of an attempt's log is kept; our own workers limit it themselves, others may not."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from drumline.core.ids import TaskId
from drumline.ports.store import LogChunk

MOST_ATTEMPTS: Final = 100_000
"""Attempts whose logs are counted, those that wrote last."""
CHUNK_BYTES: Final = 64
"""What a piece takes besides its text."""


class LogQuota:
    """Counts what each attempt has logged through this process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sizes: OrderedDict[tuple[TaskId, int], int] = OrderedDict()

    def fitting(self, chunks: Sequence[LogChunk]) -> list[LogChunk]:
        """Return the pieces that there is room for; what comes after the limit of an attempt is dropped."""
        return [chunk for chunk in chunks if self._take(chunk)]

    def _take(self, chunk: LogChunk) -> bool:
        attempt = (chunk.task, chunk.epoch)
        size = self._sizes.pop(attempt, 0) + len(chunk.text) + CHUNK_BYTES
        self._sizes[attempt] = size
        if len(self._sizes) > MOST_ATTEMPTS:
            self._sizes.popitem(last=False)
        return size <= self._most
