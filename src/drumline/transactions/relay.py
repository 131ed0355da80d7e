"""Relays outboxes: stores the tasks that wait in databases of programs, and deletes their rows.

The rows are read, the tasks stored, the rows deleted: three steps in two databases. A relay that dies in between, or
two at once, store a task again under the same id and key, which is no second task. No transaction is held open while
the store works. A task that can never be stored is set aside with the reason, and the others go on; while the store is
away or full, nothing is.

The store forgets ids and keys with their tasks, after the retention. So a row is marked, in a transaction of its own,
before its task is first stored; one with a mark so old that the task may have been stored, have ended and been deleted
is stored no more. If the store does not know it, it is set aside.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

import structlog
from msgspec.structs import replace

from drumline.core.clock import Clock, Instant, SystemClock
from drumline.core.codec import decode
from drumline.core.duration import format_millis, millis
from drumline.core.errors import DrumlineError, Invalid, Overloaded, Unavailable
from drumline.core.ids import TaskId
from drumline.core.slots import slot_of, slot_of_key
from drumline.core.task import Submitted, TaskRequest, TaskView
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
MARGIN_MS: Final = 300_000
"""How long before the retention is over a mark counts as too old: a pass takes time, and clocks differ."""

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


class KnownTasks(Protocol):
    """The way to find out which tasks the store has."""

    async def get(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, payload: bool = True
    ) -> list[TaskView | None]:
        """Return tasks; None for those that there are not."""
        ...


class OutboxRow(NamedTuple):
    """A task that waits in an outbox."""

    seq: int
    id: TaskId
    tenant: str
    request: str
    tried: int | None
    """Milliseconds since a relay was about to store it; None if this one is the first."""


class Refusal(NamedTuple):
    """A task that is to be set aside, and why."""

    id: TaskId
    error: str
    unmark: bool
    """Whether it counts as never tried once it waits again."""


class SetAside(NamedTuple):
    """A task that could not be stored, and why."""

    id: str
    tenant: str
    request: str
    error: str


class Outbox:
    """The outbox in the database at a URL: `postgresql://…` or `sqlite:///…`."""

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        if not url.startswith(("postgresql://", "postgres://", SQLITE)):
            raise Invalid("must start with postgresql:// or sqlite:///", field="url")
        self._url = url
        # PostgreSQL has one clock for all relays.
        self._clock = clock or (SystemClock() if url.startswith(SQLITE) else None)
        self._has_marks = self._has_warned = False

    @property
    def address(self) -> str:
        """Where it is, without whom it logs in as."""
        parts = urlsplit(self._url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"

    async def install(self) -> None:
        """Make the table, if it is not there, and bring one of an older version up to date."""
        async with self._connected() as outbox:
            await outbox.fetch("create_outbox")
            if not await _has_marks(outbox):
                await outbox.fetch("add_outbox_marks")

    async def batch(self, after: int) -> list[OutboxRow]:
        """Return tasks that wait, above a place, oldest first; they are marked as tried from now on."""
        async with self._connected() as outbox:
            if await self._marks(outbox):
                now = None if self._clock is None else self._clock.now()
                rows = await outbox.fetch("outbox_batch", after=after, limit=BATCH, now=now)
                first = await _mark(outbox, [row[0] for row in rows if row[4] is None], now)
            else:
                rows = await outbox.fetch("outbox_batch_without_marks", after=after, limit=BATCH)
                first = {row[0] for row in rows}
                self._warn()
        return [
            OutboxRow(seq, TaskId(str(id_)), tenant, request, None if seq in first else tried or 0)
            for seq, id_, tenant, request, tried in rows
        ]

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
                for each in refused:
                    await outbox.fetch("set_aside", ids=[each.id], error=storable(each.error)[:LONGEST_ERROR])
                unmarked = [each.id for each in refused if each.unmark]
                if unmarked and await self._marks(outbox):
                    await outbox.fetch("unmark", ids=unmarked)

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

    async def _marks(self, outbox: OutboxStatements) -> bool:
        """Tell whether rows can be marked; once they can, they always can."""
        self._has_marks = self._has_marks or await _has_marks(outbox)
        return self._has_marks

    def _warn(self) -> None:
        """Log once that rows cannot be marked."""
        if not self._has_warned:
            log.warning("outbox.without_marks", outbox=self.address, repair="run drumline outbox install")
        self._has_warned = True

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

    def __init__(
        self,
        outbox: Outbox,
        submissions: RelayedSubmissions,
        tasks: KnownTasks,
        *,
        tenants: Collection[str],
        retention: timedelta,
    ) -> None:
        """Relay an outbox to a store that keeps tasks at least for `retention`; zero is for ever."""
        self.name = f"outbox {outbox.address}"
        self._outbox = outbox
        self._submissions = submissions
        self._tasks = tasks
        self._tenants = frozenset(tenants)
        kept = millis(retention)
        self._oldest_mark = kept - min(MARGIN_MS, kept // 2) if kept else None

    async def pass_once(self) -> int:
        """Store what waits, and return how many tasks that were."""
        stored, after = 0, 0
        while rows := await self._outbox.batch(after):
            stored += await self._relay(await self._without_doubtful(rows))
            after = rows[-1].seq
            if len(rows) < BATCH:
                break
        return stored

    async def _without_doubtful(self, rows: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
        """Return rows but for those whose ids and keys the store may have forgotten, which are settled here."""
        oldest = self._oldest_mark
        doubtful = {row.id: row.tried for row in rows if row.tried is not None and oldest and row.tried >= oldest}
        if not doubtful:
            return rows
        found = await self._tasks.get(list(doubtful), payload=False)
        stored = [view.id for view in found if view is not None]
        await self._settle(stored, [_doubt(id_, tried) for id_, tried in doubtful.items() if id_ not in stored])
        return [row for row in rows if row.id not in doubtful]

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
        answered = list(zip(rows, answers, strict=True))
        stored = [row.id for row, answer in answered if isinstance(answer, Submitted)]
        later = [answer for answer in answers if isinstance(answer, Unavailable | Overloaded)]
        refused = [
            # Tried before, it may have been stored then, though it is refused now.
            Refusal(row.id, _PLACE.sub("", str(answer)), unmark=row.tried is None)
            for row, answer in answered
            if isinstance(answer, DrumlineError) and not isinstance(answer, Unavailable | Overloaded)
        ]
        await self._settle(stored, refused)
        if later:
            raise later[0]
        return len(stored)

    async def _settle(self, stored: Sequence[TaskId], refused: Sequence[Refusal]) -> None:
        for each in refused:
            log.warning("outbox.set_aside", outbox=self._outbox.address, task=each.id, error=each.error)
        await self._outbox.settle(stored, refused)


async def _has_marks(outbox: OutboxStatements) -> bool:
    ((count,),) = await outbox.fetch("outbox_marks")
    return bool(count)


async def _mark(outbox: OutboxStatements, seqs: Sequence[int], now: Instant | None) -> set[int]:
    """Mark rows as tried, and return those that no other relay has marked meanwhile."""
    return {seq for (seq,) in await outbox.fetch("mark_tried", seqs=seqs, now=now)} if seqs else set()


def _doubt(id: TaskId, tried: int) -> Refusal:
    """Say that a task may have been stored; whoever lets it wait again has decided that it has not."""
    ago = format_millis(tried // 1000 * 1000)
    error = (
        f"may have been stored before: a relay tried to {ago} ago, and the store no longer knows. "
        "If the task has not run, drumline outbox retry stores it"
    )
    return Refusal(id, error, unmark=True)


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
