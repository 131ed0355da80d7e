"""How often keys may ask, counted in Redis for all servers together; while it is away, for this process alone.

A rate of up to a thousand in its window is exact: each turn is asked for, many at once by one call, and a refusal is
remembered, so that a client that keeps asking costs Redis nothing. Larger rates come in lots, see `engine.limits`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from drumline.aio.batcher import Batcher
from drumline.core.clock import Clock, SystemClock
from drumline.core.metrics import Metrics
from drumline.core.rate import Rate
from drumline.engine.limits import Granted, KeyTurnsCache, LocalKeyTurns
from drumline.ports.limiter import Taken
from drumline.redis.address import Address
from drumline.redis.client import Meter, RedisCall, RedisClient
from drumline.redis.keys import DEFAULT_PREFIX, LimiterKeys

MOST_JOINED: Final = 1000


class LimiterRequest(NamedTuple):
    """A request for a turn of a key."""

    key: str
    rate: Rate


class RedisLimiter:
    """`ports.limiter.Limiter` in the Redis or Redis Cluster of the directory, for the API servers of all shards."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._keys = LimiterKeys(prefix)
        probe = RedisCall("probe", (self._keys.rate("probe"),), ("",))
        self._client = RedisClient(Address(url), probe=probe, meter=Meter(metrics or Metrics(), "limiter"))
        self._clock = clock or SystemClock()
        self._turns_of_keys = KeyTurnsCache()
        # One flight at a time: what is asked for meanwhile goes together, and no turns of a key are added twice.
        self._asks: Batcher[LimiterRequest, Taken] = Batcher(self._take, name="turns", largest=MOST_JOINED)

    @classmethod
    async def open(cls, url: str, *, prefix: str = DEFAULT_PREFIX, metrics: Metrics | None = None) -> Self:
        """Return the limiter at `url`. Nothing is sent yet."""
        return cls(url, prefix=prefix, metrics=metrics)

    def turns(self, key: str, rate: Rate) -> LocalKeyTurns:
        """Return the turns that a key has in hand."""
        return self._turns_of_keys.of(key, rate)

    def take_now(self, key: str, rate: Rate) -> Taken | None:
        """Answer at once, where that can be done without asking Redis."""
        return self._turns_of_keys.of(key, rate).spend(self._clock.monotonic())

    async def take(self, key: str, rate: Rate) -> Taken:
        """Answer."""
        (taken,) = await self._asks.send_many((LimiterRequest(key, rate),))
        return taken

    async def close(self) -> None:
        """Let go of every connection."""
        await self._asks.drained()
        await self._client.close()

    async def _take(self, asks: list[LimiterRequest]) -> Sequence[Taken]:
        wanted = {ask: self._turns_of_keys.of(ask.key, ask.rate).wanted(turns) for ask, turns in Counter(asks).items()}
        answers = await self._client.run_all([self._call(ask, lots) for ask, lots in wanted.items()])
        now = self._clock.monotonic()
        for place, (ask, lots) in enumerate(wanted.items()):
            turns = self._turns_of_keys.of(ask.key, ask.rate)
            if answers is None:
                granted = turns.window.take(lots, now)
            else:
                given, free, until = answers[place]
                granted = Granted(given, free, until / 1000)
                turns.window.note(given, now)  # should Redis go away, these still count
            turns.fill(granted, lots, now)
        return [self._turns_of_keys.of(ask.key, ask.rate).settle(now) for ask in asks]

    def _call(self, ask: LimiterRequest, lots: int) -> RedisCall:
        window = self._turns_of_keys.of(ask.key, ask.rate).window
        return RedisCall("take", (self._keys.rate(ask.key),), (round(ask.rate.seconds * 1000), window.most, lots))
