"""Which shard holds a leased task: by the map, mostly, for a running task does not move."""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final

from drumline.core.errors import DrumlineError, NotFound, Unavailable
from drumline.core.ids import TaskId, made_at
from drumline.core.lease import Lease
from drumline.core.shard_map import DIRECTORY
from drumline.core.slots import slot_of
from drumline.core.task import ClaimedTask
from drumline.shards.shard_set import Shard, ShardSet

MOST_REMEMBERED: Final = 100_000
_FIRST: Final = (DIRECTORY,)


class LeaseHomes:
    """Finds the shard of each lease.

    A waiting task that was moved out of a shard keeps its id, whose time is that of the shard it came from. So where a
    slot has moved since an id was made, the task may be with any later owner: these are asked, and the answer is kept.
    """

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards
        self._known: OrderedDict[TaskId, str] = OrderedDict()

    def note(self, shard: Shard, tasks: Sequence[ClaimedTask]) -> None:
        """Note where tasks were claimed, unless the map says so by itself."""
        for task in tasks:
            if self.places(task.lease.task) != (shard.name,):
                self._keep(task.lease.task, shard.name)

    def places(self, task: TaskId) -> tuple[str, ...]:
        """Return the shards that may hold a task by the map: the one in which its id was made, then later owners."""
        history = self._shards.map.histories.get(slot_of(task))
        if history is None:
            return _FIRST
        at = made_at(task)
        if history[-1].since <= at:  # nearly all: the slot has not moved since
            return (history[-1].shard,)
        later = (entry.shard for entry in history if entry.since > at)
        return tuple(dict.fromkeys((self._shards.map.holder(task), *later)))

    async def of(self, leases: Sequence[Lease]) -> list[str]:
        """Return the name of the shard that holds each leased task, or of one that may, if that cannot be asked."""
        return [names[-1] for names in await self.possible(leases)]

    async def possible(self, leases: Sequence[Lease]) -> list[tuple[str, ...]]:
        """Return the shard that holds each leased task; several, if these cannot be asked and no other has it."""
        homes: list[str | None] = [self._known_home(lease.task) for lease in leases]
        unsure = [lease for lease, home in zip(leases, homes, strict=True) if home is None]
        found = await self._ask(unsure) if unsure else {}
        return [
            found.get(lease, self.places(lease.task)[-1:]) if home is None else (home,)
            for lease, home in zip(leases, homes, strict=True)
        ]

    async def elsewhere(self, homes: Mapping[Lease, tuple[str, ...]]) -> set[Lease]:
        """Return leases that may be current in others than these shards, which do not have them; the map may be old."""
        await self.refresh()
        unsure = [lease for lease, names in homes.items() if set(self.places(lease.task)) - set(names)]
        found = await self._ask(unsure) if unsure else {}
        return {lease for lease, names in found.items() if set(names) - set(homes[lease])}

    def another(self, lease: Lease, asked: Collection[str]) -> str | None:
        """Return a shard that may hold a task by the map and was not asked yet."""
        return next((name for name in self.places(lease.task) if name not in asked), None)

    async def refresh(self) -> None:
        """Look whether the map has changed."""
        with suppress(DrumlineError):  # without the directory, what is known is asked
            await self._shards.refresh(since=self._shards.looks)

    def _known_home(self, task: TaskId) -> str | None:
        known = self._known.get(task)
        if known is not None:
            return known
        places = self.places(task)
        return places[0] if len(places) == 1 else None

    async def _ask(self, leases: Sequence[Lease]) -> dict[Lease, tuple[str, ...]]:
        """Ask the shards that may hold tasks; those that cannot be reached are taken to, if no other does."""
        found: dict[Lease, tuple[str, ...]] = {}
        absent: dict[Lease, tuple[str, ...]] = {}
        for name in dict.fromkeys(name for lease in leases for name in self.places(lease.task)):
            wanted = [lease for lease in leases if lease not in found and name in self.places(lease.task)]
            try:
                states = await self._shards.named(name).store.lease_states(wanted)
            except (Unavailable, NotFound):
                absent |= {lease: (*absent.get(lease, ()), name) for lease in wanted}
                continue
            held = [lease for lease, state in zip(wanted, states, strict=True) if state is not None]
            found |= dict.fromkeys(held, (name,))
            for lease in held:
                self._keep(lease.task, name)
        return absent | found

    def _keep(self, task: TaskId, name: str) -> None:
        self._known[task] = name
        self._known.move_to_end(task)
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
