"""Telling the read model what was committed: the store as the other services see it, with a note behind each change.

Notes are made from iterators, so that a board which has no room for them costs a batch nothing.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from msgspec import Raw

from drumline.core.bulk import BulkAct, BulkId
from drumline.core.clock import Clock, Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, Fenced, KeyReused, NotFound
from drumline.core.ids import SessionId, TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.lease import Lease
from drumline.core.state import TERMINAL, Act, State, Status, status_of
from drumline.core.task import ClaimedTask, NewTask, Submitted, TaskView, decode_options
from drumline.core.task_log import TASK_LOG
from drumline.engine.letter_notes import LetterNotes
from drumline.engine.task_lines import is_new, log_submitted
from drumline.ports.bulk import Advanced
from drumline.ports.hint import NO_EFFECTS, Effects
from drumline.ports.queue import PausedQueue
from drumline.ports.read_model import Facts, JobFacts, JobNote, Moment, NoReadModel, Note, ReadModel
from drumline.ports.store import (
    Change,
    Changed,
    Claim,
    ClaimRequest,
    Hint,
    Settled,
    Settlement,
    Standing,
    Store,
    StoredLeased,
)

MOST_SEEN = 100_000
LARGEST_LOOKED_INTO = 16_384
"""Bytes of a payload that may be read for the command in it: that is done between two turns of the event loop."""


class ReadModelNotes:
    """`Submitting`, `Executing` and `Controlling` of a store, noted on a board."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.board: ReadModel = NoReadModel()
        self.pauses: PausedQueue | None = None
        self.led_to: Callable[[Effects], None] = self.note_effects
        """Called with what acts led to in jobs."""
        self.letters = LetterNotes(store, lambda: self.board)
        self._store = store
        self._clock = clock
        self._seen: OrderedDict[tuple[str, TaskId], None] = OrderedDict()

    async def prepare(self) -> None:
        """Have ready what bringing in the first task needs."""
        await self._store.prepare()

    async def submit(self, tasks: Sequence[NewTask]) -> list[Submitted | KeyReused]:
        """Store tasks durably, in order."""
        answers = await self._store.submit(tasks)
        self.board.note(_submitted(tasks, answers, self._clock.now()))
        if TASK_LOG.is_on:
            log_submitted([task for task, answer in zip(tasks, answers, strict=True) if is_new(answer)])
        return answers

    async def submit_leased(self, task: NewTask, *, session: SessionId, nonce: int) -> StoredLeased:
        """Store a task, leased to a session if that can be given it."""
        stored = await self._store.submit_leased(task, session=session, nonce=nonce)
        self.board.note(_submitted([task], [stored.submitted], self._clock.now()))
        if TASK_LOG.is_on and is_new(stored.submitted):
            log_submitted([task])
        return stored

    def leased(self, tasks: tuple[ClaimedTask, ...]) -> None:
        """Note tasks that were stored leased, where they are begun: there the note comes before that of their end."""
        self.board.note(_claimed([Claim(tasks)], self._clock.now()))

    async def claim(self, requests: Sequence[ClaimRequest]) -> list[Claim]:
        """Give each request due tasks that it can run."""
        claims = await self._store.claim(requests)
        self.board.note(_claimed(claims, self._clock.now()))
        return claims

    async def standing(self, leases: Sequence[Lease]) -> list[Standing | None]:
        """Return where each leased task stands."""
        return await self._store.standing(leases)

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | Fenced]:
        """Record how attempts ended."""
        answers = await self._store.settle(settlements)
        self.board.note(_settled(settlements, answers, self._clock.now()))
        for answer in answers:
            if isinstance(answer, Settled) and answer.effects is not NO_EFFECTS:
                self.led_to(answer.effects)
        if failed := [each.lease.task for each in settlements if each.act is Act.FAIL]:
            self.letters.changed(failed)
        return answers

    async def cancel(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None, force: bool = False
    ) -> list[Changed | NotFound | Conflict]:
        """Cancel tasks."""
        return self._renewed(await self._store.cancel(tasks, tenant=tenant, force=force))

    async def reschedule(
        self, changes: Sequence[Change], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Change when queued tasks are due, or their priority."""
        return self._renewed(await self._store.reschedule(changes, tenant=tenant))

    async def retry(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[Changed | NotFound | Conflict]:
        """Queue ended tasks again."""
        answers = self._renewed(await self._store.retry(tasks, tenant=tenant))
        self.letters.changed(tasks)
        return answers

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload."""
        changed = await self._store.retry_edited(task, payload, tenant=tenant)
        self._renewed([changed])
        self.letters.changed([task])
        return changed

    async def discard(
        self, tasks: Sequence[TaskId], *, tenant: str | None = None
    ) -> list[Changed | NotFound | Conflict]:
        """Resolve dead letters and leave their tasks failed."""
        answers = await self._store.discard(tasks, tenant=tenant)
        self.letters.changed(tasks)
        return answers

    async def advance_bulk(self, bulk: BulkId, *, limit: int) -> Advanced | None:
        """Deal with the next tasks of a bulk operation."""
        advanced = await self._store.advance_bulk(bulk, limit=limit)
        if advanced is None:
            return None
        if advanced.view.act is not BulkAct.DISCARD:
            self._renewed(list(advanced.changed))
            await self.board.caught_up()
        self.letters.changed([changed.task for changed in advanced.changed])
        return advanced

    async def pause_queue(self, queue: str, *, tenant: str, reason: str | None = None) -> None:
        """Hand out no more tasks of a queue."""
        await self._store.pause_queue(queue, tenant=tenant, reason=reason)
        if self.pauses is not None:
            await self.pauses.pause_queue(queue, tenant=tenant)

    async def resume_queue(self, queue: str, *, tenant: str) -> None:
        """Hand out a paused queue's tasks again."""
        await self._store.resume_queue(queue, tenant=tenant)
        if self.pauses is not None:
            await self.pauses.resume_queue(queue, tenant=tenant)

    def freed(self, hints: Sequence[Hint]) -> None:
        """Note tasks that a scheduler duty has queued again."""
        self.board.note(_queued(hints, self._clock.now()))

    def made(self, tasks: Sequence[tuple[NewTask, Instant]]) -> None:
        """Note tasks that the store has made by itself, with the times at which they are due."""
        new = [task for task, _ in tasks]
        if TASK_LOG.is_on:
            log_submitted(new)
        self.board.note(_submitted(new, [Submitted(task.id, due_at) for task, due_at in tasks], self._clock.now()))

    def job_submitted(self, job: NewJob, status: JobStatus) -> None:
        """Note a job that is new, and its tasks."""
        now = self._clock.now()
        if TASK_LOG.is_on:
            log_submitted([each.task for each in job.tasks])
        keys = {each.task.id: each.key for each in job.tasks}
        facts = JobFacts(
            name=job.name,
            owner=job.owner,
            created_at=now,
            options=job.options,
            schedule_id=job.schedule_id,
            fire_time=job.fire_time,
            tasks={each.key: each.task.id for each in job.tasks},
            needs={each.key: tuple(keys[parent] for parent in each.needs) for each in job.tasks},
        )
        self.board.note_job(JobNote(job=job.id, status=status, facts=facts))
        self.board.note(_submitted_in_job(job))

    def note_effects(self, effects: Effects) -> None:
        """Note what acts led to in jobs."""
        now = self._clock.now()
        versions = dict(effects.versions)
        for job, status in effects.jobs:
            note = JobNote(job=job, status=status, renews=effects.renews, version=versions.get(job, 0))
            self.board.note_job(note)
        if not effects.renews:
            self.board.note(_queued(effects.released, now))
            self.board.note(_moved(effects, now))
            return
        epochs = dict(effects.epochs)
        for task, state, due_at in [
            *((hint.task, State.QUEUED, hint.due_at) for hint in effects.released),
            *((task, state, None) for task, state in effects.moved),
        ]:
            stands, waits_ms = status_of(state, due_at, now), _waits_ms(due_at, now)
            epoch = epochs.get(task, 0)
            self.board.renew(Note(task=task, moment=Moment.RENEWED, status=stands, epoch=epoch, waits_ms=waits_ms))
        self.letters.changed([*(hint.task for hint in effects.released), *(task for task, _ in effects.moved)])

    def has_seen(self, task: TaskId, tenant: str | None) -> bool:
        """Tell whether the store has shown a task to a tenant: the board does not know whose a task is."""
        return tenant is None or (tenant, task) in self._seen

    def seen(self, view: TaskView, tenant: str | None) -> None:
        """Note a task that somebody has looked at: they may look again."""
        if tenant is not None:
            self._seen[tenant, view.id] = None
            if len(self._seen) > MOST_SEEN:
                self._seen.popitem(last=False)
        facts = None if view.payload is None else Facts(view.lane.name, command_of(bytes(view.payload)), view.options)
        now = self._clock.now()
        status = view.status(now)
        seen = Note(
            task=view.id,
            moment=Moment.SUBMITTED,
            status=status,
            facts=facts,
            started_at=view.started_at,
            ended_at=view.finished_at,
            waits_ms=_waits_ms(view.due_at, now) if status is Status.PENDING else 0,
        )
        self.board.note([seen])

    def _renewed(self, answers: list[Changed | NotFound | Conflict]) -> list[Changed | NotFound | Conflict]:
        now = self._clock.now()
        for answer in answers:
            if isinstance(answer, Changed) and answer.state is not State.RUNNING:
                self.board.renew(_renewal(answer, now))
            if isinstance(answer, Changed) and answer.effects:
                self.led_to(answer.effects)
        return answers


def _submitted(tasks: Sequence[NewTask], answers: Sequence[Submitted | KeyReused], now: Instant) -> Iterator[Note]:
    for task, answer in zip(tasks, answers, strict=True):
        if isinstance(answer, Submitted) and answer.created:
            yield Note(
                task=answer.id,
                moment=Moment.SUBMITTED,
                status=status_of(State.QUEUED, answer.due_at, now),
                waits_ms=_waits_ms(answer.due_at, now),
                facts=Facts(task.lane.name, command_of(task.payload), decode_options(task.options)),
            )


def _claimed(claims: Sequence[Claim], now: Instant) -> Iterator[Note]:
    for claim in claims:
        for task in claim.tasks:
            yield Note(
                task=task.lease.task,
                moment=Moment.CLAIMED,
                status=status_of(State.RUNNING, None, now),
                facts=Facts(task.name, command_of(bytes(task.payload)), task.options),
                started_at=now,
                epoch=task.lease.epoch,
            )


def _settled(settlements: Sequence[Settlement], answers: Sequence[Settled | Fenced], now: Instant) -> Iterator[Note]:
    for settlement, answer in zip(settlements, answers, strict=True):
        # Queued without a hint is an answer given again: since the first time the task may have run, and ended.
        if isinstance(answer, Settled) and (answer.hint or answer.state in TERMINAL):
            yield Note(
                task=settlement.lease.task,
                moment=Moment.SETTLED,
                status=status_of(answer.state, answer.hint.due_at if answer.hint else None, now),
                ended_at=now if answer.state in TERMINAL else None,
                epoch=settlement.lease.epoch,
                waits_ms=_waits_ms(answer.hint.due_at if answer.hint else None, now),
            )


def _submitted_in_job(job: NewJob) -> Iterator[Note]:
    for each in job.tasks:
        yield Note(
            task=each.task.id,
            moment=Moment.SUBMITTED,
            status=status_of(State.BLOCKED, None, Instant(0)),
            facts=Facts(each.task.lane.name, command_of(each.task.payload), decode_options(each.task.options)),
        )


def _moved(effects: Effects, now: Instant) -> Iterator[Note]:
    epochs = dict(effects.epochs)
    for task, state in effects.moved:
        ended_at = now if state in TERMINAL else None
        status = status_of(state, None, now)
        yield Note(task=task, moment=Moment.SETTLED, status=status, ended_at=ended_at, epoch=epochs.get(task, 0))


def _queued(hints: Sequence[Hint], now: Instant) -> Iterator[Note]:
    for hint in hints:
        status, waits_ms = status_of(State.QUEUED, hint.due_at, now), _waits_ms(hint.due_at, now)
        yield Note(task=hint.task, moment=Moment.SETTLED, status=status, waits_ms=waits_ms)


def _renewal(answer: Changed, now: Instant) -> Note:
    due_at = answer.hint.due_at if answer.hint else None
    ended_at = now if answer.state in TERMINAL else None
    return Note(
        task=answer.task,
        moment=Moment.SETTLED if ended_at else Moment.RENEWED,
        status=status_of(answer.state, due_at, now),
        ended_at=ended_at,
        epoch=answer.epoch,
        waits_ms=_waits_ms(due_at, now),
    )


def _waits_ms(due_at: Instant | None, now: Instant) -> int:
    return 0 if due_at is None else max(due_at - now, 0)


def command_of(payload: bytes) -> str:
    """Return the command that a payload carries, as JSON if it is no text; nothing for payloads that have none."""
    if len(payload) > LARGEST_LOOKED_INTO or b'"command"' not in payload:
        return ""
    body = decode(payload, object)
    command = body.get("command", "") if isinstance(body, dict) else ""
    return command if isinstance(command, str) else encode(command).decode()
