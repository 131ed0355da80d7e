"""Relays outboxes: stores the tasks that wait in databases of programs, and deletes their rows.

The rows are read, the tasks stored, the rows deleted: three steps in two databases. A relay that dies in between, or
two at once, store a task again under the same id and key, which is no second task. No transaction is held open while
the store works. A task that can never be stored is set aside with the reason, and the others go on; while the store is
away or full, nothing is.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

import structlog
from msgspec.structs import replace

from drumline.core.codec import decode
from drumline.core.errors import DrumlineError, Invalid, Overloaded, Unavailable
from drumline.core.ids import TaskId
from drumline.core.slots import slot_of, slot_of_key
from drumline.core.task import Submitted, TaskRequest
from drumline.stores.driver import storable
from drumline.transactions.drivers import Asyncpg, ThreadedSqlite
from drumline.transactions.outbox import OutboxStatements, outbox_key

BATCH: Final = 100
"""Tasks in one go; each may be a megabyte."""
CONNECT_SECONDS: Final = 5.0
STATEMENT_SECONDS: Final = 30.0
LONGEST_ERROR: Final = 2_000
SQLITE: Final = "sqlite:///"
MISSING: Final = "the database has no outbox: run drumline outbox install"

_PLACE: Final = re.compile(r"^tasks\[\d+\]\.?")
"""The place of a task in its batch, which means nothing to people."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class RelayedSubmissions(Protocol):
    """The way into the store, for tasks whose ids were made before."""

    async def submit_many(
        self, requests: Sequence[TaskRequest | DrumlineError], *, tenant: str, ids: Sequence[TaskId]
    ) -> list[Submitted | DrumlineError]:
        """Store tasks under their ids."""
        ...


class OutboxRow(NamedTuple):
    """A task that waits in an outbox."""

    seq: int
    id: TaskId
    tenant: str
    request: str


class Refusal(NamedTuple):
    """A task that is to be set aside, and why."""

    id: TaskId
    error: str


class SetAside(NamedTuple):
    """A task that could not be stored, and why."""

    id: str
    tenant: str
    request: str
    error: str


class Outbox:
    """The outbox in the database at a URL: `postgresql://…` or `sqlite:///…`."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("postgresql://", "postgres://", SQLITE)):
            raise Invalid("must start with postgresql:// or sqlite:///", field="url")
        self._url = url

    @property
    def address(self) -> str:
        """Where it is, without whom it logs in as."""
        parts = urlsplit(self._url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"

    async def install(self) -> None:
        """Make the table, if it is not there."""
        async with self._connected() as outbox:
            await outbox.fetch("create_outbox")

    async def batch(self, after: int) -> list[OutboxRow]:
        """Return tasks that wait, above a place, oldest first."""
        async with self._connected() as outbox:
            rows = await outbox.fetch("outbox_batch", after=after, limit=BATCH)
        return [OutboxRow(seq, TaskId(str(id_)), tenant, request) for seq, id_, tenant, request in rows]

    async def settle(self, stored: Sequence[TaskId], refused: Sequence[Refusal]) -> None:
        """Forget tasks that are stored, then set others aside; one that cannot be set aside is logged, and waits on."""
        if stored:
            async with self._connected() as outbox:
                await outbox.fetch("delete_from_outbox", ids=list(stored))
        try:
            await self._set_aside(refused)
        except Unavailable as error:
            if isinstance(error.__cause__, OSError):
                raise
            for each in refused:  # it may be about one of them
                await self._try_to_set_aside(each)

    async def _set_aside(self, refused: Sequence[Refusal]) -> None:
        if refused:
            async with self._connected() as outbox:
                for id_, error in refused:
                    await outbox.fetch("set_aside", ids=[id_], error=storable(error)[:LONGEST_ERROR])

    async def _try_to_set_aside(self, refusal: Refusal) -> None:
        try:
            await self._set_aside([refusal])
        except Unavailable as error:
            log.warning("outbox.not_set_aside", outbox=self.address, task=refusal.id, error=str(error))

    async def look(self, limit: int) -> tuple[int, list[SetAside]]:
        """Return how many tasks wait, and those that were set aside."""
        async with self._connected() as outbox:
            ((waiting,),) = await outbox.fetch("waiting_in_outbox")
            rows = await outbox.fetch("set_aside_in_outbox", limit=limit)
        return int(waiting), [SetAside(str(row[0]), *row[1:]) for row in rows]

    async def retry(self) -> int:
        """Let tasks that were set aside wait again, and return how many."""
        async with self._connected() as outbox:
            return len(await outbox.fetch("retry_outbox"))

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[OutboxStatements]:
        """Give a transaction on a connection of its own."""
        with _translated(self.address):
            if self._url.startswith(SQLITE):
                async with _sqlite(self._url.removeprefix(SQLITE)) as outbox:
                    yield outbox
            else:
                async with _postgres(self._url) as outbox:
                    yield outbox


class OutboxRelay:
    """Stores what waits in an outbox: a duty of schedulers, and what `drumline relay` does."""

    every = 1.0

    def __init__(self, outbox: Outbox, submissions: RelayedSubmissions, *, tenants: Collection[str]) -> None:
        self.name = f"outbox {outbox.address}"
        self._outbox = outbox
        self._submissions = submissions
        self._tenants = frozenset(tenants)

    async def pass_once(self) -> int:
        """Store what waits, and return how many tasks that were."""
        stored, after = 0, 0
        while rows := await self._outbox.batch(after):
            stored += await self._relay(rows)
            after = rows[-1].seq
            if len(rows) < BATCH:
                break
        return stored

    async def _relay(self, rows: Sequence[OutboxRow]) -> int:
        """Store tasks in their order, tenant by tenant; raise, with nothing lost, if the store cannot take them now."""
        count = 0
        while rows:
            tenant = rows[0].tenant
            alike = next((n for n, row in enumerate(rows) if row.tenant != tenant), len(rows))
            count += await self._relay_alike(rows[:alike], tenant)
            rows = rows[alike:]
        return count

    async def _relay_alike(self, rows: Sequence[OutboxRow], tenant: str) -> int:
        requests = [_request(row, self._tenants) for row in rows]
        answers = await self._submissions.submit_many(requests, tenant=tenant, ids=[row.id for row in rows])
        answered = {row.id: answer for row, answer in zip(rows, answers, strict=True)}
        stored = [id_ for id_, answer in answered.items() if isinstance(answer, Submitted)]
        later = [answer for answer in answered.values() if isinstance(answer, Unavailable | Overloaded)]
        refused = [
            Refusal(id_, _PLACE.sub("", str(answer)))
            for id_, answer in answered.items()
            if isinstance(answer, DrumlineError) and not isinstance(answer, Unavailable | Overloaded)
        ]
        for id_, error in refused:
            log.warning("outbox.set_aside", outbox=self._outbox.address, task=id_, error=error)
        await self._outbox.settle(stored, refused)
        if later:
            raise later[0]
        return len(stored)


def _request(row: OutboxRow, tenants: Collection[str]) -> TaskRequest | DrumlineError:
    """Return the request of a row, or why it cannot be stored by this relay."""
    if row.tenant not in tenants:
        return Invalid(f"this relay stores no tasks of {row.tenant}", field="tenant")
    key = outbox_key(row.id)
    if slot_of(row.id) != slot_of_key(row.tenant, key):
        return Invalid("is not one that the SDK has made", field="id")
    try:
        return replace(decode(row.request, TaskRequest), idempotency_key=key, idempotency_key_alias=None)
    except Invalid as error:
        return error


@asynccontextmanager
async def _sqlite(path: str) -> AsyncIterator[OutboxStatements]:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"file:{path}?mode=rw", uri=True, check_same_thread=False, timeout=CONNECT_SECONDS)

    connection = await asyncio.to_thread(connect)
    try:
        yield OutboxStatements(ThreadedSqlite(connection))
        await asyncio.to_thread(connection.commit)
    finally:
        await asyncio.to_thread(connection.close)


@asynccontextmanager
async def _postgres(url: str) -> AsyncIterator[OutboxStatements]:
    import asyncpg  # noqa: PLC0415 - only if needed

    connection: Any = await asyncpg.connect(
        url.replace("postgres://", "postgresql://", 1), timeout=CONNECT_SECONDS, command_timeout=STATEMENT_SECONDS
    )
    try:
        async with connection.transaction():
            yield OutboxStatements(Asyncpg(connection))
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


@contextmanager
def _translated(address: str) -> Iterator[None]:
    """Turn what says that a database cannot be had into `Unavailable`."""
    try:
        yield
    except DrumlineError:
        raise
    except (OSError, sqlite3.Error) as error:
        if "no such table" in str(error):
            raise Invalid(MISSING, field="url") from error
        raise Unavailable(f"the outbox at {address} cannot be used: {error}") from error
    except Exception as error:
        if getattr(error, "sqlstate", None) == "42P01":
            raise Invalid(MISSING, field="url") from error
        if type(error).__module__.startswith("asyncpg"):
            raise Unavailable(f"the outbox at {address} cannot be used: {error}") from error
        raise
