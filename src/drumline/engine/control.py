"""What people do to tasks and queues: cancel, reschedule, retry, pause, resume."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from drumline.core.clock import Instant, to_instant
from drumline.core.duration import Duration, millis, parse_duration
from drumline.core.errors import Conflict, DrumlineError, Invalid
from drumline.core.ids import TaskId
from drumline.core.names import check_queue
from drumline.core.priority import parse_priority
from drumline.core.state import TERMINAL, State
from drumline.engine.effects import EffectFollower
from drumline.engine.expiry import expiry_error
from drumline.engine.stops import StopSignals
from drumline.engine.waiting import Waiters
from drumline.ports.queue import Queue
from drumline.ports.store import Change, Changed, Controlling


class TaskControl:
    """Acts of operators on tasks and queues. Each raises `NotFound` or `Conflict` when it cannot be done."""

    def __init__(
        self, store: Controlling, queue: Queue, effects: EffectFollower, waiters: Waiters, stops: StopSignals
    ) -> None:
        self._store = store
        self._queue = queue
        self._effects = effects
        self._waiters = waiters
        self._stops = stops

    async def cancel(self, task: TaskId, *, tenant: str | None = None, force: bool = False) -> Changed:
        """Cancel a waiting task at once; ask a running one to stop, or end it now with `force`."""
        changed = self._done(await self._store.cancel([task], tenant=tenant, force=force))
        if force:
            self._stops.announce()
        return changed

    async def expire(self, tasks: Mapping[TaskId, Instant]) -> list[TaskId]:
        """Cancel tasks that had not started by a time; return those that have ended, others were just claimed."""
        if not tasks:
            return []
        errors = {task: expiry_error(expires_at) for task, expires_at in tasks.items()}
        answers = await self._store.cancel(list(tasks), errors=errors)
        self.follow([answer for answer in answers if isinstance(answer, Changed)])
        return [task for task, answer in zip(tasks, answers, strict=True) if not isinstance(answer, Conflict)]

    async def reschedule(
        self,
        task: TaskId,
        *,
        run_at: datetime | None = None,
        delay: Duration | None = None,
        priority: int | str | None = None,
        tenant: str | None = None,
    ) -> Changed:
        """Change when a waiting task is due, or its priority."""
        if run_at is None and delay is None and priority is None:
            raise Invalid("must have run_at, delay or priority", field="body")
        if run_at is not None and delay is not None:
            raise Invalid("cannot be given together with run_at", field="delay")
        change = Change(
            task=task,
            run_at=None if run_at is None else to_instant(run_at, field="run_at"),
            delay_ms=None if delay is None else millis(parse_duration(delay, field="delay")),
            priority=None if priority is None else parse_priority(priority),
        )
        return self._done(await self._store.reschedule([change], tenant=tenant))

    async def retry(self, task: TaskId, *, tenant: str | None = None) -> Changed:
        """Run a failed, cancelled or skipped task again."""
        changed = self._done(await self._store.retry([task], tenant=tenant))
        self._effects.notes.letters_changed([task])
        return changed

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None) -> None:
        """Hand out no more tasks of a queue."""
        await self._store.pause_queue(check_queue(queue, field="queue"), tenant=tenant, reason=reason)
        await self._queue.pause_queue(queue, tenant=tenant)

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Hand out a paused queue's tasks again."""
        await self._store.resume_queue(check_queue(queue, field="queue"), tenant=tenant)
        await self._queue.resume_queue(queue, tenant=tenant)
        self._waiters.wake_all()

    def follow(self, changes: Sequence[Changed]) -> None:
        """Note what acts have changed, follow it in jobs, offer what they queued, wake callers that wait for ends."""
        self._effects.notes.changed(changes)
        for changed in changes:
            if changed.effects:
                self._effects.follow(changed.effects)
        self._effects.offers.move([changed.hint for changed in changes if changed.hint is not None])
        self._effects.endings.ended([changed.task for changed in changes if changed.state in TERMINAL])
        if any(changed.state is State.RUNNING for changed in changes):
            self._stops.announce()

    def _done(self, answers: Sequence[Changed | DrumlineError]) -> Changed:
        (answer,) = answers
        if isinstance(answer, DrumlineError):
            raise answer
        self.follow([answer])
        return answer
