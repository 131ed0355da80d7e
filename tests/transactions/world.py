"""A store, a connection of a caller to its database, and an app that looks at it: on each kind of database."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg

from drumline.engine.engine import Engine
from drumline.ports.store import Store


class World(NamedTuple):
    """What a test works with."""

    url: str
    store: Store
    engine: Engine
    connect: Callable[[], Any]
    """Opens a connection with a blocking driver."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection whose transaction is committed at the end of the block."""
        connection = self.connect()
        try:
            with connection:
                yield connection
        finally:
            connection.close()

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """Return what is committed in a table of Drumline's."""
        connection = self.connect()
        try:
            name = table if self.is_sqlite else f"drumline.{table}"
            return sorted(map(tuple, connection.execute(f"SELECT {columns} FROM {name}").fetchall()), key=repr)
        finally:
            connection.close()

    @property
    def is_sqlite(self) -> bool:
        return self.url.startswith("sqlite:")


def connecting(url: str) -> Callable[[], Any]:
    """Return what opens connections to a database."""
    if url.startswith("sqlite:"):
        return lambda: sqlite3.connect(url.removeprefix("sqlite:///"))
    return lambda: psycopg.connect(url)
