"""Recording how attempts ended."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from drumline.core.attempt import AttemptOutcome, state_after
from drumline.core.dead_letter import cause_of
from drumline.core.errors import Fenced
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import Act
from drumline.core.task import decode_options
from drumline.ports.hint import NO_EFFECTS
from drumline.ports.store import ClaimRequest, LeaseState, Settled, Settlement
from drumline.stores.driver import Line, Transaction
from drumline.stores.endings import Ending
from drumline.stores.parts.following import Members
from drumline.stores.postgres.dead_letters import Death, write_dead_letters
from drumline.stores.postgres.endings import record
from drumline.stores.postgres.settling_jobs import (
    PLAIN,
    Answers,
    SettlingJobs,
    answers_of,
    end_columns,
    lease_columns,
    locked_for,
)

NOT_CURRENT: Final = "the lease is not the task's current one"
QUIET: Final = PLAIN.keys() - {Act.FAIL}
"""The acts that end tasks and leave nothing else to be written."""


class Settling(SettlingJobs):
    """The settling part of `ports.store.Executing` on PostgreSQL."""

    async def lease_states(self, leases: Sequence[Lease]) -> list[LeaseState | None]:
        """Return the state of each leased task; None for a lease that is not current."""
        rows = await self._database.fetch(Line.SETTLE, "lease_states", repeat=True, **lease_columns(leases))
        found = {
            Lease(TaskId(str(task)), epoch, nonce): LeaseState(failures, decode_options(options), cancelled)
            for task, epoch, nonce, failures, cancelled, options in rows
        }
        return [found.get(lease) for lease in leases]

    async def lock_lease(self, lease: Lease) -> bool:
        """Lock the task of a lease, and its job before it, until the transaction ends; tell whether it is current.

        Of use where transactions are a caller's, and this one goes on.
        """

        async def lock(transaction: Transaction) -> bool:
            members = await self._following.lock_members(transaction, [lease.task])
            given = lease_columns([lease])
            rows = await transaction.fetch("lock_leases", **given, **locked_for(members), now=self._now())
            return bool(rows)

        return await self._database.transact(Line.SETTLE, lock)

    async def settle(
        self, settlements: Sequence[Settlement], *, takers: Sequence[ClaimRequest] = ()
    ) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        if in_jobs := [settlement for settlement in settlements if settlement.job is not None]:
            return await self._settle_both(in_jobs, settlements, takers)
        is_each_once = len({settlement.lease.task for settlement in settlements}) == len(settlements)
        if is_each_once and {settlement.act for settlement in settlements} <= QUIET:
            columns = end_columns(settlements, self._now())
            rows = await self._database.fetch(Line.SETTLE, "settle", repeat=True, **columns)
            if rows and rows[0][1] is None:
                return [PLAIN[settlement.act].answer for settlement in settlements]  # all of them: nothing to look up
            answers = answers_of(settlements, rows)
        else:
            answers = await self._settle_mixed(settlements)
        if left := [settlement for settlement in settlements if settlement.lease not in answers]:
            answers |= await self._settle_in_jobs(left, takers)
        if unknown := [settlement.lease for settlement in left if settlement.lease not in answers]:
            answers |= await self._settled_before(unknown)
        return [answers.get(settlement.lease) or Fenced(NOT_CURRENT) for settlement in settlements]

    async def _settle_both(
        self, in_jobs: Sequence[Settlement], settlements: Sequence[Settlement], takers: Sequence[ClaimRequest]
    ) -> list[Settled | Fenced]:
        """Settle tasks that are known to belong to jobs, then the others."""
        answers = await self._settle_in_jobs(in_jobs, takers)
        if len(answers) == len(settlements):
            return [answers[each.lease] for each in settlements]
        left = [replace(each, job=None) for each in settlements if each.lease not in answers]
        others = (
            {each.lease: answer for each, answer in zip(left, await self.settle(left), strict=True)} if left else {}
        )
        return [answers.get(each.lease) or others[each.lease] for each in settlements]

    async def _settle_mixed(self, settlements: Sequence[Settlement]) -> Answers:
        """Settle what may have a task twice, queue tasks again, or fail them."""
        firsts: dict[TaskId, Settlement] = {}
        seconds: dict[TaskId, list[Settlement]] = defaultdict(list)
        for settlement in settlements:
            first = firsts.setdefault(settlement.lease.task, settlement)
            if first.lease != settlement.lease:
                seconds[settlement.lease.task].append(settlement)
        ending = [each for each in firsts.values() if each.act in PLAIN]
        queueing = [each for each in firsts.values() if each.act not in PLAIN]

        async def both(transaction: Transaction) -> tuple[Answers, list[Ending]]:
            answers = (
                answers_of(ending, await transaction.fetch("settle", **end_columns(ending, self._now())))
                if ending
                else {}
            )
            endings = await self._end_queueing(transaction, queueing)
            await write_dead_letters(transaction, _deaths(ending, answers))
            return answers, endings

        answers, endings = await self._database.transact(Line.SETTLE, both, repeat=True)
        answers |= await self._settled(endings)
        # Several leases of one task: at most one is current, and it need not have come first.
        rest = [each for others in seconds.values() for each in others]
        return answers | await self._settle_mixed(rest) if rest else answers

    async def _end_queueing(self, transaction: Transaction, settlements: list[Settlement]) -> list[Ending]:
        endings = await self._end(transaction, settlements, None)
        await record(transaction, endings, now=self._now())
        return endings

    async def settle_in(
        self, transaction: Transaction, settlements: Sequence[Settlement], members: Members | None
    ) -> Answers:
        """Settle attempts as part of a transaction that has locked their jobs, if they belong to some."""
        endings = await self._end(transaction, settlements, members)
        if not endings:
            return {}
        effects = NO_EFFECTS
        if members is None:
            await record(transaction, endings, now=self._now())
        else:
            effects = await self._following.record_in_jobs(transaction, endings, members)
        answers = await self._settled(endings, held_back={task for task, _ in effects.moved})
        if effects is not NO_EFFECTS:  # they are followed once
            lease, first = next(iter(answers.items()))
            answers[lease] = Settled(first.state, first.hint, effects)
        return answers

    async def _settled_before(self, leases: list[Lease]) -> Answers:
        rows = await self._database.fetch(Line.SETTLE, "settled_before", repeat=True, **lease_columns(leases))
        return {
            Lease(TaskId(str(task)), epoch, nonce): Settled(state_after(AttemptOutcome(outcome)))
            for task, epoch, nonce, outcome in rows
        }


def _deaths(ending: list[Settlement], answers: Answers) -> list[Death]:
    """Return the tasks that have failed for good just now."""
    failed = [each for each in ending if each.act is Act.FAIL and each.lease in answers]
    return [Death(each.lease.task, each.lease.epoch, each.cause or cause_of(each.error)) for each in failed]
