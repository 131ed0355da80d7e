"""Cancelling claimed tasks that expired before they were claimed."""

from typing import Final

from drumline.core.clock import Clock, Instant, moment_of
from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act
from drumline.core.task import ClaimedTask
from drumline.core.wait_reasons import EXPIRED
from drumline.engine.settle import Settlements
from drumline.ports.expiry import Expiry
from drumline.ports.store import Claim, Settlement

CLOCK_MARGIN: Final = 10_000
"""Milliseconds by which the store's clock may be ahead of ours: it decides, and is asked only if it may say yes."""


class ExpiredClaims:
    """Takes expired tasks out of claims. The scheduler's duty finds those that no worker claims."""

    def __init__(self, expiry: Expiry, settlements: Settlements, *, clock: Clock) -> None:
        self._expiry = expiry
        self._settlements = settlements
        self._clock = clock

    async def cancel(self, claims: list[Claim]) -> list[Claim]:
        """Return claims without tasks that expired before they were claimed, which are cancelled.

        If the store cannot be asked, they are left out too: no worker holds their leases, so they are queued again.
        """
        late = self._late(claims)
        if not late:
            return claims
        try:
            expired = await self._expiry.expired(list(late))
            if expired:
                await self._settlements.record(
                    [
                        Settlement(lease=late[task].lease, act=Act.STOP, error=expiry_error(expired[task]))
                        for task in expired
                    ]
                )
                await self._expiry.forget_expiries(list(expired))
        except Unavailable:
            return [claim.without(late, now=self._clock.now()) for claim in claims]
        return [claim.without(expired, now=self._clock.now()) for claim in claims] if expired else claims

    def _late(self, claims: list[Claim]) -> dict[TaskId, ClaimedTask]:
        by = self._clock.now() + CLOCK_MARGIN
        return {
            task.lease.task: task
            for claim in claims
            for task in claim.tasks
            if task.options.expires_at is not None and task.options.expires_at <= by
        }


def expiry_error(expires_at: Instant) -> ErrorInfo:
    """Return what is said of a task that had not started by a time."""
    return ErrorInfo(EXPIRED, f"the task had not started by {moment_of(expires_at)}, when it expired")
