"""A simulated database server: SQLite in memory, behind a wire that delays, loses and cuts.

Each transaction is carried out at one instant of virtual time, as a server with serializable isolation would. The
wire of each process decides when that is, and whether the process hears of it. Its faults are those that the port
`Store` promises to survive: `Unavailable` means that nothing is known.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from functools import cache
from random import Random
from typing import Any, ClassVar, Protocol, TypeVar

from drumline.core.errors import Unavailable
from drumline.stores.driver import Line, Work
from drumline.stores.sqlite import housekeeping
from drumline.stores.sqlite.database import Act, Database, Statements, finish, translated
from drumline.stores.statements import SQLITE_FUNCTIONS

T = TypeVar("T")

MOST_TRIES = 3
"""How often a call is made that may be repeated when its connection is lost; as with PostgreSQL."""
CACHED_STATEMENTS = 1_000
"""More than the stores have, so that none is parsed twice."""


class Wire(Protocol):
    """The way from a process to a server."""

    async def send(self) -> None:
        """Bring a request there, or raise `Unavailable`."""
        ...

    async def receive(self) -> None:
        """Bring the answer back, or raise `Unavailable`."""
        ...


class FaultyWire:
    """A wire with a delay, on which requests and answers get lost by chance, and which may be cut for a time."""

    def __init__(self, random: Random, *, delay: float = 0.002) -> None:
        self.random = random
        self.delay = delay
        """Seconds that each way takes on average."""
        self.loss = 0.0
        """The share of requests, and of answers, that are lost."""
        self.cut_until = 0.0
        self.timeout = 1.0
        """Seconds after which a lost call is given up."""
        self.lost: Callable[[str], None] = _ignore
        """Called with `request` or `answer` when one is lost."""

    async def send(self) -> None:
        """Bring a request there."""
        await self._pass("request")

    async def receive(self) -> None:
        """Bring the answer back."""
        await self._pass("answer")

    async def _pass(self, what: str) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() < self.cut_until or (self.loss and self.random.random() < self.loss):
            self.lost(what)
            await asyncio.sleep(self.timeout * self.random.random())
            raise Unavailable("the connection to the database was lost")
        await asyncio.sleep(self.delay * 2 * self.random.random())


class DatabaseServer:
    """One database, shared by every process."""

    waiting: ClassVar[list[sqlite3.Connection]] = []
    """Empty databases that were made beforehand: servers take one of these, and make their own if there is none."""

    def __init__(self) -> None:
        self.connection = self.waiting.pop() if self.waiting else connect()
        self.refused: Callable[[sqlite3.Error], None] = _pass_over
        """Called with each error of the database itself, such as a constraint that a transaction violates."""

    def look(self, look: Act[T]) -> T:
        """Read; nothing else happens meanwhile, so it needs no transaction."""
        try:
            return look(self.connection)
        except sqlite3.Error as error:
            self.refused(error)
            raise translated(error) from error

    def run(self, act: Act[T]) -> T:
        """Carry out a transaction."""
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            answer = act(connection)
            connection.execute("COMMIT")
        except Exception as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                self.refused(error)
            meaning = translated(error)
            if meaning is error:
                raise
            raise meaning from error
        return answer


class SimulatedDatabase(Database):
    """`stores.sqlite.database.Database` as a process sees it: a server behind a wire instead of a file."""

    def __init__(self, server: DatabaseServer, wire: Wire) -> None:
        self._server = server
        self._wire = wire
        self._forgetting: list[Callable[[], None]] = []
        self._is_closed = False

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Call `forget` after each rollback of this process."""
        self._forgetting.append(forget)

    async def write(self, act: Act[T]) -> T:
        """Run `act` in a transaction; when this returns it is committed."""
        if self._is_closed:
            raise Unavailable("the store is closed")
        await self._wire.send()
        try:
            answer = self._server.run(act)
        except Exception:
            for forget in self._forgetting:
                forget()
            raise
        await self._wire.receive()
        return answer

    async def read(self, look: Act[T]) -> T:
        """Run `look` on a consistent snapshot."""
        if self._is_closed:
            raise Unavailable("the store is closed")
        await self._wire.send()
        answer = self._server.look(look)
        await self._wire.receive()
        return answer

    async def fetch(
        self, _line: Line, name: str, /, *, repeat: bool = False, within: str | None = None, **values: Any
    ) -> Any:
        """Run one statement, again if its connection is lost and it may be repeated."""
        del within
        once = super().fetch
        return await _patiently(lambda: once(_line, name, **values), repeat=repeat)

    async def transact(self, _line: Line, work: Work[T], *, repeat: bool = False, within: str | None = None) -> T:
        """Run a transaction, again if its connection is lost and it may be repeated."""
        del within

        async def once() -> T:
            (answer,) = await self.write(lambda connection: (finish(work(Statements(connection))),))
            return answer

        return await _patiently(once, repeat=repeat)

    async def close(self) -> None:
        """Refuse what comes later."""
        self._is_closed = True


async def _patiently(call: Callable[[], Awaitable[T]], *, repeat: bool) -> T:
    for _ in range(MOST_TRIES - 1 if repeat else 0):
        try:
            return await call()
        except Unavailable:
            continue
    return await call()


def connect(factory: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection to a new database in memory, with the schema of this version and nothing else."""
    connection = _connect(factory)
    connection.deserialize(_fresh())
    return connection


def _connect(factory: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    connection = sqlite3.connect(
        ":memory:",
        isolation_level=None,
        cached_statements=CACHED_STATEMENTS,
        check_same_thread=False,  # one thread at a time: clients for tests of web applications run in another one
        factory=factory,
    )
    for name, (count, function) in SQLITE_FUNCTIONS.items():
        connection.create_function(name, count, function, deterministic=True)
    return connection


@cache
def _fresh() -> bytes:
    """Return a database with the schema of this version and nothing else."""
    connection = _connect()
    connection.execute("BEGIN IMMEDIATE")
    housekeeping.migrate(connection)
    connection.execute("COMMIT")
    return connection.serialize()


def _ignore(_what: str) -> None:
    return


def _pass_over(_error: sqlite3.Error) -> None:
    return
