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
        return (await self.join_many((item,)))[0]

    async def join_many(self, items: Sequence[In]) -> list[Out]:
        """Send items that stay together, in order; a list longer than a batch is sent in several."""
        if not items:
            return []
        if self._count + len(items) > self._most_waiting and self._count:
            raise Overloaded(f"{self._count:,} items are waiting for {self._name} already; try again shortly")
        loop = asyncio.get_running_loop()
        answers: list[asyncio.Future[list[Out]]] = []
        for start in range(0, len(items), self._largest):
            answer = loop.create_future()
            part = items[start : start + self._largest]
            self._waiting.append((part, answer))
            self._count += len(part)
            answers.append(answer)
        self._take_off(len(answers))
        if len(answers) == 1:
            return await answers[0]
        return [out for part_out in await asyncio.gather(*answers) for out in part_out]

    async def drained(self) -> None:
        """Wait until nothing is waiting and nothing is in flight."""
        while self._flights:
            await asyncio.wait(set(self._flights))

    def _take_off(self, parts: int) -> None:
        # One flight per part at most: a second flight would find nothing to carry.
        for _ in range(min(parts, self._parallel - len(self._flights))):
            flight = asyncio.get_running_loop().create_task(self._fly(), name=f"batch {self._name}")
            self._flights.add(flight)
            flight.add_done_callback(self._landed)

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
