"""Leasing due tasks to sessions."""

import heapq
import sqlite3
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from msgspec import Raw

from drumline.core.clock import Instant
from drumline.core.fair_shares import by_share
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.priority import score
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask, decode_options
from drumline.ports.store import Claim, ClaimRequest
from drumline.stores.sqlite.batches import batch_of, event, rows_of, tell
from drumline.stores.sqlite.limiting import Limiting
from drumline.stores.sqlite.statements import SQL

LaneRow = tuple[int, int, str]
"""A lane's number, priority and tenant."""
Scored = tuple[int, str]
"""A task after its score."""

NOTHING = Claim(())
AT_ONCE: Final = 100
"""Tasks that are read in one statement: SQLite has no text of a gigabyte, and a payload may be a megabyte."""
LARGEST_ANSWER: Final = 32 * 1024 * 1024
"""Bytes of payloads after which a claim is given no more."""


class Claiming(Limiting):
    """The claiming part of `ports.store.Executing` on SQLite."""

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run, best score first, and lease them to its session."""
        return await self._database.write(
            lambda connection: [self._claim(connection, request, self._now()) for request in requests]
        )

    def _claim(self, connection: sqlite3.Connection, request: ClaimRequest, now: Instant) -> Claim:
        if connection.execute(SQL["session_is_claiming"], {"session": request.session}).fetchone() is None:
            return NOTHING
        if request.again:
            taken = self._taken_before(connection, request)
            if taken:
                return Claim(tuple(taken))
        if request.limited:
            return self._claim_limited(connection, request, now)
        lanes = rows_of(
            connection,
            "lanes_for",
            {"names": batch_of(request.names), "queues": batch_of(request.queues), "tenant": request.tenant},
        )
        ids = request.hints if request.hints is not None else _best_due(connection, lanes, request, now)
        if not ids:
            return Claim((), None if request.hints is not None else _next_due(connection, lanes))
        taken = self._take(connection, request, ids, [lane for lane, *_ in lanes], now)
        tell(connection, now, [event(t.lease.task, Act.CLAIM, State.RUNNING, t.lease.epoch) for t in taken])
        return Claim(tuple(taken))

    def _claim_limited(self, connection: sqlite3.Connection, request: ClaimRequest, now: Instant) -> Claim:
        choice, lanes = self._choose_limited(connection, request, now)
        taken = self._take(connection, request, [candidate.task for candidate in choice.chosen], lanes, now)
        self._note_slots(connection, taken, choice, now)
        tell(connection, now, [event(t.lease.task, Act.CLAIM, State.RUNNING, t.lease.epoch) for t in taken])
        return Claim(tuple(taken), choice.next_at)

    def _take(
        self,
        connection: sqlite3.Connection,
        request: ClaimRequest,
        ids: Sequence[TaskId],
        lanes: Sequence[int],
        now: Instant,
    ) -> list[ClaimedTask]:
        """Lease tasks, some at a time, until the payloads are as much as one answer should carry."""
        taken: list[ClaimedTask] = []
        size = 0
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            connection.execute(
                SQL["claim"],
                {
                    "ids": batch_of(part),
                    "lanes": batch_of(lanes),
                    "nonce": request.nonce,
                    "session": request.session,
                    "now": now,
                },
            )
            tasks = self._taken(connection, request, part)
            taken += tasks
            size += sum(len(memoryview(task.payload)) for task in tasks)
            if size > LARGEST_ANSWER:
                break
        return taken

    def _taken(self, connection: sqlite3.Connection, request: ClaimRequest, ids: Sequence[TaskId]) -> list[ClaimedTask]:
        """Return those of some tasks that a claim has taken, in their order."""
        given = {"session": request.session, "nonce": request.nonce, "ids": batch_of(ids)}
        return [_claimed_task(row, request.nonce) for row in rows_of(connection, "claimed", given)]

    def _taken_before(self, connection: sqlite3.Connection, request: ClaimRequest) -> list[ClaimedTask]:
        """Return what a claim has taken whose answer was lost."""
        given = {"session": request.session, "nonce": request.nonce}
        return [_claimed_task(row, request.nonce) for row in rows_of(connection, "claimed_before", given)]


def _best_due(
    connection: sqlite3.Connection, lanes: Sequence[LaneRow], request: ClaimRequest, now: Instant
) -> tuple[TaskId, ...]:
    """Merge the heads of each tenant's lanes by score, and the tenants by their shares."""
    heads: dict[str, list[list[Scored]]] = {}
    for lane, priority, tenant in lanes:
        due = rows_of(connection, "due_in_lane", {"lane": lane, "now": now, "limit": request.limit})
        if due:
            heads.setdefault(tenant, []).append([(score(due_at, priority), task) for due_at, task in due])
    merged = {tenant: _merge(theirs, request.limit) for tenant, theirs in heads.items()}
    best = next(iter(merged.values())) if len(merged) == 1 else by_share(merged, request.shares)[: request.limit]
    return tuple(TaskId(task) for _, task in best)


def _merge(heads: list[list[Scored]], limit: int) -> list[Scored]:
    return heads[0] if len(heads) == 1 else list(islice(heapq.merge(*heads), limit))


def _next_due(connection: sqlite3.Connection, lanes: Sequence[LaneRow]) -> Instant | None:
    found = [connection.execute(SQL["next_due_in_lane"], {"lane": lane}).fetchone() for lane, *_ in lanes]
    return min((Instant(row[0]) for row in found if row is not None), default=None)


def _claimed_task(row: list[Any], nonce: int) -> ClaimedTask:
    task, epoch, attempt, payload, options, tenant, queue, name, priority, records = row
    return ClaimedTask(
        lease=Lease(TaskId(task), epoch, nonce),
        name=name,
        queue=queue,
        payload=Raw(payload.encode()),
        attempt=attempt,
        priority=priority,
        tenant=tenant,
        options=decode_options(options),
        recorded=records,
    )
