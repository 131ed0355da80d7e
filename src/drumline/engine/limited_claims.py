"""The store as workers see it, where some tasks are under limits: whose lease ends makes room for another."""

from collections.abc import Sequence
from typing import Final, Protocol

from drumline.core.errors import Fenced
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.engine.flow import FlowLimits
from drumline.ports.store import Claim, ClaimRequest, Settled, Settlement, Standing

MOST_HELD: Final = 100_000


class WorkStore(Protocol):
    """What is asked of the store here."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run."""
        ...

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        ...


class LimitedClaims:
    """Remembers what was claimed here under limits. Tasks under none pass."""

    def __init__(self, store: WorkStore, flow: FlowLimits) -> None:
        self._store = store
        self._flow = flow
        self._held: dict[TaskId, str] = {}
        """The queues of tasks that were claimed here under limits, until they are settled."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Claim, and remember what is under limits."""
        claims = await self._store.claim(requests)
        for request, claim in zip(requests, claims, strict=True):
            if request.limited:
                self._flow.answered(request, claim)
                self._held |= {task.lease.task: task.queue for task in claim.tasks}
        if len(self._held) > MOST_HELD:  # their workers settle elsewhere: whoever waits here looks each second
            self._held.clear()
        return claims

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands."""
        return await self._store.standing(leases)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended, and let those know who wait for a slot."""
        answers = await self._store.settle(settlements)
        if self._held:
            ended = [self._held.pop(settlement.lease.task, None) for settlement in settlements]
            freed = [queue for queue in ended if queue is not None]
            if freed:
                self._flow.freed(freed)
        return answers
