"""The embedded store: one SQLite file, one writer thread, durable at every acknowledgement."""

from drumline.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
