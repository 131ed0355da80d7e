"""The embedded store: one SQLite file, one writer thread, durable at every acknowledgement."""

from drumline.backends.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
