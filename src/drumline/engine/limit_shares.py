"""Moving shares of limits between databases, to where tasks wait.

Every step is a transaction of one database, and may be the last that a process does: the next pass, of any process,
goes on from what it finds. Passes of several processes at once do no harm. A database that is away keeps its share.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import structlog

from drumline.core.clock import Clock, SystemClock
from drumline.core.errors import Conflict, Unavailable
from drumline.core.flow import FlowLimit
from drumline.core.limit_shares import Amount, Gift, Holding, LimitHolder, ShareKey, Transfer, plan
from drumline.core.shard_map import DIRECTORY
from drumline.ports.limit_shares import LimitShares

T = TypeVar("T")

ANSWER_SECONDS: Final = 3.0
AWAY_SECONDS: Final = 5.0
"""A database that takes longer than the one is not asked for the other."""
MOST_KEYS: Final = 500
"""Keys of one lane that are looked at in a pass."""
MOST_TRANSFERS: Final = 1_000
TURN_MS: Final = 5_000
"""How long a database keeps what others wait for as well, where there is less than one for each."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class ShareShards(Protocol):
    """The databases of an installation, as far as shares are concerned."""

    def names(self) -> Sequence[str]:
        """Return all there are, the directory among them."""
        ...

    def reachable(self) -> Mapping[str, LimitShares]:
        """Return those that can be reached, as far as is known."""
        ...

    def note_away(self, name: str) -> None:
        """Note that one cannot be reached."""
        ...

    async def refresh(self) -> None:
        """Learn of those that were added or removed."""
        ...

    def shares_came(self, name: str) -> None:
        """Let workers of one that wait in this process look again: it may run more under limits."""
        ...

    async def limits_gone(self, name: str) -> None:
        """Let the queue of one be filled anew: it may lack hints at tasks that are under a limit no more."""
        ...


class ShareMover:
    """Moves shares between databases."""

    def __init__(self, shards: ShareShards, *, clock: Clock | None = None) -> None:
        self._shards = shards
        self._clock = clock or SystemClock()
        self._away: dict[str, float] = {}
        self.is_asking = False
        """Whether the last pass asked a database to use less: when it does, the next should follow soon."""

    async def pass_once(self, *, thorough: bool = False) -> int:
        """Move what tasks wait for, as far as it is free; return how many transfers were written.

        A `thorough` pass also returns shares to the directory that nothing uses.
        """
        if len(self._shards.names()) == 1:
            return 0
        try:
            await self.spread()
        except Unavailable as error:  # shares of the others move all the same
            log.debug("limit_shares.away", shard=DIRECTORY, error=error.message)
        await self.carry_on()
        given = await self._balance(thorough=thorough)
        if thorough:
            given += await self._return_idle()
        if given:
            await self.carry_on()
        return given

    async def spread(self) -> list[str]:
        """Let every database have the directory's limits; return which have not, because they are away."""
        shards = self._reachable()
        directory = shards.pop(DIRECTORY, None)
        found = {} if directory is None else await self._all({DIRECTORY: directory.version()})
        if directory is None or DIRECTORY not in found:
            raise Unavailable("the directory cannot be reached")
        newest = found[DIRECTORY]
        known = await self._all({name: shard.installed() for name, shard in shards.items()})
        late = [name for name, version in known.items() if version < newest]
        if late:
            definitions = await _soon(directory.definitions())
            done = await self._all({name: shards[name].install(definitions) for name in late})
            known |= dict.fromkeys(done, definitions.version)
            for name in [name for name, have_gone in done.items() if have_gone]:
                await self._shards.limits_gone(name)
        return sorted(name for name in self._shards.names() if name != DIRECTORY and known.get(name, -1) < newest)

    async def changed(self) -> list[str]:
        """Let every database have limits that were set or deleted just now; return which have to be told later."""
        await self._shards.refresh()
        if len(self._shards.names()) == 1:
            return []
        self._away.clear()
        return await self.spread()

    async def holders(self, limits: Sequence[FlowLimit]) -> dict[int, tuple[LimitHolder, ...]]:
        """Return for each limit what each database has of it; nothing where there is one, and for limits with keys."""
        names = self._shards.names()
        plain = [limit for limit in limits if limit.keyed_by is None]
        if len(names) == 1 or not plain:
            return {}
        about = [(limit.id, None) for limit in plain]
        found = await self._all({name: shard.holdings(about) for name, shard in self._reachable().items()})
        held = {(name, each.limit): each for name, holdings in found.items() for each in holdings}
        return {limit.id: tuple(_holder(name, held.get((name, limit.id))) for name in names) for limit in plain}

    async def carry_on(self) -> int:
        """Apply the transfers that are under way, and return how many were."""
        shards = self._reachable()
        found = await self._all({name: shard.transfers(most=MOST_TRANSFERS) for name, shard in shards.items()})
        ways = [way for giver, transfers in found.items() for way in _by_taker(giver, transfers) if way[1] in shards]
        applied = await asyncio.gather(*[self._apply(shards, *way) for way in ways])
        return sum(applied)

    async def release(self, name: str) -> None:
        """Give all shares of a database back that leaves the installation: nothing runs or waits there any more.

        Raises `Conflict` if something does under a limit. Every other database has to be reachable. It may be repeated,
        until the database is no part of the installation: afterwards nothing is given to it.
        """
        shards = self._everyone()
        leaving = shards[name]
        if any(each.used.running or each.waiting for each in await leaving.given(most=MOST_KEYS, idle=False)):
            raise Conflict(f"tasks run or wait under limits in {name}", field="name")
        applied = await leaving.close()
        for other, shard in shards.items():
            if other != name:
                await shard.disown(name, applied=applied.get(other, 0))
        await self._give_back(name, leaving)
        while transfers := await leaving.transfers(most=MOST_TRANSFERS):
            for giver, taker, each in _by_taker(name, transfers):
                await leaving.finish(taker, await _named(shards, taker).take(giver, each))
        await leaving.wipe()

    async def _give_back(self, name: str, leaving: LimitShares) -> None:
        while held := await leaving.given(most=MOST_KEYS, idle=False):
            if not await leaving.give([_gift(each, each.share) for each in held]):
                raise Conflict(f"a rate was used in {name} within its period: try again later", field="name")

    async def admit(self, name: str, joining: LimitShares) -> None:
        """Let a database that joins take part, before it is one of them. Every other has to be reachable."""
        others = {other: shard for other, shard in self._everyone().items() if other != name}
        last = {other: await shard.admit(name) for other, shard in others.items()}
        await joining.number_after(last)
        await joining.install(await others[DIRECTORY].definitions())

    async def _balance(self, *, thorough: bool) -> int:
        shards = self._reachable()
        lacking = await self._all(
            {name: shard.short(most=MOST_KEYS, thorough=thorough) for name, shard in shards.items()}
        )
        about = sorted({key for keys in lacking.values() for key in keys}, key=_order)
        self.is_asking = False
        if not about:
            return 0
        held = await self._all({name: shards[name].holdings(about) for name in lacking})
        planned = plan(held, turn=self._clock.now() // TURN_MS)
        given = await self._all({name: shards[name].give(gifts) for name, gifts in planned.gifts.items() if gifts})
        asked = await self._all({name: shards[name].ask(each) for name, each in planned.ceilings.items() if each})
        self.is_asking = bool(asked)
        return sum(given.values())

    async def _return_idle(self) -> int:
        shards = self._reachable()
        shards.pop(DIRECTORY, None)
        idle = await self._all({name: each.given(most=MOST_KEYS, idle=True) for name, each in shards.items()})
        gifts = {name: [_gift(each, each.share) for each in held] for name, held in idle.items() if held}
        given = await self._all({name: shards[name].give(each) for name, each in gifts.items()})
        return sum(given.values())

    async def _apply(self, shards: Mapping[str, LimitShares], giver: str, taker: str, transfers: list[Transfer]) -> int:
        applied = await self._all({taker: shards[taker].take(giver, transfers)})
        numbers = applied.get(taker)
        if numbers:
            self._shards.shares_came(taker)
            await self._all({giver: shards[giver].finish(taker, numbers)})
        return len(numbers or ())

    def _reachable(self) -> dict[str, LimitShares]:
        now = self._clock.monotonic()
        return {name: shard for name, shard in self._shards.reachable().items() if self._away.get(name, 0.0) <= now}

    def _everyone(self) -> Mapping[str, LimitShares]:
        """Return all databases, or raise `Unavailable`."""
        shards = self._shards.reachable()
        away = [name for name in self._shards.names() if name not in shards]
        if away:
            raise Unavailable(f"shard {', '.join(away)} cannot be reached; repeat the request when it is back")
        return shards

    async def _all(self, answers: Mapping[str, Awaitable[T]]) -> dict[str, T]:
        """Return the answers of databases, without those that are away: they are not asked again for some seconds."""
        names = list(answers)
        results = await asyncio.gather(*[_soon(answers[name]) for name in names], return_exceptions=True)
        found: dict[str, T] = {}
        for name, result in zip(names, results, strict=True):
            if isinstance(result, Unavailable):
                self._away[name] = self._clock.monotonic() + AWAY_SECONDS
                self._shards.note_away(name)
                log.debug("limit_shares.away", shard=name, error=result.message)
            elif isinstance(result, BaseException):
                raise result
            else:
                found[name] = result
        return found


def _holder(shard: str, holding: Holding | None) -> LimitHolder:
    if holding is None:
        return LimitHolder(shard=shard)
    return LimitHolder(
        shard=shard,
        running=holding.used.running,
        max_concurrent=max(holding.share.running, 0) if holding.counts_running else None,
        rate=max(holding.share.starts, 0) if holding.counts_starts else None,
    )


def _named(shards: Mapping[str, LimitShares], name: str) -> LimitShares:
    if name not in shards:
        raise Unavailable(f"shard {name} cannot be reached")
    return shards[name]


def _by_taker(giver: str, transfers: Iterable[Transfer]) -> list[tuple[str, str, list[Transfer]]]:
    ways: dict[str, list[Transfer]] = {}
    for transfer in transfers:
        ways.setdefault(transfer.taker, []).append(transfer)
    return [(giver, taker, each) for taker, each in ways.items()]


def _gift(holding: Holding, amount: Amount) -> Gift:
    return Gift(taker=DIRECTORY, limit=holding.limit, key=holding.key, amount=amount)


def _order(about: ShareKey) -> tuple[int, str]:
    return about[0], about[1] or ""


async def _soon(answer: Awaitable[T]) -> T:
    """Return an answer, or raise `Unavailable` if it takes too long."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await answer
    except TimeoutError as error:
        raise Unavailable("a database does not answer") from error
