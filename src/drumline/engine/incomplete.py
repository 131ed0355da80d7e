"""Answers that miss a shard: which one, noted while the answer is made, so that the reply can say so.

Lists, searches and counts ask every shard. If one of them cannot be reached, a caller that shows what is missing gets
the answer of the others; for every other caller an incomplete answer would be a wrong one, so it gets `Unavailable`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from drumline.core.errors import Unavailable

_missing: ContextVar[set[str] | None] = ContextVar("missing_shards", default=None)


@contextmanager
def noting_missing() -> Iterator[set[str]]:
    """Collect the names of shards that answers made within miss."""
    missing: set[str] = set()
    token = _missing.set(missing)
    try:
        yield missing
    finally:
        _missing.reset(token)


def note_missing(shard: str, error: Unavailable) -> None:
    """Note that an answer misses a shard, or raise the error if the caller would not show it."""
    missing = _missing.get()
    if missing is None:
        raise error
    missing.add(shard)
