"""Asking for tasks, and the answer to it."""

from collections.abc import Container

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.fair_shares import Share
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.task import ClaimedTask, Lane


class ClaimRequest(Struct, frozen=True, kw_only=True):
    """A session asks for up to `limit` tasks.

    `nonce` is random and new for each claim; a claim whose answer was lost is repeated with the same nonce and
    `again` set, and gets the same tasks. `hints` narrows the choice to these tasks; without hints the store
    chooses by itself, and among tenants by their `shares`.
    """

    session: SessionId
    nonce: int
    limit: int
    queues: tuple[str, ...]
    names: tuple[str, ...]
    tenant: str | None = None
    hints: tuple[TaskId, ...] | None = None
    again: bool = False
    shares: tuple[Share, ...] = ()
    waits: bool = False
    """Whether the session will wait if there is nothing: the queue may then hand it the next task."""
    limited: bool = False
    """Ask for tasks under flow limits, and for no others; without it, for those that are under none."""

    def can_run(self, lane: Lane) -> bool:
        """Tell whether tasks of a lane are for this session."""
        return (
            lane.name in self.names
            and (not self.queues or lane.queue in self.queues)
            and (self.tenant is None or lane.tenant == self.tenant)
        )


class Claim(Struct, frozen=True):
    """The answer to a claim: tasks, best first, and when the next one will be due if none is."""

    tasks: tuple[ClaimedTask, ...]
    next_due: Instant | None = None
    left: tuple[Lease, ...] = ()
    """What was leased besides and would have made the answer too large: whoever claimed has to release it."""

    @property
    def leases(self) -> list[Lease]:
        """All that was leased."""
        return [*(task.lease for task in self.tasks), *self.left]

    def without(self, left_out: Container[TaskId], *, now: Instant) -> "Claim":
        """Return the claim without some of its tasks; if none is left, it is worth repeating at once."""
        tasks = tuple(task for task in self.tasks if task.lease.task not in left_out)
        if len(tasks) == len(self.tasks):
            return self
        return Claim(tasks, self.next_due if tasks else now, self.left)
