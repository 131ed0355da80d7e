"""Limits how much of the logs of attempts and tasks is kept: our own workers limit an attempt's, others may not.

A task can have very many attempts: released and snoozed ones do not count as retries, but their logs are kept.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Final, Generic, TypeVar

from drumline.core.ids import TaskId
from drumline.ports.store import LogChunk

Key = TypeVar("Key", bound=Hashable)

MOST_COUNTED: Final = 100_000
"""Attempts, and tasks, whose logs are counted: those that wrote last."""
CHUNK_BYTES: Final = 64
"""What a piece takes besides its text."""


class LogQuota:
    """Counts what each attempt and each task have logged through this process."""

    def __init__(self, most: int, *, of_task: int) -> None:
        self._attempts: _Sizes[tuple[TaskId, int]] = _Sizes(most)
        self._tasks: _Sizes[TaskId] = _Sizes(of_task)

    def fitting(self, chunks: Sequence[LogChunk]) -> list[LogChunk]:
        """Return the pieces that there is room for; what comes after the limit of an attempt or task is dropped."""
        return [chunk for chunk in chunks if self._take(chunk)]

    def _take(self, chunk: LogChunk) -> bool:
        size = len(chunk.text) + CHUNK_BYTES
        # What an attempt may not keep takes nothing from the other attempts of its task.
        return self._attempts.take((chunk.task, chunk.epoch), size) and self._tasks.take(chunk.task, size)


class _Sizes(Generic[Key]):
    """Sizes by key, up to a limit for each; those used last."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sizes: OrderedDict[Key, int] = OrderedDict()

    def take(self, key: Key, size: int) -> bool:
        """Add to a size, and tell whether it is within the limit."""
        total = self._sizes.pop(key, 0) + size
        self._sizes[key] = total
        if len(self._sizes) > MOST_COUNTED:
            self._sizes.popitem(last=False)
        return total <= self._most
