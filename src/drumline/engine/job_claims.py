"""What becomes of claimed tasks of jobs before workers get them: the job has begun, and results flow in."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from drumline.aio.threads import off_loop
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.errors import Fenced, Invalid, Unavailable
from drumline.core.ids import JobId, TaskId
from drumline.core.lease import Lease
from drumline.core.limits import Limits
from drumline.core.outcome import ErrorInfo
from drumline.core.references import fill_in
from drumline.core.state import Act
from drumline.core.task import ClaimedTask
from drumline.ports.hint import Effects
from drumline.ports.jobs import Jobs
from drumline.ports.store import Claim, ClaimRequest, Executing, Settled, Settlement, Standing

MOST_REMEMBERED: Final = 10_000
"""Jobs whose beginning has been noted: it is noted once by each process."""
MOST_HELD: Final = 100_000
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


class JobClaims:
    """The store as workers see it: tasks of jobs come ready to run, and go with a word to whom. Plain ones pass."""

    def __init__(self, store: Executing, jobs: Jobs, *, limits: Limits, follow: Callable[[Effects], None]) -> None:
        self._store = store
        self._jobs = jobs
        self._limits = limits
        self._follow = follow
        self._begun: OrderedDict[JobId, None] = OrderedDict()
        self._held: dict[TaskId, JobId] = {}
        """The jobs of tasks that were claimed here, until they are settled."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Claim, and put the results of parents into the payloads that refer to them.

        A task that cannot be given what it asks for fails for good, and is left out. One whose parents' results cannot
        be read now is left out too: nobody holds it, so it is soon given back without counting. And one for which the
        answer would become too large is given back at once.
        """
        claims = await self._store.claim(requests)
        if left := [lease for claim in claims for lease in claim.left]:
            await self._settle_here([Settlement(lease=lease, act=Act.RELEASE) for lease in left])
        in_jobs = [task for claim in claims for task in claim.tasks if task.options.job is not None]
        if not in_jobs:
            return claims
        if len(self._held) > MOST_HELD:  # their workers settle elsewhere: the store finds their jobs by itself
            self._held.clear()
        self._held |= {task.lease.task: task.options.job for task in in_jobs if task.options.job is not None}
        await self._begin(in_jobs)
        asking = [task for task in in_jobs if task.options.takes]
        if not asking:
            return claims
        filled = await self._filled(asking)
        return [_with_payloads(claim, filled) for claim in claims]

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands."""
        return await self._store.standing(leases)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended; the store is told which jobs they belong to, where that is known."""
        if self._held:
            settlements = [self._with_job(settlement) for settlement in settlements]
        return await self._store.settle(settlements)

    def _with_job(self, settlement: Settlement) -> Settlement:
        job = self._held.pop(settlement.lease.task, None)
        return settlement if job is None else replace(settlement, job=job)

    async def _begin(self, tasks: Iterable[ClaimedTask]) -> None:
        new = {task.options.job for task in tasks if task.options.job not in self._begun} - {None}
        if not new:
            return
        jobs = sorted(job for job in new if job is not None)
        try:
            started = await self._jobs.start_jobs(jobs)
        except Unavailable:
            return  # the end of their first task says it too
        self._follow(started)
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
                results = {key: found[job, key] for job, key in keys if (job, key) in found}
                weight = len(task.payload) + sum(len(result or b"") for result in results.values())
                payload = await off_loop(weight, partial(self._payload, task, results))
            except Invalid as error:
                failed.append(_failure(task, error))
            else:
                room -= len(bytes(payload))
                filled[task.lease.task] = replace(task, payload=payload)
        if failed or left:
            await self._settle_here([*failed, *left])
        return filled

    async def _results(self, wanted: Sequence[tuple[JobId, str]]) -> dict[tuple[JobId, str], Raw | None]:
        """Return what tasks gave back, the first of them if all together is too much."""
        found: dict[tuple[JobId, str], Raw | None] = {}
        size, at_once = 0, FEWEST_AT_ONCE
        while len(found) < len(wanted) and size <= MOST_LOADED:
            keys = wanted[len(found) : len(found) + at_once]
            results = await self._jobs.results(keys)
            found |= zip(keys, results, strict=True)
            loaded = sum(len(bytes(result)) for result in results if result is not None)
            size += loaded
            at_once = min(at_once * 2, MOST_AT_ONCE) if loaded <= SMALL else FEWEST_AT_ONCE
        return found

    def _payload(self, task: ClaimedTask, results: dict[str, Raw | None]) -> Raw:
        if len(results) < len(task.options.takes):
            raise Invalid(f"refers to results of more than {MOST_LOADED:,} bytes together", field="payload")
        known = {key: raw for key, raw in results.items() if raw is not None}
        return fill_in(bytes(task.payload), task.options.takes, known, self._limits)

    async def _settle_here(self, settlements: Sequence[Settlement]) -> None:
        """Fail what no worker can be given, and give back what this answer has no room for."""
        try:
            answers = await self._store.settle(settlements)
        except Unavailable:
            return  # the reaper finds them as ghosts, and the next claim deals with them
        hints = tuple(answer.hint for answer in answers if isinstance(answer, Settled) and answer.hint)
        if hints:
            self._follow(Effects(released=hints))


def _with_payloads(claim: Claim, filled: Mapping[str, ClaimedTask]) -> Claim:
    tasks = [filled.get(task.lease.task) if task.options.takes else task for task in claim.tasks]
    return Claim(tuple(task for task in tasks if task is not None), claim.next_due)


def _failure(task: ClaimedTask, error: Invalid) -> Settlement:
    cause = ErrorInfo(INPUT_ERROR, str(error))
    return Settlement(lease=task.lease, act=Act.FAIL, error=cause, cause=cause_of(cause, Reason.UNRESOLVED_INPUT))
