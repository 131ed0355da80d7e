"""The shards that a process works with, and the map, kept up to date while it runs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import structlog
from msgspec import Struct

from drumline.core.clock import Clock
from drumline.core.errors import DrumlineError, Moved, NotFound, Unavailable
from drumline.core.shard_map import DIRECTORY, ShardMap
from drumline.core.slots import SLOTS
from drumline.engine.engine import Engine
from drumline.ports.queue import SweptQueue
from drumline.ports.shards import ShardDirectory, ShardRow, ShardState
from drumline.ports.store import Store

LOOK_EVERY: Final = 1.0
"""Seconds between two looks whether the directory has changed."""
LOOK_FOR_MOVE: Final = 0.01
"""Seconds between two looks of somebody who waits for a move to end."""
WAITS_FOR_MOVE: Final = (0.0, 0.04, 0.08, 0.16, 0.32, 0.64)
"""Seconds to wait for a change of the map, each time that a slot is found closed, before it is tried again anyway."""
AWAY: Final = 1.0
"""Seconds for which a shard that could not be reached is passed over by those who have a choice."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Shard(Struct, frozen=True, eq=False):
    """A shard that this process has opened."""

    name: str
    engine: Engine
    """Everything that can be done with the tasks of this shard."""
    store: Store
    """Its own database. The engine's store has the directory's keys, tenants and secrets instead of its own."""
    swept: SweptQueue | None = None
    """Its queue, if that is one which may lose hints and has to be swept."""
    listen_stored: Callable[[Callable[[str], None]], Awaitable[bool]] | None = None
    """Calls a function for each notification of tasks that callers have stored in transactions, if hints are kept."""


OpenShard = Callable[[ShardRow], Awaitable[Shard]]
"""Opens a shard of the directory's list, or raises `Unavailable`."""
Changed = Callable[[], None]
"""Called after shards were added or removed, or the map has changed."""


class ShardSet:
    """The shards by name, the directory first; and who holds what."""

    def __init__(self, directory: Shard, *, open_shard: OpenShard | None = None, clock: Clock) -> None:
        self._directory = directory
        self._open_shard = open_shard
        self._clock = clock
        self._shards = {DIRECTORY: directory}
        self._rows: dict[str, ShardRow] = {}
        self._away: dict[str, float] = {}
        self._number = -1
        self._looking = asyncio.Lock()
        self._looks = 0
        self._callbacks: list[Changed] = []
        self._failures: dict[str, str] = {}
        """Why shards could not be opened, as it was logged."""
        self.map = ShardMap()
        self._metrics = directory.engine.metrics
        self._metrics.shard_open.set(1)
        self._metrics.shard_slots.set(SLOTS)

    @property
    def directory(self) -> Shard:
        """The shard that keeps what is not a task."""
        return self._directory

    @property
    def is_lone(self) -> bool:
        """Whether the directory is the only shard."""
        return len(self._shards) == 1 and not self._rows

    @property
    def names(self) -> tuple[str, ...]:
        """Every shard of the installation, opened here or not."""
        return (DIRECTORY, *self._rows)

    @property
    def missing(self) -> tuple[str, ...]:
        """The shards that this process could not open yet."""
        return tuple(name for name in self._rows if name not in self._shards)

    def __iter__(self) -> Iterator[Shard]:
        """Return the shards that are open here, the directory first."""
        return iter(tuple(self._shards.values()))

    def __len__(self) -> int:
        """Return how many are open here."""
        return len(self._shards)

    def named(self, name: str) -> Shard:
        """Return a shard; `Unavailable` if this process has not opened it yet, `NotFound` if there is none."""
        shard = self._shards.get(name)
        if shard is None:
            if name in self._rows:
                raise Unavailable(f"shard {name} cannot be reached")
            raise NotFound(f"there is no shard {name}", field="shard")
        return shard

    def of(self, id: str) -> Shard:
        """Return the shard that holds what has this id, by the map as it is known here; `Unavailable` as in `named`."""
        if not self.map.histories:
            return self._directory
        return self.named(self.map.holder(id))

    def is_draining(self, name: str) -> bool:
        """Tell whether a shard is being emptied."""
        row = self._rows.get(name)
        return row is not None and row.state is ShardState.DRAINING

    def note_away(self, name: str) -> None:
        """Note that a shard could not be reached just now."""
        self._away[name] = self._clock.monotonic() + AWAY

    @contextmanager
    def reaching(self, name: str) -> Iterator[None]:
        """Note that a shard is away if what is asked of it cannot be had; one that has given a slot away is not."""
        try:
            yield
        except Moved:
            raise
        except Unavailable:
            self.note_away(name)
            raise

    def is_away(self, name: str) -> bool:
        """Tell whether a shard could not be reached lately. One that is tried again and answers is not away."""
        return name not in self._shards or self._away.get(name, 0.0) > self._clock.monotonic()

    def on_change(self, callback: Changed) -> None:
        """Call this after every change of the shards or the map."""
        self._callbacks.append(callback)

    async def refresh(self, *, since: int | None = None) -> None:
        """Look whether the directory has changed, and take over what has.

        With `since`, a number that `looks` gave, nothing is done if somebody has looked after that: many that meet the
        same change look once.
        """
        async with self._looking:
            if since is not None and self._looks > since:
                return
            directory = self._directory.store.shards
            number = await directory.map_number()
            self._looks += 1
            if number != self._number:
                await self._take_over(directory)
                self._number = number
            elif self.missing:
                await self._open_missing()

    async def await_move(self, looks: int, *, at_most: float) -> None:
        """Wait until the map has changed since that look, but no longer than some seconds.

        Without the directory, what is known stays.
        """
        loop, number = asyncio.get_running_loop(), self._number
        deadline = loop.time() + at_most
        while True:
            with suppress(Unavailable):
                await self.refresh(since=looks)
            if self._number != number or loop.time() >= deadline:
                return
            await asyncio.sleep(LOOK_FOR_MOVE)
            looks = self._looks

    @property
    def looks(self) -> int:
        """How often this process has looked at the directory."""
        return self._looks

    async def follow(self) -> None:
        """Look again and again, until cancelled. Without the directory it goes on with what is known."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.refresh()
            except DrumlineError as error:
                log.warning("shards.not_refreshed", error=error.message)

    async def close(self) -> None:
        """Close every shard."""
        for shard in reversed(tuple(self._shards.values())):
            await shard.engine.close()

    async def _take_over(self, directory: ShardDirectory) -> None:
        before = self._rows.keys()
        self._rows = {row.name: row for row in await directory.shards()}
        self.map = await directory.shard_map()
        await self._open_missing(tell=False)
        gone = [shard for name, shard in self._shards.items() if name != DIRECTORY and name not in self._rows]
        for shard in gone:
            del self._shards[shard.name]
        self._tell()
        for shard in gone:
            log.info("shard.removed", shard=shard.name)
            await shard.engine.close()
        for name in before - self._rows.keys():
            self._metrics.forget_shard(name)

    async def _open_missing(self, *, tell: bool = True) -> None:
        """Open the shards that are not open yet; those that cannot be reached are tried again at the next look."""
        opened = False
        for name in self.missing:
            if self._open_shard is None:
                return
            try:
                shard = await self._open_shard(self._rows[name])
            except DrumlineError as error:
                self._not_opened(name, error.message)
                continue
            self._shards[name] = shard
            self._failures.pop(name, None)
            self._metrics.of_shard(name).shard_open.set(1)
            opened = True
            log.info("shard.opened", shard=name)
        if opened and tell:
            self._tell()

    def _not_opened(self, name: str, why: str) -> None:
        self._metrics.of_shard(name).shard_open.set(0)
        if self._failures.get(name) != why:
            self._failures[name] = why
            log.warning("shard.not_opened", shard=name, error=why)

    def _tell(self) -> None:
        slots = self.map.counts()
        for name in self.names:
            self._metrics.of_shard(name).shard_slots.set(slots.get(name, 0))
        for shard in self:
            shard.engine.use_slots(self.map.open_slots(shard.name))
        for callback in self._callbacks:
            callback()


def lone(engine: Engine) -> ShardSet:
    """Return the set of an engine that is the only one."""
    return ShardSet(Shard(DIRECTORY, engine, engine.store), clock=engine.clock)
