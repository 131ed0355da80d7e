"""Signals by correlation between shards, of all shards together."""

from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.ids import TaskId
from drumline.ports.changed import Changed
from drumline.ports.signal_exchange import Answer, Decided, GivenSignal, KeyWait, SignalWatch
from drumline.shards.parts.merging import Part
from drumline.shards.parts.waits import MOST_SHARDS


class SignalExchange(Part):
    """`ports.signal_exchange.SignalExchange`. Each shard has its own numbers; here its place is a part of them."""

    async def unregistered(self, *, number: int, limit: int, after: TaskId | None = None) -> list[KeyWait]:
        """Return waits of queued tasks that are not registered by a map of this number."""
        found = await self._router.each(
            lambda store: store.signal_exchange.unregistered(number=number, limit=limit, after=after)
        )
        return sorted((wait for waits in found for wait in waits), key=lambda wait: wait.task)[:limit]

    async def register(self, waits: Sequence[KeyWait]) -> None:
        """Let every shard know of waits."""
        await self._router.all(lambda store: store.signal_exchange.register(waits))

    async def mark_registered(self, waits: Sequence[KeyWait], *, number: int) -> None:
        """Mark waits; one whose registration was undone since stays unregistered."""
        await self._router.tell(
            waits,
            lambda store, part: store.signal_exchange.mark_registered(part, number=number),
            key=lambda wait: wait.task,
        )

    async def give_left(self, *, older_than_ms: int, limit: int) -> int:
        """Give signals that tasks of their own shard have left; return of how many keys."""
        found = await self._router.all(
            lambda store: store.signal_exchange.give_left(older_than_ms=older_than_ms, limit=limit)
        )
        return sum(found)

    async def given(self, *, limit: int, after: int = 0) -> list[GivenSignal]:
        """Return signals whose tasks have to be told, in the order of their numbers, above one of these."""
        found: list[GivenSignal] = []
        for place, member in enumerate(self._router.shards):
            last = max(after - place, 0) // MOST_SHARDS
            given = await member.store.signal_exchange.given(limit=limit, after=last)
            found += [replace(each, number=each.number * MOST_SHARDS + place) for each in given]
        return sorted(found, key=lambda each: each.number)[:limit]

    async def decide(self, given: Sequence[GivenSignal]) -> list[Decided]:
        """Let tasks say whether they take signals, each in its shard."""
        return await self._router.split(
            given, lambda store, part: store.signal_exchange.decide(part), key=lambda each: each.task
        )

    async def settle(self, given: Sequence[GivenSignal], answers: Sequence[Answer]) -> tuple[Changed, ...]:
        """Note what tasks said to signals, in the shards of these; return tasks that woke."""
        woken: list[Changed] = []
        for place, member in enumerate(self._router.shards):
            own = [
                (replace(each, number=each.number // MOST_SHARDS), answer)
                for each, answer in zip(given, answers, strict=True)
                if each.number % MOST_SHARDS == place
            ]
            woken += await member.store.signal_exchange.settle([each for each, _ in own], [said for _, said in own])
        return tuple(woken)

    async def watches(self, *, older_than_ms: int, limit: int, after: int = 0) -> list[SignalWatch]:
        """Return registrations of some age, in the order of their numbers, above one of these."""
        found: list[SignalWatch] = []
        for place, member in enumerate(self._router.shards):
            last = max(after - place, 0) // MOST_SHARDS
            exchange = member.store.signal_exchange
            watches = await exchange.watches(older_than_ms=older_than_ms, limit=limit, after=last)
            found += [replace(watch, number=watch.number * MOST_SHARDS + place) for watch in watches]
        return sorted(found, key=lambda watch: watch.number)[:limit]

    async def waiting(self, watches: Sequence[SignalWatch]) -> list[bool]:
        """Tell which tasks still wait for what they are registered for."""
        return await self._router.split(
            watches, lambda store, part: store.signal_exchange.waiting(part), key=lambda watch: watch.task
        )

    async def drop(self, watches: Sequence[SignalWatch]) -> None:
        """Forget registrations, but for those that were made anew."""
        for place, member in enumerate(self._router.shards):
            await member.store.signal_exchange.drop([watch for watch in watches if watch.number % MOST_SHARDS == place])
