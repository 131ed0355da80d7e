"""Records of durable tasks as workers and people read them: page by page, with what a task waits for."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Raw

from drumline.core.durable import NO_RECORDS, Record, RecordPage, RoundView, StepsView, WaitKind, WaitView
from drumline.core.errors import NotFound
from drumline.core.ids import TaskId
from drumline.ports.durable import PAGE_BYTES
from drumline.stores.driver import Line, Part
from drumline.stores.parts.records import record_of, wait_view

MOST_IN_PAGE: Final = 1000


class StepReading(Part):
    """Reads records and waits of tasks, of the present round or of one that is over."""

    async def pages(self, tasks: Sequence[tuple[TaskId, int]]) -> list[RecordPage]:
        """Return the records of tasks after a place each, all together about `PAGE_BYTES`."""
        rows = await self._database.fetch(
            Line.CLAIM,
            "record_pages",
            repeat=True,
            ids=[task for task, _ in tasks],
            after=[after for _, after in tasks],
            limit=MOST_IN_PAGE,
            most=PAGE_BYTES,
        )
        found: dict[TaskId, list[Record]] = {}
        last: dict[TaskId, int] = {}
        for id_, *columns, newest in rows:
            task = TaskId(str(id_))
            found.setdefault(task, []).append(record_of(columns))
            last[task] = newest
        if len(tasks) == 1 and not rows:
            return [NO_RECORDS]
        return [
            RecordPage(tuple(found[task]), found[task][-1].seq < last[task])
            if task in found
            else RecordPage((), has_more=True)
            for task, _ in tasks
        ]

    async def count_waiting(self, *, most: int) -> dict[WaitKind, int]:
        """Return how many tasks that are not due wait for something, by its kind."""
        rows = await self._database.fetch(Line.BROAD, "count_waits", repeat=True, now=self._now(), limit=most)
        return {WaitKind(kind): count for kind, count in rows}

    async def steps(
        self, task: TaskId, *, after: int, limit: int, round: int | None = None, tenant: str | None = None
    ) -> StepsView | NotFound:
        """Return the records of a task after a place, in their order, and what it waits for; or those of a round."""
        fetch = self._database.fetch
        if not await fetch(Line.REQUEST, "whose_task", repeat=True, within=tenant, id=task, tenant=tenant):
            return NotFound(f"there is no task {task}", field="id")
        ended = await fetch(Line.REQUEST, "rounds_of", repeat=True, within=tenant, id=task)
        rounds = tuple(RoundView(round=number, ended_at=at, records=records) for number, at, records in ended)
        present = rounds[-1].round + 1 if rounds else 1
        if round is not None and round != present:
            return await self._past_steps(task, round, rounds, after=after, limit=limit, tenant=tenant)
        rows = await fetch(
            Line.REQUEST, "record_pages", repeat=True, within=tenant, ids=[task], after=[after], limit=limit,
            most=4 * PAGE_BYTES,
        )  # fmt: skip
        records = tuple(record_of(columns) for _, *columns, _ in rows)
        has_more = bool(records) and records[-1].seq < rows[-1][-1]
        waits = await fetch(Line.REQUEST, "waits_of", repeat=True, within=tenant, id=task)
        return StepsView(
            task=task, page=RecordPage(records, has_more), waits=last_waits(waits), round=present, rounds=rounds
        )

    async def _past_steps(
        self, task: TaskId, round: int, rounds: tuple[RoundView, ...], *, after: int, limit: int, tenant: str | None
    ) -> StepsView | NotFound:
        """Return the records of a round that is over."""
        fetch = self._database.fetch
        given = await fetch(Line.REQUEST, "round_payload", repeat=True, within=tenant, id=task, round=round)
        if not given:
            return NotFound(f"the task has no round {round}, or has forgotten it", field="round")
        rows = await fetch(
            Line.REQUEST, "round_records", repeat=True, within=tenant, id=task, round=round, after=after, limit=limit,
            most=4 * PAGE_BYTES,
        )  # fmt: skip
        records = tuple(record_of(columns) for *columns, _ in rows)
        has_more = bool(records) and records[-1].seq < rows[-1][-1]
        return StepsView(
            task=task, page=RecordPage(records, has_more), round=round, rounds=rounds, payload=Raw(given[0][0])
        )


def last_waits(rows: Iterable[Iterable[Any]]) -> tuple[WaitView, ...]:
    """Return what the last attempt waited for; others are kept for their deadlines."""
    views = [wait_view(row) for row in rows]
    last = max((view.epoch for view in views), default=0)
    return tuple(view for view in views if view.epoch == last)
