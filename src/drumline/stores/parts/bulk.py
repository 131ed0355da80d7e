"""Acts on many tasks: frozen when asked for, carried out piece by piece."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from drumline.core.bulk import (
    REFUSED,
    BulkAct,
    BulkId,
    BulkItem,
    BulkPlan,
    BulkState,
    BulkView,
    ItemOutcome,
    NewBulk,
    allowance,
)
from drumline.core.clock import LATEST, Clock, Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.ports.bulk import Advanced, Survey, bulk_fact, refusal, stale, too_many
from drumline.ports.changed import Changed
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.stores.driver import Database, Lanes, Line, Part, Rows, Transaction, tell_facts
from drumline.stores.parts.control import Answer, Control
from drumline.stores.parts.dead_letters import DeadLetters

PRUNED_AT_ONCE: Final = 10
ITEMS_AT_ONCE: Final = 5000
"""Tasks forgotten in one transaction: the writer of SQLite is kept for some milliseconds by it."""


class Item(NamedTuple):
    """A task to be dealt with; the order is that of next_bulk_items."""

    seq: int
    task: TaskId
    chosen: int | None
    """The dead letter that it had when it was chosen, by its epoch."""
    present: int | None


class Bulks(Part):
    """`ports.bulk.Bulks`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, dead_letters: DeadLetters, control: Control
    ) -> None:
        super().__init__(database, clock, lanes)
        self._dead_letters = dead_letters
        self._control = control

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
            await transaction.fetch("exclude_moves")
            if narrowed is None:
                seqs = list(range(1, len(tasks) + 1))
                await transaction.fetch("freeze_tasks", bulk=bulk.id, ids=list(tasks), seqs=seqs)
            else:
                await transaction.fetch("freeze_dead_letters", bulk=bulk.id, limit=most + 1, **narrowed)
            ((total,),) = await transaction.fetch("count_bulk_items", bulk=bulk.id)
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
            await self._control.following.note_queued(advanced.changed)
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

        return await self._database.transact(Line.REQUEST, abort, within=tenant)

    async def take_back_bulk(self, bulk: BulkId) -> None:
        """Abort an operation, if it was or is being stored, and has not ended."""

        async def take_back(transaction: Transaction) -> None:
            await transaction.fetch("exclude_moves")  # waits for the end of a transaction that stores it
            if await transaction.fetch("abort_bulk", id=bulk, now=self._now()):
                view = await _get(transaction, bulk, None)
                await tell_facts(transaction, [bulk_fact("aborted", view)], now=self._now())

        await self._database.transact(Line.REQUEST, take_back, repeat=True)

    async def get_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Return an operation, or raise `NotFound`."""
        rows = await self._database.fetch(Line.REQUEST, "get_bulk", repeat=True, within=tenant, id=bulk, tenant=tenant)
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
        return [_view(row) for row in rows]

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
        await self._database.fetch(Line.BROAD, "prune_causes", before=ended_before)
        pruned = 0
        while True:
            ended = await self._database.fetch(
                Line.BROAD, "ended_bulks", repeat=True, before=ended_before, limit=PRUNED_AT_ONCE
            )
            for (bulk,) in ended:
                while len(await self._prune_items(bulk)) == ITEMS_AT_ONCE:
                    pass
                pruned += len(await self._database.fetch(Line.BROAD, "prune_bulk", id=bulk))
            if len(ended) < PRUNED_AT_ONCE:
                return pruned

    async def _prune_items(self, bulk: BulkId) -> Rows:
        return await self._database.fetch(Line.BROAD, "prune_bulk_items", id=bulk, limit=ITEMS_AT_ONCE)

    async def _narrowed(self, which: DeadLetterFilter) -> dict[str, Any]:
        return {
            "causes": await self._dead_letters.causes_of(which), "reason": which.reason, "tag": which.tag,
            "job": which.job, "since": which.since or 0, "until": LATEST + 1 if which.until is None else which.until,
        }  # fmt: skip

    async def _advance(self, transaction: Transaction, bulk: BulkId, limit: int) -> Advanced | None:
        rows = await transaction.fetch("lock_bulk", id=bulk, now=self._now())
        if not rows:
            return None
        *words, tokens, tokens_at, now = rows[0]
        view = _view(words)
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
        if refused:
            await transaction.fetch(
                "refuse_bulk_items",
                id=bulk,
                seqs=[seq for seq, _, _ in refused],
                outcomes=[outcome for _, outcome, _ in refused],
                errors=[error for _, _, error in refused],
            )
        await transaction.fetch(
            "advance_bulk",
            id=bulk,
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
            return answers | await self._dead_letters.discard_in(transaction, tasks, view.tenant, chosen)
        return answers | await self._control.act_in_bulk(transaction, view, tasks, chosen)


async def _get(transaction: Transaction, bulk: BulkId, tenant: str | None) -> BulkView:
    return _only(await transaction.fetch("get_bulk", id=bulk, tenant=tenant), bulk)


def _only(rows: Sequence[Any], bulk: BulkId) -> BulkView:
    if not rows:
        raise NotFound(f"there is no bulk operation {bulk}", field="id")
    return _view(rows[0])


def _view(row: Iterable[Any]) -> BulkView:
    """Return an operation from its row."""
    id_, tenant, act, request, rate, state, total, position, failed, skipped, created_at, finished_at = row
    return BulkView(
        id=BulkId(str(id_)), tenant=tenant, act=BulkAct(act), plan=decode(request, BulkPlan), rate=rate,
        state=BulkState(state), total=total, done=position - failed - skipped, failed=failed, skipped=skipped,
        created_at=created_at, finished_at=finished_at,
    )  # fmt: skip
