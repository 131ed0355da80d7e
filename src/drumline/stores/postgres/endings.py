"""Deciding about tasks whose live rows are locked, and writing it: what settle, reap and cancel have in common."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Raw

from drumline.core.attempt import OUTCOME_OF
from drumline.core.clock import Instant
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.state import CANCELLABLE_BY_FLAG, TRANSITIONS, Act, State
from drumline.stores.driver import Transaction
from drumline.stores.endings import Counters, Ending, error_text
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.dead_letters import Death, write_dead_letters


class Held(NamedTuple):
    """A running task as a fenced act finds it and locks it; the order is that of `lock_leases`."""

    id: object
    epoch: int
    nonce: int
    lane: int
    due_at: int
    attempt: int
    failures: int
    crashes: int
    session: int
    started_at: int
    cancel_requested: bool

    @property
    def lease(self) -> Lease:
        """Its current lease."""
        return Lease(TaskId(str(self.id)), self.epoch, self.nonce)


def end(
    held: Held,
    act: Act,
    *,
    due_at: int,
    is_settlement: bool = False,
    result: Raw | None = None,
    error: ErrorInfo | None = None,
) -> Ending:
    """Decide what an act on a running task leads to; `due_at` counts if it is queued again.

    Only a settlement leaves the lease's nonce in the history: that is how it is recognised when it comes again, and
    why a late one is not after another act ended the attempt.
    """
    if held.cancel_requested and act in CANCELLABLE_BY_FLAG:
        act = Act.STOP
    state = TRANSITIONS[State.RUNNING, act]
    counted, failures, crashes = Counters(held.attempt, held.failures, held.crashes).after(act)
    return Ending(
        id=TaskId(str(held.id)),
        act=act,
        state=state,
        epoch=held.epoch,
        lane=held.lane,
        attempt=held.attempt,
        nonce=held.nonce if is_settlement else None,
        session=held.session,
        started_at=held.started_at,
        result=None if result is None else bytes(result),
        error=error_text(error),
        due_at=due_at,
        counted=counted,
        failures=failures,
        crashes=crashes,
        # What fails without its worker's word was taken for poison.
        cause=cause_of(error, Reason.PERMANENT if is_settlement else Reason.POISON) if state is State.FAILED else None,
    )


async def record(transaction: Transaction, endings: Sequence[Ending], *, now: Instant | None) -> None:
    """Write endings of tasks whose live rows this transaction has locked; `bury` comes after it, at the end."""
    if not endings:
        return
    endings = sorted(endings, key=lambda ending: ending.id)
    await transaction.fetch(
        "record",
        ids=[ending.id for ending in endings],
        acts=[NUMBER_OF[ending.act] for ending in endings],
        states=[int(ending.state) for ending in endings],
        outcomes=[int(OUTCOME_OF[ending.act]) for ending in endings],
        epochs=[ending.epoch for ending in endings],
        nonces=[ending.nonce for ending in endings],
        lanes=[ending.lane for ending in endings],
        attempts=[ending.attempt for ending in endings],
        sessions=[ending.session for ending in endings],
        started_at=[ending.started_at for ending in endings],
        results=[ending.result for ending in endings],
        errors=[ending.error for ending in endings],
        due_at=[ending.due_at for ending in endings],
        counted=[ending.counted for ending in endings],
        failures=[ending.failures for ending in endings],
        crashes=[ending.crashes for ending in endings],
        now=now,
    )


async def bury(transaction: Transaction, endings: Sequence[Ending]) -> None:
    """Write the dead letters of those that failed. It locks rows that many want, so it comes last."""
    await write_dead_letters(
        transaction, [Death(ending.id, ending.epoch, ending.cause) for ending in endings if ending.cause is not None]
    )
