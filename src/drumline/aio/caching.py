"""Caches lookups in the store for about a second, so that requests need not ask it.

A fresh entry is used as it is. After that it is still used, while the store is asked in the background;
once it is stale, the caller waits for the store. So under steady use no caller waits, and no change is missed
for longer than `STALE_SECONDS`. When the store is unavailable, entries of up to `OUTAGE_SECONDS` are used.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import structlog

from drumline.aio.batcher import Batcher
from drumline.core.clock import Clock
from drumline.core.errors import DrumlineError, Unavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FRESH_SECONDS: Final = 0.75
STALE_SECONDS: Final = 1.75
"""Less than the two seconds after which every server has heard of a change."""
OUTAGE_SECONDS: Final = 300.0
"""How long an entry is used while the store is unavailable."""
PATIENCE: Final = 1.5
"""Seconds to wait for the store if there is an old entry to fall back on."""
ANSWER_SECONDS: Final = 5.0
"""Seconds to wait for the store if there is none; then `Unavailable` is raised."""
MOST_REMEMBERED: Final = 10_000

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Memory(NamedTuple, Generic[V]):
    """A cached answer of the store, and when it was asked. A value of None means that there is no such thing."""

    value: V | None
    asked_at: float


class CachedLookup(Generic[K, V]):
    """Looks up values in a cache, or in the store: one lookup at a time per key, and many keys in one query."""

    def __init__(
        self,
        ask: Callable[[list[K]], Awaitable[Sequence[V | None]]],
        *,
        name: str,
        clock: Clock,
        most: int = MOST_REMEMBERED,
    ) -> None:
        self._clock = clock
        self._most = most
        self._name = name
        self._memories: OrderedDict[K, Memory[V]] = OrderedDict()
        self._questions: Batcher[K, V | None] = Batcher(ask, name=name, largest=500)
        self._asking: dict[K, asyncio.Task[Memory[V]]] = {}
        self._tasks: set[asyncio.Task[Memory[V]]] = set()

    def recall(self, key: K) -> Memory[V] | None:
        """Return an entry that is not stale; None if the store has to be asked."""
        memory = self._memories.get(key)
        if memory is None:
            return None
        age = self._clock.monotonic() - memory.asked_at
        if age >= STALE_SECONDS:
            return None
        if age >= FRESH_SECONDS and key not in self._asking:
            self._ask(key)
        return memory

    async def get(self, key: K) -> V | None:
        """Return the value by asking the store; raises `Unavailable` if it does not answer and no entry can be used."""
        memory = self._memories.get(key)
        asking = self._asking.get(key) or self._ask(key)
        try:
            async with asyncio.timeout(ANSWER_SECONDS if memory is None else PATIENCE):
                return (await asyncio.shield(asking)).value
        except (Unavailable, TimeoutError) as error:
            if memory is not None and self._clock.monotonic() - memory.asked_at < OUTAGE_SECONDS:
                return memory.value
            raise Unavailable(f"{self._name} cannot be looked up right now") from error

    def forget(self, is_meant: Callable[[V], bool]) -> None:
        """Drop entries whose value matches; running lookups of them are ignored."""
        for key in [key for key, (value, _) in self._memories.items() if value is not None and is_meant(value)]:
            self.forget_one(key)

    def forget_keys(self, is_meant: Callable[[K], bool]) -> None:
        """Drop the entries of matching keys, and ignore their running lookups."""
        for key in [key for key in (*self._memories, *self._asking) if is_meant(key)]:
            self.forget_one(key)

    def learn(self, key: K, value: V | None, asked_at: float) -> None:
        """Store an entry that the caller has read from the store itself."""
        self._memories[key] = Memory(value, asked_at)
        self._memories.move_to_end(key)
        if len(self._memories) > self._most:
            self._memories.popitem(last=False)

    def forget_one(self, key: K) -> None:
        """Drop the entry of a key, and ignore its running lookup."""
        self._memories.pop(key, None)
        self._asking.pop(key, None)

    def clear(self) -> None:
        """Drop all entries, and ignore running lookups."""
        self._memories.clear()
        self._asking.clear()

    async def close(self) -> None:
        """Cancel running lookups."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ask(self, key: K) -> "asyncio.Task[Memory[V]]":
        asking = asyncio.get_running_loop().create_task(self._asked(key), name=f"ask for {self._name}")
        self._asking[key] = asking
        self._tasks.add(asking)
        asking.add_done_callback(lambda done: self._answered(key, done))
        return asking

    async def _asked(self, key: K) -> Memory[V]:
        asked_at = self._clock.monotonic()  # what is answered may be as old as the question
        return Memory(await self._questions.join(key), asked_at)

    def _answered(self, key: K, done: "asyncio.Task[Memory[V]]") -> None:
        self._tasks.discard(done)
        error = None if done.cancelled() else done.exception()
        if self._asking.get(key) is not done:  # the entry was dropped meanwhile
            return
        del self._asking[key]
        if done.cancelled():
            return
        if error is None:
            self.learn(key, *done.result())
        elif not isinstance(error, DrumlineError):
            log.error("look_up.failed", what=self._name, exc_info=error)
