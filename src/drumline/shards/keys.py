"""The tasks of idempotency keys, when a drain has moved them.

A drain leaves the key of a task at the giver, so that a submission which asks there learns of the task while it moves.
Retention deletes the task, with its key, in the database that has it then; the keys which the task has left behind do
not hear of that. So a key whose task is not in the same database is followed to the task, and is forgotten if that was
deleted. `docs/adr/0045-draining-a-shard.md` has the interleavings.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from drumline.core.errors import Moved, NotFound, Unavailable
from drumline.core.ids import TaskId
from drumline.ports.drain import Trace
from drumline.ports.shards import KnownKey
from drumline.shards.shard_set import ShardSet

MOST_HOPS: Final = 16
"""Databases that a task or job is followed through; one that moves on all the time is asked for again."""

Versions = Mapping[TaskId, int | None]
"""Tasks that are looked for in a shard, with the version of the forwarding row that leads there, if one does."""


class KeyOwners:
    """Finds the tasks that idempotency keys belong to, and forgets keys whose task was deleted elsewhere."""

    def __init__(self, shards: ShardSet) -> None:
        self._shards = shards

    async def known(self, name: str, keys: Sequence[tuple[str, str]]) -> list[KnownKey | Unavailable | None]:
        """Return the tasks that keys, as tenant and key, belong to by a shard's rows; None if one is free there.

        `Unavailable` for those of which a shard cannot be reached that may have the task; it is raised if the shard
        itself cannot be, and `NotFound` if there is none of this name.
        """
        with self._shards.reaching(name):
            slots = self._shards.named(name).store.slots
            found = await slots.find_keys(keys)
        moved = {known.task for known in found if known is not None and not known.is_here}
        search = _Search(self._shards, moved)
        await search.run(name)
        stale = [(key, each.task) for (_, key), each in zip(keys, found, strict=True) if each and search.is_over(each)]
        if stale:
            with self._shards.reaching(name):
                await slots.forget_keys(stale)
        return [None if known is None else search.answer(known) for known in found]


class _Search:
    """Looks for tasks that are not where their keys are."""

    def __init__(self, shards: ShardSet, tasks: Collection[TaskId]) -> None:
        self._shards = shards
        self._left = set(tasks)
        """Those that were not found."""
        self._failed: dict[TaskId, Unavailable] = {}
        """Those that may be in a shard which cannot be reached."""
        self._missing: set[str] = set()
        """Shards that rows lead to, and that are not in the list as it is known here."""
        self._removed: set[str] = set()
        """Those of them that were not in the list of the directory, either."""

    async def run(self, name: str) -> None:
        """Look for the tasks of a shard's keys in every shard that its rows lead to."""
        while True:
            await self._follow({name: dict.fromkeys(self._left)})
            if not self._missing:
                return
            # Forwarding rows are led past a shard before it is removed. So one that is read after that, and still
            # leads there, is about a task that was deleted there.
            await self._shards.refresh()
            self._removed |= self._missing - set(self._shards.names)
            self._missing.clear()

    def is_over(self, known: KnownKey) -> bool:
        """Tell whether the task of a key was deleted."""
        return known.task in self._left

    def answer(self, known: KnownKey) -> KnownKey | Unavailable | None:
        """Return what is known of a key."""
        return None if self.is_over(known) else self._failed.get(known.task, known)

    async def _follow(self, asked: Mapping[str, Versions]) -> None:
        for _ in range(MOST_HOPS):
            further: defaultdict[str, dict[TaskId, int | None]] = defaultdict(dict)
            for place, versions in asked.items():
                for trace in await self._traces(place, versions):
                    task = TaskId(trace.id)
                    if trace.is_here or _is_on_its_way(trace, versions[task]):
                        self._left.discard(task)
                    elif trace.shard is not None:
                        further[trace.shard][task] = trace.version
                    elif trace.giver is not None:  # not taken out there yet, or by a row that leads back here
                        further[trace.giver][task] = None
            asked = further
        self._fail({task for tasks in asked.values() for task in tasks}, Moved("the task of this key is being moved"))

    async def _traces(self, place: str, versions: Versions) -> list[Trace]:
        if not versions:
            return []
        try:
            with self._shards.reaching(place):
                return await self._shards.named(place).store.drainage.traces(list(versions))
        except NotFound:
            if place not in self._removed:
                self._missing.add(place)
        except Unavailable as error:
            self._fail(versions, error)
        return []

    def _fail(self, tasks: Collection[TaskId], error: Unavailable) -> None:
        self._failed |= dict.fromkeys(tasks, error)
        self._left.difference_update(tasks)


def _is_on_its_way(trace: Trace, version: int | None) -> bool:
    """Tell whether a task is in the inactive copy that the forwarding row means by which it was looked for."""
    return version is not None and trace.copied == version - 1
