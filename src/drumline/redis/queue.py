"""The queue in Redis: hints by lane, popped best first across lanes. Read `keys.py` first, then `lua/pop.lua`."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Self

from drumline.core.clock import Clock, Instant
from drumline.core.errors import Unavailable
from drumline.core.ids import SessionId, TaskId
from drumline.core.metrics import Metrics
from drumline.core.shard_map import DIRECTORY
from drumline.ports.queue import Handed, Leased, Popped, Woken
from drumline.ports.store import ClaimRequest, Hint
from drumline.redis.abilities import Abilities
from drumline.redis.client import RedisCall
from drumline.redis.keys import DEFAULT_PREFIX, lane_text, paused_text, word
from drumline.redis.leasing import Leasing, parse_leased
from drumline.redis.queue_base import MOST_PER_CALL, MOST_PER_LANE, by_lane, written_lanes
from drumline.redis.swept import Swept
from drumline.redis.wakeups import listen, message_of, parse, parse_handed

HORIZON_MS: Final = 6 * 60_000
"""Hints due later than this are not kept; the sweep brings them when their time is near. It looks ahead a minute less,
so that what one of the two leaves out is surely seen by the other, though their clocks differ."""
SOON_MS: Final = 2_000
"""Those who wait look by themselves each second: what is due later need not wake them now."""
MOST_UNSENT: Final = 20_000
ABILITY_MS: Final = 600_000


class RedisQueue(Leasing, Swept):
    """`ports.queue.SweptQueue` of a shard in Redis, or in a Redis Cluster."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = DEFAULT_PREFIX,
        shard: str = DIRECTORY,
        clock: Clock | None = None,
        most_per_lane: int = MOST_PER_LANE,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(url, prefix=prefix, shard=shard, clock=clock, most_per_lane=most_per_lane, metrics=metrics)
        keys = self._keys
        self._pushed_keys = (
            keys.due, keys.waiting, keys.more, keys.skew, keys.lanes, keys.wake, keys.paused, keys.idle,
        )  # fmt: skip
        self._abilities = Abilities(keys)
        self._unsent: list[Hint] = []
        self._has_lost = False
        self._is_heard = False
        """Whether this process hears of what is handed to its sessions."""
        self._is_leased_to = False
        """Whether it hears of what is leased to them."""
        self._offering: set[asyncio.Task[bool]] = set()

    @classmethod
    async def open(
        cls, url: str, *, prefix: str = DEFAULT_PREFIX, shard: str = DIRECTORY, metrics: Metrics | None = None
    ) -> Self:
        """Return the queue at `url`. Nothing is sent yet: an engine starts without Redis as well as with it."""
        return cls(url, prefix=prefix, shard=shard, metrics=metrics)

    async def prepare(self) -> None:
        """Open the connection that pushes go over; if Redis is away, that is done when it is back."""
        await self._client.run(RedisCall("EXISTS", (self._keys.generation,), plain=True))

    async def push(self, hints: Sequence[Hint]) -> bool:
        """Offer tasks, and wake those who wait for them in other processes; or hand a lone one to one of them."""
        now = self._clock.now()
        horizon = now + HORIZON_MS
        if len(hints) == 1:
            return hints[0].due_at <= horizon and await self._push_one(hints[0], now)
        near = [hint for hint in hints if hint.due_at <= horizon]
        is_handed = False
        for start in range(0, len(near), MOST_PER_CALL):
            is_handed = await self._push(near[start : start + MOST_PER_CALL], now)
        return is_handed

    async def tell(self, hints: Sequence[Hint]) -> None:
        """Wake those who wait for these tasks in other processes."""
        limit = self._clock.now() + SOON_MS
        message = message_of(self._origin, Counter(hint.lane.queue for hint in hints if hint.due_at <= limit))
        if message:
            await self._client.run(RedisCall("PUBLISH", (self._keys.wake,), (message,), plain=True))

    @property
    def carries_signals(self) -> bool:
        """Whether processes that listen hear the signals of others."""
        return True

    async def signal(self, word: str) -> None:
        """Publish to those who listen in other processes."""
        message = message_of(self._origin, Counter({word: 1}))
        await self._client.run(RedisCall("PUBLISH", (self._keys.wake,), (message,), plain=True))

    async def pop(self, request: ClaimRequest) -> Popped | None:
        """Take up to `request.limit` due hints that the session can run; no other session gets them."""
        ability = self._abilities.of(request)
        answer = await self._pop(ability.key, request)
        if answer == ["unknown"]:
            answer = await self._pop(ability.key, request, *ability.fields)
        if answer is None or answer[0] != "asked":
            return None
        _, asks_store, until_due, *tasks = answer
        # Told as a distance and written by this process's clock, which is the one that will measure it.
        next_due = None if until_due < 0 else Instant(self._clock.now() + until_due)
        return Popped(tuple(tasks), next_due, bool(asks_store))

    async def withdraw(self, request: ClaimRequest) -> None:
        """Take a session off the list of those that wait."""
        listed = self._listed(request, self._keys.verdicts(self._abilities.of(request).key))
        if listed:
            await self._client.run(RedisCall("ZREM", (self._keys.idle,), (listed,), plain=True))

    async def drop(self, tasks: Sequence[TaskId]) -> None:
        """Forget hints that have become wrong, wherever they are."""
        if tasks:
            await self._run("drop", *tasks)

    async def doubt(self) -> None:
        """Take the generation away: the store chooses until the sweep has refilled all."""
        self._has_lost = await self._client.run(RedisCall("DEL", (self._keys.generation,), plain=True)) is None

    async def pause_queue(self, queue: str, *, tenant: str) -> None:
        """Offer no more tasks of a queue. The sweep does the same, should this be lost."""
        await self._client.run(RedisCall("SADD", (self._keys.paused,), (paused_text(tenant, queue),), plain=True))

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Offer a paused queue's tasks again."""
        await self._client.run(RedisCall("SREM", (self._keys.paused,), (paused_text(tenant, queue),), plain=True))

    async def listen(self, woken: Woken, handed: Handed | None = None, leased: Leased | None = None) -> None:
        """Call `woken` for pushes by other processes, and the others for what is given to a session, until cancelled.

        In a cluster nothing is: a node cannot tell whether there is a listener at another.
        """
        leases = self._keys.leases + self._origin

        def heard(channel: str, message: str) -> None:
            if channel == self._keys.wake:
                sender, counts = parse(message)
                if sender != self._origin:  # those who wait in this process were woken already
                    for queue, count in counts.items():
                        woken(queue, count)
            elif channel == leases and leased is not None:
                leased(*parse_leased(message))
            elif handed is not None:
                self._hand(*parse_handed(message), handed)

        with suppress(Unavailable):  # the client has logged it: a wrong address is known before it is needed
            await self._client.check()
        self._is_heard = handed is not None and not self._address.is_cluster
        self._is_leased_to = self._is_heard and leased is not None
        try:
            await listen(self._address, (self._keys.wake, f"{self._keys.wake}:{self._origin}", leases), heard)
        finally:
            self._is_heard = self._is_leased_to = False

    async def check(self) -> dict[str, object] | None:
        """Return details for the health page, or raise `Unavailable`."""
        await self._client.check()
        filled = await self._client.run(RedisCall("EXISTS", (self._keys.generation,), plain=True))
        return {"queue": "Redis", "is_filled": bool(filled)}

    async def close(self) -> None:
        """Let go of every connection."""
        if self._offering:
            await asyncio.wait(set(self._offering))
        await self._client.close()

    def _hand(self, session: SessionId, hint: Hint, handed: Handed) -> None:
        """Give a session what it was handed; offer it again if the session does not wait any more."""
        if not handed(session, hint):
            offering = asyncio.get_running_loop().create_task(self.push([hint]), name="offer again")
            self._offering.add(offering)
            offering.add_done_callback(self._offering.discard)

    async def _push_one(self, hint: Hint, now: Instant) -> bool:
        """Push as `_push` does, without a list: the caller waits for a lone task."""
        message = f"{self._origin} {hint.lane.queue}=1" if hint.due_at <= now + SOON_MS else ""
        return await self._send((hint,), message, (lane_text(hint.lane), 1, hint.due_at, hint.task))

    async def _push(self, hints: Sequence[Hint], now: Instant) -> bool:
        lanes = by_lane(hints)
        limit = now + SOON_MS
        soon: Counter[str] = Counter()
        for lane, theirs in lanes.items():
            soon[lane.queue] += sum(hint.due_at <= limit for hint in theirs)
        return await self._send(hints, message_of(self._origin, +soon), written_lanes(lanes))

    async def _send(self, hints: Sequence[Hint], message: str, lanes: Sequence[str | int]) -> bool:
        is_due = int(len(hints) == 1 and hints[0].is_due)
        args = (self._now(), self._most_per_lane, message, is_due, *lanes)
        answer = await self._client.run(RedisCall("push", self._pushed_keys, args))
        if answer is None:
            self._keep(hints)
        return answer == 1

    def _keep(self, hints: Sequence[Hint]) -> None:
        """Keep what could not be sent until Redis is back; what is too much for that will be found by a refill."""
        if len(self._unsent) + len(hints) > MOST_UNSENT:
            self._unsent.clear()
            self._has_lost = True
        elif not self._has_lost:
            self._unsent += hints

    async def _recovered(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._has_lost:
            self._has_lost = await self._client.run(RedisCall("DEL", (self._keys.generation,), plain=True)) is None
        await self.push(unsent)

    def _listed(self, request: ClaimRequest, verdicts: str) -> str:
        """Return the session of a claim as it stands in the list of those that wait; nothing if it is not listed."""
        return f"{self._origin} {request.session} {verdicts}" if request.waits and self._is_heard else ""

    async def _pop(self, ability: str, request: ClaimRequest, *definition: str) -> list[Any] | None:
        keys = self._keys
        lanes = (keys.due, keys.waiting, keys.more, keys.paused, keys.lanes)
        verdicts = keys.verdicts(ability)
        names = (keys.generation, keys.skew, *lanes, ability, verdicts, keys.idle, f"{keys.claims}{request.session}")
        idle = self._listed(request, verdicts)
        tenant = "" if request.tenant is None else word(request.tenant)
        shares: list[str | int] = []
        for share in request.shares:
            shares += (word(share.tenant), share.level, share.step)
        waits = (tenant, idle, request.nonce if self._is_leased_to else "")
        args = (self._now(), request.limit, ABILITY_MS, *waits, len(request.shares), *shares, *definition)
        answer: list[Any] | None = await self._client.run(RedisCall("pop", names, args))
        return answer
