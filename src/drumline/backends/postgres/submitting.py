"""Bringing tasks in."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import asyncpg

from drumline.backends.postgres.access import Access, column
from drumline.backends.postgres.acts import SUBMIT
from drumline.backends.postgres.cursors import Place
from drumline.backends.postgres.database import Line, Transaction
from drumline.backends.postgres.failures import RowVanished
from drumline.core.clock import Instant
from drumline.core.errors import KeyReused
from drumline.core.ids import TaskId
from drumline.core.task import NewTask, Submitted

Key = tuple[str, str]
"""Tenant and idempotency key."""
Answers = dict[TaskId, Submitted | KeyReused]


class Entry(NamedTuple):
    """A task on its way in, and the number of its lane."""

    task: NewTask
    lane: int


class Submitting(Access):
    """`ports.store.Submitting` on PostgreSQL."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[Submitted | KeyReused]:
        """Store tasks durably, in order."""
        if not tasks:
            return []
        lanes = await self._lanes.numbers_in_order([task.lane for task in tasks])
        entries = [Entry(task, lane) for task, lane in zip(tasks, lanes, strict=True)]
        try:
            answers = await self._store(entries)
        except asyncpg.UniqueViolationError:
            # These very tasks are there: an earlier answer to the same submission was lost.
            answers = await self._store_missing(entries)
        return [answers[task.id] for task in tasks]

    async def _store(self, entries: Sequence[Entry]) -> Answers:
        if is_keyless(entries):
            ((now,),) = await self._database.fetch(Line.SUBMIT, "submit", repeat=True, **self._task_columns(entries))
            return self._stored(entries, now)
        return await self._database.transact(
            Line.SUBMIT, lambda transaction: self._store_keyed(transaction, entries), repeat=True
        )

    async def _store_keyed(self, transaction: Transaction, entries: Sequence[Entry]) -> Answers:
        answers = await self._known(transaction, [task for task, _ in entries])
        new = [entry for entry in entries if entry.task.id not in answers]
        if new:
            ((now,),) = await transaction.fetch("submit", **self._task_columns(new))
            answers |= self._stored(new, now)
        return answers

    def _stored(self, entries: Sequence[Entry], now: int) -> Answers:
        answers: Answers = {}
        for task, lane in entries:
            due_at = task.run_at if task.run_at is not None else Instant(now + task.delay_ms)
            answers[task.id] = Submitted(task.id, due_at)
            if due_at < now:
                self._cursors.queued(lane, Place(due_at, task.id))
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

    async def _store_missing(self, entries: Sequence[Entry]) -> Answers:
        ids = [task.id for task, _ in entries]
        rows = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=ids)
        answers: Answers = {TaskId(str(task)): Submitted(TaskId(str(task)), Instant(due_at)) for task, due_at in rows}
        missing = [entry for entry in entries if entry.task.id not in answers]
        return answers | (await self._store(missing) if missing else {})

    def _task_columns(self, entries: Sequence[Entry]) -> dict[str, object]:
        return {
            "ids": [task.id for task, _ in entries],
            **column("lanes", [lane for _, lane in entries]),
            **column("payloads", [task.payload for task, _ in entries]),
            **column("options", [None if task.options is None else task.options.decode() for task, _ in entries]),
            **column("run_at", [task.run_at for task, _ in entries]),
            **column("delays", [task.delay_ms for task, _ in entries]),
            "keys": [] if is_keyless(entries) else [task.idempotency_key for task, _ in entries],
            "act": SUBMIT,
            "now": self._now(),
        }


def is_keyless(entries: Sequence[Entry]) -> bool:
    """Tell whether no task has an idempotency key."""
    return all(task.idempotency_key is None for task, _ in entries)


def _answers(tasks: Sequence[NewTask], new: set[Key], known: Mapping[Key, tuple[str, bytes, int]]) -> Answers:
    """Return the answers for keyed tasks that are not the first of their key."""
    answers: Answers = {}
    for task in tasks:
        if task.idempotency_key is None:
            continue
        key = (task.lane.tenant, task.idempotency_key)
        if key not in known:
            raise RowVanished(f"the idempotency key {task.idempotency_key!r} was pruned just now")
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
