"""The map of shards: which database has which slots, and had them before."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from drumline.core.ids import made_at
from drumline.core.slots import SLOTS, OpenSlots, slot_of

DIRECTORY: Final = "main"
"""The shard that also keeps what is not a task: keys, tenants, secrets, the list of shards and the map."""


class SlotEntry(Struct, frozen=True):
    """A stretch of time in which a shard takes the new work of a slot: from `since` up to that of the next entry."""

    shard: str
    since: int = 0
    """In milliseconds, compared with the time in ids."""
    version: int = 0
    """Its place in the history of the slot."""


_FIRST: Final = (SlotEntry(DIRECTORY),)
"""The history of a slot that has never moved."""


class ShardMap(Struct, frozen=True):
    """The history of every slot. What was made in a slot at a time is held by the shard of that time."""

    number: int = 0
    """Rises with every change."""
    histories: Mapping[int, tuple[SlotEntry, ...]] = MappingProxyType({})
    """Of the slots that have moved."""

    def history(self, slot: int) -> tuple[SlotEntry, ...]:
        """Return all entries of a slot, the present one last."""
        return self.histories.get(slot, _FIRST)

    def entry(self, slot: int) -> SlotEntry:
        """Return the present entry of a slot: who takes new work."""
        return self.history(slot)[-1]

    def entries(self) -> list[SlotEntry]:
        """Return the present entries of all slots, by their numbers."""
        entries = [*_FIRST] * SLOTS
        for slot, history in self.histories.items():
            entries[slot] = history[-1]
        return entries

    def holder(self, id: str) -> str:
        """Return the shard that holds what has this id, if anybody does."""
        history = self.histories.get(slot_of(id))
        if history is None:
            return DIRECTORY
        at = made_at(id)
        return next((entry.shard for entry in reversed(history) if entry.since <= at), history[0].shard)

    def former(self, slot: int) -> tuple[str, ...]:
        """Return who had a slot before, newest first, each once, without who has it now."""
        history = self.history(slot)
        names = dict.fromkeys(entry.shard for entry in reversed(history))
        del names[history[-1].shard]
        return tuple(names)

    def open_slots(self, shard: str) -> OpenSlots:
        """Return the slots in which a shard takes new work."""
        if not self.histories and shard == DIRECTORY:
            return OpenSlots()
        entries = {slot: entry for slot, entry in enumerate(self.entries()) if entry.shard == shard}
        return OpenSlots(
            tuple(entries),
            {slot: entry.version for slot, entry in entries.items() if entry.version},
            {slot: entry.since for slot, entry in entries.items() if entry.since},
        )

    def counts(self) -> dict[str, int]:
        """Return how many slots each shard has, of those that have any."""
        counts = Counter(history[-1].shard for history in self.histories.values())
        counts[DIRECTORY] += SLOTS - len(self.histories)
        return {name: count for name, count in counts.items() if count}
