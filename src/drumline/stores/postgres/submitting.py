"""Bringing tasks in."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import asyncpg
from msgspec import Raw

from drumline.core.clock import Instant
from drumline.core.errors import KeyReused, Moved
from drumline.core.ids import SessionId, TaskId, made_at
from drumline.core.lease import Lease
from drumline.core.slots import STAYS, slot_of
from drumline.core.state import Act
from drumline.core.task import ClaimedTask, NewTask, SubmitAnswer, Submitted, decode_options
from drumline.ports.shards import KnownKey
from drumline.ports.store import StoredLeased
from drumline.stores.driver import Line, RowVanished, Transaction
from drumline.stores.parts.expiry import note_expiries
from drumline.stores.postgres.acts import NUMBER_OF, SUBMIT
from drumline.stores.postgres.cursors import LanePosition
from drumline.stores.postgres.failures import SlotClosed
from drumline.stores.postgres.part import PostgresPart, column

Key = tuple[str, str]
"""Tenant and idempotency key."""
Answers = dict[TaskId, SubmitAnswer]

MOVED: Final = Moved("another shard takes new work of this slot; look at the map again")


KEY_MOVED: Final = Moved("the task of this idempotency key was moved to another shard; look for it there")


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
        await self._database.prepare(Line.SUBMIT, "lane_numbers", "submit_leased", "submit_one", "submit")

    async def submit(self, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        """Store tasks durably, in order."""
        if not tasks:
            return []
        entries = Entries(tasks, await self._lanes.numbers_in_order([task.lane for task in tasks]))
        try:
            return await self._store(entries)
        except asyncpg.UniqueViolationError:
            # These very tasks are there: an earlier answer to the same submission was lost.
            return await self._store_missing(entries)
        except SlotClosed:
            return await self._store_unmoved(entries)

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
                **fence_of([task]),
                now=self._now(),
            )
        except asyncpg.UniqueViolationError:
            # This very task is there, and an earlier answer was lost. Whether it is leased is not asked: since then the
            # session may have repeated its claim and been given it, so nobody may hand it over a second time.
            ((_, due_at),) = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=[task.id])
            return StoredLeased(Submitted(task.id, Instant(due_at)), None)
        except (asyncpg.DataError, SlotClosed):
            # PostgreSQL cannot read all that is JSON: a worker whose words it cannot read is given nothing ahead.
            (stored,) = await self.submit([task])
            if not isinstance(stored, Submitted):
                raise stored from None
            return StoredLeased(stored, None)
        return StoredLeased(Submitted(task.id, Instant(now)), _claimed(task, nonce) if is_leased else None)

    async def _store(self, entries: Entries) -> list[SubmitAnswer]:
        if entries.are_plain:
            if len(entries.tasks) == 1:
                return await self._store_one(entries)
            ((now,),) = await self._database.fetch(Line.SUBMIT, "submit", repeat=True, **self._task_columns(entries))
            return self._stored(entries, now)
        answers = await self._database.transact(
            Line.SUBMIT, lambda transaction: self._store_all(transaction, entries), repeat=True
        )
        return [answers[task.id] for task in entries.tasks]

    async def _store_one(self, entries: Entries) -> list[SubmitAnswer]:
        (task,), (lane,) = entries
        ((now,),) = await self._database.fetch(
            Line.SUBMIT,
            "submit_one",
            repeat=True,
            id=task.id,
            lane=lane,
            payload=task.payload,
            options=None if task.options is None else task.options.decode(),
            run_at=task.run_at,
            delay=task.delay_ms,
            act=SUBMIT,
            slot=slot_of(task.id),
            version=task.slot_version,
            made_at=made_at(task.id),
            now=self._now(),
        )
        return self._stored(entries, now)

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

    def _stored(self, entries: Entries, now: int) -> list[SubmitAnswer]:
        answers: list[SubmitAnswer] = []
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
        return _answers(tasks, new, await self._keys(transaction, keys))

    async def _store_missing(self, entries: Entries) -> list[SubmitAnswer]:
        """Store those that are not stored yet, and answer for all."""
        answers = await self._answers_stored(entries)
        missing = entries.without(answers)
        if missing.tasks:
            try:
                stored = await self._store(missing)
            except SlotClosed:
                return await self._store_unmoved(entries)
            answers |= {task.id: answer for task, answer in zip(missing.tasks, stored, strict=True)}
        return [answers[task.id] for task in entries.tasks]

    async def _store_unmoved(self, entries: Entries) -> list[SubmitAnswer]:
        """Answer for what is stored already, by id or by key; store what is in open slots, and refuse the rest."""
        answers = await self._answers_stored(entries)
        answers |= await self._database.transact(
            Line.SUBMIT, lambda transaction: self._answers_known(transaction, entries.without(answers)), repeat=True
        )
        left = entries.without(answers)
        open_slots = await self._database.fetch(Line.SUBMIT, "open_slots", repeat=True, **fence_of(left.tasks))
        routes = {(slot, version) for slot, version in open_slots}
        answers |= {task.id: MOVED for task in left.tasks if (slot_of(task.id), task.slot_version) not in routes}
        left = entries.without(answers)
        if left.tasks:
            try:
                stored = await self._store(left)
            except (SlotClosed, asyncpg.UniqueViolationError):  # just now: whoever sent them sends them again
                stored = [MOVED] * len(left.tasks)
            answers |= {task.id: answer for task, answer in zip(left.tasks, stored, strict=True)}
        return [answers[task.id] for task in entries.tasks]

    async def _answers_stored(self, entries: Entries) -> Answers:
        """Return the answers for those that are stored already under their id."""
        ids = [task.id for task in entries.tasks]
        rows = await self._database.fetch(Line.SUBMIT, "stored_ids", repeat=True, ids=ids)
        return {TaskId(str(task)): Submitted(TaskId(str(task)), Instant(due_at)) for task, due_at in rows}

    async def _answers_known(self, transaction: Transaction, entries: Entries) -> Answers:
        """Return the answers for those whose key is known, without noting any."""
        keyed = [task for task in entries.tasks if task.idempotency_key is not None]
        keys = sorted({(task.lane.tenant, task.idempotency_key or "") for task in keyed})
        known = await self._keys(transaction, keys)
        return _answers([task for task in keyed if (task.lane.tenant, task.idempotency_key) in known], set(), known)

    async def _keys(self, transaction: Transaction, keys: Sequence[Key]) -> dict[Key, KnownKey]:
        """Return whose idempotency keys are, of those that are known."""
        tenants, names = [tenant for tenant, _ in keys], [key for _, key in keys]
        rows = await transaction.fetch("known_keys", tenants=tenants, keys=names)
        return {
            (tenant, key): KnownKey(TaskId(str(task)), fingerprint, Instant(due_at), is_here)
            for tenant, key, task, fingerprint, due_at, is_here in rows
        }

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
            **fence_of(tasks),
            "now": self._now(),
        }


def fence_of(tasks: Sequence[NewTask]) -> dict[str, Any]:
    """Return what the fence is asked: each slot with the version it was routed by, and the time of its oldest id.

    It is not asked for what stays beside a task of its slot.
    """
    oldest: dict[tuple[str, int], str] = {}
    for task in tasks:
        route = (task.id[20:23], task.slot_version)
        if task.slot_version != STAYS and oldest.get(route, "~") > task.id:
            oldest[route] = task.id
    return {
        "slots": [int(slot, 16) for slot, _ in oldest],
        "versions": [version for _, version in oldest],
        "oldest": [made_at(first) for first in oldest.values()],
    }


def _answers(tasks: Sequence[NewTask], new: set[Key], known: Mapping[Key, KnownKey]) -> Answers:
    """Return the answers for keyed tasks that are not the first of their key.

    One whose first task was moved to another shard gets `MOVED`: only there it is known whether that is still kept.
    """
    answers: Answers = {}
    for task in tasks:
        if task.idempotency_key is None:
            continue
        key = (task.lane.tenant, task.idempotency_key)
        if key not in known:
            raise RowVanished(f"the idempotency key {task.idempotency_key!r} was pruned just now")
        first = known[key]
        if first.task == task.id:
            if key not in new:
                answers[task.id] = Submitted(task.id, first.due_at)  # an earlier answer was lost
        elif key not in new and not first.is_here:
            answers[task.id] = KEY_MOVED
        elif first.fingerprint != task.fingerprint:
            answers[task.id] = KeyReused(
                f"belongs to task {first.task}, which was submitted differently", field="idempotency_key"
            )
        else:
            answers[task.id] = Submitted(first.task, first.due_at, created=False)
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
