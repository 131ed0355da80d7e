"""Lists as JSON, to and from statements that take or give many rows at once, and the outbox."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.event import Fact
from drumline.core.state import Act, State
from drumline.stores.sqlite.statements import SQL

Event = tuple[str, str, int, int]
"""[task id, act, state after, epoch], as the outbox keeps it."""


def batch_of(items: Sequence[Any]) -> str:
    """Return a list as the JSON text that the set-based statements take."""
    return encode(items).decode()


def rows_of(connection: sqlite3.Connection, name: str, parameters: dict[str, Any]) -> list[Any]:
    """Run a statement that gives one JSON list, and return the list.

    One row per statement, whatever the number of items, keeps the hand-overs of the interpreter lock few.
    """
    (text,) = connection.execute(SQL[name], parameters).fetchone()
    rows: list[Any] = msgspec.json.decode(text)
    return rows


def tell(connection: sqlite3.Connection, now: Instant, events: Sequence[Event]) -> None:
    """Write what changed into the outbox."""
    if events:
        connection.execute(SQL["insert_outbox"], {"now": now, "events": batch_of(events)})


def tell_facts(connection: sqlite3.Connection, now: Instant, facts: Sequence[Fact]) -> None:
    """Write changes of anything but tasks into the outbox, in the transaction that makes them."""
    if facts:
        connection.execute(SQL["insert_facts"], {"now": now, "facts": batch_of(facts)})


def event(task: str, act: Act, state: State, epoch: int) -> Event:
    """Return one outbox event."""
    return (task, act, int(state), epoch)  # an act is its own text: `value` is a property in Python
