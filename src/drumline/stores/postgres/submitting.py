"""Bringing tasks in."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import asyncpg
from msgspec import Raw

from drumline.core.clock import Instant
from drumline.core.errors import KeyReused
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.state import Act
from drumline.core.task import ClaimedTask, NewTask, Submitted, decode_options
from drumline.ports.store import StoredLeased
from drumline.stores.driver import Line, RowVanished, Transaction
from drumline.stores.parts.expiry import note_expiries
from drumline.stores.postgres.acts import NUMBER_OF, SUBMIT
from drumline.stores.postgres.cursors import LanePosition
from drumline.stores.postgres.part import PostgresPart, column

Key = tuple[str, str]
"""Tenant and idempotency key."""
Answers = dict[TaskId, Submitted | KeyReused]


class Entries(NamedTuple):
    """Tasks on their way in, and the numbers of their lanes."""

    tasks: Sequence[NewTask]
    lanes: Sequence[int]

    @property
    def are_keyless(self) -> bool:
        """Whether no task has an idempotency key."""
        return [task.idempotency_key for task in self.tasks].count(None) == len(self.tasks)

    @property
    def are_plain(self) -> bool:
        """Whether one statement stores them: no task has an idempotency key or expires."""
        return self.are_keyless and [task.expires_at for task in self.tasks].count(None) == len(self.tasks)

    def without(self, answers: Answers) -> "Entries":
        """Return those that have no answer yet."""
        left = [pair for pair in zip(self.tasks, self.lanes, strict=True) if pair[0].id not in answers]
        return Entries([task for task, _ in left], [lane for _, lane in left])


class Submitting(PostgresPart):
    """`ports.store.Submitting` on PostgreSQL."""

    async def prepare(self) -> None:
        """Open a connection that knows the statements by which tasks come in."""
        await self._database.prepare(Line.SUBMIT, "lane_numbers", "submit_leased", "submit")

    async def submit(self, tasks: Sequence[NewTask]) -> list[Submitted | KeyReused]:
        """Store tasks durably, in order."""
        if not tasks:
            return []
        entries = Entries(tasks, await self._lanes.numbers_in_order([task.lane for task in tasks]))
        try:
            return await self._store(entries)
        except asyncpg.UniqueViolationError:
            # These very tasks are there: an earlier answer to the same submission was lost.
            return await self._store_missing(entries)

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task, leased to a session if that can be given it."""
        lane = task.lane
        (number,) = await self._lanes.numbers_in_order([lane])
        try:
            ((now, is_leased),) = await self._database.fetch(
                Line.SUBMIT,
                "submit_leased",
                repeat=True,
                id=task.id,
                lane=number,
                payload=task.payload,
                options=None if task.options is None else task.options.decode(),
                tenant=lane.tenant,
                queue=lane.queue,
                name=lane.name,
                session=session,
                nonce=nonce,
                submit=SUBMIT,
                claim=NUMBER_OF[Act.CLAIM],
                now=self._now(),
            )
        except asyncpg.UniqueViolationError:
            # This very task is there, and an earlier answer was lost. Whether it is leased is not asked: since then the
            # session may have repeated its claim and been given it, so nobody may hand it over a second time.
            ((_, due_at),) = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=[task.id])
            return StoredLeased(Submitted(task.id, Instant(due_at)), None)
        except asyncpg.DataError:
            # PostgreSQL cannot read all that is JSON: a worker whose words it cannot read is given nothing ahead.
            (stored,) = await self.submit([task])
            if not isinstance(stored, Submitted):
                raise stored from None
            return StoredLeased(stored, None)
        return StoredLeased(Submitted(task.id, Instant(now)), _claimed(task, nonce) if is_leased else None)

    async def _store(self, entries: Entries) -> list[Submitted | KeyReused]:
        if entries.are_plain:
            ((now,),) = await self._database.fetch(Line.SUBMIT, "submit", repeat=True, **self._task_columns(entries))
            return self._stored(entries, now)
        answers = await self._database.transact(
            Line.SUBMIT, lambda transaction: self._store_all(transaction, entries), repeat=True
        )
        return [answers[task.id] for task in entries.tasks]

    async def _store_all(self, transaction: Transaction, entries: Entries) -> Answers:
        answers = {} if entries.are_keyless else await self._known(transaction, entries.tasks)
        new = entries.without(answers)
        if new.tasks:
            now = await self._insert_new(transaction, new)
            answers |= {answer.id: answer for answer in self._stored(new, now) if isinstance(answer, Submitted)}
        return answers

    async def submit_in(self, transaction: Transaction, tasks: Sequence[NewTask]) -> list[Instant]:
        """Store tasks without idempotency keys as part of a transaction, and return when each is due."""
        entries = Entries(tasks, await self._lanes.numbers_in_order([task.lane for task in tasks]))
        now = await self._insert_new(transaction, entries)
        return [answer.due_at for answer in self._stored(entries, now) if isinstance(answer, Submitted)]

    async def _insert_new(self, transaction: Transaction, entries: Entries) -> int:
        """Store tasks that are new, and return the time."""
        ((now,),) = await transaction.fetch("submit", **self._task_columns(entries))
        await note_expiries(transaction, entries.tasks)
        return int(now)

    def _stored(self, entries: Entries, now: int) -> list[Submitted | KeyReused]:
        answers: list[Submitted | KeyReused] = []
        at = Instant(now)
        for task, lane in zip(entries.tasks, entries.lanes, strict=True):
            run_at = task.run_at
            if run_at is None:
                answers.append(Submitted(task.id, Instant(now + task.delay_ms) if task.delay_ms else at))
                continue
            answers.append(Submitted(task.id, run_at))
            if run_at < now:
                self._cursors.queued(lane, LanePosition(run_at, task.id))
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

    async def _store_missing(self, entries: Entries) -> list[Submitted | KeyReused]:
        ids = [task.id for task in entries.tasks]
        rows = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=ids)
        answers: Answers = {TaskId(str(task)): Submitted(TaskId(str(task)), Instant(due_at)) for task, due_at in rows}
        missing = entries.without(answers)
        if missing.tasks:
            stored = await self._store(missing)
            answers |= {task.id: answer for task, answer in zip(missing.tasks, stored, strict=True)}
        return [answers[task] for task in ids]

    def _task_columns(self, entries: Entries) -> dict[str, Any]:
        tasks = entries.tasks
        return {
            "ids": [task.id for task in tasks],
            **column("lanes", entries.lanes),
            **column("payloads", [task.payload for task in tasks]),
            **column("options", [None if task.options is None else task.options.decode() for task in tasks]),
            **column("run_at", [task.run_at for task in tasks]),
            **column("delays", [task.delay_ms for task in tasks]),
            "keys": [] if entries.are_keyless else [task.idempotency_key for task in tasks],
            "act": SUBMIT,
            "now": self._now(),
        }


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


def _claimed(task: NewTask, nonce: int) -> ClaimedTask:
    """Return a task as its first claim gives it."""
    lane = task.lane
    return ClaimedTask(
        lease=Lease(task.id, 1, nonce),
        name=lane.name,
        queue=lane.queue,
        payload=Raw(task.payload),
        attempt=1,
        priority=lane.priority,
        tenant=lane.tenant,
        options=decode_options(task.options),
    )
