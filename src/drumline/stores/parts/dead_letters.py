"""Dead letters: finding them, resolving them. They are written with the end of their task, by each store."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec import Raw

from drumline.core.clock import LATEST, Clock, Instant
from drumline.core.dead_letter import Reason
from drumline.core.errors import Conflict, NotFound
from drumline.core.ids import JobId, TaskId
from drumline.core.state import State
from drumline.core.task import Lane
from drumline.ports.changed import Changed
from drumline.ports.dead_letters import (
    DeadLetter,
    DeadLetterFilter,
    DeadLetterGroup,
    Example,
    GroupMark,
    GroupOrder,
    Mark,
    PayloadEdit,
    Trend,
    discarded,
)
from drumline.stores.driver import Database, Lanes, Line, Part, Rows, Transaction, tell_facts
from drumline.stores.parts.control import Answer, Control, own_tasks

ABOVE_ALL: Final = Mark(Instant(LATEST + 1), TaskId("00000000-0000-0000-0000-000000000000"))
MOST_CAUSES: Final = 50
"""Causes whose dead letters are looked up one by one; more are looked for in the list of all."""

NO_CHOICE: Final[Mapping[TaskId, int]] = MappingProxyType({})


class DeadLetters(Part):
    """`ports.dead_letters.DeadLetters`."""

    def __init__(self, database: Database, clock: Clock | None, lanes: Lanes, control: Control) -> None:
        super().__init__(database, clock, lanes)
        self._control = control

    async def dead_letters(
        self, which: DeadLetterFilter, *, limit: int, before: Mark | None = None
    ) -> list[DeadLetter]:
        """Return dead letters, the latest first, starting below `before`."""
        name, values = _finder(which, await self.causes_of(which))
        begin = before or ABOVE_ALL
        letters: list[DeadLetter] = []
        while len(letters) < limit:
            wanted = limit - len(letters)
            rows = await self._database.fetch(
                Line.BROAD,
                name,
                repeat=True,
                before_at=begin.at,
                before_task=begin.task,
                since=which.since or 0,
                until=LATEST + 1 if which.until is None else which.until,
                reason=which.reason,
                tag=which.tag,
                limit=wanted,
                **values,
            )
            marks = [Mark(Instant(at), TaskId(str(task))) for at, task in rows]
            # One that was resolved between the two looks is listed no more; another takes its place.
            found = await self.get_dead_letters([mark.task for mark in marks], tenant=which.tenant)
            letters += [letter for letter in found if letter is not None]
            if len(marks) < wanted:
                break
            begin = marks[-1]
        return letters

    async def get_dead_letters(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[DeadLetter | None]:
        """Return the dead letters of tasks; None for those that have none (for this tenant)."""
        rows = await self._database.fetch(Line.REQUEST, "get_dead_letters", repeat=True, within=tenant, ids=list(tasks))
        found = await self._found(rows, tenant)
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
        rows = await self._database.fetch(
            Line.BROAD,
            "dead_letter_groups",
            repeat=True,
            within=which.tenant,
            by_count=order is GroupOrder.COUNT,
            below=None if before is None else before.value,
            below_group=None if before is None else before.fingerprint,
            limit=limit,
            **_words(which),
        )
        return [
            DeadLetterGroup(
                fingerprint=fingerprint, kind=kind, message=message, count=count, first_at=first_at, last_at=last_at,
                names=tuple(sorted(names)), queues=tuple(sorted(queues)),
                example=None if task is None else Example(TaskId(str(task)), said),
            )
            for fingerprint, kind, message, count, first_at, last_at, names, queues, task, said in rows
        ]  # fmt: skip

    async def group_trends(
        self, fingerprints: Sequence[str], trend: Trend, *, tenant: str | None = None
    ) -> dict[str, list[int]]:
        """Return for each group how many of its dead letters are of each stretch of time, the earliest first."""
        starts = trend.starts()
        rows = await self._database.fetch(
            Line.BROAD, "group_trends", repeat=True, within=tenant, tenant=tenant, fingerprints=list(fingerprints),
            starts=starts, step=trend.step, since=trend.since, most=trend.most,
        )  # fmt: skip
        places = {start: place for place, start in enumerate(starts)}
        trends: dict[str, list[int]] = {}
        for fingerprint, start, count in rows:
            counts = trends.setdefault(fingerprint, [0] * trend.count)
            counts[places[start]] = min(trend.most, counts[places[start]] + count)
        return trends

    async def discard(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Answer]:
        """Resolve dead letters and leave their tasks failed; `Conflict` for a task that has none."""
        own = await own_tasks(self._database, tasks, tenant)

        async def act(transaction: Transaction) -> dict[TaskId, Answer]:
            return await self.discard_in(transaction, [task for task in dict.fromkeys(tasks) if task in own], tenant)

        answers = await self._database.transact(Line.REQUEST, act)
        return [answers.get(task) or NotFound(f"there is no task {task}", field="id") for task in tasks]

    async def reasons(self, deaths: Sequence[tuple[TaskId, int]]) -> list[Reason | None]:
        """Return why attempts, given by task and number, were the last of their tasks; None where that is not known."""
        ids, attempts = [task for task, _ in deaths], [attempt for _, attempt in deaths]
        rows = await self._database.fetch(Line.EVENTS, "reasons", repeat=True, ids=ids, attempts=attempts)
        found = {(str(task), attempt): Reason(reason) for task, attempt, reason in rows}
        return [found.get(death) for death in deaths]

    async def payload_edits(self, task: TaskId, *, tenant: str | None = None) -> list[PayloadEdit]:
        """Return what a task was given before, oldest first."""
        rows = await self._database.fetch(
            Line.REQUEST, "payload_edits", repeat=True, within=tenant, id=task, tenant=tenant
        )
        return [PayloadEdit(epoch=epoch, at=Instant(at), payload=Raw(payload)) for epoch, at, payload in rows]

    async def discard_in(
        self,
        transaction: Transaction,
        tasks: Sequence[TaskId],
        tenant: str | None,
        chosen: Mapping[TaskId, int] = NO_CHOICE,
    ) -> dict[TaskId, Answer]:
        """Discard dead letters; where one was chosen, by its epoch, only that one."""
        # Who retries a task holds the same lock: nobody resolves its dead letter between our look and our act.
        await transaction.fetch("lock_tasks", ids=list(tasks))
        present = await self._found(await transaction.fetch("get_dead_letters", ids=list(tasks)), tenant, transaction)
        found = {task: letter for task, letter in present.items() if chosen.get(task, letter.epoch) == letter.epoch}
        await self._control.following.drop_dead_letters(transaction, list(found))
        await tell_facts(transaction, [discarded(letter) for letter in found.values()], now=self._now())
        answers: dict[TaskId, Answer] = {task: Changed(task, State.FAILED) for task in found}
        absent = [task for task in tasks if task not in found]
        return answers | (await self._absent(transaction, absent, tenant) if absent else {})

    async def _absent(
        self, transaction: Transaction, tasks: Sequence[TaskId], tenant: str | None
    ) -> dict[TaskId, Answer]:
        rows = {TaskId(str(task)): lane for task, lane in await transaction.fetch("lanes_of_tasks", ids=list(tasks))}
        lanes = await self._lanes.lanes(set(rows.values()), transaction)
        return {
            task: Conflict(f"task {task} has no dead letter")
            if task in rows and (tenant is None or lanes[rows[task]].tenant == tenant)
            else NotFound(f"there is no task {task}", field="id")
            for task in tasks
        }

    async def _found(
        self, rows: Rows, tenant: str | None, transaction: Transaction | None = None
    ) -> dict[TaskId, DeadLetter]:
        lanes = await self._lanes.lanes({row[1] for row in rows}, transaction)
        letters = [_letter(row, lanes[row[1]]) for row in rows]
        return {letter.task: letter for letter in letters if tenant is None or letter.lane.tenant == tenant}

    async def causes_of(self, which: DeadLetterFilter) -> list[int] | None:
        """Return the causes that a filter means; None if it means all."""
        words = _words(which)
        if not any(words.values()):
            return None
        rows = await self._database.fetch(Line.BROAD, "find_causes", repeat=True, within=which.tenant, **words)
        return [cause for (cause,) in rows]


def _finder(which: DeadLetterFilter, causes: list[int] | None) -> tuple[str, dict[str, Any]]:
    if which.job is not None:
        return "find_dead_letters_of_job", {"job": which.job, "causes": causes}
    if causes is None or len(causes) > MOST_CAUSES:
        return "find_dead_letters", {"causes": causes}
    return "find_dead_letters_of_causes", {"causes": causes}


def _words(which: DeadLetterFilter) -> dict[str, Any]:
    return {
        "tenant": which.tenant, "queue": which.queue, "name": which.name, "fingerprint": which.fingerprint,
        "kind": which.kind,
    }  # fmt: skip


def _letter(row: Any, lane: Lane) -> DeadLetter:
    task, _, at, epoch, reason, fingerprint, kind, message, attempts, job = row
    return DeadLetter(
        task=TaskId(str(task)), lane=lane, at=Instant(at), epoch=epoch, reason=Reason(reason),
        fingerprint=fingerprint, kind=kind, message=message, attempts=attempts,
        job=None if job is None else JobId(str(job)),
    )  # fmt: skip
