"""Recording how attempts ended."""

import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from drumline.core.attempt import OUTCOME_OF, AttemptOutcome, state_after
from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.errors import Fenced
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.state import CANCELLABLE_BY_FLAG, TERMINAL, TRANSITIONS, UNCOUNTED, Act, State
from drumline.core.task import decode_options
from drumline.ports.store import Hint, LeaseState, Settled, Settlement
from drumline.stores.driver import Transaction
from drumline.stores.parts.following import Members
from drumline.stores.sqlite.batches import Event, batch_of, event, rows_of, tell
from drumline.stores.sqlite.database import connection_of
from drumline.stores.sqlite.dead_letters import Death, write_dead_letters
from drumline.stores.sqlite.part import SqlitePart
from drumline.stores.sqlite.statements import SQL

NOT_CURRENT = Fenced("the lease is not the task's current one")


class Held(Struct, frozen=True, array_like=True):
    """A running task as a fenced act finds it; the order is that of `held_by_leases`."""

    place: int
    lane: int
    attempt: int
    failures: int
    crashes: int
    session: int
    started_at: int
    due_at: int
    cancel_requested: bool
    in_job: bool


class Ends:
    """Collects what the ends of attempts change, to be written in a few statements."""

    def __init__(self, now: Instant) -> None:
        self.now = now
        self._attempts: list[tuple[object, ...]] = []
        self._ended: list[TaskId] = []
        self.in_jobs: dict[TaskId, tuple[State, int | None]] = {}
        """The tasks of jobs that have ended, how, and when they were started."""
        self.queued_in_jobs: list[TaskId] = []
        """The tasks of jobs that were queued again."""
        self._requeued: list[tuple[object, ...]] = []
        self._events: list[Event] = []
        self._deaths: list[Death] = []

    def end(
        self,
        lease: Lease,
        held: Held,
        act: Act,
        *,
        settlement: Settlement | None = None,
        error: ErrorInfo | None = None,
    ) -> tuple[State, Instant | None]:
        """Note that an act ended an attempt; return the state after it, and when it is due if it is queued.

        Only a settlement leaves the lease's nonce in the history: that is how it is recognised when it comes again,
        and why a late one is not after somebody else ended the attempt.
        """
        if held.cancel_requested and act in CANCELLABLE_BY_FLAG:
            act = Act.STOP
        state = TRANSITIONS[State.RUNNING, act]
        counts = act not in UNCOUNTED
        nonce = lease.nonce if settlement else None
        result = bytes(settlement.result).decode() if settlement and settlement.result is not None else None
        cause = None if error is None else encode(error).decode()
        self._attempts.append((
            lease.task, lease.epoch, held.attempt, int(OUTCOME_OF[act]), nonce, held.session, held.started_at,
            self.now, result, cause,
        ))  # fmt: skip
        self._events.append(event(lease.task, act, state, lease.epoch))
        if state is State.FAILED:
            # What fails without its worker's word was taken for poison.
            death = cause_of(error, Reason.POISON) if settlement is None else settlement.cause or cause_of(error)
            self._deaths.append(Death(lease.task, lease.epoch, held.attempt, held.lane, death))
        if state in TERMINAL:
            self._ended.append(lease.task)
            if held.in_job:
                self.in_jobs[lease.task] = (state, held.started_at)
            return state, None
        if held.in_job:
            self.queued_in_jobs.append(lease.task)
        if act is Act.PARK and settlement is not None:
            due_at = settlement.due_at
        else:
            delay_ms = settlement.delay_ms if settlement else 0
            due_at = Instant(held.due_at if act in {Act.RELEASE, Act.REAP} else self.now + delay_ms)
        self._requeued.append((
            lease.task, due_at, held.attempt if counts else held.attempt - 1,
            held.failures + (act is Act.BACK_OFF), held.crashes + (act is Act.REAP),
        ))  # fmt: skip
        return state, due_at

    def write(self, connection: sqlite3.Connection) -> None:
        """Write what was noted."""
        if self._attempts:
            connection.execute(SQL["insert_attempts"], {"batch": batch_of(self._attempts)})
        if self._ended:
            connection.execute(SQL["delete_live"], {"ids": batch_of(self._ended)})
        if self._requeued:
            connection.execute(SQL["requeue"], {"batch": batch_of(self._requeued)})
        tell(connection, self.now, self._events)
        write_dead_letters(connection, self.now, self._deaths)


class Settling(SqlitePart):
    """The settling part of `ports.store.Executing` on SQLite."""

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        return await self._database.read(lambda connection: _standing(connection, leases))

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        return await self._database.write(lambda connection: self._settle(connection, settlements))

    async def settle_in(
        self, transaction: Transaction, settlement: Settlement, _members: Members | None
    ) -> Settled | None:
        """Settle an attempt as part of a transaction."""
        (answer,) = self._settle(connection_of(transaction), [settlement])
        return answer if isinstance(answer, Settled) else None

    def _settle(self, connection: sqlite3.Connection, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        leases = [settlement.lease for settlement in settlements]
        answers: list[Settled | Fenced] = [NOT_CURRENT] * len(settlements)
        ends = Ends(self._now())
        queued: list[tuple[int, int, Instant]] = []
        done: dict[Lease, int] = {}
        for held in held_by(connection, leases):
            settlement = settlements[held.place]
            first = done.setdefault(settlement.lease, held.place)
            if first == held.place:
                state, due_at = ends.end(
                    settlement.lease, held, settlement.act, settlement=settlement, error=settlement.error
                )
                answers[held.place] = Settled(state)
                if due_at is not None:
                    queued.append((held.place, held.lane, due_at))
            else:
                answers[held.place] = answers[first]
        ends.write(connection)
        effects = self._following.follow_ends(connection, ends.in_jobs, ends.queued_in_jobs)
        elsewhere = {task for task, _ in effects.moved}
        lanes = self._lanes.lanes_in(connection, [lane for _, lane, _ in queued])
        for place, lane, due_at in queued:
            if leases[place].task not in elsewhere:
                answers[place] = Settled(State.QUEUED, Hint(leases[place].task, lanes[lane], due_at))
        if effects:
            place, state = next(
                (place, each.state)
                for place, each in enumerate(answers)
                if isinstance(each, Settled) and each.hint is None
            )
            answers[place] = Settled(state, effects=effects)
        if any(answer is NOT_CURRENT for answer in answers):
            _recognise(connection, leases, answers)
        return answers


def _recognise(connection: sqlite3.Connection, leases: Sequence[Lease], answers: list[Settled | Fenced]) -> None:
    """Answer those whose lease is not current as the first time, if it was settled before."""
    for place, outcome in rows_of(connection, "settled_before", {"batch": batch_of(leases)}):
        if answers[place] is NOT_CURRENT:
            answers[place] = Settled(state_after(AttemptOutcome(outcome)))


def held_by(connection: sqlite3.Connection, leases: Sequence[Lease]) -> list[Held]:
    """Return the running tasks that these leases hold, with their place in the list."""
    rows = rows_of(connection, "held_by_leases", {"batch": batch_of(leases)})
    return [Held(*row) for row in rows]


def _standing(connection: sqlite3.Connection, leases: Sequence[Lease]) -> list[LeaseState | None]:
    standings: list[LeaseState | None] = [None] * len(leases)
    for held in held_by(connection, leases):
        (options,) = connection.execute(SQL["options"], {"id": leases[held.place].task}).fetchone()
        standings[held.place] = LeaseState(held.failures, decode_options(options), bool(held.cancel_requested))
    return standings
