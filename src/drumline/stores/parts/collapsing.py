"""Submissions that may collapse into earlier ones of their key."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from drumline.core.clock import Clock, Instant
from drumline.core.collapse import CollapsedInto, CollapseRule, Create, Drop, KnownTask, Merge, decide
from drumline.core.errors import Moved
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import Lane, NewTask, Submitted
from drumline.ports.changed import Changed
from drumline.ports.collapsing import CollapseAnswer
from drumline.ports.hint import Hint
from drumline.stores.driver import Database, Lanes, Line, Part, TaskEvent, Transaction
from drumline.stores.parts.control_jobs import TaskRow
from drumline.stores.parts.following import JobFollowing

Key = tuple[str, str]
SubmitIn = Callable[[Transaction, Sequence[NewTask]], Awaitable[list[Instant]]]


class Collapsing(Part):
    """`ports.collapsing.Collapsing`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, *, submit: SubmitIn, following: JobFollowing
    ) -> None:
        super().__init__(database, clock, lanes)
        self._submit_in = submit
        self._following = following

    async def submit(self, tasks: Sequence[NewTask]) -> list[CollapseAnswer | Moved]:
        """Store tasks durably, in order, or let the earlier task of their key stand for them."""
        answers = await self._database.transact(
            Line.SUBMIT, lambda transaction: self._submit(transaction, tasks), repeat=True
        )
        await self._following.note_queued([answer.changed for answer in answers if answer.changed is not None])
        return list(answers)

    async def prune(self, *, before: Instant, limit: int) -> int:
        """Forget keys whose time was over by then and whose task has ended; return how many."""
        return len(await self._database.fetch(Line.PRUNE, "prune_collapse_keys", before=before, limit=limit))

    async def _submit(self, transaction: Transaction, tasks: Sequence[NewTask]) -> list[CollapseAnswer]:
        known = await self._lock_keys(transaction, tasks)
        ids = sorted({each.task for each in known.values() if each.first_at})
        await transaction.fetch("lock_tasks", ids=ids)
        await transaction.fetch("lock_live", ids=ids)
        rows = {
            TaskId(str(task)): TaskRow(TaskId(str(task)), lane, State(state), *rest)
            for task, lane, state, *rest in await transaction.fetch("task_states", ids=ids)
        }
        begun = {TaskId(str(task)) for (task,) in await transaction.fetch("begun_durable", ids=ids)} if ids else set()
        stored = await transaction.fetch("stored_tasks", ids=[task.id for task in tasks])
        ((now,),) = await transaction.fetch("now", now=self._now())
        due = {TaskId(str(task)): Instant(due_at) for task, due_at in stored}
        plan = CollapsePlan(int(now), known, rows, due, begun)
        for task in tasks:
            plan.add(task)
        await self._write(transaction, plan)
        return plan.answers(await self._lanes.lanes({row.lane for row in rows.values()}, transaction))

    async def _lock_keys(self, transaction: Transaction, tasks: Sequence[NewTask]) -> dict[Key, KnownTask]:
        firsts: dict[Key, TaskId] = {}
        for task in tasks:
            firsts.setdefault(_key(task), task.id)
        keys = sorted(firsts)
        rows = await transaction.fetch(
            "lock_collapse_keys",
            tenants=[tenant for tenant, _ in keys],
            keys=[key for _, key in keys],
            ids=[firsts[key] for key in keys],
        )
        return {
            (tenant, key): KnownTask(TaskId(str(task)), first_at, until) for tenant, key, task, first_at, until in rows
        }

    async def _write(self, transaction: Transaction, plan: "CollapsePlan") -> None:
        """Write what was decided: new tasks, what changes about waiting ones, and the keys."""
        new = list(plan.new.values())
        if new:
            plan.due.update(zip(plan.new, await self._submit_in(transaction, new), strict=True))
        changed = sorted(plan.changed)
        if changed:
            values: dict[str, Any] = {
                "ids": changed,
                "lanes": [plan.rows[task].lane for task in changed],
                "due_at": [plan.changed[task] for task in changed],
            }
            await transaction.fetch("reschedule_tasks", **values)
            await transaction.fetch("renew_live", ids=changed, due_at=values["due_at"])
            for task, payload in sorted(plan.payloads.items()):
                await transaction.fetch("edit_payload", id=task, payload=payload)
            events = [TaskEvent(task, Act.RESCHEDULE, State.QUEUED, plan.rows[task].epoch + 1) for task in changed]
            await transaction.tell(events, now=self._now())
        if plan.keys:
            keys = sorted(plan.keys)
            await transaction.fetch(
                "set_collapse_keys",
                tenants=[tenant for tenant, _ in keys],
                keys=[key for _, key in keys],
                ids=[plan.keys[key].task for key in keys],
                first_at=[plan.keys[key].first_at for key in keys],
                until=[plan.keys[key].until for key in keys],
            )


class CollapsePlan:
    """What becomes of a list of submissions: decided one after the other, each knowing what the ones before did."""

    def __init__(
        self,
        now: int,
        known: Mapping[Key, KnownTask],
        rows: Mapping[TaskId, TaskRow],
        stored: Mapping[TaskId, Instant],
        begun: Collection[TaskId] = (),
    ) -> None:
        self._now = now
        self.rows = rows
        self._begun = begun
        """Durable tasks that have begun, and of which no attempt counts."""
        self._stored = stored
        self._known = {key: self._as_it_is(each) for key, each in known.items() if each.first_at}
        self.new: dict[TaskId, NewTask] = {}
        """Tasks to store, by id."""
        self.changed: dict[TaskId, int] = {}
        """Stored tasks that wait, with the time when they are due from now on."""
        self.payloads: dict[TaskId, bytes] = {}
        self.keys: dict[Key, KnownTask] = {}
        self.due: dict[TaskId, Instant] = dict(stored)
        self._tasks: list[tuple[NewTask, TaskId, CollapsedInto | None]] = []

    def add(self, task: NewTask) -> None:
        """Decide about the next submission."""
        key, rule = _key(task), _rule(task)
        known = self._known.get(key)
        if task.id in self._stored:  # an earlier answer was lost
            self._tasks.append((task, task.id, None))
            return
        match decide(rule, known, self._now):
            case Create(first_at, until, due_at):
                self._create(task, key, KnownTask(task.id, first_at, until), due_at)
            case Merge(due_at, how) if known is not None:
                self._merge(task, known, due_at, how)
                self._known[key] = self.keys[key] = replace(known, due_at=due_at, until=max(known.until, due_at))
                self._tasks.append((task, known.task, how))
            case Drop() | Merge() if known is not None:
                self._tasks.append((task, known.task, CollapsedInto.DROPPED))
            case other:
                raise AssertionError(f"{other} without a known task")

    def answers(self, lanes: Mapping[int, Lane]) -> list[CollapseAnswer]:
        """Return the answers in order; a task that several merged into is told of with the last of them."""
        last = {task: place for place, (_, task, how) in enumerate(self._tasks) if how is not None}
        answers = []
        for place, (given, task, how) in enumerate(self._tasks):
            due_at = self._due_at(task)
            if how is None:
                hint = Hint(task, given.lane, due_at, is_due=due_at <= self._now)
                answers.append(CollapseAnswer(Submitted(task, due_at), hint))
                continue
            changed = None
            if task in self.changed and last[task] == place:
                row = self.rows[task]
                hint = Hint(task, lanes[row.lane], due_at)
                changed = Changed(task, State.QUEUED, hint, epoch=row.epoch + 1)
            answers.append(CollapseAnswer(Submitted(task, due_at, created=False, collapsed=how.value), None, changed))
        return answers

    def _create(self, task: NewTask, key: Key, known: KnownTask, due_at: int | None) -> None:
        if due_at is not None:
            task = replace(task, run_at=Instant(due_at), delay_ms=0)
        self.new[task.id] = task
        due = task.run_at if task.run_at is not None else self._now + task.delay_ms
        self.keys[key] = known
        self._known[key] = replace(known, due_at=int(due), is_fresh=True, is_queued=True)
        self._tasks.append((task, task.id, None))

    def _merge(self, task: NewTask, known: KnownTask, due_at: int, how: CollapsedInto) -> None:
        replaces = how is CollapsedInto.REPLACED
        if known.task in self.new:
            waiting = self.new[known.task]
            payload = task.payload if replaces else waiting.payload
            self.new[known.task] = replace(waiting, run_at=Instant(due_at), delay_ms=0, payload=payload)
            return
        self.changed[known.task] = due_at
        if replaces:
            self.payloads[known.task] = task.payload

    def _due_at(self, task: TaskId) -> Instant:
        if task in self.changed:
            return Instant(self.changed[task])
        if task in self.due:
            return self.due[task]
        row = self.rows.get(task)
        return Instant(self._now if row is None else row.due_at)

    def _as_it_is(self, known: KnownTask) -> KnownTask:
        """Return a known task with its state; one that was pruned has ended."""
        row = self.rows.get(known.task)
        if row is None:
            return known
        is_queued = row.state is State.QUEUED
        return replace(
            known,
            due_at=int(row.due_at),
            is_fresh=is_queued and row.attempt == 0 and not row.in_job and row.id not in self._begun,
            is_queued=is_queued,
            is_running=row.state is State.RUNNING,
        )


def _rule(task: NewTask) -> CollapseRule:
    if task.collapse is None:
        raise TypeError("the task has no collapse rule")
    return task.collapse


def _key(task: NewTask) -> Key:
    return task.lane.tenant, _rule(task).key
