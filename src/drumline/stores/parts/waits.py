"""Waits between jobs of different databases: registered at the awaited job, and told to the waiting one."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from drumline.core.ids import JobId
from drumline.core.job import JobStatus
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.waits import FarRipple, FarWait
from drumline.stores.driver import Line, Rows, Transaction
from drumline.stores.job_rows import STATUS_OF, far_job_error
from drumline.stores.parts.following import lock_jobs
from drumline.stores.parts.ripple import JobRipple

BELOW_ALL: Final = "00000000-0000-0000-0000-000000000000"
NO_JOB: Final = 0
"""The status that is stored for a job that does not exist."""


class Waits(JobRipple):
    """`ports.waits.Waits`."""

    async def unregistered(self, *, limit: int, after: FarWait | None = None) -> list[FarWait]:
        """Return waits of jobs of this store that are not marked as registered, in their order, above one of them."""
        job, needed = (BELOW_ALL, BELOW_ALL) if after is None else (after.job, after.needs)
        rows = await self._database.fetch(
            Line.REQUEST, "unregistered_waits", repeat=True, job=job, needed=needed, limit=limit
        )
        return [
            FarWait(job=JobId(str(job)), needs=JobId(str(needed)), life=life, tenant=tenant)
            for job, needed, life, tenant in rows
        ]

    async def register(self, waits: Sequence[FarWait], *, final: bool = False) -> list[FarWait]:
        """Let the jobs of this store that are awaited know of the waits, and return those whose job is not here."""
        if not waits:
            return []
        return await self._database.transact(Line.REQUEST, partial(_register, waits=waits, final=final), repeat=True)

    async def mark_registered(self, waits: Sequence[FarWait]) -> None:
        """Mark waits of jobs of this store; one whose job was resumed since stays unregistered."""
        if waits:
            await self._database.transact(Line.REQUEST, partial(_mark, waits=waits), repeat=True)

    async def ripples(self, *, limit: int, after: int = 0) -> list[FarRipple]:
        """Return ripples of jobs of this store, in the order of their numbers, above one of these."""
        rows = await self._database.fetch(Line.REQUEST, "watch_ripples", repeat=True, after=after, limit=limit)
        return [
            FarRipple(
                number=number,
                needs=JobId(str(needed)),
                job=JobId(str(job)),
                life=life,
                status=STATUS_OF.get(status),
                name=name,
            )
            for number, needed, job, life, status, name in rows
        ]

    async def tell(self, ripples: Sequence[FarRipple]) -> list[Effects | None]:
        """Tell waiting jobs how those that they wait for have ended, and return what that led to."""
        return [
            await self._database.transact(Line.REQUEST, partial(self._tell_far, ripple=ripple)) for ripple in ripples
        ]

    async def delete_ripples(self, numbers: Sequence[int]) -> None:
        """Delete ripples of this store that have been told."""
        if numbers:
            await self._database.fetch(Line.REQUEST, "delete_watch_ripples", repeat=True, numbers=list(numbers))

    async def _tell_far(self, transaction: Transaction, ripple: FarRipple) -> Effects | None:
        job = (await lock_jobs(transaction, [ripple.job])).get(ripple.job)
        if job is None:
            return None
        if job.has_ended or not job.pending_jobs:
            return NO_EFFECTS
        ((life,),) = await transaction.fetch("job_life", job=job.id)
        deps = {str(needed): is_done for needed, is_done in await transaction.fetch("far_deps", job=job.id)}
        if life != ripple.life or deps.get(ripple.needs, True):
            return NO_EFFECTS
        if ripple.status is not JobStatus.COMPLETED:
            # Without a mark, so that a resume waits for it again; but not for one that will never end.
            if ripple.status is None:
                await transaction.fetch("dep_done", job=job.id, needed=ripple.needs)
            return await self._fail_job(transaction, job, ripple.needs, far_job_error(ripple))
        await transaction.fetch("dep_done", job=job.id, needed=ripple.needs)
        return await self._need_less(transaction, job)


async def _register(transaction: Transaction, waits: Sequence[FarWait], *, final: bool) -> list[FarWait]:
    awaited = await lock_jobs(transaction, [wait.needs for wait in waits])
    known = [wait for wait in waits if wait.needs in awaited and awaited[wait.needs].tenant == wait.tenant]
    missing = [wait for wait in waits if wait not in known]
    rows = await _watch(transaction, known) if known else []
    watched = [(awaited[str(needed)], str(job), life) for needed, job, life in rows]
    ended = [(job.id, other, life, job.status_number, job.name) for job, other, life in watched if job.has_ended]
    if final:
        ended += [(wait.needs, wait.job, wait.life, NO_JOB, "") for wait in missing]
    if ended:
        columns = [list(column) for column in zip(*ended, strict=True)]
        names = ("needed", "jobs", "lives", "statuses", "names")
        await transaction.fetch("insert_watch_ripples", **dict(zip(names, columns, strict=True)))
    return missing


async def _watch(transaction: Transaction, waits: Sequence[FarWait]) -> Rows:
    """Note who waits for jobs, which are locked, and return the lives that count."""
    lives: dict[tuple[JobId, JobId], int] = {}
    for wait in waits:
        pair = (wait.needs, wait.job)
        lives[pair] = max(wait.life, lives.get(pair, 0))
    pairs = sorted(lives)
    await transaction.fetch("note_watched", ids=sorted({needed for needed, _ in pairs}))
    return await transaction.fetch(
        "watch_jobs",
        needed=[needed for needed, _ in pairs],
        jobs=[job for _, job in pairs],
        lives=[lives[pair] for pair in pairs],
    )


async def _mark(transaction: Transaction, waits: Sequence[FarWait]) -> None:
    # Locked first: a resume that commits while the statement waits for the row would not be seen by it.
    await lock_jobs(transaction, [wait.job for wait in waits])
    await transaction.fetch(
        "mark_registered",
        jobs=[wait.job for wait in waits],
        needed=[wait.needs for wait in waits],
        lives=[wait.life for wait in waits],
    )
