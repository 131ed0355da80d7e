"""Recording how attempts ended."""

from collections.abc import Sequence
from typing import Any, Final

from drumline.backends.postgres.access import Access, column
from drumline.backends.postgres.acts import NUMBER_OF
from drumline.backends.postgres.cursors import Place
from drumline.backends.postgres.database import Line, Transaction
from drumline.backends.postgres.endings import Ending, Held, end, error_text, is_queued, record
from drumline.core.attempt import OUTCOME_OF, AttemptOutcome, state_after
from drumline.core.clock import Instant
from drumline.core.errors import Fenced
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import CANCELLABLE_BY_FLAG, SETTLING, TRANSITIONS, Act, State
from drumline.core.task import decode_options
from drumline.ports.store import Hint, Settled, Settlement, Standing

NOT_CURRENT: Final = "the lease is not the task's current one"
ENDING_ACTS: Final = SETTLING - CANCELLABLE_BY_FLAG
"""The acts whose end depends on nothing but the lease: one statement ends them, without a look before."""
SETTLED: Final = {act: Settled(TRANSITIONS[State.RUNNING, act]) for act in ENDING_ACTS}

Answers = dict[Lease, Settled]


class Settling(Access):
    """The settling part of `ports.store.Executing` on PostgreSQL."""

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands; None for a lease that is not current."""
        rows = await self._database.fetch(Line.SETTLE, "standing", repeat=True, **_columns(leases))
        found = {
            Lease(TaskId(str(task)), epoch, nonce): Standing(failures, decode_options(options))
            for task, epoch, nonce, failures, options in rows
        }
        return [found.get(lease) for lease in leases]

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        firsts: dict[Lease, Settlement] = {}
        for settlement in sorted(settlements, key=lambda each: each.lease.task):
            firsts.setdefault(settlement.lease, settlement)
        ending = [each for each in firsts.values() if each.act in ENDING_ACTS]
        queueing = [each for each in firsts.values() if each.act not in ENDING_ACTS]
        answers = await self._write(ending, queueing)
        unknown = [lease for lease in firsts if lease not in answers]
        if unknown:
            answers |= await self._settled_before(unknown)
        return [
            answer if (answer := answers.get(settlement.lease)) is not None else Fenced(NOT_CURRENT)
            for settlement in settlements
        ]

    async def _write(self, ending: list[Settlement], queueing: list[Settlement]) -> Answers:
        if not queueing:
            return _ended(ending, await self._database.fetch(Line.SETTLE, "settle", repeat=True, **self._ends(ending)))

        async def both(transaction: Transaction) -> tuple[Answers, list[Ending]]:
            answers = _ended(ending, await transaction.fetch("settle", **self._ends(ending))) if ending else {}
            return answers, await self._end_queueing(transaction, queueing)

        answers, endings = await self._database.transact(Line.SETTLE, both, repeat=True)
        return answers | await self._settled(endings)

    async def _end_queueing(self, transaction: Transaction, settlements: list[Settlement]) -> list[Ending]:
        wanted = {settlement.lease: settlement for settlement in settlements}
        rows = await transaction.fetch("lock_leases", **_columns(list(wanted)), now=self._now())
        endings = []
        for *row, now in rows:
            held = Held(*row)
            settlement = wanted[held.lease]
            due_at = held.due_at if settlement.act is Act.RELEASE else now + settlement.delay_ms
            endings.append(
                end(
                    held,
                    settlement.act,
                    due_at=due_at,
                    is_settlement=True,
                    result=settlement.result,
                    error=settlement.error,
                )
            )
        await record(transaction, endings, now=self._now())
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
        rows = await self._database.fetch(Line.SETTLE, "settled_before", repeat=True, **_columns(leases))
        return {
            Lease(TaskId(str(task)), epoch, nonce): Settled(state_after(AttemptOutcome(outcome)))
            for task, epoch, nonce, outcome in rows
        }

    def _ends(self, settlements: list[Settlement]) -> dict[str, Any]:
        return {
            **_columns([settlement.lease for settlement in settlements]),
            "acts": [NUMBER_OF[settlement.act] for settlement in settlements],
            "outcomes": [int(OUTCOME_OF[settlement.act]) for settlement in settlements],
            "results": column([None if each.result is None else bytes(each.result) for each in settlements]),
            "errors": column([error_text(settlement.error) for settlement in settlements]),
            "now": self._now(),
        }


def _columns(leases: Sequence[Lease]) -> dict[str, Any]:
    return {
        "ids": [lease.task for lease in leases],
        "epochs": [lease.epoch for lease in leases],
        "nonces": [lease.nonce for lease in leases],
    }


def _ended(settlements: list[Settlement], rows: list[Any]) -> Answers:
    """Return the answers for those that ended: all of them, unless the statement says which."""
    if not rows:
        return {}
    ((_, ids),) = rows
    if ids is None:
        return {settlement.lease: SETTLED[settlement.act] for settlement in settlements}
    ended = {str(task) for task in ids}
    # Two leases of one task: only one was current, and its ending is found in the history by its nonce.
    twice = len({settlement.lease.task for settlement in settlements}) < len(settlements)
    return {} if twice else {each.lease: SETTLED[each.act] for each in settlements if each.lease.task in ended}
