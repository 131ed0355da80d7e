"""Wake-ups by NOTIFY, for those who run PostgreSQL without Redis. No hints are kept: the store chooses by itself."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Final

import asyncpg

from drumline.core.errors import Unavailable
from drumline.ports.queue import Handed, Leased, Woken
from drumline.ports.store import Hint
from drumline.stores.driver import Line
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres.connection import Connection, connect_direct
from drumline.stores.postgres.database import DEFAULT_BUDGET, Budget, Database
from drumline.stores.postgres.failures import LOST

CHANNEL: Final = "drumline_wake"
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
        while True:
            try:
                connection = await self._connect()
                if connection is None:
                    self._is_deaf = True
                    return
                await self._listen_on(connection, woken)
            except LOST:
                await asyncio.sleep(RECONNECT_AFTER)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._database.close()

    async def _connect(self) -> "Connection | None":
        async with asyncio.timeout(self._budget.connect):
            return await connect_direct(self._url, settings={}, seconds=self._budget.connect)

    async def _listen_on(self, connection: Connection, woken: Woken) -> None:
        def heard(_connection: object, _pid: int, _channel: str, message: object) -> None:
            origin, counts = parse(str(message))
            if origin != self._origin:  # those who wait in this process were woken already
                for queue, count in counts.items():
                    woken(queue, count)

        gone = asyncio.Event()
        connection.add_termination_listener(lambda _connection: gone.set())
        try:
            async with asyncio.timeout(self._budget.connect):
                await connection.add_listener(CHANNEL, heard)
            await self._until_gone(connection, gone)
        finally:
            connection.terminate()

    async def _until_gone(self, connection: Connection, gone: asyncio.Event) -> None:
        while not gone.is_set():
            try:
                async with asyncio.timeout(PROBE_EVERY):
                    await gone.wait()
            except TimeoutError:
                await connection.execute("SELECT 1", timeout=self._budget.connect)
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
