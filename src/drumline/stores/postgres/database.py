"""The database: a few lines of connections, every statement under a timeout, errors translated at this edge."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, Final, TypeVar

import asyncpg
from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid, Unavailable
from drumline.core.metrics import Metrics
from drumline.stores.driver import Line, TaskEvent
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.connection import (
    BROAD,
    LOCAL,
    SETTINGS,
    Connection,
    Rows,
    connect,
    connect_direct,
    fetch,
    meet,
)
from drumline.stores.postgres.failures import CLASHED, LOST, address_of, translated
from drumline.stores.postgres.wall import Wall

T = TypeVar("T")


class Budget(Struct, frozen=True, kw_only=True):
    """How many connections, and how long to wait, in seconds."""

    connections: int = 2
    """Per line. They are opened when first needed."""
    connect: float = 5.0
    statement: float = 15.0
    settle: float = 5.0
    """A third of a session's TTL: a beat that meets a dead connection must leave time for another one."""
    broad: float = 60.0


DEFAULT_BUDGET: Final = Budget()


class Transaction:
    """Statements that are committed together or not at all."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, name: str, /, **values: Any) -> Rows:
        """Run a statement."""
        return await fetch(self._connection, name, values)

    async def tell(self, events: Sequence[TaskEvent], *, now: Instant | None) -> None:
        """Write changes of tasks into the outbox."""
        if events:
            await self.fetch(
                "insert_outbox",
                tasks=[event.task for event in events],
                acts=[NUMBER_OF[event.act] for event in events],
                states=[int(event.state) for event in events],
                epochs=[event.epoch for event in events],
                now=now,
            )

    async def run(self, script: str) -> None:
        """Run a script of several statements, without parameters."""
        await self._connection.execute(script)


class Database:
    """Hands out connections by line, and closes those that failed.

    What is asked `within` a tenant is asked from behind the second wall: on connections that act as the role of
    tenants, to which the policies of the tables show that tenant's rows and no others, whatever the statement says.
    """

    def __init__(self, url: str, *, budget: Budget, metrics: Metrics | None = None) -> None:
        metrics = metrics or Metrics()
        self._observe = {line: metrics.store.of(line.value) for line in Line}
        self._errors = metrics.store_errors
        self._errors.begin(*((line.value,) for line in Line))
        self._url = url
        self._budget = budget
        self._wall = Wall()
        self._idle: dict[tuple[Line, bool], list[Connection]] = {
            (line, is_within): [] for line in Line for is_within in (False, True)
        }
        """Connections by line, and by whether they are behind the wall."""
        self._free = {line: asyncio.Semaphore(budget.connections) for line in Line}
        self._is_direct: bool | None = None
        self._is_closed = False

    @property
    def url(self) -> str:
        """Where it is."""
        return self._url

    async def is_direct(self) -> bool:
        """Tell whether connections are the server's own, so that what is set or prepared on one stays there.

        This is the first word with the server, so a failure names its address; a login that it refuses is `Invalid`.
        """
        if self._is_direct is None:
            try:
                async with asyncio.timeout(self._budget.connect):
                    connection = await connect_direct(
                        self._url, settings=self._settings(Line.REQUEST), seconds=self._budget.connect
                    )
            except asyncpg.InvalidAuthorizationSpecificationError as error:
                # Later it may mean that the password is being changed; at the first try it is a mistake.
                told = f"PostgreSQL at {address_of(self._url)} refused the login: {error}"
                raise Invalid(f"{told}\nSet store_url (DRUMLINE_STORE_URL).", field="store_url") from error
            except Exception as error:
                if (meaning := translated(error)) is not None:
                    raise Unavailable(f"{meaning.message} ({address_of(self._url)})") from error
                raise
            self._is_direct = connection is not None
            if connection is not None:
                self._idle[Line.REQUEST, False].append(connection)
        return self._is_direct

    async def fetch(
        self, line: Line, name: str, /, *, repeat: bool = False, within: str | None = None, **values: Any
    ) -> Rows:
        """Run one statement, which is a transaction of its own. `repeat` and `within` as in `transact`."""
        tenant = None if within is None else await self._behind(within)

        async def work(connection: Connection) -> Rows:
            if self._is_direct:
                return await fetch(connection, name, values)
            # A pooler may give the preparation and the execution to two servers, unless a transaction joins them.
            async with self._transaction(connection, line, tenant):
                return await fetch(connection, name, values)

        return await self._patiently(line, work, repeat, tenant)

    async def prepare(self, line: Line, *names: str) -> None:
        """Have a connection ready that has met these statements: to meet one, with its types and tables, takes long.

        A pooler gives each transaction another server: there a connection is all that can be had.
        """

        async def work(connection: Connection) -> None:
            for name in names if self._is_direct else ():
                await meet(connection, name)

        await self._patiently(line, work, repeat=True, tenant=None)

    async def transact(
        self,
        line: Line,
        work: Callable[[Transaction], Awaitable[T]],
        *,
        repeat: bool = False,
        within: str | None = None,
    ) -> T:
        """Run `work` in one transaction; it runs again after a clash with others, for nothing of it was kept.

        With `repeat` it runs again also when the connection was lost: right only for work that recognises what it
        did the first time. `within` a tenant it sees and changes that tenant's rows only, where the wall stands.
        """
        tenant = None if within is None else await self._behind(within)

        async def in_transaction(connection: Connection) -> T:
            async with self._transaction(connection, line, tenant):
                return await work(Transaction(connection))

        return await self._patiently(line, in_transaction, repeat, tenant)

    async def close(self) -> None:
        """Wait for what is under way and close every connection; later calls are refused."""
        self._is_closed = True
        await asyncio.gather(*(self._hang_up(line) for line in Line))

    async def _hang_up(self, line: Line) -> None:
        for _ in range(self._budget.connections):
            await self._free[line].acquire()
        for is_within in (False, True):
            while self._idle[line, is_within]:
                await _close(self._idle[line, is_within].pop())
        for _ in range(self._budget.connections):
            self._free[line].release()

    async def _behind(self, tenant: str) -> str | None:
        """Return the tenant behind whose wall to work: none, where the wall is missing."""
        if self._wall.is_unsure(now := monotonic()):
            self._wall.look(await self.fetch(Line.REQUEST, "wall", repeat=True), now)
        return tenant if self._wall.role else None

    async def _patiently(
        self, line: Line, work: Callable[[Connection], Awaitable[T]], repeat: bool, tenant: str | None
    ) -> T:
        tries = 3
        began = monotonic()
        while True:
            tries -= 1
            try:
                answer = await self._once(line, work, tenant)
            except Exception as error:
                may_repeat = isinstance(error, CLASHED) or (repeat and isinstance(error, LOST))
                if may_repeat and tries and not isinstance(error, TimeoutError):
                    continue
                self._errors.add(1, (line.value,))
                if (meaning := translated(error)) is not None:
                    raise meaning from error
                raise
            else:
                self._observe[line](monotonic() - began)
                return answer

    async def _once(self, line: Line, work: Callable[[Connection], Awaitable[T]], tenant: str | None) -> T:
        if self._is_closed:
            raise Unavailable("the store has been closed")
        async with asyncio.timeout(self._seconds(line)), self._free[line]:
            connection = self._take(line, tenant) or await self._open(line, tenant)
            try:
                if tenant is not None and self._is_direct:
                    await self._wall.enter(connection, tenant)
                answer = await work(connection)
            except BaseException:
                # Whatever came between a question and its answer, the connection is cut: what it was about to say
                # must not be taken for the answer to the next question. After a server's error it is merely unlucky.
                connection.terminate()
                raise
            self._idle[line, tenant is not None].append(connection)
            return answer

    @asynccontextmanager
    async def _transaction(self, connection: Connection, line: Line, tenant: str | None) -> AsyncIterator[None]:
        """Begin and commit. On an error in between the connection is closed, which rolls back."""
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
        if not self._is_direct:
            # What a connection of our own was told once, a pooled one has to be told each time.
            local = self._settings(line).items()
            words = [f"SET LOCAL {name} = '{value}'" for name, value in local if name in LOCAL]
            begin = ";".join([begin, *words, *(() if tenant is None else self._wall.words(tenant))])
        await connection.execute(begin)
        yield
        await connection.execute("COMMIT")

    def _take(self, line: Line, tenant: str | None) -> "Connection | None":
        idle = self._idle[line, tenant is not None]
        if tenant is not None:
            idle.sort(key=lambda each: self._wall.is_behind(each, tenant))  # the last one is taken
        while idle:
            connection = idle.pop()
            if not connection.is_closed():
                return connection
        return None

    async def _open(self, line: Line, tenant: str | None) -> Connection:
        settings = self._settings(line) if await self.is_direct() else None
        if settings is None or tenant is None:
            return await connect(self._url, settings=settings, seconds=self._budget.connect)
        settings["role"] = self._wall.role
        try:
            return await connect(self._url, settings=settings, seconds=self._budget.connect)
        except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidParameterValueError) as error:
            self._wall.lose()
            raise Unavailable(f"the second wall around tenants is gone: {error}") from error

    def _seconds(self, line: Line) -> float:
        match line:
            case Line.BROAD:
                return self._budget.broad
            case Line.SETTLE:
                return self._budget.settle
            case _:
                return self._budget.statement

    def _settings(self, line: Line) -> dict[str, str]:
        # The server gives up when we do.
        ours = SETTINGS | {"statement_timeout": f"{round(self._seconds(line) * 1000)}ms"}
        return ours | BROAD if line is Line.BROAD else ours


async def _close(connection: Connection) -> None:
    try:
        await connection.close(timeout=2)
    except LOST:
        connection.terminate()
