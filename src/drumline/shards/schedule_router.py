"""The way of new schedules to their shards, and of runs that were requested.

A schedule goes to the shard that takes new work of its name's slot; the former owners of that slot are asked first
whether one of them has a schedule of this name, so that a tenant has each name once.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.errors import Conflict, Moved, NotFound
from drumline.core.ids import IdSource, ScheduleId
from drumline.core.schedule import NewSchedule, ScheduleView
from drumline.core.slots import slot_of, slot_of_key
from drumline.ports.drain import schedule_name
from drumline.ports.schedules import Fired, NewRun, ScheduleFilter
from drumline.shards.forwarding import Forwarding
from drumline.shards.shard_set import WAITS_FOR_MOVE, ShardSet

Answer = ScheduleView | Conflict | Moved


class ScheduleRouter:
    """Stores schedules in the shards that take new work of their slots, and asks the shards of schedules for runs."""

    def __init__(self, shards: ShardSet, ids: IdSource) -> None:
        self._shards = shards
        self._ids = ids
        self._forwarding = Forwarding(shards)

    async def add_schedules(self, schedules: Sequence[NewSchedule], /) -> list[Answer]:
        """Store schedules, each in its shard."""
        if self._shards.is_lone:
            answers = await self._shards.directory.store.schedules.add_schedules(schedules)
            if not any(isinstance(answer, Moved) for answer in answers):
                return answers
            return [
                await self._add(new) if isinstance(answer, Moved) else answer
                for new, answer in zip(schedules, answers, strict=True)
            ]
        return [await self._add(new) for new in schedules]

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun]) -> Fired:
        """Make runs that were requested, in the shard of their schedule."""
        try:
            return await self._shards.of(schedule).engine.firings.add_runs(schedule, runs)
        except NotFound:
            moved = (await self._forwarding.forwarded([schedule])).get(schedule)
            if moved is None:
                raise
        return await moved.engine.firings.add_runs(schedule, runs)

    async def check_name(self, name: str, *, tenant: str, schedule: ScheduleId) -> None:
        """Raise `Conflict` if another schedule has a name; its own shard knows only of those that it has itself."""
        if self._shards.is_lone:
            return
        for owner in {entry.shard for entry in self._shards.map.history(slot_of_key(tenant, name))}:
            if await self._named(owner, tenant, name) - {schedule}:
                raise _taken(name)

    async def _add(self, new: NewSchedule) -> Answer:
        answer: Answer = Moved("the slot of the schedule is being moved")
        for seconds in WAITS_FOR_MOVE:
            looks = self._shards.looks
            answer = await self._send(new)
            if not isinstance(answer, Moved):
                break
            await self._shards.await_move(looks, at_most=seconds)
            id_ = ScheduleId(self._ids.next(slot_of(new.id)))
            new = replace(new, id=id_, slot_version=self._ids.version(id_))
        return answer

    async def _send(self, new: NewSchedule) -> Answer:
        history = self._shards.map.history(slot_of(new.id))
        name = history[new.slot_version].shard
        for owner in {entry.shard for entry in history[: new.slot_version + 1]}:
            try:
                if await self._named(owner, new.tenant, new.name) - {new.id}:
                    return _taken(new.name)
            except NotFound:  # the shard has been removed, with every name in it: the map that names it is old
                return Moved("the map has changed")
        with self._shards.reaching(name):
            (answer,) = await self._shards.named(name).store.schedules.add_schedules([new])
        return answer

    async def _named(self, shard: str, tenant: str, name: str) -> set[str]:
        """Return the schedules of a name that a shard has, or that were moved from it and still have the name."""
        with self._shards.reaching(shard):
            store = self._shards.named(shard).store
            views = await store.schedules.list_schedules(ScheduleFilter(tenant=tenant, name=name), limit=2)
            moved = set((await store.drainage.reserved([schedule_name(tenant, name)])).values())
            for id_, other in (await self._forwarding.forwarded(sorted(moved)) if moved else {}).items():
                (view,) = await other.store.schedules.get_schedules([ScheduleId(id_)])
                if view is None or view.name != name:
                    moved.discard(id_)
        return moved | {view.id for view in views}


def _taken(name: str) -> Conflict:
    return Conflict(f"there is a schedule named {name!r} already", field="name")
