"""Bringing tasks in."""

from collections.abc import Mapping, Sequence

import asyncpg

from drumline.backends.postgres.access import Access, column
from drumline.backends.postgres.acts import SUBMIT
from drumline.backends.postgres.cursors import Place
from drumline.backends.postgres.database import Line, Transaction
from drumline.core.clock import Instant
from drumline.core.errors import KeyReused
from drumline.core.ids import TaskId
from drumline.core.task import Lane, NewTask, Submitted

Key = tuple[str, str]
"""Tenant and idempotency key."""
Answers = dict[TaskId, Submitted | KeyReused]


class Submitting(Access):
    """`ports.store.Submitting` on PostgreSQL."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[Submitted | KeyReused]:
        """Store tasks durably, in order."""
        if not tasks:
            return []
        numbers = await self._lanes.numbers({task.lane for task in tasks})
        try:
            answers = await self._store(tasks, numbers)
        except asyncpg.UniqueViolationError:
            # These very tasks are there: an earlier answer to the same submission was lost.
            answers = await self._store_missing(tasks, numbers)
        for task in tasks:
            answer = answers[task.id]
            if isinstance(answer, Submitted) and answer.created:
                self._cursors.queued(numbers[task.lane], Place(answer.due_at, answer.id))
        return [answers[task.id] for task in tasks]

    async def _store(self, tasks: Sequence[NewTask], numbers: Mapping[Lane, int]) -> Answers:
        if all(task.idempotency_key is None for task in tasks):
            values = self._columns(tasks, numbers)
            ((now,),) = await self._database.fetch(Line.SUBMIT, "submit", repeat=True, **values)
            return {task.id: Submitted(task.id, _due_at(task, now)) for task in tasks}
        return await self._database.transact(
            Line.SUBMIT, lambda transaction: self._store_keyed(transaction, tasks, numbers), repeat=True
        )

    async def _store_keyed(
        self, transaction: Transaction, tasks: Sequence[NewTask], numbers: Mapping[Lane, int]
    ) -> Answers:
        answers = await self._known(transaction, tasks)
        new = [task for task in tasks if task.id not in answers]
        if new:
            ((now,),) = await transaction.fetch("submit", **self._columns(new, numbers))
            answers |= {task.id: Submitted(task.id, _due_at(task, now)) for task in new}
        return answers

    async def _known(self, transaction: Transaction, tasks: Sequence[NewTask]) -> Answers:
        """Note the idempotency keys, and return the answers for those that were used before."""
        firsts: dict[Key, NewTask] = {}
        for task in tasks:
            if task.idempotency_key is not None:
                firsts.setdefault((task.lane.tenant, task.idempotency_key), task)
        keys = sorted(firsts)
        rows = await transaction.fetch(
            "insert_keys",
            tenants=[tenant for tenant, _ in keys],
            keys=[key for _, key in keys],
            ids=[firsts[key].id for key in keys],
            fingerprints=[firsts[key].fingerprint for key in keys],
            run_at=[firsts[key].run_at for key in keys],
            delays=[firsts[key].delay_ms for key in keys],
            now=self._now(),
        )
        new = {(tenant, key) for tenant, key in rows}
        if len(new) == sum(task.idempotency_key is not None for task in tasks):
            return {}
        found = await transaction.fetch("known_keys", tenants=[key[0] for key in keys], keys=[key[1] for key in keys])
        return _answers(tasks, new, {(row[0], row[1]): (str(row[2]), row[3], row[4]) for row in found})

    async def _store_missing(self, tasks: Sequence[NewTask], numbers: Mapping[Lane, int]) -> Answers:
        rows = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=[task.id for task in tasks])
        answers: Answers = {TaskId(str(task)): Submitted(TaskId(str(task)), Instant(due_at)) for task, due_at in rows}
        missing = [task for task in tasks if task.id not in answers]
        return answers | (await self._store(missing, numbers) if missing else {})

    def _columns(self, tasks: Sequence[NewTask], numbers: Mapping[Lane, int]) -> dict[str, object]:
        return {
            "ids": [task.id for task in tasks],
            "lanes": [numbers[task.lane] for task in tasks],
            "payloads": [task.payload for task in tasks],
            "options": column([None if task.options is None else task.options.decode() for task in tasks]),
            "run_at": column([task.run_at for task in tasks]),
            "delays": column([task.delay_ms or None for task in tasks]),
            "keys": column([task.idempotency_key for task in tasks]),
            "act": SUBMIT,
            "now": self._now(),
        }


def _due_at(task: NewTask, now: int) -> Instant:
    return task.run_at if task.run_at is not None else Instant(now + task.delay_ms)


def _answers(tasks: Sequence[NewTask], new: set[Key], known: Mapping[Key, tuple[str, bytes, int]]) -> Answers:
    """Return the answers for keyed tasks that are not the first of their key."""
    answers: Answers = {}
    for task in tasks:
        if task.idempotency_key is None:
            continue
        key = (task.lane.tenant, task.idempotency_key)
        owner, fingerprint, due_at = known[key]
        if owner == task.id:
            if key not in new:
                answers[task.id] = Submitted(task.id, Instant(due_at))  # an earlier answer was lost
        elif fingerprint != task.fingerprint:
            answers[task.id] = KeyReused(
                f"belongs to task {owner}, which was submitted differently", field="idempotency_key"
            )
        else:
            answers[task.id] = Submitted(TaskId(owner), Instant(due_at), created=False)
    return answers
