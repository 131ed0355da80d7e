"""Recording how attempts of tasks of jobs ended: their ends lead to others, so the jobs are locked first."""

from collections.abc import Container, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from drumline.core.attempt import OUTCOME_OF
from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import CANCELLABLE_BY_FLAG, SETTLING, TRANSITIONS, Act, State
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.store import ClaimRequest, Hint, Settled, Settlement
from drumline.stores.driver import Line, Transaction
from drumline.stores.endings import Ending, error_text, is_queued
from drumline.stores.leasing_released import choose_taker, with_claim
from drumline.stores.parts.following import Members, lock_jobs
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.claiming import Claiming
from drumline.stores.postgres.connection import Rows
from drumline.stores.postgres.cursors import LanePosition
from drumline.stores.postgres.endings import Held, end
from drumline.stores.postgres.part import column

ENDING_ACTS: Final = SETTLING - CANCELLABLE_BY_FLAG
"""The acts whose end depends on nothing but the lease: one statement ends them, without a read before it."""


class Plain(NamedTuple):
    """What an ending act is in numbers, and the answer to it."""

    act: int
    outcome: int
    answer: Settled


PLAIN: Final = {
    act: Plain(NUMBER_OF[act], int(OUTCOME_OF[act]), Settled(TRANSITIONS[State.RUNNING, act])) for act in ENDING_ACTS
}

COMPLETED: Final = PLAIN[Act.COMPLETE].answer

Answers = dict[Lease, Settled]


class SettlingJobs(Claiming):
    """Settles tasks of jobs."""

    async def _settle_in_jobs(self, settlements: Sequence[Settlement], takers: Sequence[ClaimRequest] = ()) -> Answers:
        """Settle those that belong to jobs, and return the answers for them; the others are left alone."""
        firsts = {settlement.lease.task: settlement for settlement in reversed(settlements)}

        async def settle(transaction: Transaction) -> tuple[Answers, Effects]:
            members = await self._members_of(transaction, list(firsts.values()))
            if members is None:
                return {}, NO_EFFECTS
            mine = [firsts[task] for task in members.tasks]
            if not members.relatives and {each.act for each in mine} == {Act.COMPLETE}:
                return await self._complete(transaction, mine, members)
            endings = await self._end(transaction, mine, members)
            effects = await self._following.record_in_jobs(transaction, endings, members)
            return await self._settled(endings, held_back={task for task, _ in effects.moved}), effects

        async def act(transaction: Transaction) -> tuple[Answers, Effects, tuple[ClaimRequest, Rows] | None]:
            answers, effects = await settle(transaction)
            request = choose_taker(takers, effects.released) if takers else None
            rows = None if request is None else await self._lease_released(transaction, request)
            return answers, effects, None if request is None or not rows else (request, rows)

        answers, effects, leased = await self._database.transact(Line.SETTLE, act, repeat=True)
        if leased is not None:
            effects = with_claim(effects, await self._claimed(*leased))
        if effects:
            lease, settled = next((lease, each) for lease, each in answers.items() if each.hint is None)
            answers[lease] = Settled(settled.state, effects=effects)
        rest = [each for each in settlements if each.lease != firsts[each.lease.task].lease]
        return answers | await self._settle_in_jobs(rest) if rest else answers

    async def _members_of(self, transaction: Transaction, settlements: Sequence[Settlement]) -> Members | None:
        """Lock the jobs of tasks; a settlement may name the job of its task."""
        known = {each.lease.task: str(each.job) for each in settlements if each.job is not None}
        if len(known) < len(settlements):
            return await self._following.lock_members(transaction, [each.lease.task for each in settlements])
        return Members(known, await lock_jobs(transaction, known.values()))

    async def _complete(
        self, transaction: Transaction, settlements: Sequence[Settlement], members: Members
    ) -> tuple[Answers, Effects]:
        """End tasks that have completed, and do what follows from it: nearly always by one statement."""
        ((ended, started_at, *waiting, changed, is_asked),) = await transaction.fetch(
            "complete_in_jobs", **complete_columns(settlements, members, self._now())
        )
        if ended is None:
            return {}, NO_EFFECTS
        if len(ended) < len(settlements):
            tasks = {str(task) for task in ended}
            settlements = [each for each in settlements if each.lease.task in tasks]
        answers = {each.lease: COMPLETED for each in settlements}
        if is_asked:
            starts = {TaskId(str(task)): at for task, at in zip(ended, started_at, strict=True)}
            return answers, await self._following.follow_completed(transaction, starts, members)
        return answers, await self._following.released_by(transaction, waiting, changed)

    async def _end(
        self, transaction: Transaction, settlements: Sequence[Settlement], members: Members | None
    ) -> list[Ending]:
        """Lock the tasks of current leases, each once in the list, and decide how their attempts end."""
        wanted = {settlement.lease: settlement for settlement in settlements}
        leases = sorted(wanted, key=lambda lease: lease.task)
        rows = await transaction.fetch("lock_leases", **lease_columns(leases), **locked_for(members), now=self._now())
        endings = []
        for *row, now in rows:
            held = Held(*row)
            settlement = wanted[held.lease]
            due_at = _due_at(settlement, held, now)
            ending = end(
                held,
                settlement.act,
                due_at=due_at,
                is_settlement=True,
                result=settlement.result,
                error=settlement.error,
            )
            endings.append(ending if settlement.cause is None else ending._replace(cause=settlement.cause))
        return endings

    async def _settled(self, endings: list[Ending], *, held_back: Container[TaskId] = ()) -> Answers:
        """Return the answers; what is held back was queued like the others, but is not worth offering."""
        lanes = await self._lanes.lanes({ending.lane for ending in endings})
        answers: Answers = {}
        for ending in endings:
            hint = None
            if is_queued(ending) and ending.due_at is not None and ending.id not in held_back:
                self._cursors.queued(ending.lane, LanePosition(ending.due_at, ending.id))
                hint = Hint(ending.id, lanes[ending.lane], Instant(ending.due_at))
            answers[Lease(ending.id, ending.epoch, ending.nonce or 0)] = Settled(ending.state, hint)
        return answers


def _due_at(settlement: Settlement, held: Held, now: int) -> int:
    """Return when a task is due again that a settlement queues."""
    match settlement.act:
        case Act.RELEASE:
            return held.due_at
        case Act.PARK:
            return settlement.due_at
        case _:
            return now + settlement.delay_ms


def complete_columns(settlements: Iterable[Settlement], members: Members, now: Instant | None) -> dict[str, Any]:
    """Return the parameters of `complete_in_jobs`."""
    ending = sorted(settlements, key=attrgetter("lease.task"))
    leases = [each.lease for each in ending]
    plain = PLAIN[Act.COMPLETE]
    return {
        "ids": [lease.task for lease in leases],
        **column("epochs", [lease.epoch for lease in leases]),
        **column("nonces", [lease.nonce for lease in leases]),
        **column("results", [each.result for each in ending]),
        **column("jobs", [members.job_of[lease.task] for lease in leases]),
        "act": plain.act,
        "outcome": plain.outcome,
        "unblock": NUMBER_OF[Act.UNBLOCK],
        "now": now,
    }


def end_columns(settlements: Iterable[Settlement], now: Instant | None) -> dict[str, Any]:
    """Return the parameters of `settle`; the acts must be ending ones."""
    # Sorted, so that no two settlements can wait for each other's tasks.
    ending = sorted(settlements, key=attrgetter("lease.task"))
    leases = [each.lease for each in ending]
    plains = [PLAIN[each.act] for each in ending]
    return {
        "ids": [lease.task for lease in leases],
        **column("epochs", [lease.epoch for lease in leases]),
        **column("nonces", [lease.nonce for lease in leases]),
        **column("acts", [plain.act for plain in plains]),
        **column("outcomes", [plain.outcome for plain in plains]),
        **column("results", [each.result for each in ending]),
        **column("errors", [each.error and error_text(each.error) for each in ending]),
        "now": now,
    }


def locked_for(members: Members | None) -> dict[str, bool]:
    """Return which tasks may be locked: those whose consequences are known."""
    return {"in_job": members is not None, "family": members is not None and members.relatives is not None}


def lease_columns(leases: Sequence[Lease]) -> dict[str, Any]:
    """Return leases as three arrays."""
    return {
        "ids": [lease.task for lease in leases],
        "epochs": [lease.epoch for lease in leases],
        "nonces": [lease.nonce for lease in leases],
    }


def answers_of(ending: Iterable[Settlement], rows: Rows) -> Answers:
    """Return the answers for those that ended: all of them, unless the statement says which."""
    if not rows:
        return {}
    ((_, ids),) = rows
    ended = None if ids is None else {str(task) for task in ids}
    return {each.lease: PLAIN[each.act].answer for each in ending if ended is None or each.lease.task in ended}
