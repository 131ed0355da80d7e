"""The end of a text that is too long to keep: its last bytes, and how many came before them."""

from collections import deque
from typing import Final

from drumline.worker.texts import size_of

BLOCK: Final = 16 * 1024
"""Bytes that are kept together: a block each for millions of short texts would cost many times their size."""
LONGEST_LINE: Final = 4 * 1024
"""How far to look for the beginning of a line."""


class LogTail:
    """Keeps the last `largest` bytes that were written to it."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._blocks: deque[str] = deque()
        self._recent: list[str] = []
        self._recent_size = 0
        self._size = 0
        self.left_out = 0
        """Bytes that were written and are not kept."""

    def write(self, text: str) -> None:
        """Append a text; the oldest bytes beyond the limit are dropped."""
        size = size_of(text)
        if size > self._largest:
            kept = text.encode()[size - self._largest :].decode("utf-8", "ignore")
            self.left_out += self._size + size - size_of(kept)
            self._blocks.clear()
            self._recent, self._recent_size, self._size = [], 0, 0
            text, size = kept, size_of(kept)
        self._recent.append(text)
        self._recent_size += size
        self._size += size
        if self._recent_size >= BLOCK:
            self._blocks.append("".join(self._recent))
            self._recent, self._recent_size = [], 0
        while self._size > self._largest:
            self._drop(self._size - self._largest)

    def text(self) -> str:
        """Return what is kept; after a gap it begins with a whole line, if one begins soon."""
        text = "".join((*self._blocks, *self._recent))
        if self.left_out:
            place = text.find("\n", 0, LONGEST_LINE)
            self.left_out += size_of(text[: place + 1])
            text = text[place + 1 :]
        return text

    def __bool__(self) -> bool:
        """Tell whether anything was written."""
        return bool(self._size or self.left_out)

    def _drop(self, excess: int) -> None:
        """Drop at least so many bytes of the oldest block."""
        if not self._blocks:
            self._blocks.append("".join(self._recent))
            self._recent, self._recent_size = [], 0
        oldest = self._blocks.popleft()
        size = size_of(oldest)
        kept = oldest.encode()[excess:].decode("utf-8", "ignore") if size > excess else ""
        gone = size - size_of(kept)
        self._size -= gone
        self.left_out += gone
        if kept:
            self._blocks.appendleft(kept)
