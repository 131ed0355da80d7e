"""Joins concurrent calls into batches, without ever making a lone caller wait.

The first item is flushed at once. While a flush is in flight, items gather; when it returns they go together. So
there is no timer on the light path, and under load the batches grow by themselves to what the backend can take.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextvars import Context
from itertools import islice
from typing import Any, Final, Generic, NamedTuple, TypeVar

from msgspec import Struct

from drumline.core.errors import DrumlineError, Overloaded

In = TypeVar("In")
Out = TypeVar("Out")

HEAVIEST: Final = 16 * 1024 * 1024
"""Bytes in one batch, where items are weighed: small ones never come near it, a few hundred large ones would."""


TURNS_TO_TAKE_OFF: Final = 2
"""Turns of the event loop until a batch is on the wire: in one its flight begins, after the next it is written."""


class BatchWeights(NamedTuple, Generic[In]):
    """How items are weighed, and how many bytes of them may wait."""

    weigh: Callable[[In], int]
    most_waiting: int | None = None


Answered = Callable[[Sequence[In], Sequence[Out], BaseException | None], None]
"""Called with items and the answers to them, or with none and what kept them from having any; must not raise."""


class _Group(Struct, Generic[In, Out], eq=False):
    """Items that stay together, what they weigh, and who waits for their answers."""

    items: Sequence[In]
    weight: int
    answer: "asyncio.Future[list[Out]]"

    def give(self, outs: Sequence[Out], start: int) -> None:
        """Pass on the answers, which are in the batch's from `start` on."""
        if not self.answer.done():
            self.answer.set_result(list(outs[start : start + len(self.items)]))

    def fail(self, error: BaseException) -> None:
        """Pass on the error instead of answers."""
        _fail(self.answer, error)


class _Single(Struct, Generic[In, Out], eq=False):
    """An item by itself, as a group: most are such, so it is spared the lists."""

    items: tuple[In]
    weight: int
    answer: "asyncio.Future[Out]"

    def give(self, outs: Sequence[Out], start: int) -> None:
        """Pass on the answer."""
        if not self.answer.done():
            self.answer.set_result(outs[start])

    def fail(self, error: BaseException) -> None:
        """Pass on the error instead of an answer."""
        _fail(self.answer, error)


class _Sent(Struct, Generic[In, Out], eq=False):
    """Items whose senders do not wait, as a group: those that come one after the other."""

    items: list[In]
    weight: int
    told: Answered[In, Out]

    def give(self, outs: Sequence[Out], start: int) -> None:
        """Pass on the answers, which are in the batch's from `start` on."""
        self.told(self.items, outs[start : start + len(self.items)], None)

    def fail(self, error: BaseException) -> None:
        """Pass on the error instead of answers."""
        self.told(self.items, (), error)


_Waiting = _Group[In, Out] | _Single[In, Out] | _Sent[In, Out]


class Batcher(Generic[In, Out]):
    """Calls `flush` with lists; gives each caller the answers to its own items.

    `flush` must answer in order, one answer per item. If it raises, every caller of that batch gets the error, and
    no other. A caller that is cancelled does not take its items back: they may be in flight already. A flight that is
    cancelled (its loop is shutting down) cancels all waiting callers, so that none waits forever.

    With `weights` batches are bounded in bytes too: a thousand items of a megabyte are more than a backend takes at
    once, and more than may gather in memory.

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
        weights: BatchWeights[In] | None = None,
    ) -> None:
        self._flush = flush
        self._name = name
        self._largest = largest
        self._parallel = parallel
        self._most_waiting = most_waiting
        self._weigh = weights.weigh if weights else None
        self._most_weight = weights.most_waiting if weights else None
        self.meter: Callable[[float], None] | None = None
        """Called with the number of items of each batch."""
        self.told: Answered[In, Out] = _nobody
        """Called with the answers to items that were sent without waiting."""
        self._waiting: deque[_Waiting[In, Out]] = deque()
        self._count = 0
        self._weight = 0
        self._flights: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self.pace = 0.0
        """Seconds from one batch to the next at least, unless a whole batch waits already. For calls of thousands of
        callers, none of which is in a hurry; a lone call is sent at once all the same."""
        self._next_at = 0.0
        """When the next batch may be sent, by the loop's clock."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight."""
        return not self._flights

    def resize(self, largest: int) -> None:
        """Send larger or smaller batches from now on."""
        self._largest = largest

    async def join(self, item: In) -> Out:
        """Send one item with its neighbours."""
        return await self.joined(item)

    def joined(self, item: In) -> "asyncio.Future[Out]":
        """Send one item with its neighbours; the future gives its answer."""
        weight = self._weigh(item) if self._weigh else 0
        if self._count >= self._most_waiting or self._most_weight is not None:
            self._check_room(1, weight)
        # While something is in flight, the loop is known: asking for it is a call to the system.
        loop = self._loop if self._flights else asyncio.get_running_loop()
        answer: asyncio.Future[Out] = loop.create_future()
        self._add(_Single((item,), weight, answer))
        return answer

    async def join_many(self, items: Sequence[In]) -> list[Out]:
        """Send items that stay together, in order; a list longer than a batch is sent in several."""
        if not items:
            return []
        weight = self._weight_of(items)
        self._check_room(len(items), weight)  # once for all of them: half a list must not be sent
        if len(items) <= self._largest and weight <= HEAVIEST:
            return await self._send_weighed(items, weight)
        parts = self._parts(items, weight)
        return [out for outs in await asyncio.gather(*map(self.send_many, parts)) for out in outs]

    async def join_each(self, items: Iterable[In]) -> list[Out | DrumlineError]:
        """Send items as `join_many` does, but of several batches one may fail: its error answers its own items only.

        Items that are made while they are asked for are sent a batch at a time, so that the first are in flight while
        the next are made. If all of them fail, the error is raised: nothing was kept.
        """
        coming = iter(items)
        sent: list[tuple[Sequence[In], asyncio.Future[list[Out]]]] = []
        try:
            while batch := list(islice(coming, self._largest)):
                sent += self._send_parts(batch)
                for _ in range(TURNS_TO_TAKE_OFF if len(batch) == self._largest else 0):
                    await asyncio.sleep(0)
            answers = await asyncio.gather(*(answer for _, answer in sent), return_exceptions=True)
        finally:
            for _, answer in sent:
                answer.cancel()  # a caller that was cancelled does not want the answers
        told: list[Out | DrumlineError] = []
        for (part, _), outs in zip(sent, answers, strict=True):
            if not isinstance(outs, BaseException):
                told += outs
            elif isinstance(outs, DrumlineError) and not all(isinstance(each, BaseException) for each in answers):
                told += [outs] * len(part)
            else:
                raise outs
        return told

    def _send_parts(self, items: Sequence[In]) -> "list[tuple[Sequence[In], asyncio.Future[list[Out]]]]":
        """Send items for about one batch, if there is room for them."""
        weight = self._weight_of(items)
        try:
            self._check_room(len(items), weight)
        except Overloaded as error:
            refused: asyncio.Future[list[Out]] = asyncio.get_running_loop().create_future()
            refused.set_exception(error)
            return [(items, refused)]
        if len(items) <= self._largest and weight <= HEAVIEST:
            return [(items, self._send_weighed(items, weight))]
        return [(part, self.send_many(part)) for part in self._parts(items, weight)]

    def _parts(self, items: Sequence[In], weight: int) -> Iterator[Sequence[In]]:
        """Split items into lists that are no more than a batch each; one that is too heavy by itself goes alone."""
        if weight <= HEAVIEST:
            yield from (items[start : start + self._largest] for start in range(0, len(items), self._largest))
            return
        start = weight = 0
        for place, item in enumerate(items):
            heavy = self._weigh(item) if self._weigh else 0
            if place > start and (place - start >= self._largest or weight + heavy > HEAVIEST):
                yield items[start:place]
                start, weight = place, 0
            weight += heavy
        if items:
            yield items[start:]

    def send_many(self, items: Sequence[In]) -> "asyncio.Future[list[Out]]":
        """Send items that stay together, at most a batch of them; the future gives their answers.

        For those who need not wait, and refuse nothing: no push-back here.
        """
        return self._send_weighed(items, self._weight_of(items))

    def send(self, item: In) -> None:
        """Send one item without waiting: `told` is called with its answer. No limit on waiting items here."""
        weight = self._weigh(item) if self._weigh else 0
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, _Sent) and len(last.items) < self._largest and last.weight + weight <= HEAVIEST:
            last.items.append(item)
            last.weight += weight
            self._count += 1
            self._weight += weight
        else:
            self._add(_Sent([item], weight, self.told))

    async def drained(self) -> None:
        """Wait until nothing is waiting and nothing is in flight."""
        while self._flights:
            await asyncio.wait(set(self._flights))

    def _send_weighed(self, items: Sequence[In], weight: int) -> "asyncio.Future[list[Out]]":
        answer: asyncio.Future[list[Out]] = asyncio.get_running_loop().create_future()
        self._add(_Group(items, weight, answer))
        return answer

    def _add(self, group: _Waiting[In, Out]) -> None:
        self._waiting.append(group)
        self._count += len(group.items)
        self._weight += group.weight
        if len(self._flights) < self._parallel:
            self._loop = asyncio.get_running_loop()
            # A flight carries items of many callers: in the context of one of them its spans, logs and masks would be
            # taken for that caller's.
            flight = self._loop.create_task(self._fly(), name=f"batch {self._name}", context=Context())
            self._flights.add(flight)
            flight.add_done_callback(self._landed)

    def _weight_of(self, items: Sequence[In]) -> int:
        return sum(map(self._weigh, items)) if self._weigh else 0

    def _check_room(self, count: int, weight: int) -> None:
        is_full = self._count + count > self._most_waiting
        is_heavy = self._most_weight is not None and self._weight + weight > self._most_weight
        if self._count and (is_full or is_heavy):
            raise Overloaded(f"{self._count:,} items are waiting for {self._name} already; try again shortly")

    async def _fly(self) -> None:
        try:
            while self._waiting:
                if self.pace:
                    await self._keep_pace()
                await self._send(self._next_groups())
        finally:
            # In the same step as the last look at `_waiting`: an item that joins later must see this flight gone.
            current = asyncio.current_task()
            if current is not None:
                self._flights.discard(current)

    async def _keep_pace(self) -> None:
        left = self._next_at - self._loop.time()
        if left > 0 and self._count < self._largest:
            await asyncio.sleep(left)
        self._next_at = self._loop.time() + self.pace

    def _landed(self, flight: "asyncio.Task[None]") -> None:
        self._flights.discard(flight)  # it may have been cancelled before its first step
        if flight.cancelled() and not self._flights:
            left = list(self._waiting)
            self._waiting.clear()
            self._count = self._weight = 0
            for group in left:
                group.fail(asyncio.CancelledError())

    def _next_groups(self) -> list[_Waiting[In, Out]]:
        if self._count <= self._largest and self._weight <= HEAVIEST:
            everything = list(self._waiting)
            self._waiting.clear()
            self._count = self._weight = 0
            return everything
        groups: list[_Waiting[In, Out]] = []
        size = weight = 0
        for group in self._waiting:
            larger, heavier = size + len(group.items), weight + group.weight
            if groups and (larger > self._largest or heavier > HEAVIEST):
                break
            size, weight = larger, heavier
            groups.append(group)
        for _ in groups:
            self._waiting.popleft()
        self._count -= size
        self._weight -= weight
        return groups

    async def _send(self, groups: list[_Waiting[In, Out]]) -> None:
        try:
            items = [item for group in groups for item in group.items]
            if self.meter is not None:
                self.meter(len(items))
            outs = await self._flush(items)
            if len(outs) != len(items):
                raise RuntimeError(f"{self._name} gave {len(outs)} answers to {len(items)} items")  # noqa: TRY301 - callers
        except asyncio.CancelledError as error:
            for group in groups:
                group.fail(error)
            raise
        except Exception as error:  # noqa: BLE001 - whatever the backend raised belongs to the callers
            for group in groups:
                group.fail(error)
            return
        start = 0
        for group in groups:
            group.give(outs, start)
            start += len(group.items)


def _nobody(_items: Sequence[Any], _outs: Sequence[Any], _error: BaseException | None) -> None:
    return


def _fail(answer: "asyncio.Future[Any]", error: BaseException) -> None:
    if isinstance(error, asyncio.CancelledError):
        answer.cancel()
    elif not answer.done():
        answer.set_exception(error)
