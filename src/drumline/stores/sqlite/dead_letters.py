"""Dead letters: writing them with the end of their task, finding them, resolving them."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec import Raw
from msgspec.json import decode

from drumline.core.clock import LATEST, Instant
from drumline.core.dead_letter import FailureCause, Reason
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.dead_letters import (
    DeadLetter,
    DeadLetterFilter,
    DeadLetterGroup,
    GroupMark,
    GroupOrder,
    Mark,
    PayloadEdit,
    discarded,
)
from drumline.ports.store import Changed
from drumline.stores.driver import Transaction
from drumline.stores.sqlite.access import Access, batch_of, tell_facts
from drumline.stores.sqlite.database import connection_of
from drumline.stores.sqlite.statements import SQL

ABOVE_ALL: Final = Mark(Instant(LATEST + 1), TaskId(""))
MOST_CAUSES: Final = 50
"""Causes whose dead letters are looked up one by one; more are looked for in the list of all."""


class Death(NamedTuple):
    """A task that fails for good."""

    task: TaskId
    epoch: int
    attempts: int
    lane: int
    cause: FailureCause


class DeadLetters(Access):
    """`ports.dead_letters.DeadLetters` on SQLite, but for the retries."""

    async def dead_letters(
        self, which: DeadLetterFilter, *, limit: int, before: Mark | None = None
    ) -> list[DeadLetter]:
        """Return dead letters, the latest first, starting below `before`."""
        return await self._database.read(lambda connection: _list(connection, which, limit, before or ABOVE_ALL))

    async def get_dead_letters(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[DeadLetter | None]:
        """Return the dead letters of tasks; None for those that have none (for this tenant)."""
        found = await self._database.read(lambda connection: found_by(connection, tasks, tenant))
        return [found.get(task) for task in tasks]

    async def dead_letter_groups(
        self,
        which: DeadLetterFilter,
        *,
        limit: int,
        order: GroupOrder = GroupOrder.LAST_SEEN,
        before: GroupMark | None = None,
    ) -> list[DeadLetterGroup]:
        """Return groups of one fingerprint each, starting below `before`."""
        parameters = {
            **_words(which),
            "by_count": order is GroupOrder.COUNT,
            "below": None if before is None else before.value,
            "below_group": None if before is None else before.fingerprint,
            "limit": limit,
        }
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["dead_letter_groups"], parameters).fetchall()
        )
        return [
            DeadLetterGroup(
                fingerprint=fingerprint, kind=kind, message=message, count=count, first_at=first_at, last_at=last_at,
                names=tuple(sorted(decode(names))), queues=tuple(sorted(decode(queues))),
            )
            for fingerprint, kind, message, count, first_at, last_at, names, queues in rows
        ]  # fmt: skip

    async def discard(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Resolve dead letters and leave their tasks failed; `Conflict` for a task that has none."""
        return await self._database.write(lambda connection: self._discard(connection, tasks, tenant))

    async def reasons(self, deaths: Sequence[tuple[TaskId, int]]) -> list[Reason | None]:
        """Return why attempts, given by task and number, were the last of their tasks; None where that is not known."""
        rows = await self._database.read(
            lambda connection: connection.execute(SQL["reasons"], {"batch": batch_of(deaths)}).fetchall()
        )
        found = {place: Reason(reason) for place, reason in rows}
        return [found.get(place) for place in range(len(deaths))]

    async def payload_edits(self, task: TaskId, *, tenant: str | None = None) -> list[PayloadEdit]:
        """Return what a task was given before, oldest first."""
        wanted = {"id": task, "tenant": tenant}
        rows = await self._database.read(lambda connection: connection.execute(SQL["payload_edits"], wanted).fetchall())
        return [PayloadEdit(epoch=epoch, at=at, payload=Raw(payload.encode())) for epoch, at, payload in rows]

    async def _drop_dead_letters(self, transaction: Transaction, tasks: Sequence[TaskId]) -> None:
        drop_dead_letters(connection_of(transaction), tasks)

    def _discard(
        self, connection: sqlite3.Connection, tasks: Sequence[TaskId], tenant: str | None
    ) -> list[Changed | NotFound | Conflict]:
        found = found_by(connection, tasks, tenant)
        drop_dead_letters(connection, list(found))
        tell_facts(connection, self._now(), [discarded(letter) for letter in found.values()])
        return [Changed(task, State.FAILED) if task in found else _absent(connection, task, tenant) for task in tasks]


def write_dead_letters(connection: sqlite3.Connection, now: Instant, deaths: Sequence[Death]) -> None:
    """Write the dead letters of tasks that this transaction fails."""
    if not deaths:
        return
    # A task that came back to life by a way that forgot its dead letter must not be unable to die again.
    drop_dead_letters(connection, [death.task for death in deaths])
    counts = Counter((death.lane, death.cause.fingerprint) for death in deaths)
    causes = {(death.lane, death.cause.fingerprint): death.cause for death in deaths}
    counted = [(*key, cause.kind, cause.message, counts[key]) for key, cause in causes.items()]
    connection.execute(SQL["count_causes"], {"batch": batch_of(counted), "now": now})
    letters = [
        (death.task, death.epoch, death.attempts, cause.reason, death.lane, cause.fingerprint, cause.said)
        for death in deaths
        for cause in (death.cause,)
    ]
    connection.execute(SQL["insert_dead_letters"], {"batch": batch_of(letters), "now": now})


def drop_dead_letters(connection: sqlite3.Connection, tasks: Sequence[TaskId]) -> None:
    """Drop the dead letters of tasks, if they have any: they are retried, discarded or pruned."""
    if tasks:
        ids = {"ids": batch_of(tasks)}
        connection.execute(SQL["uncount_causes"], ids)
        connection.execute(SQL["keep_reasons"], ids)
        connection.execute(SQL["delete_dead_letters"], ids)


def found_by(connection: sqlite3.Connection, tasks: Sequence[TaskId], tenant: str | None) -> dict[TaskId, DeadLetter]:
    """Return the dead letters of tasks that have one."""
    rows = connection.execute(SQL["get_dead_letters"], {"ids": batch_of(tasks), "tenant": tenant}).fetchall()
    letters = [_letter(row) for row in rows]
    return {letter.task: letter for letter in letters}


def find_causes(connection: sqlite3.Connection, which: DeadLetterFilter) -> dict[int, int] | None:
    """Return the causes that a filter means, and how many dead letters each has; None if it means all."""
    words = _words(which)
    if not any(words.values()):
        return None
    return dict(connection.execute(SQL["find_causes"], words).fetchall())


def _list(connection: sqlite3.Connection, which: DeadLetterFilter, limit: int, before: Mark) -> list[DeadLetter]:
    causes = find_causes(connection, which)
    narrowed = {
        "before_at": before.at, "before_task": before.task, "reason": which.reason, "tag": which.tag, "limit": limit,
        "since": which.since or 0, "until": LATEST + 1 if which.until is None else which.until,
    }  # fmt: skip
    listed = None if causes is None else batch_of(list(causes))
    if which.job is not None:
        of_job = narrowed | {"job": which.job, "causes": listed}
        rows = connection.execute(SQL["find_dead_letters_of_job"], of_job).fetchall()
    elif causes is None or len(causes) > MOST_CAUSES:
        rows = connection.execute(SQL["find_dead_letters"], narrowed | {"causes": listed}).fetchall()
    else:
        heads = [connection.execute(SQL["find_dead_letters_of_cause"], narrowed | {"cause": cause}) for cause in causes]
        rows = sorted((row for head in heads for row in head.fetchall()), reverse=True)[:limit]
    found = found_by(connection, [task for _, task in rows], None)
    return [found[task] for _, task in rows]


def _words(which: DeadLetterFilter) -> dict[str, Any]:
    return {
        "tenant": which.tenant, "queue": which.queue, "name": which.name, "fingerprint": which.fingerprint,
        "kind": which.kind,
    }  # fmt: skip


def _absent(connection: sqlite3.Connection, task: TaskId, tenant: str | None) -> NotFound | Conflict:
    row = connection.execute(SQL["tenant_of_task"], {"id": task}).fetchone()
    if row is None or (tenant is not None and row[0] != tenant):
        return NotFound(f"there is no task {task}", field="id")
    return Conflict(f"task {task} has no dead letter")


def _letter(row: Any) -> DeadLetter:
    task, tenant, queue, name, priority, at, epoch, reason, fingerprint, kind, message, attempts, job = row
    return DeadLetter(
        task=task, lane=Lane(tenant, queue, name, priority), at=at, epoch=epoch, reason=Reason(reason),
        fingerprint=fingerprint, kind=kind, message=message, attempts=attempts, job=job,
    )  # fmt: skip
