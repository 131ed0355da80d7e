"""What workers do with tasks: claim them, run them, and tell how that ended."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Raw, Struct

from drumline.core.clock import NEVER, Instant
from drumline.core.dead_letter import FailureCause
from drumline.core.errors import Fenced
from drumline.core.ids import JobId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State
from drumline.core.task import TaskOptions
from drumline.ports.claim import Claim, ClaimRequest
from drumline.ports.hint import NO_EFFECTS, Effects, Hint


class LeaseState(Struct, frozen=True):
    """What the engine needs to decide about a failed attempt."""

    failures: int
    """How many attempts had failed before this one."""
    options: TaskOptions
    cancel_requested: bool = False
    """Whether somebody has asked the attempt to stop."""


class Settlement(Struct, frozen=True, kw_only=True, gc=False):
    """How an attempt ended, decided: `act` is one of `core.state.SETTLING`."""

    lease: Lease
    act: Act
    delay_ms: int = 0
    """For `back_off` and `snooze`: how far from now the task is due again."""
    due_at: Instant = NEVER
    """For `park`: when the task is due again."""
    result: Raw | None = None
    error: ErrorInfo | None = None
    job: JobId | None = None
    """The job that the task belongs to, if whoever settles it knows: then it need not be looked for."""
    cause: FailureCause | None = None
    """For `fail`: what the dead letter says; made from the error if nobody has decided it."""


class Settled(Struct, frozen=True, gc=False):
    """A settlement that holds: the task's state after it, the hint if it was queued again, and what it led to."""

    state: State
    hint: Hint | None = None
    effects: Effects = NO_EFFECTS


class Executing(Protocol):
    """What workers do with tasks."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run, best score first, and lease them to its session.

        Where several tenants have due tasks, those of whoever stands lowest come first (`core.shares`), each tenant's
        own by their score. A task is leased to one session at a time: its state becomes running, its epoch rises, its
        attempt number rises. A session that is not open gets nothing. Paused queues, other workers' names, and lanes
        under flow limits are passed over.

        A `limited` request is given tasks under flow limits instead, each with a slot in every limit that it is under.
        No limit ever has more valid leases than it allows, nor more starts in any stretch of its period.
        """
        ...

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        ...

    async def settle(
        self, settlements: Sequence[Settlement], *, takers: Sequence[ClaimRequest] = ()
    ) -> list[Settled | Fenced]:
        """Record how attempts ended.

        Accepted only from the task's current lease, so a late worker can never overwrite a newer attempt. The
        same settlement repeated gets the first answer again. An act that would queue a task whose cancellation
        was asked for ends it as cancelled. `release`, `snooze` and `park` give the
        attempt number back.

        `takers` are claims that wait. Tasks of jobs that this releases may be leased to one of them in the same
        transaction (`Effects.claim`): what a `claim` with these tasks as its hints would have been given after it.
        """
        ...
