"""Recording how attempts ended."""

import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from drumline.core.attempt import OUTCOME_OF, AttemptOutcome, state_after
from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.dead_letter import Reason, cause_of
from drumline.core.errors import Fenced
from drumline.core.ids import JobId, TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.state import CANCELLABLE_BY_FLAG, TERMINAL, TRANSITIONS, Act, State
from drumline.core.task import decode_options
from drumline.ports.hint import Effects
from drumline.ports.store import ClaimRequest, Hint, LeaseState, Settled, Settlement
from drumline.stores.driver import Transaction
from drumline.stores.endings import Counters
from drumline.stores.leasing_released import choose_taker, with_claim
from drumline.stores.parts.following import Members
from drumline.stores.sqlite.batches import Event, batch_of, event, rows_of, tell
from drumline.stores.sqlite.claiming import Claiming
from drumline.stores.sqlite.database import connection_of
from drumline.stores.sqlite.dead_letters import Death, write_dead_letters
from drumline.stores.sqlite.statements import SQL

NOT_CURRENT = Fenced("the lease is not the task's current one")
STARTED_OTHERS = 2


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
    """Whether its end has consequences in a job or for other tasks."""
    family: int
    """Whether another task started it (1), it started others (2), or both."""


class Ends:
    """Collects what the ends of attempts change, to be written in a few statements."""

    def __init__(self, now: Instant) -> None:
        self.now = now
        self._attempts: list[tuple[object, ...]] = []
        self._kinds: set[tuple[int, bool, str | None, str | None]] = set()
        """What was different about them: outcome, whether a settlement ended it, result and error."""
        self._ended: list[TaskId] = []
        self.in_jobs: dict[TaskId, tuple[State, int | None]] = {}
        """The tasks that have ended with consequences in jobs or families, how, and when they were started."""
        self.queued_in_jobs: list[TaskId] = []
        """Those of them that were queued again."""
        self.jobs: dict[TaskId, str] = {}
        """The jobs of those whose end has consequences there and nowhere else, as far as settlements name them."""
        self._parents: list[TaskId] = []
        """The tasks that have ended and had started others."""
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
        nonce = lease.nonce if settlement else None
        result = bytes(settlement.result).decode() if settlement and settlement.result is not None else None
        cause = None if error is None else encode(error).decode()
        outcome = int(OUTCOME_OF[act])
        self._kinds.add((outcome, settlement is not None, result, cause))
        self._attempts.append((
            lease.task, lease.epoch, held.attempt, outcome, nonce, held.session, held.started_at, self.now, result,
            cause,
        ))  # fmt: skip
        self._events.append(event(lease.task, act, state, lease.epoch))
        if state is State.FAILED:
            # What fails without its worker's word was taken for poison.
            death = cause_of(error, Reason.POISON) if settlement is None else settlement.cause or cause_of(error)
            self._deaths.append(Death(lease.task, lease.epoch, held.attempt, held.lane, death))
        if held.in_job:
            self._note_consequences(lease.task, held, state, None if settlement is None else settlement.job)
        if state in TERMINAL:
            self._ended.append(lease.task)
            return state, None
        if act is Act.PARK and settlement is not None:
            due_at = settlement.due_at
        else:
            delay_ms = settlement.delay_ms if settlement else 0
            due_at = Instant(held.due_at if act in {Act.RELEASE, Act.REAP} else self.now + delay_ms)
        self._requeued.append((
            lease.task, due_at, *Counters(held.attempt, held.failures, held.crashes).after(act),
        ))  # fmt: skip
        return state, due_at

    def _note_consequences(self, task: TaskId, held: Held, state: State, job: JobId | None) -> None:
        if state in TERMINAL:
            self.in_jobs[task] = (state, held.started_at)
            if held.family >= STARTED_OTHERS:
                self._parents.append(task)
        else:
            self.queued_in_jobs.append(task)
        if job is not None and not held.family:
            self.jobs[task] = str(job)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write what was noted."""
        self._write_attempts(connection)
        if self._parents:
            connection.execute(SQL["note_ended_parents"], {"ids": batch_of(self._parents)})
        if self._ended:
            connection.execute(SQL["delete_live"], {"ids": batch_of(self._ended)})
        if self._requeued:
            connection.execute(SQL["requeue"], {"batch": batch_of(self._requeued)})
        tell(connection, self.now, self._events)
        write_dead_letters(connection, self.now, self._deaths)

    def _write_attempts(self, connection: sqlite3.Connection) -> None:
        if not self._attempts:
            return
        outcome, is_settled, result, error = next(iter(self._kinds))
        if is_settled and len(self._kinds) == 1:
            ids = batch_of([attempt[0] for attempt in self._attempts])
            same = {"outcome": outcome, "now": self.now, "result": result, "error": error}
            connection.execute(SQL["insert_alike_attempts"], {"ids": ids, **same})
        else:
            connection.execute(SQL["insert_attempts"], {"batch": batch_of(self._attempts)})


class Settling(Claiming):
    """The settling part of `ports.store.Executing` on SQLite."""

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        return await self._database.read(lambda connection: _standing(connection, leases))

    async def settle(
        self, settlements: Sequence[Settlement], *, takers: Sequence[ClaimRequest] = ()
    ) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        return await self._database.write(lambda connection: self._settle(connection, settlements, takers))

    async def settle_in(
        self, transaction: Transaction, settlements: Sequence[Settlement], _members: Members | None
    ) -> dict[Lease, Settled]:
        """Settle attempts as part of a transaction."""
        answers = self._settle(connection_of(transaction), settlements)
        pairs = zip(settlements, answers, strict=True)
        return {settlement.lease: answer for settlement, answer in pairs if isinstance(answer, Settled)}

    def _settle(
        self,
        connection: sqlite3.Connection,
        settlements: Sequence[Settlement],
        takers: Sequence[ClaimRequest] = (),
    ) -> list[Settled | Fenced]:
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
        effects = self._following.follow_ends(connection, ends.in_jobs, ends.queued_in_jobs, ends.jobs)
        effects = self._lease_released(connection, effects, takers, ends.now)
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

    def _lease_released(
        self, connection: sqlite3.Connection, effects: Effects, takers: Sequence[ClaimRequest], now: Instant
    ) -> Effects:
        """Lease what was released to a claim that waits, if one can run it."""
        request = choose_taker(takers, effects.released)
        return effects if request is None else with_claim(effects, self._claim(connection, request, now))


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
