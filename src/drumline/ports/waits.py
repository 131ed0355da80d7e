"""Jobs that wait for jobs of other shards: part of the store, with its general promises (`ports/store.py`).

A waiting job is stored first. A wait is then *registered* in the store of the awaited job, and marked as registered in
the store of the waiting one. The end of the awaited job writes a *ripple* in its own transaction; registering writes it
if the job has ended already. The ripple is told to the waiting job, and deleted by its number after that. Any process
may do each step, any number of times.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.ids import JobId
from drumline.core.job import JobStatus
from drumline.ports.hint import Effects


class FarWait(Struct, frozen=True, kw_only=True):
    """A job that waits for a job of another shard."""

    job: JobId
    needs: JobId
    life: int
    """How often the waiting job was resumed, and one."""
    tenant: str


class FarRipple(Struct, frozen=True, kw_only=True):
    """The end of a job that one of another shard has to be told of."""

    number: int
    needs: JobId
    job: JobId
    life: int
    """The life of the waiting job that the ripple was written for."""
    status: JobStatus | None
    """How the awaited job ended; None if there is no such job."""
    name: str
    """What the awaited job is called."""


class Waits(Protocol):
    """Waits between jobs of different shards."""

    async def unregistered(self, *, limit: int, after: FarWait | None = None) -> list[FarWait]:
        """Return waits of jobs of this store that are not marked as registered, in their order, above one of them."""
        ...

    async def register(self, waits: Sequence[FarWait], *, final: bool = False) -> list[FarWait]:
        """Let the jobs of this store that are awaited know of the waits.

        Each job is locked: if it has ended, its ripple is written now, else its end writes it. Returned are the waits
        for jobs that do not exist here, or not for the tenant of the waiting one; if this store is certainly the place
        where they would be, `final` gives them ripples without a status.
        """
        ...

    async def mark_registered(self, waits: Sequence[FarWait]) -> None:
        """Mark waits of jobs of this store; one whose job was resumed since stays unregistered."""
        ...

    async def ripples(self, *, limit: int, after: int = 0) -> list[FarRipple]:
        """Return ripples of jobs of this store, in the order of their numbers, above one of these."""
        ...

    async def tell(self, ripples: Sequence[FarRipple]) -> list[Effects | None]:
        """Tell waiting jobs how those that they wait for have ended, and return what that led to.

        None is returned for a job that does not exist here. A job takes a ripple of its own life only, and one of each
        job that it waits for. The last to complete lets it begin. One that failed, was cancelled or does not exist
        fails it; after the last of these it is not waited for again when the job is resumed. Each is a transaction of
        its own, and what was told before is passed over.
        """
        ...

    async def delete_ripples(self, numbers: Sequence[int]) -> None:
        """Delete ripples of this store that have been told."""
        ...
