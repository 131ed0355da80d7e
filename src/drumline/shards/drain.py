"""Emptying a shard: what it holds moves to the present owners of its slots. See `docs/adr/0045-draining-a-shard.md`.

Each step is one transaction of one database. Any process may stop between two of them, and any other carries on from
what the databases say: the inactive copies that it finds, then what is left at the giver.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import structlog
from msgspec import Struct

from drumline.core.errors import Conflict, NotFound, Unavailable
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import slot_of
from drumline.ports.drain import Copy, Forward, TakeOut
from drumline.shards.shard_set import Shard, ShardSet

PAGE: Final = 500
"""Forwarding rows that are handed over at once."""

COUNT_EVERY: Final = 5.0
"""Seconds between two counts of what a shard holds, while it is emptied."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class DrainProgress(Struct, frozen=True, kw_only=True):
    """What one pass over a shard has done, and what is left there."""

    moved: int
    """Units that are active elsewhere since this pass."""
    left: int
    """Tasks outside jobs, jobs and schedules that the shard still holds, running ones included; of a million tasks and
    of a million jobs no more are counted."""
    running: int
    """Tasks that run there: they move when they have ended."""


class Drain:
    """Moves units between shards."""

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards
        self._last: dict[str, tuple[float, DrainProgress]] = {}
        """Of each shard: when what it holds was counted, and what was said last."""

    async def advance(self, giver: Shard, *, limit: int) -> DrainProgress:
        """Carry on moves that were begun anywhere, then move up to `limit` units of a shard to where their slots are.

        Any number of processes may call it at once. What belongs to a slot that the shard itself owns stays. A taker
        that cannot be reached gets nothing for now; `Unavailable` if the giver cannot be reached.
        """
        await self._shards.refresh()
        moved = await self.carry_on(limit=limit)
        moved += await self._move(giver, await giver.store.drainage.movable(limit=limit))
        return await self._progress(giver, moved, is_full=moved >= limit)

    async def _progress(self, giver: Shard, moved: int, *, is_full: bool) -> DrainProgress:
        """Return how far it is; while there is much to move, what is left is counted now and then only."""
        now = asyncio.get_running_loop().time()
        counted_at, last = self._last.get(giver.name, (0.0, None))
        if last is None or not is_full or now > counted_at + COUNT_EVERY:
            held = await giver.store.drainage.held()
            counted_at, last = now, DrainProgress(moved=moved, left=held.units, running=held.running)
        else:
            last = DrainProgress(moved=moved, left=max(last.left - moved, 0), running=last.running)
        self._last[giver.name] = counted_at, last
        return last

    async def follow_slots(self, giver: Shard, *, limit: int) -> int:
        """Move schedules whose slots another shard owns: a schedule does not fire where its slot is closed."""
        return await self._move(giver, await giver.store.drainage.movable(limit=limit, schedules_only=True))

    async def remaining(self, giver: Shard) -> int:
        """Return how many tasks outside jobs, jobs and schedules a shard still holds; see `DrainProgress.left`."""
        return (await giver.store.drainage.held()).units

    async def carry_on(self, *, limit: int) -> int:
        """Work on the inactive copies of every shard that is open here; return how many units became active."""
        moved = 0
        for taker in self._shards:
            try:
                copies = await taker.store.drainage.copies(limit=limit)
                moved += await self._finish_all(taker, copies)
            except Unavailable:
                self._shards.note_away(taker.name)
        return moved

    async def hand_over(self, giver: Shard) -> dict[int, str]:
        """Prepare the removal of an empty shard: let its forwarding rows go to the present owners of their slots.

        Returns these owners by slot: the map is to name them instead of the shard, also if a slot has moved on since.
        Raises `Conflict` if it is not empty, or a copy of something that it held is not active yet. After it, the
        forwarding rows of other shards lead past this one. It may be repeated. It asks every shard: `Unavailable` if
        one is away.
        """
        await self._shards.refresh()
        await giver.store.drainage.take_copies(takes=False)
        try:
            await self._check_empty(giver)
        except Conflict:
            await giver.store.drainage.take_copies(takes=True)
            raise
        shard_map = self._shards.map
        owners = {slot: shard_map.entry(slot).shard for slot in shard_map.histories}
        last = None
        while rows := await giver.store.drainage.all_forwards(limit=PAGE, after=last):
            last = rows[-1].id
            by_owner: defaultdict[str, list[Forward]] = defaultdict(list)
            for row in rows:
                owner = owners.get(slot_of(row.id), DIRECTORY)
                if owner not in {giver.name, row.shard}:
                    by_owner[owner].append(row)
            for owner, given in by_owner.items():
                await self._shards.named(owner).store.drainage.add_forwards(given)
        for shard in self._others(giver):
            await self._lead_past(shard, giver)
        return {slot: owner for slot, owner in owners.items() if owner != giver.name}

    async def _check_empty(self, giver: Shard) -> None:
        held = await giver.store.drainage.held()
        for count, what in (
            (held.units, "tasks, jobs and schedules"),
            (held.copies, "copies of tasks, jobs and schedules on their way to it"),
            (held.ripples, "ends of jobs that others have to be told of"),
            (held.unread, "rows of the event log that a consumer has not read"),
        ):
            if count:
                raise Conflict(f"shard {giver.name} still holds {count:,} {what}", field="name")
        # Empty means that nothing more is taken out, so the copies from it only become fewer.
        for shard in self._others(giver):
            if count := await shard.store.drainage.count_copies(giver.name):
                raise Conflict(f"{count:,} units of shard {giver.name} are not active elsewhere yet", field="name")

    def _others(self, giver: Shard) -> list[Shard]:
        return [self._shards.named(name) for name in self._shards.names if name != giver.name]

    async def _lead_past(self, shard: Shard, giver: Shard) -> None:
        """Let forwarding rows of a shard that lead to the giver lead to where its own do."""
        last = None
        while rows := await shard.store.drainage.all_forwards(limit=PAGE, after=last, shard=giver.name):
            last = rows[-1].id
            further = {row.id: row for row in await giver.store.drainage.forwards([row.id for row in rows])}
            await shard.store.drainage.add_forwards([further[row.id] for row in rows if row.id in further])

    async def _move(self, giver: Shard, ids: Sequence[str]) -> int:
        """Copy units to the owners of their slots, take them out, and activate the copies."""
        by_owner: defaultdict[str, list[str]] = defaultdict(list)
        for id_ in ids:
            by_owner[self._owner(id_)].append(id_)
        by_owner.pop(giver.name, None)
        moved = 0
        for owner, own in by_owner.items():
            units = await giver.store.drainage.read(own)
            try:
                taker = self._shards.named(owner)
                kept = set(await taker.store.drainage.put_copies(giver.name, units))
            except Unavailable:
                self._shards.note_away(owner)
                log.info("drain.postponed", giver=giver.name, taker=owner)
                continue
            copies = [Copy(unit.id, giver.name, unit.version, unit.digest) for unit in units if unit.id in kept]
            moved += await self._finish(giver, taker, copies)
        return moved

    async def _finish_all(self, taker: Shard, copies: Sequence[Copy]) -> int:
        by_giver: defaultdict[str, list[Copy]] = defaultdict(list)
        for copy in copies:
            by_giver[copy.giver].append(copy)
        moved = 0
        for name, given in by_giver.items():
            try:
                giver = self._shards.named(name)
            except NotFound:
                # A shard is removed when all it held is active elsewhere: this copy came too late.
                await taker.store.drainage.discard(given)
                continue
            except Unavailable:
                continue
            moved += await self._finish(giver, taker, given)
        return moved

    async def _finish(self, giver: Shard, taker: Shard, copies: Sequence[Copy]) -> int:
        """Take units out that were copied, and activate their copies, or discard those that are out of date."""
        if not copies:
            return 0
        answers = await giver.store.drainage.take_out(taker.name, copies)
        done = [(copy.id, copy.version) for copy in copies if answers[copy.id] is TakeOut.DONE]
        active = await taker.store.drainage.activate(done)
        await taker.store.drainage.discard([copy for copy in copies if answers[copy.id] is TakeOut.REFUSED])
        taker.engine.effects.offers.offer(active.hints)
        if active.units:
            log.info("drain.moved", giver=giver.name, taker=taker.name, units=len(active.units))
        return len(active.units)

    def _owner(self, id_: str) -> str:
        return self._shards.map.entry(slot_of(id_)).shard
