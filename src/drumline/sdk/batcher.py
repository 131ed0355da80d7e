"""Joins concurrent calls into batches, without ever making a lone caller wait.

The first item is flushed at once. While a flush is in flight, items gather; when it returns they go together. So
there is no timer on the light path, and under load the batches grow by themselves to what the backend can take.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from drumline.core.errors import Overloaded

In = TypeVar("In")
Out = TypeVar("Out")


class Batcher(Generic[In, Out]):
    """Calls `flush` with lists; gives each caller the answers to its own items.

    `flush` must answer in order, one answer per item. If it raises, every caller of that batch gets the error, and
    no other. A caller that is cancelled does not take its items back: they may be in flight already. A flight that is
    cancelled (its loop is going down) cancels everyone who waits, so that nobody waits for ever.

    A batcher belongs to one event loop.
    """

    def __init__(
        self,
        flush: Callable[[list[In]], Awaitable[Sequence[Out]]],
        *,
        name: str,
        largest: int = 1000,
        parallel: int = 1,
        most_waiting: int = 100_000,
    ) -> None:
        self._flush = flush
        self._name = name
        self._largest = largest
        self._parallel = parallel
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[Sequence[In], asyncio.Future[list[Out]]]] = deque()
        self._count = 0
        self._flights: set[asyncio.Task[None]] = set()

    async def join(self, item: In) -> Out:
        """Send one item with its neighbours."""
        self._check_room(1)
        return (await self.send_many((item,)))[0]

    async def join_many(self, items: Sequence[In]) -> list[Out]:
        """Send items that stay together, in order; a list longer than a batch is sent in several."""
        if not items:
            return []
        self._check_room(len(items))  # once for all of them: half a list must not be sent
        if len(items) <= self._largest:
            return await self.send_many(items)
        starts = range(0, len(items), self._largest)
        waits = [self.send_many(items[start : start + self._largest]) for start in starts]
        return [out for outs in await asyncio.gather(*waits) for out in outs]

    def send_many(self, items: Sequence[In]) -> "asyncio.Future[list[Out]]":
        """Send items that stay together, at most a batch of them; the future gives their answers.

        For those who need not wait, and refuse nothing: no push-back here.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Out]] = loop.create_future()
        self._waiting.append((items, answer))
        self._count += len(items)
        if len(self._flights) < self._parallel:
            flight = loop.create_task(self._fly(), name=f"batch {self._name}")
            self._flights.add(flight)
            flight.add_done_callback(self._landed)
        return answer

    async def drained(self) -> None:
        """Wait until nothing is waiting and nothing is in flight."""
        while self._flights:
            await asyncio.wait(set(self._flights))

    def _check_room(self, count: int) -> None:
        if self._count and self._count + count > self._most_waiting:
            raise Overloaded(f"{self._count:,} items are waiting for {self._name} already; try again shortly")

    async def _fly(self) -> None:
        try:
            while self._waiting:
                await self._send(self._next_groups())
        finally:
            # In the same step as the last look at `_waiting`: an item that joins later must see this flight gone.
            current = asyncio.current_task()
            if current is not None:
                self._flights.discard(current)

    def _landed(self, flight: "asyncio.Task[None]") -> None:
        self._flights.discard(flight)  # it may have been cancelled before its first step
        if flight.cancelled() and not self._flights:
            for _, answer in self._waiting:
                answer.cancel()
            self._waiting.clear()
            self._count = 0

    def _next_groups(self) -> list[tuple[Sequence[In], "asyncio.Future[list[Out]]"]]:
        groups = [self._waiting.popleft()]
        size = len(groups[0][0])
        while self._waiting and size + len(self._waiting[0][0]) <= self._largest:
            groups.append(self._waiting.popleft())
            size += len(groups[-1][0])
        self._count -= size
        return groups

    async def _send(self, groups: list[tuple[Sequence[In], "asyncio.Future[list[Out]]"]]) -> None:
        try:
            outs = await self._answers([item for group, _ in groups for item in group])
        except asyncio.CancelledError:
            for _, answer in groups:
                answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - whatever the backend raised belongs to the callers
            for _, answer in groups:
                if not answer.done():
                    answer.set_exception(error)
            return
        start = 0
        for group, answer in groups:
            if not answer.done():
                answer.set_result(list(outs[start : start + len(group)]))
            start += len(group)

    async def _answers(self, items: list[In]) -> Sequence[Out]:
        outs = await self._flush(items)
        if len(outs) != len(items):
            raise RuntimeError(f"{self._name} gave {len(outs)} answers to {len(items)} items")
        return outs
