"""Large payloads and results: kept in the blob store, read back where they are needed.

A blob is written before the row that refers to it is committed. If the row never is, the blob belongs to a task that
there is not, and the scheduler deletes it (`scheduler/blobs.py`). While the blob store cannot be reached, what would go
there is kept in the database.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol

import structlog
from msgspec import Raw
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.blob import SPACE, blob_name, read_reference, without_space, write_reference
from drumline.core.clock import Clock, SystemClock
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.errors import BlobMissing, DrumlineError, Unavailable
from drumline.core.ids import TaskId
from drumline.core.job import NewJob
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act
from drumline.core.task import ClaimedTask, NewTask, SubmitAnswer, TaskView
from drumline.ports.blobs import BlobStore
from drumline.ports.jobs import JobAnswer
from drumline.ports.store import Claim, Settled, Settlement

OVER: Final = 128 * 1024
"""Bytes of JSON from which on payloads and results go to the blob store, unless it is set otherwise."""
AT_ONCE: Final = 8
"""Blobs that one process writes or reads at once."""
REST: Final = 10.0
"""Seconds without a try after the blob store could not be reached."""
MOST_OPENED: Final = 16 * 1024 * 1024
"""Bytes of blobs in one claim; its other tasks are queued again."""
BLOB_ERROR: Final = "BlobMissing"

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class TaskBatches(Protocol):
    """Stores checked tasks in batches."""

    def joined(self, task: NewTask, /) -> Awaitable[SubmitAnswer]:
        """Store one task; the future gives its answer."""
        ...

    async def join(self, task: NewTask, /) -> SubmitAnswer:
        """Store one task."""
        ...

    async def join_each(self, tasks: Iterable[NewTask], /) -> list[SubmitAnswer | DrumlineError]:
        """Store many; each has its own answer, in order."""
        ...


class JobBatches(Protocol):
    """Stores checked jobs in batches."""

    async def join(self, job: NewJob, /) -> JobAnswer:
        """Store one job."""
        ...


class SettlementRecorder(Protocol):
    """Records settlements that are decided."""

    async def record(self, settlements: Sequence[Settlement]) -> Sequence[Settled | DrumlineError]:
        """Record them, and follow what they lead to."""
        ...


class Blobs:
    """Writes and reads blobs. Without a blob store everything is kept in the database."""

    def __init__(
        self,
        store: BlobStore | None = None,
        read_home: Callable[[], Awaitable[str]] | None = None,
        *,
        over: int = OVER,
        clock: Clock | None = None,
    ) -> None:
        self.store = store
        self.is_on = store is not None
        self._read_home = read_home
        self.over = over if self.is_on else sys.maxsize
        """Bytes that are not large yet. Compared in place where there are many: most values are small."""
        self._clock = clock or SystemClock()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._rests_until = float("-inf")
        self._home: str | None = None

    def is_large(self, size: int) -> bool:
        """Tell whether so many bytes go to the blob store."""
        return size > self.over

    async def home(self) -> str:
        """Return what the names of this installation's blobs begin with: the name of its log of events."""
        if self._home is None:
            if self._read_home is None:
                raise BlobMissing("there is no blob store here", field="blob_url")
            self._home = await self._read_home()
        return self._home

    async def keep(self, task: TaskId, data: bytes) -> bytes:
        """Write bytes of a task as a blob and return the reference; return the bytes if that is not possible now."""
        if self.store is None or self._clock.monotonic() < self._rests_until:
            return data
        home = await self.home()
        name = await off_loop(len(data), lambda: blob_name(home, task, data))
        try:
            async with self._turns:
                await self.store.put(name, data)
        except Unavailable as error:
            self._rests_until = self._clock.monotonic() + REST
            log.warning("blobs.away", error=error.message, kept="in the database")
            return data
        return write_reference(name, len(data))

    async def read(self, stored: Raw) -> Raw:
        """Return what is stored, read from the blob store if it is there; raises `BlobMissing` or `Unavailable`."""
        reference = read_reference(stored)
        if reference is None:
            return stored
        if self.store is None:
            raise BlobMissing(f"the blob {reference.blob} cannot be read: blob_url is not set here", field="blob_url")
        async with self._turns:
            data = await self.store.get(reference.blob, largest=reference.size + 1)
        if data is None:
            raise BlobMissing(f"the blob {reference.blob} is missing in {self.store.place}")
        if not await off_loop(len(data), lambda: reference.fits(data)):
            raise BlobMissing(f"the blob {reference.blob} in {self.store.place} was changed: its digest differs")
        return Raw(data)

    async def open_view(self, view: TaskView) -> TaskView:
        """Return a task with its payload and result; of one that is missing the view's error tells."""
        payload, no_payload = await self._opened(view.payload, "payload")
        result, no_result = await self._opened(view.result, "result")
        if payload is view.payload and result is view.result:
            return view
        return replace(view, payload=payload, result=result, error=view.error or no_result or no_payload)

    async def open_views(self, views: Sequence[TaskView]) -> list[TaskView]:
        """Return tasks with their payloads and results."""
        return [await self.open_view(view) for view in views]

    async def _opened(self, stored: Raw | None, what: str) -> tuple[Raw | None, ErrorInfo | None]:
        if stored is None:
            return None, None
        try:
            return await self.read(stored), None
        except BlobMissing as error:
            return None, ErrorInfo(BLOB_ERROR, f"the {what} cannot be read: {error.message}")

    async def keep_results(self, settlements: Sequence[Settlement]) -> Sequence[Settlement]:
        """Return settlements with large results as references."""
        over = self.over
        if not [1 for each in settlements if (result := each.result) is not None and len(result) > over]:
            return settlements
        return await asyncio.gather(*(self._with_kept_result(each) for each in settlements))

    async def _with_kept_result(self, settlement: Settlement) -> Settlement:
        result = settlement.result
        if result is None or not self.is_large(len(result)):
            return settlement
        kept = await self.keep(settlement.lease.task, without_space(bytes(result)))
        return replace(settlement, result=Raw(kept))

    async def close(self) -> None:
        """Close connections to the blob store."""
        if self.store is not None:
            await self.store.close()


class BlobTaskStoring:
    """Writes large payloads as blobs, then stores the tasks. A task that may collapse keeps its payload."""

    def __init__(self, batches: TaskBatches, blobs: Blobs) -> None:
        self._batches = batches
        self._blobs = blobs

    def joined(self, task: NewTask, /) -> Awaitable[SubmitAnswer]:
        """Store one task; the future gives its answer."""
        return self.join(task) if self._is_large(task) else self._batches.joined(task)

    async def join(self, task: NewTask, /) -> SubmitAnswer:
        """Store one task."""
        if len(task.payload) > self._blobs.over:
            task = await self._kept(task)
        return await self._batches.joined(task)

    async def join_each(self, tasks: Iterable[NewTask], /) -> list[SubmitAnswer | DrumlineError]:
        """Store many; each has its own answer, in order."""
        given = list(tasks)
        over = self._blobs.over
        if [1 for task in given if len(task.payload) > over]:
            given = list(await asyncio.gather(*map(self._kept, given)))
        return await self._batches.join_each(given)

    async def _kept(self, task: NewTask) -> NewTask:
        if not self._is_large(task):
            return task
        return replace(task, payload=await self._blobs.keep(task.id, task.payload))

    def _is_large(self, task: NewTask) -> bool:
        # The payload of a later submission may replace an earlier one's, and a blob belongs to one task.
        return self._blobs.is_large(len(task.payload)) and task.collapse is None


class BlobJobStoring:
    """Writes large payloads of a job's tasks as blobs, then stores the job."""

    def __init__(self, batches: JobBatches, blobs: Blobs) -> None:
        self._batches = batches
        self._blobs = blobs

    async def join(self, job: NewJob, /) -> JobAnswer:
        """Store one job."""
        if any(self._blobs.is_large(len(each.task.payload)) for each in job.tasks):
            kept = await asyncio.gather(*(self._kept(each.task) for each in job.tasks))
            tasks = tuple(replace(each, task=task) for each, task in zip(job.tasks, kept, strict=True))
            job = replace(job, tasks=tasks)
        return await self._batches.join(job)

    async def _kept(self, task: NewTask) -> NewTask:
        if not self._blobs.is_large(len(task.payload)):
            return task
        return replace(task, payload=await self._blobs.keep(task.id, task.payload))


class BlobInputs:
    """Reads the payloads of claimed tasks that are blobs."""

    def __init__(self, blobs: Blobs, settlements: SettlementRecorder) -> None:
        self._blobs = blobs
        self._settlements = settlements

    async def fill(self, claims: list[Claim]) -> list[Claim]:
        """Return claims with the payloads of their tasks.

        A task whose blob is missing fails for good, and is left out. While the blob store cannot be reached tasks are
        left out too: no worker holds their leases, so they are soon queued again without counting. What would make an
        answer too large is released.
        """
        if not [1 for claim in claims for task in claim.tasks if bytes(memoryview(task.payload)[:1]) == SPACE]:
            return claims
        return [await self._filled(claim) for claim in claims]

    async def _filled(self, claim: Claim) -> Claim:
        tasks: list[ClaimedTask] = []
        left: list[Lease] = []
        failed: list[Settlement] = []
        room = MOST_OPENED
        for task in claim.tasks:
            reference = read_reference(task.payload)
            if reference is None:
                tasks.append(task)
            elif room < reference.size and room < MOST_OPENED:
                left.append(task.lease)
            else:
                room -= reference.size
                try:
                    tasks.append(replace(task, payload=await self._blobs.read(task.payload)))
                except BlobMissing as error:
                    failed.append(_failure(task, error))
                except Unavailable as error:
                    log.warning("blobs.away", error=error.message, task=task.lease.task)
        if failed:
            await self._settle(failed)
        return Claim(tuple(tasks), claim.next_due, (*claim.left, *left))

    async def _settle(self, failed: Sequence[Settlement]) -> None:
        try:
            await self._settlements.record(failed)
        except Unavailable:
            return  # the reaper queues them again, since no worker holds them, and the next claim deals with them


def _failure(task: ClaimedTask, error: BlobMissing) -> Settlement:
    cause = ErrorInfo(BLOB_ERROR, f"the payload cannot be read: {error.message}")
    return Settlement(lease=task.lease, act=Act.FAIL, error=cause, cause=cause_of(cause, Reason.UNRESOLVED_INPUT))
