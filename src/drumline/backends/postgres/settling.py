"""Recording how attempts ended."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from drumline.backends.postgres.access import column
from drumline.backends.postgres.acts import NUMBER_OF
from drumline.backends.postgres.connection import Rows
from drumline.backends.postgres.cursors import Place
from drumline.backends.postgres.database import Line, Transaction
from drumline.backends.postgres.dead_letters import Death, write_dead_letters
from drumline.backends.postgres.endings import Ending, Held, end, error_text, is_queued, record
from drumline.backends.postgres.following import JobFollowing
from drumline.core.attempt import OUTCOME_OF, AttemptOutcome, state_after
from drumline.core.clock import Instant
from drumline.core.dead_letter import cause_of
from drumline.core.errors import Fenced
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import CANCELLABLE_BY_FLAG, SETTLING, TERMINAL, TRANSITIONS, Act, State
from drumline.core.task import decode_options
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.store import Hint, Settled, Settlement, Standing

NOT_CURRENT: Final = "the lease is not the task's current one"
ENDING_ACTS: Final = SETTLING - CANCELLABLE_BY_FLAG
"""The acts whose end depends on nothing but the lease: one statement ends them, without a look before."""


class Plain(NamedTuple):
    """What an ending act is in numbers, and the answer to it."""

    act: int
    outcome: int
    answer: Settled


PLAIN: Final = {
    act: Plain(NUMBER_OF[act], int(OUTCOME_OF[act]), Settled(TRANSITIONS[State.RUNNING, act])) for act in ENDING_ACTS
}

FAILED: Final = PLAIN[Act.FAIL]

Ended = tuple[Settlement, Plain]
Answers = dict[Lease, Settled]


class Settling(JobFollowing):
    """The settling part of `ports.store.Executing` on PostgreSQL."""

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands; None for a lease that is not current."""
        rows = await self._database.fetch(Line.SETTLE, "standing", repeat=True, **_lease_columns(leases))
        found = {
            Lease(TaskId(str(task)), epoch, nonce): Standing(failures, decode_options(options))
            for task, epoch, nonce, failures, options in rows
        }
        return [found.get(lease) for lease in leases]

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        ending = [(settlement, plain) for settlement in settlements if (plain := PLAIN.get(settlement.act))]
        is_plain = len(ending) == len(settlements) and all(plain is not FAILED for _, plain in ending)
        if is_plain and len({each.lease.task for each, _ in ending}) == len(ending):
            rows = await self._database.fetch(Line.SETTLE, "settle", repeat=True, **self._end_columns(ending))
            if rows and rows[0][1] is None:
                return [plain.answer for _, plain in ending]  # all of them: nothing to look up
            answers = _answers(ending, rows)
        else:
            answers = await self._settle_mixed(settlements)
        if left := [settlement for settlement in settlements if settlement.lease not in answers]:
            answers |= await self._settle_in_jobs(left)
        if unknown := [settlement.lease for settlement in left if settlement.lease not in answers]:
            answers |= await self._settled_before(unknown)
        return [answers.get(settlement.lease) or Fenced(NOT_CURRENT) for settlement in settlements]

    async def _settle_mixed(self, settlements: Sequence[Settlement]) -> Answers:
        """Settle what may have a task twice, queue tasks again, or fail them."""
        firsts: dict[TaskId, Settlement] = {}
        seconds: dict[TaskId, list[Settlement]] = defaultdict(list)
        for settlement in settlements:
            first = firsts.setdefault(settlement.lease.task, settlement)
            if first.lease != settlement.lease:
                seconds[settlement.lease.task].append(settlement)
        ending = [(each, plain) for each in firsts.values() if (plain := PLAIN.get(each.act))]
        queueing = [each for each in firsts.values() if each.act not in PLAIN]

        async def both(transaction: Transaction) -> tuple[Answers, list[Ending]]:
            answers = _answers(ending, await transaction.fetch("settle", **self._end_columns(ending))) if ending else {}
            endings = await self._end_queueing(transaction, queueing)
            await write_dead_letters(transaction, _deaths(ending, answers))
            return answers, endings

        answers, endings = await self._database.transact(Line.SETTLE, both, repeat=True)
        answers |= await self._settled(endings)
        # Several leases of one task: at most one is current, and it need not have come first.
        rest = [each for others in seconds.values() for each in others]
        return answers | await self._settle_mixed(rest) if rest else answers

    async def _settle_in_jobs(self, settlements: Sequence[Settlement]) -> Answers:
        """Settle tasks of jobs, of whatever act: their ends lead to others, so the jobs are locked first."""
        firsts = {settlement.lease.task: settlement for settlement in reversed(settlements)}

        async def act(transaction: Transaction) -> tuple[list[Ending], Effects]:
            members = await self._lock_members(transaction, sorted(firsts))
            if members is None:
                return [], NO_EFFECTS
            endings = await self._end(transaction, [firsts[task] for task in members.job_of], in_job=True)
            return endings, await self._record_in_jobs(transaction, endings, members)

        endings, effects = await self._database.transact(Line.SETTLE, act, repeat=True)
        answers = await self._settled(endings)
        if effects:
            lease, settled = next((lease, each) for lease, each in answers.items() if each.state in TERMINAL)
            answers[lease] = Settled(settled.state, effects=effects)
        rest = [each for each in settlements if each.lease != firsts[each.lease.task].lease]
        return answers | await self._settle_in_jobs(rest) if rest else answers

    async def _end_queueing(self, transaction: Transaction, settlements: list[Settlement]) -> list[Ending]:
        endings = await self._end(transaction, settlements, in_job=False)
        await record(transaction, endings, now=self._now())
        return endings

    async def _end(self, transaction: Transaction, settlements: Sequence[Settlement], *, in_job: bool) -> list[Ending]:
        """Lock the tasks of current leases, each once in the list, and decide how their attempts end."""
        wanted = {settlement.lease: settlement for settlement in settlements}
        leases = sorted(wanted, key=lambda lease: lease.task)
        rows = await transaction.fetch("lock_leases", **_lease_columns(leases), in_job=in_job, now=self._now())
        endings = []
        for *row, now in rows:
            held = Held(*row)
            settlement = wanted[held.lease]
            due_at = held.due_at if settlement.act is Act.RELEASE else now + settlement.delay_ms
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

    async def _settled(self, endings: list[Ending]) -> Answers:
        lanes = await self._lanes.lanes({ending.lane for ending in endings})
        answers: Answers = {}
        for ending in endings:
            hint = None
            if is_queued(ending) and ending.due_at is not None:
                self._cursors.queued(ending.lane, Place(ending.due_at, ending.id))
                hint = Hint(ending.id, lanes[ending.lane], Instant(ending.due_at))
            answers[Lease(ending.id, ending.epoch, ending.nonce or 0)] = Settled(ending.state, hint)
        return answers

    async def _settled_before(self, leases: list[Lease]) -> Answers:
        rows = await self._database.fetch(Line.SETTLE, "settled_before", repeat=True, **_lease_columns(leases))
        return {
            Lease(TaskId(str(task)), epoch, nonce): Settled(state_after(AttemptOutcome(outcome)))
            for task, epoch, nonce, outcome in rows
        }

    def _end_columns(self, ending: list[Ended]) -> dict[str, Any]:
        # Sorted, so that no two settlements can wait for each other's tasks.
        ending = sorted(ending, key=_task_of)
        results = [None if (result := each.result) is None else bytes(result) for each, _ in ending]
        return {
            "ids": [settlement.lease.task for settlement, _ in ending],
            **column("epochs", [settlement.lease.epoch for settlement, _ in ending]),
            **column("nonces", [settlement.lease.nonce for settlement, _ in ending]),
            **column("acts", [plain.act for _, plain in ending]),
            **column("outcomes", [plain.outcome for _, plain in ending]),
            **column("results", results),
            **column("errors", [error_text(settlement.error) for settlement, _ in ending]),
            "now": self._now(),
        }


def _task_of(ended: Ended) -> TaskId:
    return ended[0].lease.task


def _lease_columns(leases: Sequence[Lease]) -> dict[str, Any]:
    return {
        "ids": [lease.task for lease in leases],
        "epochs": [lease.epoch for lease in leases],
        "nonces": [lease.nonce for lease in leases],
    }


def _deaths(ending: list[Ended], answers: Answers) -> list[Death]:
    """Return the tasks that have failed for good just now."""
    failed = [each for each, plain in ending if plain is FAILED and each.lease in answers]
    return [Death(each.lease.task, each.lease.epoch, each.cause or cause_of(each.error)) for each in failed]


def _answers(ending: list[Ended], rows: Rows) -> Answers:
    """Return the answers for those that ended: all of them, unless the statement says which."""
    if not rows:
        return {}
    ((_, ids),) = rows
    ended = None if ids is None else {str(task) for task in ids}
    return {each.lease: plain.answer for each, plain in ending if ended is None or each.lease.task in ended}
