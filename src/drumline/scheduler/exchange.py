"""Steps between shards: something is read in one database, passed on to another, and settled in the first.

Each step is a transaction in one database, and whatever a process that died has left is found by the next pass of any
other.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar

import structlog

from drumline.core.errors import NotFound, Unavailable
from drumline.engine.engine import Engine
from drumline.ports.store import Store

LONE_SECONDS: Final = 10.0
"""Seconds between two passes where there is one shard."""
PAGE: Final = 100
"""What is read and passed on at once."""

T = TypeVar("T")

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class WaitShard(Protocol):
    """What of a shard takes part: its store, and the engine that offers the tasks of jobs which begin."""

    @property
    def name(self) -> str:
        """The name of the shard."""
        ...

    @property
    def store(self) -> Store:
        """Its database."""
        ...

    @property
    def engine(self) -> Engine:
        """The engine on its database."""
        ...


class WaitShards(Protocol):
    """The shards of an installation."""

    def __iter__(self) -> Iterator[WaitShard]:
        """Return all of them that are open here."""
        ...

    def of(self, id: str, /) -> WaitShard:
        """Return the shard of a job by the map as it is known here, or raise `Unavailable`."""
        ...

    async def refresh(self) -> None:
        """Read the map again, if it has changed."""
        ...

    def is_away(self, name: str, /) -> bool:
        """Tell whether a shard could not be reached lately."""
        ...

    def note_away(self, name: str, /) -> None:
        """Note that a shard could not be reached just now."""
        ...


Forwarded = Callable[[Sequence[str]], Awaitable[Mapping[str, WaitShard]]]
"""Returns the shards of jobs that were moved from where the map says, by id."""


async def _nothing_moved(ids: Sequence[str]) -> Mapping[str, WaitShard]:  # noqa: ARG001
    return {}


class Exchange:
    """Passes things on between shards."""

    name: str

    def __init__(self, shards: WaitShards, *, forwarded: Forwarded = _nothing_moved, every: float = 0.5) -> None:
        self.every = self._pace = every
        self._shards = shards
        self._forwarded = forwarded
        self._postponed = f"{self.name}.postponed"

    async def _for_each(self, work: Callable[[WaitShard], Awaitable[int]]) -> int:
        """Do something for every shard at once; one that is unavailable is left for the next pass."""

        async def safely(shard: WaitShard) -> int:
            try:
                return await work(shard)
            except Unavailable as error:
                self._postpone(shard.name, error)
                return 0

        shards = [shard for shard in self._shards if not self._shards.is_away(shard.name)]
        return sum(await asyncio.gather(*(safely(shard) for shard in shards)))

    async def _still_of(self, shard: WaitShard, missing: Sequence[T], target: Callable[[T], str]) -> list[T]:
        """Return those whose job would certainly be in a shard: by a map that is newer than what was read from stores.

        A job is submitted by an entry that the map has, and only then others can refer to it.
        """
        if not missing:
            return []
        await self._shards.refresh()
        moved = await self._forwarded([target(item) for item in missing])
        return [
            item for item in missing if (moved.get(target(item)) or self._shards.of(target(item))).name == shard.name
        ]

    async def _pass_on(
        self,
        items: Sequence[T],
        target: Callable[[T], str],
        send: Callable[[WaitShard, Sequence[T]], Awaitable[int]],
    ) -> int:
        """Send each item to the shard of its job, and return how many were taken.

        What is not sent, because that shard is away, is found again by a later pass.
        """
        shards: dict[str, WaitShard] = {}
        by_shard: defaultdict[str, list[T]] = defaultdict(list)
        for item in items:
            try:
                shard = self._shards.of(target(item))
            except (Unavailable, NotFound) as error:  # a shard that was removed is named by an old map only
                log.info(self._postponed, of=target(item), error=error.message)
                continue
            shards[shard.name] = shard
            by_shard[shard.name].append(item)

        async def follow(name: str) -> int:
            try:
                return await self._follow(shards[name], by_shard[name], target, send)
            except Unavailable as error:
                self._postpone(name, error)
                return 0

        return sum(await asyncio.gather(*(follow(name) for name in by_shard if not self._shards.is_away(name))))

    async def _follow(
        self,
        shard: WaitShard,
        items: Sequence[T],
        target: Callable[[T], str],
        send: Callable[[WaitShard, Sequence[T]], Awaitable[int]],
    ) -> int:
        """Send items to their shard, and those of jobs that were moved from it to where these are."""
        moved = await self._forwarded([target(item) for item in items])
        taken = 0
        stay = [item for item in items if target(item) not in moved]
        if stay:
            taken += await send(shard, stay)
        for other in {each.name: each for each in moved.values()}.values():
            gone = [item for item in items if target(item) in moved and moved[target(item)].name == other.name]
            try:
                taken += await send(other, gone)
            except Unavailable as error:
                self._postpone(other.name, error)
        return taken

    def _postpone(self, name: str, error: Unavailable) -> None:
        log.info(self._postponed, shard=name, error=error.message)
        self._shards.note_away(name)
