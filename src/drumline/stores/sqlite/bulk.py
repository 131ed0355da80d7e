"""Acts on many tasks: frozen when asked for, carried out piece by piece."""

import sqlite3
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
from drumline.ports.bulk import Advanced, Survey, bulk_fact, refusal, stale, too_many
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.store import Changed
from drumline.stores.bulk_rows import Item, bulk_view
from drumline.stores.parts.control import Control
from drumline.stores.sqlite.access import batch_of, rows_of, tell_facts
from drumline.stores.sqlite.database import Statements, finish
from drumline.stores.sqlite.dead_letters import DeadLetters, find_causes
from drumline.stores.sqlite.following import SqliteFollowing
from drumline.stores.sqlite.statements import SQL

PRUNED_AT_ONCE: Final = 5000
"""Tasks forgotten in one transaction: a writer is kept for some milliseconds by it."""

Answer = Changed | NotFound | Conflict


class Bulks(DeadLetters, SqliteFollowing, Control):
    """`ports.bulk.Bulks` on SQLite."""

    async def survey(self, which: DeadLetterFilter, *, most: int) -> Survey:
        """Return what a filter finds now, looking no further than `most` + 1."""
        return await self._database.read(lambda connection: _survey(connection, which, most + 1))

    async def begin_bulk(
        self, bulk: NewBulk, *, which: DeadLetterFilter | None = None, tasks: Sequence[TaskId] = (), most: int
    ) -> BulkView:
        """Store an operation with the dead letters that a filter finds, the oldest first, or with these tasks."""
        return await self._database.write(lambda connection: self._begin_bulk(connection, bulk, which, tasks, most))

    async def advance_bulk(self, bulk: BulkId, *, limit: int) -> Advanced | None:
        """Deal with the next tasks of an operation, at most `limit` and what its rate allows by the store's clock."""
        return await self._database.write(lambda connection: self._advance(connection, bulk, limit))

    async def abort_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Deal with no more tasks of an operation. Raises `NotFound`, and `Conflict` if it has ended."""

        def abort(connection: sqlite3.Connection) -> BulkView:
            view = _get(connection, bulk, tenant)
            now = self._now()
            if not connection.execute(SQL["abort_bulk"], {"id": bulk, "now": now}).rowcount:
                raise Conflict(f"the bulk operation has {view.state} already")
            after = _get(connection, bulk, tenant)
            tell_facts(connection, now, [bulk_fact("aborted", after)])
            return after

        return await self._database.write(abort)

    async def get_bulk(self, bulk: BulkId, *, tenant: str | None = None) -> BulkView:
        """Return an operation as it stands, or raise `NotFound`."""
        return await self._database.read(lambda connection: _get(connection, bulk, tenant))

    async def bulks(
        self,
        *,
        tenant: str | None = None,
        states: frozenset[BulkState] = frozenset(),
        limit: int,
        before: BulkId | None = None,
    ) -> list[BulkView]:
        """Return operations, newest first, starting below `before`."""
        parameters = {
            "tenant": tenant, "states": batch_of(sorted(states)) if states else None, "limit": limit, "before": before,
        }  # fmt: skip
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["list_bulks"], parameters).fetchall()
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
        parameters = {
            "id": bulk, "outcomes": batch_of(sorted(outcomes)) if outcomes else None, "limit": limit, "after": after,
            "refused": bool(outcomes) and outcomes <= REFUSED, "tenant": tenant,
        }  # fmt: skip
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["bulk_items"], parameters).fetchall()
        )
        return [
            BulkItem(seq=seq, task=task, outcome=ItemOutcome(outcome), error=error)
            for seq, task, outcome, error in rows
        ]

    async def running_bulks(self) -> list[BulkId]:
        """Return the operations that have not ended, oldest first."""
        rows = await self._database.read(lambda connection: connection.execute(SQL["running_bulks"]).fetchall())
        return [BulkId(bulk) for (bulk,) in rows]

    async def prune_bulks(self, *, ended_before: Instant) -> int:
        """Forget operations that ended before a time, and causes of failures that were last seen before it."""
        await self._change("prune_causes", {"before": ended_before})
        span = {"before": ended_before, "limit": PRUNED_AT_ONCE}
        rows = await self._database.read(lambda connection: connection.execute(SQL["ended_bulks"], span).fetchall())
        for (bulk,) in rows:
            while await self._change("prune_bulk_items", {"id": bulk, "limit": PRUNED_AT_ONCE}) == PRUNED_AT_ONCE:
                pass
            await self._change("prune_bulk", {"id": bulk})
        return len(rows)

    def _begin_bulk(
        self,
        connection: sqlite3.Connection,
        bulk: NewBulk,
        which: DeadLetterFilter | None,
        tasks: Sequence[TaskId],
        most: int,
    ) -> BulkView:
        if which is None:
            total = connection.execute(SQL["freeze_tasks"], {"bulk": bulk.id, "ids": batch_of(tasks)}).rowcount
        else:
            wanted = {"bulk": bulk.id, "limit": most + 1, **_narrowed(connection, which)}
            total = connection.execute(SQL["freeze_dead_letters"], wanted).rowcount
        if total > most:
            raise too_many(most)
        row = {
            "id": bulk.id, "tenant": bulk.tenant, "act": bulk.act, "request": encode(bulk.plan).decode(),
            "rate": bulk.rate, "total": total, "now": self._now(),
        }  # fmt: skip
        connection.execute(SQL["insert_bulk"], row)
        view = _get(connection, bulk.id, None)
        tell_facts(connection, self._now(), [bulk_fact("started", view)])
        return view

    def _advance(self, connection: sqlite3.Connection, bulk: BulkId, limit: int) -> Advanced | None:
        row = connection.execute(SQL["get_bulk"], {"id": bulk, "tenant": None}).fetchone()
        if row is None or row[5] != BulkState.RUNNING:
            return None
        *words, tokens, tokens_at = row
        view, now = bulk_view(words), self._now()
        allowed, filled = allowance(view.rate, tokens, now - tokens_at)
        span = {"id": bulk, "position": view.total - view.left, "limit": int(min(limit, allowed))}
        items = [Item(*item) for item in rows_of(connection, "next_bulk_items", span)]
        if not items and now >= tokens_at:  # a clock that was set back must not stop it for as long
            return Advanced(view=view)
        answers = self._deal_with(connection, view, items)
        refused = [(item.seq, *why) for item in items if (why := refusal(answers[item.task])) is not None]
        if refused:
            connection.execute(SQL["refuse_bulk_items"], {"id": bulk, "batch": batch_of(refused)})
        skipped = sum(outcome is ItemOutcome.SKIPPED for _, outcome, _ in refused)
        connection.execute(SQL["advance_bulk"], {
            "id": bulk, "count": len(items), "skipped": skipped, "failed": len(refused) - skipped, "now": now,
            "tokens": filled - len(items) if view.rate is not None else tokens,
        })  # fmt: skip
        after = _get(connection, bulk, None)
        if after.state is BulkState.COMPLETED:
            tell_facts(connection, now, [bulk_fact("completed", after)])
        return Advanced(view=after, changed=tuple(each for each in answers.values() if isinstance(each, Changed)))

    def _deal_with(
        self, connection: sqlite3.Connection, view: BulkView, items: Sequence[Item]
    ) -> Mapping[TaskId, Answer]:
        answers: dict[TaskId, Answer] = {
            item.task: stale(item.task) for item in items if item.chosen is not None and item.chosen != item.present
        }
        tasks = [item.task for item in items if item.task not in answers]
        if view.act is BulkAct.DISCARD:
            return answers | dict(zip(tasks, self._discard(connection, tasks, view.tenant), strict=True))
        act = self._bulk_act(view, tasks)
        return answers | finish(self._act(Statements(connection), tasks, view.tenant, act))


def _survey(connection: sqlite3.Connection, which: DeadLetterFilter, limit: int) -> Survey:
    wanted = {"limit": limit, **_narrowed(connection, which)}
    count, oldest_at, newest_at = connection.execute(SQL["survey"], wanted).fetchone()
    return Survey(count=count, oldest_at=oldest_at, newest_at=newest_at)


def _narrowed(connection: sqlite3.Connection, which: DeadLetterFilter) -> dict[str, Any]:
    causes = find_causes(connection, which)
    return {
        "causes": None if causes is None else batch_of(list(causes)), "reason": which.reason, "tag": which.tag,
        "job": which.job, "since": which.since or 0, "until": LATEST + 1 if which.until is None else which.until,
    }  # fmt: skip


def _get(connection: sqlite3.Connection, bulk: BulkId, tenant: str | None) -> BulkView:
    row = connection.execute(SQL["get_bulk"], {"id": bulk, "tenant": tenant}).fetchone()
    if row is None:
        raise NotFound(f"there is no bulk operation {bulk}", field="id")
    return bulk_view(row[:12])
