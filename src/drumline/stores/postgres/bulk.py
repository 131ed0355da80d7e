"""Acts on many tasks: frozen when asked for, carried out piece by piece."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from drumline.core.bulk import (
    REFUSED,
    BulkAct,
    BulkId,
    BulkItem,
    BulkState,
    BulkView,
    ItemOutcome,
    NewBulk,
    allowance,
)
from drumline.core.clock import LATEST, Instant
from drumline.core.codec import encode
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.task import Lane
from drumline.ports.bulk import Advanced, Survey, bulk_fact, refusal, stale, too_many
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.store import Changed
from drumline.stores.bulk_rows import Item, bulk_view
from drumline.stores.driver import Line, Transaction, tell_facts
from drumline.stores.parts.control import Answer, Control, TaskAct
from drumline.stores.parts.control_jobs import TaskRow
from drumline.stores.postgres.dead_letters import DeadLetters
from drumline.stores.postgres.following import PostgresFollowing

PRUNED_AT_ONCE: Final = 10


class Bulks(DeadLetters, PostgresFollowing, Control):
    """`ports.bulk.Bulks` on PostgreSQL."""

    async def survey(self, which: DeadLetterFilter, *, most: int) -> Survey:
        """Return what a filter finds now, looking no further than `most` + 1."""
        narrowed = await self._narrowed(which)
        ((count, oldest_at, newest_at),) = await self._database.fetch(
            Line.BROAD, "survey", repeat=True, limit=most + 1, **narrowed
        )
        return Survey(count=count, oldest_at=oldest_at, newest_at=newest_at)

    async def begin_bulk(
        self, bulk: NewBulk, *, which: DeadLetterFilter | None = None, tasks: Sequence[TaskId] = (), most: int
    ) -> BulkView:
        """Store an operation with the dead letters that a filter finds, the oldest first, or with these tasks."""
        narrowed = None if which is None else await self._narrowed(which)

        async def begin(transaction: Transaction) -> BulkView:
            if narrowed is None:
                await transaction.fetch("freeze_tasks", bulk=bulk.id, ids=list(tasks))
                total = len(tasks)
            else:
                ((total,),) = await transaction.fetch("freeze_dead_letters", bulk=bulk.id, limit=most + 1, **narrowed)
            if total > most:
                raise too_many(most)
            await transaction.fetch(
                "insert_bulk",
                id=bulk.id,
                tenant=bulk.tenant,
                act=bulk.act,
                request=encode(bulk.plan).decode(),
                rate=bulk.rate,
                total=total,
                now=self._now(),
            )
            view = await _get(transaction, bulk.id, None)
            await tell_facts(transaction, [bulk_fact("started", view)], now=self._now())
            return view

        return await self._database.transact(Line.BROAD, begin)

    async def advance_bulk(self, bulk: BulkId, *, limit: int) -> Advanced | None:
        """Deal with the next tasks of an operation, at most `limit` and what its rate allows by the store's clock."""
        advanced = await self._database.transact(
            Line.BROAD, lambda transaction: self._advance(transaction, bulk, limit)
        )
        if advanced is not None:
            await self._note_queued(advanced.changed)
        return advanced

    async def abort_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Deal with no more tasks of an operation. Raises `NotFound`, and `Conflict` if it has ended."""

        async def abort(transaction: Transaction) -> BulkView:
            view = await _get(transaction, bulk, tenant)
            if not await transaction.fetch("abort_bulk", id=bulk, now=self._now()):
                after = await _get(transaction, bulk, tenant)
                raise Conflict(f"the bulk operation has {after.state} already")
            view = await _get(transaction, bulk, tenant)
            await tell_facts(transaction, [bulk_fact("aborted", view)], now=self._now())
            return view

        return await self._database.transact(Line.DESK, abort, within=tenant)

    async def get_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Return an operation as it stands, or raise `NotFound`."""
        rows = await self._database.fetch(Line.DESK, "get_bulk", repeat=True, within=tenant, id=bulk, tenant=tenant)
        return _only(rows, bulk)

    async def bulks(
        self,
        *,
        tenant: str | None = None,
        states: frozenset[BulkState] = frozenset(),
        limit: int,
        before: BulkId | None = None,
    ) -> list[BulkView]:
        """Return operations, newest first, starting below `before`."""
        wanted = sorted(states) if states else None
        rows = await self._database.fetch(
            Line.BROAD,
            "list_bulks",
            repeat=True,
            within=tenant,
            tenant=tenant,
            states=wanted,
            limit=limit,
            before=before,
        )
        return [bulk_view(row) for row in rows]

    async def bulk_items(
        self,
        bulk: BulkId,
        *,
        outcomes: frozenset[ItemOutcome] = frozenset(),
        limit: int,
        after: int = 0,
        tenant: str | None = None,
    ) -> list[BulkItem]:
        """Return the tasks of an operation in their order, behind a place; those with certain outcomes, if named."""
        rows = await self._database.fetch(
            Line.BROAD,
            "bulk_items",
            repeat=True,
            within=tenant,
            tenant=tenant,
            id=bulk,
            outcomes=sorted(outcomes) if outcomes else None,
            refused=bool(outcomes) and outcomes <= REFUSED,
            limit=limit,
            after=after,
        )
        return [
            BulkItem(seq=seq, task=TaskId(str(task)), outcome=ItemOutcome(outcome), error=error)
            for seq, task, outcome, error in rows
        ]

    async def running_bulks(self) -> list[BulkId]:
        """Return the operations that have not ended, oldest first."""
        rows = await self._database.fetch(Line.BROAD, "running_bulks", repeat=True)
        return [BulkId(str(bulk)) for (bulk,) in rows]

    async def prune_bulks(self, *, ended_before: Instant) -> int:
        """Forget operations that ended before a time, and causes of failures that were last seen before it."""
        pruned = 0
        while True:
            ((count,),) = await self._database.fetch(
                Line.BROAD, "prune_bulks", before=ended_before, limit=PRUNED_AT_ONCE
            )
            pruned += int(count)
            if count < PRUNED_AT_ONCE:
                return pruned

    async def _narrowed(self, which: DeadLetterFilter) -> dict[str, Any]:
        return {
            "causes": await self._causes_of(which), "reason": which.reason, "tag": which.tag, "job": which.job,
            "since": which.since or 0, "until": LATEST + 1 if which.until is None else which.until,
        }  # fmt: skip

    async def _advance(self, transaction: Transaction, bulk: BulkId, limit: int) -> Advanced | None:
        rows = await transaction.fetch("lock_bulk", id=bulk, now=self._now())
        if not rows:
            return None
        *words, tokens, tokens_at, now = rows[0]
        view = bulk_view(words)
        allowed, filled = allowance(view.rate, tokens, now - tokens_at)
        found = await transaction.fetch(
            "next_bulk_items", id=bulk, position=view.total - view.left, limit=int(min(limit, allowed))
        )
        items = [Item(seq, TaskId(str(task)), chosen, present) for seq, task, chosen, present in found]
        if not items and now >= tokens_at:  # a clock that was set back must not stop it for as long
            return Advanced(view=view)
        answers = await self._deal_with(transaction, view, items)
        refused = [(item.seq, *why) for item in items if (why := refusal(answers[item.task])) is not None]
        skipped = sum(outcome is ItemOutcome.SKIPPED for _, outcome, _ in refused)
        await transaction.fetch(
            "advance_bulk",
            id=bulk,
            seqs=[seq for seq, _, _ in refused],
            outcomes=[outcome for _, outcome, _ in refused],
            errors=[error for _, _, error in refused],
            count=len(items),
            skipped=skipped,
            failed=len(refused) - skipped,
            tokens=tokens if view.rate is None else filled - len(items),
            now=now,
        )
        after = await _get(transaction, bulk, None)
        if after.state is BulkState.COMPLETED:
            await tell_facts(transaction, [bulk_fact("completed", after)], now=self._now())
        return Advanced(view=after, changed=tuple(each for each in answers.values() if isinstance(each, Changed)))

    async def _deal_with(
        self, transaction: Transaction, view: BulkView, items: Sequence[Item]
    ) -> Mapping[TaskId, Answer]:
        answers: dict[TaskId, Answer] = {
            item.task: stale(item.task) for item in items if item.chosen is not None and item.chosen != item.present
        }
        tasks = [item.task for item in items if item.task not in answers]
        chosen = {item.task: item.chosen for item in items if item.chosen is not None}
        if not tasks:
            return answers
        if view.act is BulkAct.DISCARD:
            return answers | await self._discard(transaction, tasks, view.tenant, chosen)
        act = _guarded(self._bulk_act(view, tasks), chosen)
        return answers | await self._act(transaction, tasks, view.tenant, act)


def _guarded(act: TaskAct, chosen: Mapping[TaskId, int]) -> TaskAct:
    """Return an act that does not hold for a task whose dead letter is not the chosen one, now that it is locked."""

    def decide(row: TaskRow, lane: Lane, now: Instant) -> Changed:
        if chosen.get(row.id, row.letter) != row.letter:
            raise stale(row.id)
        return act.decide(row, lane, now)

    async def decide_in_job(transaction: Transaction, row: TaskRow) -> Changed | Conflict:
        if chosen.get(row.id, row.letter) != row.letter or in_job is None:
            return stale(row.id)
        return await in_job(transaction, row)

    in_job = act.in_job
    return act._replace(decide=decide, in_job=None if in_job is None else decide_in_job)


async def _get(transaction: Transaction, bulk: BulkId, tenant: str | None) -> BulkView:
    return _only(await transaction.fetch("get_bulk", id=bulk, tenant=tenant), bulk)


def _only(rows: Sequence[Any], bulk: BulkId) -> BulkView:
    if not rows:
        raise NotFound(f"there is no bulk operation {bulk}", field="id")
    return bulk_view(rows[0])
