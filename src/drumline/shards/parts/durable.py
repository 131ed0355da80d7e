"""Records of durable tasks over several stores: each is with its task."""

from collections.abc import Sequence

from drumline.core.durable import NewRecord, NewSignal, RecordPage, StepsView, WaitRequest
from drumline.core.errors import Conflict, KeyReused, NotFound, QuotaExceeded
from drumline.core.ids import TaskId
from drumline.ports.durable import DEFAULT_RECORD_LIMITS, Recorded, RecordLimits, Signalled, Waited
from drumline.shards.asking import is_not_found
from drumline.shards.parts.merging import Part


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

    async def signal(self, signal: NewSignal) -> Signalled | NotFound | Conflict | KeyReused | QuotaExceeded:
        """Keep a signal with its task. One by correlation may be taken by a task of any shard, so there must be one."""
        if signal.task is not None:
            return await self._router.one(
                signal.task, lambda store: store.durable.signal(signal), is_absent=is_not_found
            )
        if len(self._router.shards) > 1:
            return Conflict("signals by correlation need an installation with one database; send it to a task")
        return await self._router.directory.durable.signal(signal)

    async def pages(self, tasks: Sequence[tuple[TaskId, int]]) -> list[RecordPage]:
        """Return the records of tasks after a place each."""
        return await self._router.split(tasks, lambda store, part: store.durable.pages(part), key=lambda each: each[0])

    async def steps(self, task: TaskId, *, after: int, limit: int, tenant: str | None = None) -> StepsView | NotFound:
        """Return the records of a task after a place, in their order, and what it waits for."""
        return await self._router.one(
            task,
            lambda store: store.durable.steps(task, after=after, limit=limit, tenant=tenant),
            is_absent=is_not_found,
        )
