"""Signals: those by correlation are given to tasks of other shards, which take or refuse them.

A wait is registered until it is marked, and a signal that is given is told until it is settled.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

import structlog

from drumline.core.ids import TaskId
from drumline.core.shard_map import ShardMap
from drumline.ports.signal_exchange import Answer, GivenSignal, SignalWatch
from drumline.scheduler.exchange import LONE_SECONDS, PAGE, Exchange, Forwarded, WaitShard, WaitShards

PASS_SECONDS: Final = 60.0
LEFT_MS: Final = 1000
"""After so long a signal is given to a task of its own shard that has not taken it by itself."""
OLD_MS: Final = 3_600_000
"""Registrations of this age are looked at: their tasks may wait no more."""
LOOK_SECONDS: Final = 60.0
LOOKED_AT: Final = 1000
"""Registrations that are looked at, each time, in each shard."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SignalShards(WaitShards, Protocol):
    """The shards of an installation, and the map."""

    @property
    def map(self) -> ShardMap:
        """The map as it is known here."""
        ...

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of shards that could not be opened yet."""
        ...


class SignalDuty(Exchange):
    """Registers waits for signals by correlation, and passes signals and answers on between shards: a duty."""

    name = "signals"

    def __init__(self, shards: SignalShards, *, forwarded: Forwarded, every: float = 0.5) -> None:
        super().__init__(shards, forwarded=forwarded, every=every)
        self._all = shards
        self._looked_at = float("-inf")
        self._last_looked: dict[str, int] = {}

    async def pass_once(self) -> int:
        """Register all waits, pass on all that is given, and return how many steps that were."""
        is_lone = len(list(self._all)) == 1
        self.every = LONE_SECONDS if is_lone else self._pace
        done = 0
        async with asyncio.timeout(PASS_SECONDS):
            if not is_lone:
                done += await self._register()
            await self._for_each(lambda shard: shard.store.signal_exchange.give_left(older_than_ms=LEFT_MS, limit=PAGE))
            while passed := await self._for_each(self._tell_given_of):
                done += passed
            now = asyncio.get_running_loop().time()
            if now >= self._looked_at + LOOK_SECONDS:
                self._looked_at = now
                done += await self._for_each(self._drop_old_of)
        if done:
            log.info("signals.passed_on", count=done)
        return done

    async def _register(self) -> int:
        """Register the waits of all shards in all shards; they are marked once every shard knows of them."""
        number = self._all.map.number
        shards = list(self._all)

        async def register_of(shard: WaitShard) -> int:
            done, last = 0, None
            while page := await shard.store.signal_exchange.unregistered(number=number, limit=PAGE, after=last):
                last = TaskId(page[-1].task)
                known = await self._for_each(lambda other: _one(other.store.signal_exchange.register(page)))
                if known == len(shards) and not self._all.missing:
                    await shard.store.signal_exchange.mark_registered(page, number=number)
                    done += len(page)
            return done

        return await self._for_each(register_of)

    async def _tell_given_of(self, keeper: WaitShard) -> int:
        async def tell(shard: WaitShard, given: Sequence[GivenSignal]) -> int:
            decided = await shard.store.signal_exchange.decide(given)
            shard.engine.control.follow([changed for each in decided for changed in each.woken])
            missing = [one for one, each in zip(given, decided, strict=True) if each.answer is Answer.UNKNOWN]
            gone = await self._still_of(shard, missing, lambda one: one.task)
            answered = [
                (one, each.answer)
                for one, each in zip(given, decided, strict=True)
                if each.answer is not Answer.UNKNOWN or one in gone
            ]
            woken = await keeper.store.signal_exchange.settle(
                [one for one, _ in answered], [answer for _, answer in answered]
            )
            keeper.engine.control.follow(woken)
            return len(answered)

        done, last = 0, 0
        while page := await keeper.store.signal_exchange.given(limit=PAGE, after=last):
            last = page[-1].number
            done += await self._pass_on(page, lambda one: one.task, tell)
        return done

    async def _drop_old_of(self, keeper: WaitShard) -> int:
        """Forget registrations of tasks that wait no more: nothing else tells of a wait whose time was over."""

        async def look(shard: WaitShard, watches: Sequence[SignalWatch]) -> int:
            waiting = await shard.store.signal_exchange.waiting(watches)
            over = [watch for watch, is_waiting in zip(watches, waiting, strict=True) if not is_waiting]
            gone = await self._still_of(shard, over, lambda watch: watch.task)
            await keeper.store.signal_exchange.drop(gone)
            return len(gone)

        after = self._last_looked.get(keeper.name, 0)
        page = await keeper.store.signal_exchange.watches(older_than_ms=OLD_MS, limit=LOOKED_AT, after=after)
        self._last_looked[keeper.name] = page[-1].number if len(page) == LOOKED_AT else 0
        return await self._pass_on(page, lambda watch: watch.task, look) if page else 0


async def _one(act: Awaitable[None]) -> int:
    """Await something, and return 1."""
    await act
    return 1
