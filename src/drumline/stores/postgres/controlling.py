"""What people do to tasks and queues."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Conflict, NotFound
from drumline.core.facts import queue_paused, queue_resumed
from drumline.core.ids import TaskId
from drumline.core.state import Act, State, step
from drumline.core.task import Lane
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.store import Change, Changed, Hint
from drumline.stores.driver import Line, tell_facts
from drumline.stores.postgres.acts import NUMBER_OF
from drumline.stores.postgres.controlling_jobs import ControllingJobs, Stand
from drumline.stores.postgres.cursors import Place
from drumline.stores.postgres.database import Transaction
from drumline.stores.postgres.dead_letters import drop_dead_letters
from drumline.stores.postgres.endings import Ending, record

Answer = Changed | NotFound | Conflict


Changes = Mapping[TaskId, tuple[Stand, Changed]]
"""Where tasks stood, and what an act changes about them."""


class Doing(NamedTuple):
    """An act on tasks whose rows are locked."""

    decide: Callable[[Stand, Lane, Instant], Changed]
    """Returns what the act changes about one task, or raises `Conflict`."""
    write: Callable[[Transaction, Changes], Awaitable[Effects]]
    """Writes what was decided about all of them, and returns what that leads to."""
    in_job: Callable[[Transaction, Stand], Awaitable[Changed | Conflict]] | None = None
    """Does it all for a task of a job, where that is another matter."""


class Controlling(ControllingJobs):
    """`ports.store.Controlling` on PostgreSQL."""

    async def cancel(self, tasks: Sequence[TaskId], *, tenant: str | None = None, force: bool = False) -> list[Answer]:
        """Cancel waiting tasks at once and ask running ones to stop; `force` ends running ones too, now."""
        return await self._each(tasks, tenant, self._cancelling(force=force))

    async def reschedule(self, changes: Sequence[Change], *, tenant: str | None = None) -> list[Answer]:
        """Change when queued tasks are due, or their priority."""
        return await self._each([change.task for change in changes], tenant, self._rescheduling(changes))

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Answer]:
        """Queue ended tasks again, due now, with their retries to spend anew; epochs go on rising."""
        return await self._each(tasks, tenant, self._retrying())

    def _cancelling(self, *, force: bool) -> Doing:
        act = Act.FORCE_CANCEL if force else Act.CANCEL

        def decide(stand: Stand, _lane: Lane, _now: Instant) -> Changed:
            epoch = stand.epoch + (stand.state is not State.RUNNING)
            return Changed(stand.id, step(stand.state, act), epoch=epoch)

        async def write(transaction: Transaction, changed: Changes) -> Effects:
            asked = [task for task, (_, change) in changed.items() if change.state is State.RUNNING]
            if asked:
                await transaction.fetch("request_cancel", ids=asked, act=NUMBER_OF[act], now=self._now())
            ended = [stand for stand, change in changed.values() if change.state is not State.RUNNING]
            endings = [cancelled(stand, act) for stand in ended]
            members = await self._lock_members(transaction, [stand.id for stand in ended if stand.in_job])
            if members is not None:
                return await self._record_in_jobs(transaction, endings, members)
            await record(transaction, endings, now=self._now())
            return NO_EFFECTS

        return Doing(decide, write)

    def _rescheduling(self, changes: Sequence[Change]) -> Doing:
        wanted = {change.task: change for change in changes}

        def decide(stand: Stand, lane: Lane, now: Instant) -> Changed:
            change = wanted[stand.id]
            state = step(stand.state, Act.RESCHEDULE)
            due_at = stand.due_at
            if change.run_at is not None:
                due_at = change.run_at
            elif change.delay_ms is not None:
                due_at = now + change.delay_ms
            if change.priority is not None:
                lane = Lane(lane.tenant, lane.queue, lane.name, change.priority)
            return Changed(stand.id, state, Hint(stand.id, lane, Instant(due_at)), epoch=stand.epoch + 1)

        async def write(transaction: Transaction, changed: Changes) -> Effects:
            hints = sorted(
                (change.hint for _, change in changed.values() if change.hint is not None), key=lambda hint: hint.task
            )
            lanes = await self._lanes.numbers_in_order([hint.lane for hint in hints])
            await transaction.fetch(
                "reschedule",
                ids=[hint.task for hint in hints],
                lanes=lanes,
                due_at=[hint.due_at for hint in hints],
                act=NUMBER_OF[Act.RESCHEDULE],
                now=self._now(),
            )
            return NO_EFFECTS

        return Doing(decide, write)

    def _retrying(self) -> Doing:
        def decide(stand: Stand, lane: Lane, now: Instant) -> Changed:
            return Changed(stand.id, step(stand.state, Act.RETRY), Hint(stand.id, lane, now), epoch=stand.epoch + 1)

        async def write(transaction: Transaction, changed: Changes) -> Effects:
            stands = [stand for stand, _ in changed.values()]
            due_at = next(change.hint.due_at for _, change in changed.values() if change.hint is not None)
            await transaction.fetch(
                "retry",
                ids=list(changed),
                lanes=[stand.lane for stand in stands],
                epochs=[stand.epoch + 1 for stand in stands],
                attempts=[stand.attempt for stand in stands],
                due_at=due_at,
                act=NUMBER_OF[Act.RETRY],
            )
            await drop_dead_letters(transaction, list(changed))
            return NO_EFFECTS

        return Doing(decide, write, self._retry_in_job)

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None) -> None:
        """Hand out no more tasks of a queue; running ones go on."""

        async def pause(transaction: Transaction) -> None:
            await transaction.fetch("pause_queue", tenant=tenant, queue=queue, reason=reason, now=self._now())
            await tell_facts(transaction, [queue_paused(queue, tenant=tenant, reason=reason)], now=self._now())

        await self._database.transact(Line.DESK, pause, repeat=True, within=tenant)

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Hand out a paused queue's tasks again."""

        async def resume(transaction: Transaction) -> None:
            if await transaction.fetch("resume_queue", tenant=tenant, queue=queue):
                await tell_facts(transaction, [queue_resumed(queue, tenant=tenant)], now=self._now())

        await self._database.transact(Line.DESK, resume, repeat=True, within=tenant)

    async def _each(self, tasks: Sequence[TaskId], tenant: str | None, doing: Doing) -> list[Answer]:
        own = await self._own_tasks(tasks, tenant)
        answers: dict[int, Answer] = {}
        for places in _rounds(tasks):
            ids = [tasks[place] for place in places if tasks[place] in own]
            act = partial(self._act, ids=ids, tenant=tenant, doing=doing)
            found = await self._database.transact(Line.DESK, act) if ids else {}
            answers |= {place: found.get(tasks[place]) or _unknown(tasks[place]) for place in places}
        await self._note_queued(answers.values())
        return [answers[place] for place in range(len(tasks))]

    async def _act(
        self, transaction: Transaction, ids: Sequence[TaskId], tenant: str | None, doing: Doing
    ) -> dict[TaskId, Answer]:
        """Lock tasks, decide about each where it stands, and write what was decided. No task may be there twice."""
        answers: dict[TaskId, Answer] = {}
        changed: dict[TaskId, tuple[Stand, Changed]] = {}
        # The jobs before all their tasks, and those they depend on too, which may keep one from coming back.
        await self._lock_members(transaction, ids, with_needed=doing.in_job is not None)
        stands, lanes, now = await self._stands(transaction, ids)
        for task in ids:
            stand = stands.get(task)
            if stand is None or (tenant is not None and lanes[stand.lane].tenant != tenant):
                answers[task] = _unknown(task)
                continue
            if stand.in_job and doing.in_job is not None:
                answers[task] = await doing.in_job(transaction, stand)
                continue
            try:
                answer = doing.decide(stand, lanes[stand.lane], now)
            except Conflict as conflict:
                answers[task] = conflict
                continue
            answers[task] = answer
            changed[task] = (stand, answer)
        if changed and (effects := await doing.write(transaction, changed)):
            task, (_, answer) = next(iter(changed.items()))
            answers[task] = replace(answer, effects=effects)
        return answers

    async def _stands(
        self, transaction: Transaction, ids: Sequence[TaskId]
    ) -> tuple[dict[TaskId, Stand], Mapping[int, Lane], Instant]:
        # The task first: only its lock keeps a retry from giving it a live row after we have looked. Then the live
        # row, against claims and settlements. Then, in a statement that sees all they waited for, where it stands.
        await transaction.fetch("lock_tasks", ids=list(ids))
        await transaction.fetch("lock_live", ids=list(ids))
        rows = await transaction.fetch("stands", ids=list(ids))
        ((now,),) = await transaction.fetch("now", now=self._now())
        stands = {
            TaskId(str(task)): Stand(TaskId(str(task)), lane, State(state), *rest) for task, lane, state, *rest in rows
        }
        return stands, await self._lanes.lanes({stand.lane for stand in stands.values()}), Instant(now)

    async def _note_queued(self, answers: Iterable[Answer]) -> None:
        hints = [answer.hint for answer in answers if isinstance(answer, Changed) and answer.hint is not None]
        for hint, lane in zip(hints, await self._lanes.numbers_in_order([hint.lane for hint in hints]), strict=True):
            self._cursors.queued(lane, Place(hint.due_at, hint.task))


def cancelled(stand: Stand, act: Act) -> Ending:
    """Return what is written about a task that is cancelled now."""
    # A waiting task ends without an execution, so its last row needs an epoch of its own.
    epoch = stand.epoch if stand.state is State.RUNNING else stand.epoch + 1
    return Ending(
        id=stand.id,
        act=act,
        state=State.CANCELLED,
        epoch=epoch,
        lane=stand.lane,
        attempt=stand.attempt,
        session=stand.session,
        started_at=stand.started_at,
    )


def _unknown(task: TaskId) -> NotFound:
    return NotFound(f"there is no task {task}", field="id")


def _rounds(tasks: Sequence[TaskId]) -> list[list[int]]:
    """Split a list, by places, so that no task is twice in one part: a second act stands on the first."""
    rounds: list[list[int]] = []
    seen: dict[TaskId, int] = {}
    for place, task in enumerate(tasks):
        number = seen.get(task, 0)
        seen[task] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(place)
    return rounds
