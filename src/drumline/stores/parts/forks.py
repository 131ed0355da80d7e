"""New tasks that begin with the records of others."""

from functools import partial
from typing import Final

from drumline.core.clock import Clock, Instant
from drumline.core.errors import Invalid, KeyReused, NotFound
from drumline.core.event import Fact
from drumline.core.ids import TaskId
from drumline.core.task import Submitted
from drumline.ports.forks import ForkAnswer, Forked, NewFork
from drumline.stores.driver import Database, Lanes, Line, Part, Transaction, tell_facts
from drumline.stores.parts.firing import SubmitIn

AFTER_ALL: Final = (1 << 31) - 1
"""Above the place of every record."""


class Forks(Part):
    """`ports.forks.Forks`."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes, *, submit: SubmitIn) -> None:
        super().__init__(database, clock, lanes)
        self._submit = submit

    async def fork(self, new: NewFork) -> ForkAnswer:
        """Store a task with the records that another has before a step."""
        return await self._database.transact(Line.REQUEST, partial(self._fork, new=new), repeat=True)

    async def _fork(self, transaction: Transaction, new: NewFork) -> ForkAnswer:
        # The task's row is the lock: of two requests with one id the second finds what the first has made.
        locked = await transaction.fetch("lock_tasks", ids=[new.source])
        if not locked or not await transaction.fetch("whose_task", id=new.source, tenant=new.tenant):
            return NotFound(f"there is no task {new.source}", field="id")
        known = await transaction.fetch("find_fork", task=new.source, id=new.id)
        if known:
            return _known(new, *known[0])
        ((seq, waits),) = await transaction.fetch("fork_place", task=new.source, name=new.step, key=new.key)
        if seq is None and not waits:
            return Invalid(f"the task has no record of {_named(new)}, and does not wait for it", field="from")
        (due_at,) = await self._submit(transaction, [new.task])
        before = AFTER_ALL if seq is None else seq
        await transaction.fetch("copy_records", fork=new.task.id, task=new.source, before=before)
        ((records,),) = await transaction.fetch("count_copied", fork=new.task.id)
        ((now,),) = await transaction.fetch("now", now=self._now())
        await transaction.fetch(
            "insert_fork",
            task=new.source,
            fork=new.task.id,
            at=now,
            records=records,
            id=new.id,
            fingerprint=new.fingerprint,
        )
        data = {"task": new.task.id, "from": new.step, "key": new.key, "records": records}
        fact = Fact("drumline.task.forked", new.source, new.task.lane.tenant, data)
        await tell_facts(transaction, [fact], now=self._now())
        return Forked(Submitted(new.task.id, due_at), records)


def _known(new: NewFork, fork: object, records: int, fingerprint: bytes, due_at: int | None) -> Forked | KeyReused:
    if bytes(fingerprint) != new.fingerprint:
        return KeyReused("belongs to an earlier fork of the task that was asked for differently", field="id")
    return Forked(Submitted(TaskId(str(fork)), Instant(due_at or 0), created=False), records)


def _named(new: NewFork) -> str:
    return f"{new.step!r} with the key {new.key!r}" if new.key else repr(new.step)
