"""Making claimed tasks of jobs ready for workers: their jobs are started, results of parents are filled in."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.errors import BlobMissing, Invalid, Unavailable
from drumline.core.ids import JobId
from drumline.core.limits import Limits
from drumline.core.outcome import ErrorInfo
from drumline.core.references import fill_in
from drumline.core.state import Act
from drumline.core.task import ClaimedTask
from drumline.engine.blobs import Blobs
from drumline.engine.settle import Settlements
from drumline.ports.jobs import Jobs
from drumline.ports.store import Claim, Settlement

MOST_REMEMBERED: Final = 10_000
"""Jobs that this process has marked as started: each process does so once."""
MOST_LOADED: Final = 64 * 1024 * 1024
"""Bytes of results that are read for one claim; what its other tasks refer to has to wait for the next one."""
MOST_FILLED: Final = 16 * 1024 * 1024
"""Bytes of payloads with results in them that one claim hands out: thousands may want the same large result."""
FEWEST_AT_ONCE: Final = 32
MOST_AT_ONCE: Final = 4096
SMALL: Final = 256 * 1024
"""Results are asked for by so many at first, and by twice as many after such a small answer."""
INPUT_ERROR: Final = "InputError"
"""The kind of error of a task whose payload cannot be filled in."""

Found = Raw | BlobMissing | None
"""A result, or why it cannot be read; None where there is none."""


class JobInputs:
    """Makes claimed tasks of jobs ready to run: starts their jobs, fills results of parents into payloads."""

    def __init__(self, jobs: Jobs, settlements: Settlements, *, blobs: Blobs, limits: Limits) -> None:
        self._jobs = jobs
        self._settlements = settlements
        self._blobs = blobs
        self._limits = limits
        self._begun: OrderedDict[JobId, None] = OrderedDict()

    async def fill(self, claims: list[Claim]) -> list[Claim]:
        """Return claims with the results of parents in the payloads that refer to them.

        A task that cannot be given what it asks for fails for good, and is left out. One whose parents' results cannot
        be read now is left out too: its lease is not held by a worker, so it is soon queued again without counting. And
        one for which the answer would become too large is queued again at once.
        """
        if left := [lease for claim in claims for lease in claim.left]:
            await self._settle([Settlement(lease=lease, act=Act.RELEASE) for lease in left])
        in_jobs = [task for claim in claims for task in claim.tasks if task.options.job is not None]
        if not in_jobs:
            return claims
        self._settlements.leases.add_jobs(in_jobs)
        await self._begin(in_jobs)
        asking = [task for task in in_jobs if task.options.takes]
        if not asking:
            return claims
        filled = await self._filled(asking)
        return [_with_payloads(claim, filled) for claim in claims]

    async def _begin(self, tasks: Iterable[ClaimedTask]) -> None:
        new = {task.options.job for task in tasks if task.options.job not in self._begun} - {None}
        if not new:
            return
        jobs = sorted(job for job in new if job is not None)
        try:
            started = await self._jobs.start_jobs(jobs)
        except Unavailable:
            return  # the end of their first task says it too
        self._settlements.effects.follow(started)
        for job in jobs:
            self._begun[job] = None
        while len(self._begun) > MOST_REMEMBERED:
            self._begun.popitem(last=False)

    async def _filled(self, tasks: Sequence[ClaimedTask]) -> dict[str, ClaimedTask]:
        """Return the tasks that can be run, by id, with what they are given."""
        wanted = dict.fromkeys((task.options.job or JobId(""), key) for task in tasks for key in task.options.takes)
        try:
            found = await self._results(list(wanted))
        except Unavailable:
            return {}
        filled: dict[str, ClaimedTask] = {}
        failed: list[Settlement] = []
        left: list[Settlement] = []
        room = MOST_FILLED
        for number, task in enumerate(tasks):
            keys = [(task.options.job or JobId(""), key) for key in task.options.takes]
            if room <= 0 or (number and not found.keys() >= set(keys)):
                left.append(Settlement(lease=task.lease, act=Act.RELEASE))
                continue
            try:
                results = {key: _read(key, found[job, key]) for job, key in keys if (job, key) in found}
                weight = len(task.payload) + sum(len(result or b"") for result in results.values())
                payload = await off_loop(weight, partial(self._payload, task, results))
            except Invalid as error:
                failed.append(_failure(task, error))
            else:
                room -= len(bytes(payload))
                filled[task.lease.task] = replace(task, payload=payload)
        if failed or left:
            await self._settle([*failed, *left])
        return filled

    async def _results(self, wanted: Sequence[tuple[JobId, str]]) -> dict[tuple[JobId, str], Found]:
        """Return what tasks gave back, the first of them if all together is too much."""
        found: dict[tuple[JobId, str], Found] = {}
        size, at_once = 0, FEWEST_AT_ONCE
        while len(found) < len(wanted) and size <= MOST_LOADED:
            keys = wanted[len(found) : len(found) + at_once]
            results = [await self._opened(result) for result in await self._jobs.results(keys)]
            found |= zip(keys, results, strict=True)
            loaded = sum(len(result) for result in results if isinstance(result, Raw))
            size += loaded
            at_once = min(at_once * 2, MOST_AT_ONCE) if loaded <= SMALL else FEWEST_AT_ONCE
        return found

    async def _opened(self, result: Raw | None) -> Found:
        try:
            return None if result is None else await self._blobs.read(result)
        except BlobMissing as error:
            return error

    def _payload(self, task: ClaimedTask, results: dict[str, Raw | None]) -> Raw:
        if len(results) < len(task.options.takes):
            raise Invalid(f"refers to results of more than {MOST_LOADED:,} bytes together", field="payload")
        known = {key: raw for key, raw in results.items() if raw is not None}
        return fill_in(bytes(task.payload), task.options.takes, known, self._limits)

    async def _settle(self, settlements: Sequence[Settlement]) -> None:
        """Fail tasks that no worker can be given, and release those that the answer has no room for."""
        try:
            await self._settlements.record(settlements)
        except Unavailable:
            return  # the reaper queues them again, since no worker holds them, and the next claim deals with them


def _read(key: str, found: Found) -> Raw | None:
    if isinstance(found, BlobMissing):
        raise Invalid(f"refers to the result of {key}, which cannot be read: {found.message}", field="payload")
    return found


def _with_payloads(claim: Claim, filled: Mapping[str, ClaimedTask]) -> Claim:
    tasks = [filled.get(task.lease.task) if task.options.takes else task for task in claim.tasks]
    return Claim(tuple(task for task in tasks if task is not None), claim.next_due)


def _failure(task: ClaimedTask, error: Invalid) -> Settlement:
    cause = ErrorInfo(INPUT_ERROR, str(error))
    return Settlement(lease=task.lease, act=Act.FAIL, error=cause, cause=cause_of(cause, Reason.UNRESOLVED_INPUT))
