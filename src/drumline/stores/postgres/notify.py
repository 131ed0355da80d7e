"""Wake-ups by NOTIFY, for those who run PostgreSQL without Redis. No hints are kept: the store chooses by itself."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Final

import asyncpg

from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId
from drumline.ports.queue import Handed, Leased, Woken
from drumline.ports.store import Hint
from drumline.stores.driver import Database as AnyDatabase
from drumline.stores.driver import Line
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres.connection import Connection, connect_direct
from drumline.stores.postgres.database import DEFAULT_BUDGET, Budget, Database
from drumline.stores.postgres.failures import LOST

CHANNEL: Final = "drumline_wake"
STORED: Final = "drumline_stored"
"""Where transactions of callers name the tasks that they have stored, for those who keep hints."""
MOST_STORED: Final = 2_000
"""Tasks that one transaction names; the sweep finds the others."""
LONGEST: Final = 7000
"""Bytes in one notification; PostgreSQL takes 8000."""
RECONNECT_AFTER: Final = 1.0
PROBE_EVERY: Final = 30.0
"""Seconds after which a silent listener asks whether its connection still stands."""


class NotifyQueue(NoQueue):
    """Keeps no hints either, but tells other processes, once per batch, which queues have new tasks."""

    def __init__(self, url: str, *, budget: Budget = DEFAULT_BUDGET) -> None:
        self._database = Database(url, budget=budget)
        self._url = url
        self._budget = budget
        self._origin = token_hex(4)
        self._counts: Counter[str] = Counter()
        self._pushing = False
        self._is_deaf = False

    async def prepare(self) -> None:
        """Open the connection that notifications go over."""
        with suppress(Unavailable):  # it is opened by the first push
            await self._database.prepare(Line.SUBMIT, "notify")

    async def push(self, hints: Sequence[Hint]) -> bool:
        """Wake those who wait in other processes. What comes while a notification is on its way goes with the next."""
        self._counts.update(hint.lane.queue for hint in hints)
        if self._pushing:
            return False
        self._pushing = True
        try:
            while self._counts:
                counts, self._counts = self._counts, Counter()
                for message in messages(self._origin, counts):
                    await self._database.fetch(Line.SUBMIT, "notify", channel=CHANNEL, message=message)
        except Unavailable:
            self._counts.clear()  # a lost wake-up costs the others a look, once a second
        finally:
            self._pushing = False
        return False

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Wake those who wait in other processes: no hints are kept anyway."""
        await self.push(hints)

    @property
    def carries_signals(self) -> bool:
        """Whether this process can listen: not through a pooler."""
        return not self._is_deaf

    async def signal(self, word: str) -> None:
        """Notify those who listen in other processes."""
        self._counts[word] = 1
        await self.push(())

    async def listen(
        self,
        woken: Woken,
        handed: Handed | None = None,  # noqa: ARG002 - it hands nothing over
        leased: Leased | None = None,  # noqa: ARG002 - nor is anything leased by it
    ) -> None:
        """Call `woken` for pushes made by other processes, until cancelled.

        Through a pooler nothing can be heard: then those who wait find new tasks by looking, once a second.
        """

        def heard(message: str) -> None:
            origin, counts = parse(message)
            if origin != self._origin:  # those who wait in this process were woken already
                for queue, count in counts.items():
                    woken(queue, count)

        if not await NotifyListener(self._url, CHANNEL, seconds=self._budget.connect).listen(heard):
            self._is_deaf = True

    async def close(self) -> None:
        """Let go of every connection."""
        await self._database.close()


class NotifyListener:
    """Receives the notifications of one channel, over a connection of its own."""

    def __init__(self, url: str, channel: str, *, seconds: float = DEFAULT_BUDGET.connect) -> None:
        self._url = url
        self._channel = channel
        self._seconds = seconds

    async def listen(self, heard: Callable[[str], None]) -> bool:
        """Call `heard` for each notification, until cancelled; return False where a pooler lets none through."""
        while True:
            try:
                connection = await self._connect()
                if connection is None:
                    return False
                await self._listen_on(connection, heard)
            except LOST:
                await asyncio.sleep(RECONNECT_AFTER)

    async def _connect(self) -> "Connection | None":
        async with asyncio.timeout(self._seconds):
            return await connect_direct(self._url, settings={}, seconds=self._seconds)

    async def _listen_on(self, connection: Connection, heard: Callable[[str], None]) -> None:
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _connection: gone.set())
        try:
            async with asyncio.timeout(self._seconds):
                await connection.add_listener(self._channel, lambda *told: heard(str(told[3])))
            await self._until_gone(connection, gone)
        finally:
            connection.terminate()

    async def _until_gone(self, connection: Connection, gone: asyncio.Event) -> None:
        while not gone.is_set():
            try:
                async with asyncio.timeout(PROBE_EVERY):
                    await gone.wait()
            except TimeoutError:
                await connection.execute("SELECT 1", timeout=self._seconds)
        raise asyncpg.ConnectionDoesNotExistError("the connection that listens was lost")


def messages(origin: str, counts: Counter[str]) -> list[str]:
    """Return wake-ups as notifications: who sends them, then each queue with its number of new tasks."""
    found, current = [], origin
    for queue, count in counts.items():
        word = f" {queue}={count}"
        if len(current) + len(word) > LONGEST:
            found.append(current)
            current = origin
        current += word
    return [*found, current]


def parse(message: str) -> tuple[str, dict[str, int]]:
    """Return who sent a notification, and the number of new tasks by queue."""
    origin, *words = message.split(" ")
    return origin, {queue: int(count) for queue, _, count in (word.rpartition("=") for word in words)}


def stored_messages(tasks: Sequence[TaskId]) -> list[str]:
    """Return the ids of tasks as notifications; of very many the first ones."""
    at_once = LONGEST // 37
    named = tasks[:MOST_STORED]
    return [" ".join(named[start : start + at_once]) for start in range(0, len(named), at_once)]


async def notify_stored(database: AnyDatabase, hints: Sequence[Hint]) -> None:
    """Tell, once the transaction commits, those who wait for tasks and those who keep hints of these tasks."""
    # PostgreSQL delivers one of several equal notifications of a transaction: each has an origin of its own.
    wakes = messages(token_hex(4), Counter(hint.lane.queue for hint in hints))
    stored = stored_messages([hint.task for hint in hints])
    await database.fetch(
        Line.SUBMIT,
        "notify_stored",
        channels=[CHANNEL] * len(wakes) + [STORED] * len(stored),
        messages=[*wakes, *stored],
    )
