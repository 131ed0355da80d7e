"""Firing schedules: runs, their tasks and jobs, and the next fire times, in one transaction."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from msgspec.structs import replace

from drumline.core.clock import Clock, Instant
from drumline.core.errors import Conflict, Invalid
from drumline.core.firing import OVERTAKEN
from drumline.core.ids import ScheduleId, TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.schedule import RunState, RunView
from drumline.core.state import State
from drumline.core.task import NewTask
from drumline.core.task_type import TypeRules
from drumline.ports.hint import NO_EFFECTS
from drumline.ports.jobs import SubmittedJob
from drumline.ports.schedules import Fired, FireOrder, NewRun
from drumline.ports.store import Changed
from drumline.ports.task_types import TypeKey
from drumline.stores.driver import Database, Lanes, Line, Part, Transaction, tell_facts
from drumline.stores.parts.control import Control
from drumline.stores.parts.following import lock_jobs
from drumline.stores.parts.jobs import Jobs
from drumline.stores.parts.schedules import locked_views
from drumline.stores.parts.task_types import types_in
from drumline.stores.schedule_plans import (
    Advance,
    Due,
    Made,
    Planned,
    StoppedSchedule,
    advance_of,
    facts_of,
    plan_firings,
    plan_runs,
    plan_starts,
    tasks_of,
)
from drumline.stores.schedule_rows import (
    NUMBER_OF,
    DueRow,
    WaitingRow,
    keys_in,
    known_types,
    missing,
    run_facts,
    text_of,
)

SubmitIn = Callable[[Transaction, Sequence[NewTask]], Awaitable[list[Instant]]]
"""Stores tasks without idempotency keys as part of a transaction, and returns when each is due."""


class Firing(Part):
    """`ports.schedules.Firing`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, *, jobs: Jobs, control: Control, submit: SubmitIn
    ) -> None:
        super().__init__(database, clock, lanes)
        self._jobs = jobs
        self._control = control
        self._submit = submit

    async def fire(self, order: FireOrder) -> Fired:
        """Make the runs of schedules that are due, and find their next fire times."""
        return await self._database.transact(Line.FIRE, partial(self._fire, order=order))

    async def start_runs(self, order: FireOrder) -> Fired:
        """Start waiting runs whose time has come, and those before which no run goes on any more."""
        return await self._database.transact(Line.FIRE, partial(self._start_runs, order=order))

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder) -> Fired:
        """Start runs, or let them wait for their time; one whose fire time has a run already is left out."""
        return await self._database.transact(
            Line.REQUEST, partial(self._add_runs, schedule=schedule, runs=runs, order=order)
        )

    async def _fire(self, transaction: Transaction, order: FireOrder) -> Fired:
        ((at, ids),) = await transaction.fetch("lock_due_schedules", limit=order.limit, now=self._now())
        if not ids:
            return Fired()
        rows = [DueRow(*row) for row in await transaction.fetch("due_schedules", ids=ids)]
        plans = plan_firings(rows, order, Instant(at), await self._types_of(transaction, rows))
        new = await self._insert_runs(transaction, [one for due in plans for one in due.planned])
        made = await self._make_runs(transaction, new)
        plans = [due.kept(made.runs) for due in plans]
        stopped = await self._stop_previous(transaction, [due for due in plans if due.cancels])
        await self._advance_schedules(transaction, sorted(advance_of(due) for due in plans))
        await tell_facts(transaction, facts_of(plans), now=self._now())
        return replace(
            made.fired(len(plans), has_more=len(rows) == order.limit or len(plans) < len(rows)),
            missed=sum(due.firing.missed for due in plans),
            cancelled=stopped.tasks,
            effects=made.effects + stopped.effects,
        )

    async def _start_runs(self, transaction: Transaction, order: FireOrder) -> Fired:
        timed = await transaction.fetch("lock_runs_to_start", limit=order.limit, now=self._now())
        ((at, free),) = await transaction.fetch("lock_queued_runs", limit=order.limit, now=self._now())
        queued = await transaction.fetch("queued_runs", ids=free) if free else []
        rows = [*(WaitingRow(*row[1:]) for row in timed), *(WaitingRow(*row) for row in queued)]
        if not rows:
            return Fired()
        types = await self._types_of(transaction, rows)
        made = await self._make_runs(transaction, plan_starts(rows, order, Instant(at), types))
        await self._note_starts(transaction, [one.run for one in made.runs.values()])
        taken = sorted((made.runs[row.key].run for row in rows if row.is_queued), key=lambda run: run.schedule)
        if taken:
            await transaction.fetch(
                "take_queued",
                schedules=[run.schedule for run in taken],
                fire_times=[run.fire_time for run in taken],
                tasks=[run.task for run in taken],
                jobs=[run.job for run in taken],
            )
        facts = [fact for row in rows for fact in run_facts(row, [made.runs[row.key].run])]
        await tell_facts(transaction, facts, now=self._now())
        return made.fired(len(rows), has_more=order.limit in {len(timed), len(queued)})

    async def _add_runs(
        self, transaction: Transaction, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder
    ) -> Fired:
        view = (await locked_views(transaction, [schedule])).get(schedule)
        if view is None:
            raise missing(schedule)
        ((now,),) = await transaction.fetch("now", now=self._now())
        row = WaitingRow(view.id, view.tenant, view.name, text_of(view.target))
        types = await self._types_of(transaction, [row])
        new = await self._insert_runs(transaction, plan_runs(row, runs, order, Instant(now), types))
        made = await self._make_runs(transaction, new)
        added = [one.run for one in made.runs.values()]
        for run in added:
            if run.state is RunState.STARTED:
                await transaction.fetch(
                    "last_run", schedule=schedule, fire_time=run.fire_time, task=run.task, job=run.job
                )
        await tell_facts(transaction, run_facts(row, added), now=self._now())
        return made.fired(len(runs))

    async def _types_of(
        self, transaction: Transaction, rows: Sequence[DueRow | WaitingRow]
    ) -> dict[TypeKey, TypeRules]:
        wanted = keys_in(rows)
        return known_types(wanted, await types_in(transaction, wanted, self._now()))

    async def _insert_runs(self, transaction: Transaction, planned: Sequence[Planned]) -> list[Planned]:
        """Store runs, and return those that are new: a fire time that has a run keeps it."""
        columns = [list(column) for column in zip(*(one.columns for one in planned), strict=True)]
        if not columns:
            return []
        names = ("schedules", "fire_times", "kinds", "states", "start_at", "tasks", "jobs", "reasons")
        rows = await transaction.fetch("insert_runs", **dict(zip(names, columns, strict=True)), now=self._now())
        new = {(schedule, fire_time) for schedule, fire_time in rows}
        return [one for one in planned if one.key in new]

    async def _make_runs(self, transaction: Transaction, planned: Sequence[Planned]) -> Made:
        """Store the tasks and jobs of runs."""
        runs = {one.key: one for one in planned}
        jobs, effects, refused = list[tuple[NewJob, JobStatus]](), NO_EFFECTS, list[RunView]()
        new = {one.made.id: (one, one.made) for one in planned if isinstance(one.made, NewJob)}
        answers = await self._jobs.submit_in(transaction, [job for _, job in new.values()]) if new else {}
        for id_, answer in answers.items():
            one, job = new[id_]
            if isinstance(answer, SubmittedJob):
                jobs.append((job, answer.status))
                effects += answer.effects
            elif isinstance(answer, Invalid):
                runs[one.key] = one.refused(answer)
                refused.append(runs[one.key].run)
        await self._note_starts(transaction, refused)
        tasks = tasks_of(planned)
        due_at = await self._submit(transaction, tasks) if tasks else []
        return Made(runs, tuple(zip(tasks, due_at, strict=True)), tuple(jobs), effects)

    async def _note_starts(self, transaction: Transaction, runs: Sequence[RunView]) -> None:
        if runs:
            await transaction.fetch(
                "start_runs",
                schedules=[run.schedule for run in runs],
                fire_times=[run.fire_time for run in runs],
                kinds=[NUMBER_OF[run.kind] for run in runs],
                states=[NUMBER_OF[run.state] for run in runs],
                tasks=[run.task for run in runs],
                jobs=[run.job for run in runs],
                reasons=[run.reason for run in runs],
                now=self._now(),
            )

    async def _advance_schedules(self, transaction: Transaction, advances: Sequence[Advance]) -> None:
        """Write the next fire times of schedules, and what is added to their counts."""
        names = (
            "ids", "fire_at", "due_at", "finished", "runs", "skipped", "missed", "waiting", "last_fire_times",
            "last_tasks", "last_jobs",
        )  # fmt: skip
        if advances:
            columns = [list(column) for column in zip(*advances, strict=True)]
            await transaction.fetch("advance_schedules", **dict(zip(names, columns, strict=True)))

    async def _stop_previous(self, transaction: Transaction, plans: Sequence[Due]) -> StoppedSchedule:
        """Cancel what previous runs made: jobs before tasks, and each in the order of their ids."""
        effects = NO_EFFECTS
        if not plans:
            return StoppedSchedule((), effects)
        jobs = await lock_jobs(transaction, sorted(due.row.last_job for due in plans if due.row.last_job))
        for job in jobs.values():
            led_to = await self._jobs.cancel_job(False, OVERTAKEN, transaction, job, {})
            effects += NO_EFFECTS if isinstance(led_to, Conflict) else led_to
        tasks = sorted(TaskId(due.row.last_task) for due in plans if due.row.last_task)
        answers = await self._control.cancel_in(transaction, tasks) if tasks else {}
        changed = [answer for answer in answers.values() if isinstance(answer, Changed)]
        effects = sum((answer.effects for answer in changed), effects)
        return StoppedSchedule(tuple(answer.task for answer in changed if answer.state is not State.RUNNING), effects)
