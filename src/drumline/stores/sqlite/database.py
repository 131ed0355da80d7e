"""One SQLite file: a writer thread that commits in groups, and reader threads that never wait for it.

Every write is an `act`: a function of a connection, run inside a transaction that the writer began. Acts that wait
while a commit is under way go into the next transaction together, so many callers share one fsync. An act may be run
twice: if one of a group fails, the group is rolled back and each act gets a transaction of its own.

Nothing that an act, the disk or another process does may end the writer thread: everyone would wait for ever.
"""

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid, Unavailable
from drumline.core.metrics import Metrics
from drumline.stores.driver import Line, Rows, TaskEvent, Transaction, Work
from drumline.stores.sqlite.statements import STATEMENTS
from drumline.stores.statements import SQLITE_FUNCTIONS, SqliteStatement

T = TypeVar("T")
Act = Callable[[sqlite3.Connection], T]

OLDEST_SQLITE = (3, 35, 0)
MOST_ACTS_PER_COMMIT = 64
BUSY_SECONDS = 20.0
READERS = 2
LONGEST_LOG = 64 * 1024 * 1024
"""Bytes of the write-ahead log after which it is begun anew, if need be by waiting for readers."""
SHORTEN_EVERY = 1.0
SHORTEN_MS = 250
MOST_SHORTEN_MS = 5_000
"""How long the writer waits for readers then, at first and at most."""

PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # an acknowledged commit survives a power cut, not only a crash
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16000",
    "PRAGMA journal_size_limit = 67108864",
)


class _Waiting(Generic[T]):
    """An act on its way to the writer, and the caller that waits for it."""

    def __init__(self, act: Act[T], loop: asyncio.AbstractEventLoop) -> None:
        self.act = act
        self.loop = loop
        self.answer: asyncio.Future[T] = loop.create_future()

    def resolve(self, outcome: T | BaseException) -> None:
        """Hand the outcome over; runs in the caller's loop."""
        if self.answer.done():
            return
        if isinstance(outcome, BaseException):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


class Statements:
    """`stores.driver.Transaction` on a connection that the writer has begun one on: no `await` ever waits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    async def fetch(self, name: str, /, **values: Any) -> Rows:
        """Run a statement."""
        return run_statement(STATEMENTS[name], values, self.connection)

    async def tell(self, events: Sequence[TaskEvent], *, now: Instant | None) -> None:
        """Write changes of tasks into the outbox."""
        if events:
            rows = [(event.task, event.act.value, int(event.state), event.epoch) for event in events]
            self.connection.execute(STATEMENTS["insert_outbox"].text, {"now": now, "events": encode(rows).decode()})


def connection_of(transaction: Transaction | None) -> sqlite3.Connection:
    """Return the connection of a transaction, for what is written for SQLite alone."""
    if not isinstance(transaction, Statements):
        raise TypeError("not a transaction on SQLite")
    return transaction.connection


def run_statement(statement: SqliteStatement, values: Mapping[str, Any], connection: sqlite3.Connection) -> Rows:
    """Run a statement and return its rows."""
    rows = connection.execute(statement.text, statement.arguments(values)).fetchall()
    return decode(rows[0][0], list) if statement.is_list else rows


def finish(work: Awaitable[T]) -> T:
    """Run something asynchronous that never waits to its end, without an event loop."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as end:
        answer: T = end.value
        return answer
    raise RuntimeError("what runs in a transaction on SQLite must not wait for anything but statements")


class Database:
    """Access to one database file. Open it with `Database.open`."""

    def __init__(self, path: Path | None, *, metrics: Metrics | None = None) -> None:
        metrics = metrics or Metrics()
        self._wrote, self._looked = metrics.store.of("write"), metrics.store.of("read")
        self._errors = metrics.store_errors
        self._errors.begin(("write",), ("read",))
        self._path = path
        self._after_rollback: list[Callable[[], None]] = []
        self._acts: SimpleQueue[_Waiting[Any] | None] = SimpleQueue()
        self._door = threading.Lock()
        """Nobody comes in behind the one who closes, from whatever thread."""
        self._writing: sqlite3.Connection | None = None
        self._writer = threading.Thread(target=self._write_until_closed, name="drumline-sqlite", daemon=True)
        self._readers = ThreadPoolExecutor(READERS, "drumline-sqlite-read") if path else None
        self._local = threading.local()
        self._reading: list[sqlite3.Connection] = []
        self._closed = False
        self._log = path.with_name(f"{path.name}-wal") if path else None
        self._shorten_at = 0.0
        self._shorten_ms = SHORTEN_MS
        self._writer.start()

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Call `forget` in the writer thread after each rollback."""
        self._after_rollback.append(forget)

    async def write(self, act: Act[T]) -> T:
        """Run `act` in a transaction; when this returns it is committed."""
        waiting = _Waiting(act, asyncio.get_running_loop())
        with self._door:
            if self._closed:
                raise Unavailable("the store is closed")
            self._acts.put(waiting)
        began = time.monotonic()
        try:
            answer = await waiting.answer
        except Unavailable:
            self._errors.add(1, ("write",))
            raise
        self._wrote(time.monotonic() - began)
        return answer

    async def read(self, look: Act[T]) -> T:
        """Run `look` on a consistent snapshot."""
        if self._readers is None:
            return await self.write(look)  # a database in memory has one connection only
        if self._closed:
            raise Unavailable("the store is closed")
        began = time.monotonic()
        try:
            seen = await asyncio.get_running_loop().run_in_executor(self._readers, self._look, look)
        except Unavailable:
            self._errors.add(1, ("read",))
            raise
        self._looked(time.monotonic() - began)
        return seen

    async def fetch(
        self, _line: Line, name: str, /, *, repeat: bool = False, within: str | None = None, **values: Any
    ) -> Rows:
        """Run one statement of a part of the store, in a transaction of its own."""
        del repeat, within  # nothing is lost on the way to a file, and one file has no roles
        act = partial(run_statement, STATEMENTS[name], values)
        return await (self.read(act) if STATEMENTS[name].is_read else self.write(act))

    async def transact(self, _line: Line, work: Work[T], *, repeat: bool = False, within: str | None = None) -> T:
        """Run what a part of the store does in one transaction, in the writer thread."""
        del repeat, within
        # In a tuple: an error that is an answer must not be taken for one that was raised.
        (answer,) = await self.write(lambda connection: (finish(work(Statements(connection))),))
        return answer

    async def close(self) -> None:
        """Finish the acts that wait, then close every connection."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            self._acts.put(None)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._writer.join)
        if self._readers is not None:
            await loop.run_in_executor(None, self._readers.shutdown)
        for connection in self._reading:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            wanted = ".".join(map(str, OLDEST_SQLITE))
            raise Unavailable(f"SQLite {wanted} or newer is needed; this Python has {sqlite3.sqlite_version}")
        connection = sqlite3.connect(
            self._path or ":memory:", isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS
        )
        try:
            for pragma in PRAGMAS:
                connection.execute(pragma)
            for name, (count, function) in SQLITE_FUNCTIONS.items():
                connection.create_function(name, count, function, deterministic=True)
        except BaseException:
            connection.close()
            raise
        return connection

    def _look(self, look: Act[T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is None:
                connection = self._local.connection = self._connect()
                connection.execute("PRAGMA query_only = ON")
                self._reading.append(connection)
            connection.execute("BEGIN")
            try:
                return look(connection)
            finally:
                connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
            raise translated(error) from error

    def _write_until_closed(self) -> None:
        while (group := self._next_group()) is not None:
            self._tell(self._commit(group))
            self._shorten_log()
        if self._writing is not None:
            self._writing.close()

    def _next_group(self) -> list[_Waiting[Any]] | None:
        first = self._acts.get()
        if first is None:
            return None
        group = [first]
        try:
            while len(group) < MOST_ACTS_PER_COMMIT:
                waiting = self._acts.get_nowait()
                if waiting is None:
                    self._acts.put(None)
                    break
                group.append(waiting)
        except Empty:
            pass
        return group

    def _commit(self, group: list[_Waiting[Any]]) -> list[tuple[_Waiting[Any], Any]]:
        try:
            connection = self._writing = self._writing or self._connect()
            connection.execute("BEGIN IMMEDIATE")
        except (sqlite3.Error, Unavailable) as error:
            # No act is to blame, and one by one each would wait for the lock as long again.
            return [(waiting, translated(error)) for waiting in group]
        try:
            outcomes = [(waiting, waiting.act(connection)) for waiting in group]
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever an act raised belongs to its caller
            self._roll_back(connection)
            if len(group) == 1:
                return [(group[0], translated(error))]
            return [outcome for waiting in group for outcome in self._commit([waiting])]
        return outcomes

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            # Closing takes back what was not committed, too; the next act opens the file anew.
            connection.close()
            self._writing = None
        for forget in self._after_rollback:
            forget()

    def _shorten_log(self) -> None:
        """Begin the write-ahead log anew when it has become long.

        SQLite does so by itself when it meets no reader, which may be never while many look. Then the writer waits
        for those who look now, longer each time; whoever comes meanwhile does not prolong it.
        """
        if self._writing is None or self._log is None or time.monotonic() < self._shorten_at:
            return
        # Whatever goes wrong here the next commit meets too, and tells it to somebody who waits for an answer.
        with contextlib.suppress(sqlite3.Error, OSError):
            if self._log.stat().st_size > LONGEST_LOG:
                is_busy = _truncate_log(self._writing, self._shorten_ms)
                self._shorten_ms = min(self._shorten_ms * 2, MOST_SHORTEN_MS) if is_busy else SHORTEN_MS
        self._shorten_at = time.monotonic() + SHORTEN_EVERY

    def _tell(self, outcomes: list[tuple[_Waiting[Any], Any]]) -> None:
        """Resolve the callers, with one call into each event loop."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting[Any], Any]]] = {}
        for waiting, outcome in outcomes:
            by_loop.setdefault(waiting.loop, []).append((waiting, outcome))
        for loop, mine in by_loop.items():
            with contextlib.suppress(RuntimeError):  # a closed loop has nobody left who waits
                loop.call_soon_threadsafe(_resolve_all, mine)


def _truncate_log(connection: sqlite3.Connection, wait_ms: int) -> bool:
    """Copy the write-ahead log into the database and empty it; tell whether readers were in the way for too long."""
    connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")
    return bool(is_busy)


def _resolve_all(outcomes: list[tuple[_Waiting[Any], Any]]) -> None:
    for waiting, outcome in outcomes:
        waiting.resolve(outcome)


def translated(error: Exception) -> Exception:
    """Turn the driver's errors about the file or the disk into `Unavailable`; the rest are bugs and stay."""
    if isinstance(error, sqlite3.OperationalError | sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.IntegrityError | sqlite3.ProgrammingError
    ):
        return Unavailable(f"the SQLite store cannot be used: {error}")
    if isinstance(error, UnicodeEncodeError | OverflowError):  # half of a surrogate pair; more than 64 bits
        return Invalid(f"has what the store cannot keep: {error}")
    return error
