"""Records of durable tasks over several stores: each is with its task."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from drumline.core.durable import NewRecord, NewSignal, RecordPage, RestartRequest, StepsView, WaitKind, WaitRequest
from drumline.core.errors import KeyReused, Moved, NotFound
from drumline.core.ids import TaskId
from drumline.core.shard_map import ShardMap
from drumline.core.slots import slot_of_signal
from drumline.core.task import DEFAULT_TENANT
from drumline.ports.durable import (
    DEFAULT_RECORD_LIMITS,
    Recorded,
    RecordLimits,
    Restarted,
    SignalAnswer,
    Signalled,
    Waited,
)
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part
from drumline.shards.shard_set import WAITS_FOR_MOVE


class DurableTasks(Part):
    """`ports.durable.DurableTasks`."""

    async def record(
        self, records: Sequence[NewRecord], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Recorded]:
        """Write records of current leases, each in the shard of its task."""
        return await self._router.split(
            records, lambda store, part: store.durable.record(part, limits=limits), key=lambda new: new.lease.task
        )

    async def wait(self, request: WaitRequest, *, limits: RecordLimits = DEFAULT_RECORD_LIMITS) -> Waited:
        """Answer what an attempt waits for, or else end the attempt until there may be an answer."""
        return await self._router.one(request.lease.task, lambda store: store.durable.wait(request, limits=limits))

    async def restart(self, request: RestartRequest) -> Restarted:
        """End the round of a task, where it is."""
        return await self._router.one(request.lease.task, lambda store: store.durable.restart(request))

    async def wait_all(
        self, requests: Sequence[WaitRequest], *, limits: RecordLimits = DEFAULT_RECORD_LIMITS
    ) -> list[Waited]:
        """Do the same for many attempts, each in the shard of its task."""
        return await self._router.split(
            requests, lambda store, part: store.durable.wait_all(part, limits=limits), key=lambda each: each.lease.task
        )

    async def signal(self, signal: NewSignal) -> SignalAnswer:
        """Keep a signal with its task, or one by correlation in the shard of its key, for tasks of any shard."""
        if signal.task is not None:
            return await self._router.one(
                signal.task, lambda store: store.durable.signal(signal), is_absent=is_not_found
            )
        members = self._router.members
        answer: SignalAnswer = Moved("the slot of the signal is being moved")
        for seconds in WAITS_FOR_MOVE:
            shard_map = members.map
            answer = await self._signal_by_map(signal, shard_map)
            if not isinstance(answer, Moved):
                break
            await members.refresh()
            if members.map.number == shard_map.number:
                await asyncio.sleep(seconds)
        return answer

    async def _signal_by_map(self, signal: NewSignal, shard_map: ShardMap) -> SignalAnswer:
        """Keep a signal by correlation in the shard that has its slot, unless one that had it before knows the signal.

        A map that is behind does no harm: who had the slot refuses the signal, so that nothing comes to it any more
        once another has been asked.
        """
        slot = slot_of_signal(signal.tenant or DEFAULT_TENANT, signal.name, signal.key)
        for name in shard_map.former(slot):
            try:
                known = await self._router.members.named(name).store.durable.known_signal(signal)
            except NotFound:  # a shard that was removed
                continue
            if known is not None:
                return known
        entry = shard_map.entry(slot)
        store = self._router.members.named(entry.shard).store
        return await store.durable.signal(replace(signal, slot_version=entry.version))

    async def known_signal(self, signal: NewSignal) -> Signalled | KeyReused | None:
        """Return the answer for a signal by correlation that is kept already, by its id."""
        return await self._router.first(lambda store: store.durable.known_signal(signal))

    async def pages(self, tasks: Sequence[tuple[TaskId, int]]) -> list[RecordPage]:
        """Return the records of tasks after a place each."""
        return await self._router.split(tasks, lambda store, part: store.durable.pages(part), key=lambda each: each[0])

    async def count_waiting(self, *, most: int) -> dict[WaitKind, int]:
        """Return how many tasks that are not due wait for something, by its kind, of all shards together."""
        counts: Counter[WaitKind] = Counter()
        for each in await self._router.all(lambda store: store.durable.count_waiting(most=most)):
            counts.update(each)
        return dict(counts)

    async def steps(
        self, task: TaskId, *, after: int, limit: int, round: int | None = None, tenant: str | None = None
    ) -> StepsView | NotFound:
        """Return the records of a task after a place, in their order, and what it waits for; or those of a round."""
        return await self._router.one(
            task,
            lambda store: store.durable.steps(task, after=after, limit=limit, round=round, tenant=tenant),
            is_absent=is_not_found,
        )
