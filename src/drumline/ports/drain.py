"""Units that move from one database to another, so that a shard can be emptied (`docs/adr/0045-draining-a-shard.md`).

A unit is a task outside jobs, a job with all its tasks, or a schedule with its runs. Each method is one transaction,
and may be repeated by any process. The steps of a move are `put_copies` at the taker, `take_out` at the giver, and
`activate` at the taker; `discard` instead of the last if the unit has changed meanwhile.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from drumline.ports.hint import Hint


class Unit(Struct, frozen=True, kw_only=True):
    """All rows of a task, a job or a schedule, as they are read in one database."""

    id: str
    version: int
    """Rises with every change of the unit and with every move."""
    digest: str
    """Differs if any row does."""
    document: bytes
    """The rows, in JSON."""


class Copy(Struct, frozen=True):
    """An inactive copy of a unit: no claim, list or count sees it."""

    id: str
    giver: str
    """The shard that it was copied from."""
    version: int
    digest: str


class Forward(Struct, frozen=True):
    """Where a unit went that was taken out. Tasks of a job have rows of their own."""

    id: str
    root: str
    """The unit's own id."""
    shard: str
    version: int
    """The one that the unit has there when it is active."""
    reserved: str | None = None
    """The name that nothing else may take meanwhile: see `job_key` and `schedule_name`."""


class Trace(Struct, frozen=True, kw_only=True):
    """What one database knows of a task outside jobs, at one moment. Nothing of it: it was deleted, or never here."""

    id: str
    is_here: bool = False
    shard: str | None = None
    """Where it went, by its forwarding row."""
    version: int | None = None
    """The one that it has there when it is active."""
    giver: str | None = None
    """Where the inactive copy comes from that is here."""
    copied: int | None = None
    """The version of that copy."""


class TakeOut(StrEnum):
    """What came of taking a unit out."""

    DONE = "done"
    """It is forwarded to the taker: the copy is to be activated."""
    REFUSED = "refused"
    """It has changed, or went elsewhere: the copy is to be discarded."""
    POSTPONED = "postponed"
    """A bulk operation is under way, which may be about it. The copy stays for a later try: another process may have
    taken the unit out for it by now."""


class Activated(Struct, frozen=True):
    """Units that became active."""

    units: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    """The tasks among them that wait to be claimed."""


class Held(Struct, frozen=True, kw_only=True):
    """What a database holds. Of tasks and of jobs a million are counted at most."""

    tasks: int = 0
    """Outside jobs."""
    jobs: int = 0
    schedules: int = 0
    running: int = 0
    """Tasks that run, also those of jobs: they move when they have ended."""
    copies: int = 0
    """Inactive copies."""
    ripples: int = 0
    """Ends of jobs that others have still to be told of."""
    unread: int = 0
    """Rows of the event log that a consumer has not passed on."""

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.tasks + self.jobs + self.schedules


def job_key(tenant: str, key: str) -> str:
    """Return the reserved name of a job with an idempotency key."""
    return f"job/{tenant}/{key}"


def schedule_name(tenant: str, name: str) -> str:
    """Return the reserved name of a schedule."""
    return f"schedule/{tenant}/{name}"


class Drainage(Protocol):
    """Units of one database that move to another, or come from there."""

    async def movable(self, *, limit: int, schedules_only: bool = False) -> list[str]:
        """Return units of which no task runs, oldest first, schedules before jobs before tasks.

        Units are left out of which a consumer of the event log has still to learn something, for events are read
        together with their tasks; and everything while a bulk operation is under way.
        """
        ...

    async def read(self, ids: Sequence[str]) -> list[Unit]:
        """Return those of these units that are here and of which no task runs, in the order of their ids."""
        ...

    async def put_copies(self, giver: str, units: Sequence[Unit]) -> list[str]:
        """Keep inactive copies with their idempotency keys; return which of these very copies are there now.

        A copy replaces an older one only, and is refused beside the unit itself, or if the unit was here already in a
        later version; and so are all if this database takes no copies, or is no part of an installation.
        """
        ...

    async def take_copies(self, *, takes: bool) -> None:
        """Take copies of units from now on, or take no more: copies that are on their way are there then."""
        ...

    async def copies(self, *, limit: int) -> list[Copy]:
        """Return inactive copies."""
        ...

    async def count_copies(self, giver: str) -> int:
        """Return how many inactive copies there are of units that come from a shard."""
        ...

    async def take_out(self, taker: str, copies: Sequence[Copy]) -> Mapping[str, TakeOut]:
        """Delete units that are still as they were copied to a taker, and leave forwarding rows.

        Their idempotency keys stay. Waits of other jobs here for a job that leaves become waits for a job of another
        database. What was taken out for this copy before is `DONE`, too. While a bulk operation is under way or
        beginning, the other tasks and jobs are `POSTPONED`; none begins meanwhile.
        """
        ...

    async def activate(self, copies: Sequence[tuple[str, int]]) -> Activated:
        """Make units of inactive copies, as id and version, of those that it finds. A forwarding row here goes."""
        ...

    async def discard(self, copies: Sequence[Copy]) -> None:
        """Delete these very copies, if they are inactive, with the keys that came with them."""
        ...

    async def forwards(self, ids: Sequence[str]) -> list[Forward]:
        """Return the forwarding rows of tasks, jobs and schedules, of those that have one."""
        ...

    async def traces(self, ids: Sequence[str]) -> list[Trace]:
        """Return what is known here of tasks outside jobs, in any order."""
        ...

    async def reserved(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the jobs and schedules that were taken out here, and that reserved names belong to."""
        ...

    async def all_forwards(self, *, limit: int, after: str | None = None, shard: str | None = None) -> list[Forward]:
        """Return all forwarding rows, or those to one shard, in the order of their ids, above one of them."""
        ...

    async def add_forwards(self, forwards: Sequence[Forward]) -> None:
        """Take over forwarding rows: over older ones, and not beside what they are about."""
        ...

    async def held(self) -> Held:
        """Return what is here."""
        ...
