"""Slots: the parts into which tasks, jobs and schedules are divided, so that several databases can share them.

An id carries its slot in the 12 bits behind its variant, so that every process finds the database of an id without
asking. What is named, by an idempotency key or as a schedule, has the slot of its name: two submissions of one name
meet in one database.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final
from zlib import crc32

from msgspec import Struct

SLOTS: Final = 4096

STAYS: Final = -1
"""Instead of the version of an entry: of what is stored beside the task that it belongs to, whoever has the slot."""

_NOTHING: Final[Mapping[int, int]] = MappingProxyType({})


class OpenSlots(Struct, frozen=True):
    """The slots in which a database takes new work, and by which entry of the map."""

    slots: Sequence[int] | None = None
    """None means all of them."""
    versions: Mapping[int, int] = _NOTHING
    """The version of the entry of each slot that is not 0."""
    since: Mapping[int, int] = _NOTHING
    """The millisecond from which on ids may be made, of each slot for which that is not 0."""
    better: Callable[[int, int], int] | None = None
    """Returns the one of two slots that has more room, where that is known."""

    def choose(self, random: Random) -> int:
        """Return a slot for new work: the better of two that are picked at random."""
        if not self.slots:  # all of them, or none: then the fence refuses any
            return random.randrange(SLOTS)
        slot = random.choice(self.slots)
        return slot if self.better is None else self.better(slot, random.choice(self.slots))

    def __contains__(self, slot: int) -> bool:
        """Tell whether a slot takes new work here."""
        return self.slots is None or slot in self.slots


ALL_OPEN: Final = OpenSlots()
"""What a lone database has."""


def slot_of(id: str) -> int:
    """Return the slot of a task, a job or a schedule."""
    return int(id[20:23], 16)


def slot_of_key(tenant: str, key: str) -> int:
    """Return the slot of what has a name of its own in a tenant: an idempotency key, or a schedule's name."""
    return crc32(f"{tenant}\0{key}".encode("utf-8", "surrogatepass")) % SLOTS


def slot_of_signal(tenant: str, name: str, key: str) -> int:
    """Return the slot of the signals that have a name and a key to correlate by."""
    return slot_of_key(tenant, f"{name}\0{key}")
