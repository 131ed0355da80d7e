"""Cancelling, rescheduling and retrying tasks, pausing and resuming queues."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from drumline.core.bulk import BulkAct, BulkView
from drumline.core.clock import Clock, Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.event import queue_paused, queue_resumed
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Act, State, step
from drumline.core.task import Lane
from drumline.ports.bulk import stale
from drumline.ports.dead_letters import edited
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.store import Change, Changed, Hint
from drumline.stores.driver import Database, Lanes, Line, Part, TaskEvent, Transaction, tell_facts
from drumline.stores.endings import Ending, error_text
from drumline.stores.parts.control_jobs import JobControl, TaskRow
from drumline.stores.parts.following import JobFollowing, Members

Answer = Changed | NotFound | Conflict


Changes = Mapping[TaskId, tuple[TaskRow, Changed]]
"""Tasks as they were, and what an act changes about them."""


class TaskAct(NamedTuple):
    """An act on tasks whose rows are locked."""

    decide: Callable[[TaskRow, Lane, Instant], Changed]
    """Returns what the act changes about one task, or raises `Conflict`."""
    write: Callable[[Transaction, Changes, Members | None], Awaitable[Effects]]
    """Writes what was decided about all of them, and returns what that leads to; what it may lead to is locked."""
    in_job: Callable[[Transaction, TaskRow], Awaitable[Changed | Conflict]] | None = None
    """Does it all for a task of a job, where that is another matter."""


class Control(Part):
    """`ports.control.Controlling`."""

    def __init__(
        self, database: Database, clock: Clock | None, lanes: Lanes, following: JobFollowing, jobs: JobControl
    ) -> None:
        super().__init__(database, clock, lanes)
        self.following = following
        self._jobs = jobs

    async def cancel(
        self,
        tasks: Sequence[TaskId],
        *,
        tenant: str | None = None,
        force: bool = False,
        errors: Mapping[TaskId, ErrorInfo] | None = None,
    ) -> list[Answer]:
        """Cancel waiting tasks at once and ask running ones to stop; `force` ends running ones too, now.

        With `errors` only waiting ones are cancelled, each with its error.
        """
        return await self._each(tasks, tenant, self._cancelling(force=force, errors=errors))

    async def reschedule(self, changes: Sequence[Change], *, tenant: str | None = None) -> list[Answer]:
        """Change when queued tasks are due, or their priority."""
        return await self._each([change.task for change in changes], tenant, self._rescheduling(changes))

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Answer]:
        """Queue ended tasks again, due now, with their retries to spend anew; epochs go on rising."""
        return await self._each(tasks, tenant, self._retrying())

    async def retry_in(self, transaction: Transaction, tasks: Sequence[TaskId]) -> dict[TaskId, Answer]:
        """Retry ended tasks, each once in the list, as part of a transaction."""
        return await self._act(transaction, tasks, None, self._retrying())

    async def cancel_in(self, transaction: Transaction, tasks: Sequence[TaskId]) -> dict[TaskId, Answer]:
        """Cancel tasks, each once in the list, as part of a transaction."""
        return await self._act(transaction, tasks, None, self._cancelling(force=False))

    def _cancelling(self, *, force: bool, errors: Mapping[TaskId, ErrorInfo] | None = None) -> TaskAct:
        act = Act.FORCE_CANCEL if force else Act.CANCEL

        def decide(row: TaskRow, _lane: Lane, _now: Instant) -> Changed:
            if errors is not None and row.state is State.RUNNING:
                raise Conflict("the task is running")
            epoch = row.epoch + (row.state is not State.RUNNING)
            return Changed(row.id, step(row.state, act), epoch=epoch)

        async def write(transaction: Transaction, changed: Changes, members: Members | None) -> Effects:
            asked = [task for task, (_, change) in changed.items() if change.state is State.RUNNING]
            await self._jobs.request_cancel(transaction, asked, act)
            ended = [row for row, change in changed.values() if change.state is not State.RUNNING]
            endings = [_cancelled(row, act, (errors or {}).get(row.id)) for row in ended]
            if members is not None:
                return await self.following.record_in_jobs(transaction, endings, members)
            await self.following.record(transaction, endings)
            return NO_EFFECTS

        return TaskAct(decide, write)

    def _rescheduling(self, changes: Sequence[Change]) -> TaskAct:
        wanted = {change.task: change for change in changes}

        def decide(row: TaskRow, lane: Lane, now: Instant) -> Changed:
            change = wanted[row.id]
            state = step(row.state, Act.RESCHEDULE)
            due_at = row.due_at
            if change.run_at is not None:
                due_at = change.run_at
            elif change.delay_ms is not None:
                due_at = now + change.delay_ms
            if change.priority is not None:
                lane = Lane(lane.tenant, lane.queue, lane.name, change.priority)
            return Changed(row.id, state, Hint(row.id, lane, Instant(due_at)), epoch=row.epoch + 1)

        async def write(transaction: Transaction, changed: Changes, _members: Members | None) -> Effects:
            after = [change for _, (_, change) in sorted(changed.items())]
            hints = [change.hint for change in after if change.hint is not None]
            values: dict[str, Any] = {
                "ids": [hint.task for hint in hints],
                "lanes": await self._lanes.numbers_in_order([hint.lane for hint in hints], transaction),
                "due_at": [hint.due_at for hint in hints],
            }
            await transaction.fetch("reschedule_tasks", **values)
            await transaction.fetch("reschedule_live", **values)
            events = [TaskEvent(change.task, Act.RESCHEDULE, change.state, change.epoch) for change in after]
            await transaction.tell(events, now=self._now())
            return NO_EFFECTS

        return TaskAct(decide, write)

    def _retrying(self) -> TaskAct:
        def decide(row: TaskRow, lane: Lane, now: Instant) -> Changed:
            return Changed(row.id, step(row.state, Act.RETRY), Hint(row.id, lane, now), epoch=row.epoch + 1)

        async def write(transaction: Transaction, changed: Changes, _members: Members | None) -> Effects:
            due_at = next(change.hint.due_at for _, change in changed.values() if change.hint is not None)
            await self._jobs.bring_back(transaction, [row for row, _ in changed.values()], due_at=due_at, in_job=False)
            await self.following.drop_dead_letters(transaction, list(changed))
            return NO_EFFECTS

        return TaskAct(decide, write, self._jobs.retry_in_job)

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload; what it was given before is kept as a `PayloadEdit`."""
        retrying = self._retrying()

        async def edit(transaction: Transaction, row: TaskRow) -> None:
            await transaction.fetch("keep_payload", id=task, epoch=row.epoch, now=self._now())
            await transaction.fetch("edit_payload", id=task, payload=bytes(payload))
            lanes = await self._lanes.lanes([row.lane], transaction)
            await tell_facts(transaction, [edited(task, lanes[row.lane], epoch=row.epoch)], now=self._now())

        async def write(transaction: Transaction, changed: Changes, members: Members | None) -> Effects:
            effects = await retrying.write(transaction, changed, members)
            ((row, _),) = changed.values()
            await edit(transaction, row)
            return effects

        async def in_job(transaction: Transaction, row: TaskRow) -> Changed | Conflict:
            answer = await self._jobs.retry_in_job(transaction, row)
            if isinstance(answer, Changed):
                await edit(transaction, row)
            return answer

        (answer,) = await self._each([task], tenant, TaskAct(retrying.decide, write, in_job))
        if not isinstance(answer, Changed):
            raise answer
        return answer

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None, is_copy: bool = False) -> None:
        """Hand out no more tasks of a queue; running ones go on."""

        async def pause(transaction: Transaction) -> None:
            await transaction.fetch("pause_queue", tenant=tenant, queue=queue, reason=reason, now=self._now())
            facts = [] if is_copy else [queue_paused(queue, tenant=tenant, reason=reason)]
            await tell_facts(transaction, facts, now=self._now())

        await self._database.transact(Line.REQUEST, pause, repeat=True, within=tenant)

    async def resume_queue(self, queue: str, *, tenant: str, is_copy: bool = False) -> None:
        """Hand out a paused queue's tasks again."""

        async def resume(transaction: Transaction) -> None:
            if await transaction.fetch("resume_queue", tenant=tenant, queue=queue) and not is_copy:
                await tell_facts(transaction, [queue_resumed(queue, tenant=tenant)], now=self._now())

        await self._database.transact(Line.REQUEST, resume, repeat=True, within=tenant)

    async def act_in_bulk(
        self, transaction: Transaction, view: BulkView, tasks: Sequence[TaskId], chosen: Mapping[TaskId, int]
    ) -> dict[TaskId, Answer]:
        """Do what a bulk operation asks for; where a dead letter was chosen, by its epoch, it must be the one there."""
        return await self._act(transaction, tasks, view.tenant, _guarded(self._bulk_act(view, tasks), chosen))

    def _bulk_act(self, view: BulkView, tasks: Sequence[TaskId]) -> TaskAct:
        """Return the act of a bulk operation."""
        plan = view.plan
        if view.act is BulkAct.RETRY:
            return self._retrying()
        if view.act is BulkAct.CANCEL:
            return self._cancelling(force=plan.force)
        return self._rescheduling(
            [Change(task=task, run_at=plan.run_at, delay_ms=plan.delay_ms, priority=plan.priority) for task in tasks]
        )

    async def _each(self, tasks: Sequence[TaskId], tenant: str | None, act: TaskAct) -> list[Answer]:
        own = await own_tasks(self._database, tasks, tenant)
        answers: dict[int, Answer] = {}
        for places in _rounds(tasks):
            ids = [tasks[place] for place in places if tasks[place] in own]
            run = partial(self._act, ids=ids, tenant=tenant, act=act)
            found = await self._database.transact(Line.REQUEST, run) if ids else {}
            answers |= {place: found.get(tasks[place]) or _unknown(tasks[place]) for place in places}
        await self.following.note_queued(answers.values())
        return [answers[place] for place in range(len(tasks))]

    async def _act(
        self, transaction: Transaction, ids: Sequence[TaskId], tenant: str | None, act: TaskAct
    ) -> dict[TaskId, Answer]:
        """Lock tasks, decide about each, and write what was decided. No task may be in the list twice."""
        answers: dict[TaskId, Answer] = {}
        changed: dict[TaskId, tuple[TaskRow, Changed]] = {}
        # The jobs before all their tasks, and those they depend on too, which may keep one from coming back.
        members = await self.following.lock_members(transaction, ids, with_needed=act.in_job is not None)
        rows, lanes, now = await self._locked(transaction, ids)
        for task in ids:
            row = rows.get(task)
            if row is None or (tenant is not None and lanes[row.lane].tenant != tenant):
                answers[task] = _unknown(task)
                continue
            if row.in_job and act.in_job is not None:
                answers[task] = await act.in_job(transaction, row)
                continue
            try:
                answer = act.decide(row, lanes[row.lane], now)
            except Conflict as conflict:
                answers[task] = conflict
                continue
            answers[task] = answer
            changed[task] = (row, answer)
        if changed and (effects := await act.write(transaction, changed, members)):
            task, (_, answer) = next(iter(changed.items()))
            answers[task] = replace(answer, effects=effects)
        return answers

    async def _locked(
        self, transaction: Transaction, ids: Sequence[TaskId]
    ) -> tuple[dict[TaskId, TaskRow], Mapping[int, Lane], Instant]:
        # The task first: only its lock keeps a retry from giving it a live row after we have looked. Then the live
        # row, against claims and settlements. Then, in a statement that sees all they waited for, its state.
        await transaction.fetch("lock_tasks", ids=list(ids))
        await transaction.fetch("lock_live", ids=list(ids))
        found = await transaction.fetch("task_states", ids=list(ids))
        ((now,),) = await transaction.fetch("now", now=self._now())
        rows = {
            TaskId(str(task)): TaskRow(TaskId(str(task)), lane, State(state), *rest)
            for task, lane, state, *rest in found
        }
        return rows, await self._lanes.lanes({row.lane for row in rows.values()}, transaction), Instant(now)


async def own_tasks(database: Database, tasks: Sequence[TaskId], tenant: str | None) -> frozenset[TaskId]:
    """Return the tasks that can be seen from within a tenant's wall: each act on a task by its id begins with it.

    The act itself cannot be done there: ending a task is the same for all who do it, many tenants' at a time.
    The tenant of a task never changes, so the answer is still right when the act begins.
    """
    if tenant is None:
        return frozenset(tasks)
    rows = await database.fetch(Line.REQUEST, "own_tasks", repeat=True, within=tenant, ids=list(tasks))
    return frozenset(TaskId(str(task)) for (task,) in rows)


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


def _cancelled(row: TaskRow, act: Act, error: ErrorInfo | None) -> Ending:
    return Ending(
        id=row.id,
        act=act,
        state=State.CANCELLED,
        epoch=row.epoch if row.state is State.RUNNING else row.epoch + 1,
        lane=row.lane,
        attempt=row.attempt,
        session=row.session,
        started_at=row.started_at,
        error=error_text(error),
    )


def _unknown(task: TaskId) -> NotFound:
    return NotFound(f"there is no task {task}", field="id")


def _rounds(tasks: Sequence[TaskId]) -> list[list[int]]:
    """Split a list, by places, so that no task is twice in one part: a second act begins where the first ended."""
    rounds: list[list[int]] = []
    seen: dict[TaskId, int] = {}
    for place, task in enumerate(tasks):
        number = seen.get(task, 0)
        seen[task] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(place)
    return rounds
