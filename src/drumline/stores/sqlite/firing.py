"""Firing schedules: runs, their tasks and jobs, and the next fire times, in one transaction."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.firing import OVERTAKEN
from drumline.core.ids import JobId, ScheduleId, TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.schedule import RunKind, RunState
from drumline.core.state import Act, State
from drumline.core.task import Submitted
from drumline.core.task_type import TypeRules
from drumline.ports.hint import NO_EFFECTS
from drumline.ports.jobs import SubmittedJob
from drumline.ports.schedules import Fired, FireOrder, NewRun
from drumline.ports.store import Changed
from drumline.ports.task_types import TypeKey
from drumline.stores.parts.task_types import types_in
from drumline.stores.schedule_plans import (
    Advance,
    Key,
    Made,
    Planned,
    Stopped,
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
    schedule_view,
    text_of,
)
from drumline.stores.sqlite.access import batch_of, rows_of, tell_facts
from drumline.stores.sqlite.controlling import Controlling, Standing
from drumline.stores.sqlite.database import Statements, finish, run_statement
from drumline.stores.sqlite.following import jobs_in
from drumline.stores.sqlite.statements import SQL, STATEMENTS
from drumline.stores.sqlite.submitting import Submitting
from drumline.stores.sqlite.submitting_jobs import SubmittingJobs


class Firing(Submitting, SubmittingJobs, Controlling):
    """`ports.schedules.Firing` on SQLite."""

    async def fire(self, order: FireOrder) -> Fired:
        """Make the runs of schedules that are due, and find their next fire times."""
        return await self._database.write(lambda connection: self._fire(connection, order))

    async def start_runs(self, order: FireOrder) -> Fired:
        """Start waiting runs whose time has come, and those before which no run goes on any more."""
        return await self._database.write(lambda connection: self._start_runs(connection, order))

    async def add_runs(self, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder) -> Fired:
        """Start runs, or let them wait for their time; one whose fire time has a run already is left out."""
        return await self._database.write(lambda connection: self._add_runs(connection, schedule, runs, order))

    def _fire(self, connection: sqlite3.Connection, order: FireOrder) -> Fired:
        now = self._now()
        rows = [DueRow(*row) for row in rows_of(connection, "due_schedules", {"now": now, "limit": order.limit})]
        if not rows:
            return Fired()
        plans = plan_firings(rows, order, now, self._types_of(connection, rows))
        made = self._make_runs(
            connection, self._insert_runs(connection, now, [one for due in plans for one in due.planned])
        )
        plans = [due.kept(made.runs) for due in plans]
        stopped = [self._stop_previous(connection, due.row.last_task, due.row.last_job) for due in plans if due.cancels]
        _advance(connection, [advance_of(due) for due in plans])
        tell_facts(connection, now, facts_of(plans))
        return replace(
            made.fired(len(plans), has_more=len(rows) == order.limit or len(plans) < len(rows)),
            missed=sum(due.firing.missed for due in plans),
            cancelled=tuple(task for stop in stopped for task in stop.tasks),
            effects=sum((stop.effects for stop in stopped), made.effects),
        )

    def _start_runs(self, connection: sqlite3.Connection, order: FireOrder) -> Fired:
        now = self._now()
        wanted = {"now": now, "limit": order.limit}
        timed = connection.execute(SQL["runs_to_start"], wanted).fetchall()
        queued = connection.execute(SQL["queued_runs"], {"limit": order.limit}).fetchall()
        rows = [WaitingRow(*row) for row in timed + queued]
        made = self._make_runs(connection, plan_starts(rows, order, now, self._types_of(connection, rows)))
        for row in rows:
            run = made.runs[row.key].run
            told = {"schedule": run.schedule, "fire_time": run.fire_time, "task": run.task, "job": run.job}
            noted = {"state": NUMBER_OF[run.state], "reason": run.reason, "now": now}
            connection.execute(SQL["start_run"], told | noted)
            if row.is_queued:
                connection.execute(SQL["take_queued"], told)
        tell_facts(connection, now, [fact for row in rows for fact in run_facts(row, [made.runs[row.key].run])])
        return made.fired(len(rows), has_more=order.limit in {len(timed), len(queued)})

    def _add_runs(
        self, connection: sqlite3.Connection, schedule: ScheduleId, runs: Sequence[NewRun], order: FireOrder
    ) -> Fired:
        found = run_statement(STATEMENTS["schedules"], {"ids": [schedule]}, connection)
        if not found:
            raise missing(schedule)
        view = schedule_view(found[0])
        now = self._now()
        row = WaitingRow(view.id, view.tenant, view.name, text_of(view.target))
        planned = plan_runs(row, runs, order, now, self._types_of(connection, [row]))
        made = self._make_runs(connection, self._insert_runs(connection, now, planned))
        for run in (one.run for one in made.runs.values() if one.run.state is RunState.STARTED):
            told = {"schedule": run.schedule, "fire_time": run.fire_time, "task": run.task, "job": run.job}
            connection.execute(SQL["last_run"], told)
        tell_facts(connection, now, run_facts(row, [one.run for one in made.runs.values()]))
        return made.fired(len(runs))

    def _types_of(
        self, connection: sqlite3.Connection, rows: Sequence[DueRow | WaitingRow]
    ) -> dict[TypeKey, TypeRules]:
        wanted = keys_in(rows)
        return known_types(wanted, finish(types_in(Statements(connection), wanted, self._now())))

    def _insert_runs(self, connection: sqlite3.Connection, now: Instant, planned: Sequence[Planned]) -> list[Planned]:
        """Store runs, and return those that came about: a fire time that has one keeps it."""
        alike: defaultdict[int, dict[str, str]] = defaultdict(dict)
        other: list[Planned] = []
        for one in planned:
            run = one.run
            if run.task is not None and run.kind is RunKind.SCHEDULED:
                alike[run.fire_time][run.schedule] = run.task
            else:
                other.append(one)
        new: set[Key] = set()
        for fire_time, tasks in alike.items():
            new.update(_insert_alike(connection, now, fire_time, tasks))
        if other:
            batch = batch_of([one.columns for one in other])
            new.update(connection.execute(SQL["insert_runs"], {"batch": batch, "now": now}).fetchall())
        return [one for one in planned if one.key in new]

    def _make_runs(self, connection: sqlite3.Connection, planned: Sequence[Planned]) -> Made:
        """Store the tasks and jobs of runs."""
        tasks = tasks_of(planned)
        due = [answer.due_at for answer in self._submit(connection, tasks) if isinstance(answer, Submitted)]
        runs = {one.key: one for one in planned}
        jobs, effects = list[tuple[NewJob, JobStatus]](), NO_EFFECTS
        for one in planned:
            if isinstance(one.made, NewJob):
                answer = self._submit_job(connection, one.made)
                if isinstance(answer, Invalid):
                    runs[one.key] = self._refuse_run(connection, one, answer)
                elif isinstance(answer, SubmittedJob):
                    jobs.append((one.made, answer.status))
                    effects += answer.effects
        return Made(runs, tuple(zip(tasks, due, strict=True)), tuple(jobs), effects)

    def _refuse_run(self, connection: sqlite3.Connection, planned: Planned, error: Invalid) -> Planned:
        refused = planned.refused(error)
        run = refused.run
        told = {"schedule": run.schedule, "fire_time": run.fire_time, "task": None, "job": None}
        noted = {"state": NUMBER_OF[run.state], "reason": run.reason, "now": run.created_at}
        connection.execute(SQL["start_run"], told | noted)
        return refused

    def _stop_previous(self, connection: sqlite3.Connection, task: str | None, job: str | None) -> Stopped:
        """Cancel what a previous run made."""
        if task is not None:
            answer = self._act(connection, TaskId(task), None, self._cancel_previous)
            has_ended = isinstance(answer, Changed) and answer.state is not State.RUNNING
            return Stopped((TaskId(task),) if has_ended else ())
        row = None if job is None else jobs_in(connection, [JobId(job)]).get(JobId(job))
        if row is None or row.has_ended:
            return Stopped()
        return Stopped(effects=self._cancel_job(connection, row, False, OVERTAKEN))

    def _cancel_previous(self, connection: sqlite3.Connection, task: TaskId, at: Standing) -> Changed:
        return self._cancel(connection, task, at, Act.CANCEL)


def _insert_alike(connection: sqlite3.Connection, now: Instant, fire_time: int, tasks: dict[str, str]) -> Iterator[Key]:
    """Store runs that differ in nothing but schedule and task, and give those that came about: nearly always all."""
    batch = {"batch": encode(tasks).decode(), "fire_time": fire_time}
    if connection.execute(SQL["insert_runs_alike"], batch | {"now": now}).rowcount == len(tasks):
        return ((schedule, fire_time) for schedule in tasks)
    found = connection.execute(SQL["runs_of_tasks"], batch).fetchall()
    return ((schedule, fire_time) for (schedule,) in found)


def _advance(connection: sqlite3.Connection, advances: Sequence[Advance]) -> None:
    alike: defaultdict[tuple[int | None, int | None], dict[str, str | None]] = defaultdict(dict)
    for one in advances:
        if one.is_plain:
            alike[one.fire_at, one.last_fire_time][one.id] = one.last_task
    for (fire_at, last_fire_time), tasks in alike.items():
        batch = {"batch": encode(tasks).decode(), "fire_at": fire_at, "last_fire_time": last_fire_time}
        connection.execute(SQL["advance_alike"], batch)
    other = [one for one in advances if not one.is_plain]
    if other:
        connection.execute(SQL["advance_schedules"], {"batch": batch_of(other)})
