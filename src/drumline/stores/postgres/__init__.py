"""The distributed store: PostgreSQL decides everything, for any number of processes and machines.

Start with `migrations/0001_initial.sql` (the tables), then `sql/` (every statement, with its contract on top).
`database.py` is the only file that knows of connections; the other files are the parts of the store, one per port.
"""

from drumline.stores.postgres.notify import NotifyQueue
from drumline.stores.postgres.store import PostgresStore

__all__ = ["NotifyQueue", "PostgresStore"]
