"""Moving new work from one shard to another: no copying, and submissions wait for milliseconds only.

The giver closes its entry, the taker opens one from that time on, then the map names it. Each is a transaction of one
database and may be repeated, so whoever finds a move that was begun carries on with it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from drumline.core.errors import Unavailable
from drumline.core.shard_map import SlotEntry
from drumline.ports.shards import OwnEntry, SlotOwner
from drumline.shards.shard_set import Shard, ShardSet

AT_ONCE: Final = 512
"""Slots that are closed together: what is submitted to them meanwhile waits until all have a new owner."""

PAUSE: Final = 0.05
"""Seconds between two of them, in which every process reads the new map and sends what has waited."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Mover:
    """Moves slots between shards."""

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards

    async def move(self, moves: Mapping[int, str]) -> int:
        """Let others take the new work of slots from now on; return how many slots have moved.

        A slot that somebody else is moving goes where that one said.
        """
        by_way: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        for slot, taker in moves.items():
            entry = self._shards.map.entry(slot)
            if entry.shard != taker:
                by_way[entry.shard, taker].append((slot, entry.version))
        moved = 0
        for (giver, taker), slots in by_way.items():
            # A taker that cannot be reached would leave the slots without an owner.
            await self._shards.named(taker).store.slots.identity()
            for start in range(0, len(slots), AT_ONCE):
                await asyncio.sleep(PAUSE if moved else 0)
                entries = self._shards.named(giver).store.slots
                closed = await entries.close_slots(slots[start : start + AT_ONCE], taker=taker)
                moved += await self.finish(closed)
            log.info("slots.moved", giver=giver, taker=taker, slots=len(slots))
        return moved

    async def align(self) -> int:
        """Bring the map and the databases' own entries in line after one was restored from a backup; count the repairs.

        Without a restore there is nothing to do: a slot is closed before the next entry is opened, and that before the
        map names it. So the map lacks what a database has opened later, a database lacks an entry that the map names,
        or has one open that has a successor, only if one of them was set back.
        """
        shards = list(self._shards)
        found = await asyncio.gather(*(self._entries(shard) for shard in shards))
        entries = {shard.name: own for shard, own in zip(shards, found, strict=True) if own is not None}
        await self._shards.refresh()
        repairs = await self._complete_map(entries)
        for shard in shards:
            if shard.name in entries:
                repairs += await self._complete_entries(shard, entries[shard.name])
        if repairs:
            log.warning("slots.aligned", repairs=repairs)
        return repairs

    async def _complete_map(self, entries: Mapping[str, list[OwnEntry]]) -> int:
        """Write entries into the map that databases have, and it has not."""
        known = self._shards.map
        missing = [
            SlotOwner(slot=entry.slot, version=entry.version, shard=name, since=entry.since)
            for name, own in entries.items()
            for entry in own
            if entry.version >= len(known.history(entry.slot))
        ]
        for version in sorted({owner.version for owner in missing}):  # each has to find its predecessor there
            await self._shards.directory.store.shards.add_owners([each for each in missing if each.version == version])
        if missing:
            await self._shards.refresh()
        return len(missing)

    async def _complete_entries(self, shard: Shard, own: list[OwnEntry]) -> int:
        """Open what the map says that a shard has, and close what it says that others took over."""
        had = {(entry.slot, entry.version): entry for entry in own}
        opened: list[OwnEntry] = []
        closed: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for slot, history in self._shards.map.histories.items():
            for entry, successor in zip(history, [*history[1:], None], strict=True):
                if entry.shard != shard.name:
                    continue
                kept = had.get((slot, entry.version))
                if successor is None and kept is None and entry.version:
                    opened.append(OwnEntry(slot=slot, version=entry.version, since=entry.since))
                elif successor is not None and _is_open(entry, kept):
                    closed[successor.shard].append((slot, entry.version))
        if opened:
            await shard.store.slots.open_slots(opened)
        for taker, slots in closed.items():
            await shard.store.slots.close_slots(slots, taker=taker)
        return len(opened) + sum(map(len, closed.values()))

    async def unfinished(self) -> list[OwnEntry]:
        """Return entries that are closed, and whose next one is not in the map; of shards that are not away."""
        await self._shards.refresh()
        shard_map = self._shards.map
        found = await asyncio.gather(*(self._entries(shard) for shard in self._shards))
        return [
            entry
            for entries in found
            for entry in entries or ()
            if entry.closed_at is not None and len(shard_map.history(entry.slot)) == entry.version + 1
        ]

    async def _entries(self, shard: Shard) -> list[OwnEntry] | None:
        """Return a shard's own entries; None if it is away."""
        try:
            return await shard.store.slots.entries()
        except Unavailable:
            self._shards.note_away(shard.name)
            return None

    async def finish(self, closed: Iterable[OwnEntry]) -> int:
        """Open what was closed at its takers, and then name them in the map; return how many slots that were.

        A taker that is away does not keep the others from their slots; it is raised after those.
        """
        by_taker: defaultdict[str, list[OwnEntry]] = defaultdict(list)
        for entry in closed:
            if entry.taker is not None and entry.closed_at is not None:
                by_taker[entry.taker].append(
                    OwnEntry(slot=entry.slot, version=entry.version + 1, since=entry.closed_at)
                )
        away: Unavailable | None = None
        for taker, entries in by_taker.items():
            try:
                await self._shards.named(taker).store.slots.open_slots(entries)
            except Unavailable as error:
                self._shards.note_away(taker)
                away = error
                continue
            owners = [
                SlotOwner(slot=each.slot, version=each.version, shard=taker, since=each.since) for each in entries
            ]
            await self._shards.directory.store.shards.add_owners(owners)
        if by_taker:
            await self._shards.refresh()
        if away is not None:
            raise away
        return sum(len(entries) for entries in by_taker.values())


def _is_open(entry: SlotEntry, kept: OwnEntry | None) -> bool:
    """Tell whether a database takes new work by an entry; a directory keeps its first ones when it closes them."""
    return kept.closed_at is None if kept is not None else entry.version == 0
