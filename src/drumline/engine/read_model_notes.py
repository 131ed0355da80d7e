"""Telling the read model what was committed. The services call this after each change of the store.

Notes are made from iterators, so that a read model which has no room for them costs a batch nothing. Without a read
model every method returns at once.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from drumline.core.clock import Clock, Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Conflict, Fenced, NotFound, Unavailable
from drumline.core.ids import TaskId
from drumline.core.job import JobStatus, NewJob
from drumline.core.state import TERMINAL, Act, State, Status, status_of
from drumline.core.task import NewTask, SubmitAnswer, Submitted, TaskView, decode_options
from drumline.ports.hint import Effects
from drumline.ports.read_model import Facts, JobFacts, JobNote, LetterNote, Moment, Note, ReadModel
from drumline.ports.store import Changed, Claim, Hint, LogChunk, Settled, Settlement, Store

MOST_SEEN: Final = 100_000
LARGEST_LOOKED_INTO: Final = 16_384
"""Bytes of a payload that may be read for the command in it: that is done between two turns of the event loop."""
MOST_LOOKUPS: Final = 10_000
"""Tasks whose dead letters may wait to be looked up; beyond that the lists in the read model are incomplete."""
LOOKED_UP_AT_ONCE: Final = 500


class ReadModelNotes:
    """Makes notes of what the store has committed, if there is a read model."""

    def __init__(self, store: Store, model: ReadModel | None, clock: Clock) -> None:
        self._store = store
        self._model = model
        self._clock = clock
        self._seen: OrderedDict[tuple[str, TaskId], None] = OrderedDict()
        self._letters: dict[TaskId, None] = {}
        """Tasks that may have got or lost a dead letter."""
        self._looking: asyncio.Task[None] | None = None

    def submitted(self, tasks: Sequence[NewTask], answers: Sequence[SubmitAnswer]) -> None:
        """Note tasks that were stored."""
        if self._model is not None:
            self._model.note(_submitted(tasks, answers, self._clock.now()))

    def claimed(self, claims: Sequence[Claim]) -> None:
        """Note tasks that were leased."""
        if self._model is not None:
            self._model.note(_claimed(claims, self._clock.now()))

    def settled(self, settlements: Sequence[Settlement], answers: Sequence[Settled | Fenced]) -> None:
        """Note how attempts ended."""
        if self._model is None:
            return
        self._model.note(_settled(settlements, answers, self._clock.now()))
        if failed := [each.lease.task for each in settlements if each.act is Act.FAIL]:
            self.letters_changed(failed)

    def changed(self, changes: Iterable[Changed | NotFound | Conflict]) -> None:
        """Note what operators changed."""
        if self._model is None:
            return
        now = self._clock.now()
        for change in changes:
            if isinstance(change, Changed) and change.state is not State.RUNNING:
                self._model.renew(_renewal(change, now))

    def queued(self, hints: Sequence[Hint]) -> None:
        """Note tasks that a scheduler duty has queued again."""
        if self._model is not None:
            self._model.note(_queued(hints, self._clock.now()))

    def job_submitted(self, job: NewJob, status: JobStatus) -> None:
        """Note a job that is new, and its tasks."""
        if self._model is None:
            return
        keys = {each.task.id: each.key for each in job.tasks}
        facts = JobFacts(
            name=job.name,
            owner=job.owner,
            created_at=self._clock.now(),
            options=job.options,
            schedule_id=job.schedule_id,
            fire_time=job.fire_time,
            tasks={each.key: each.task.id for each in job.tasks},
            needs={each.key: tuple(keys[parent] for parent in each.needs) for each in job.tasks},
        )
        self._model.note_job(JobNote(job=job.id, status=status, facts=facts))
        self._model.note(_submitted_in_job(job))

    def followed(self, effects: Effects) -> None:
        """Note what acts led to in jobs."""
        if self._model is None:
            return
        now = self._clock.now()
        versions = dict(effects.versions)
        for job, status in effects.jobs:
            version = versions.get(job, 0)
            self._model.note_job(JobNote(job=job, status=status, renews=effects.renews, version=version))
        if not effects.renews:
            self._model.note(_queued(effects.released, now))
            self._model.note(_moved(effects, now))
            return
        for note in _renewals(effects, now):
            self._model.renew(note)
        self.letters_changed([*(hint.task for hint in effects.released), *(task for task, _ in effects.moved)])

    def letters_changed(self, tasks: Iterable[TaskId]) -> None:
        """Look up whether these tasks have a dead letter, and note that. Returns at once: it is done in the background.

        Looked up and not concluded from the act, since others may have acted on the same task meanwhile.
        """
        if self._model is None:
            return
        for task in tasks:
            if len(self._letters) < MOST_LOOKUPS:
                self._letters[task] = None
        if self._letters and self._looking is None:
            look_up = self._note_letters(self._model)
            self._looking = asyncio.get_running_loop().create_task(look_up, name="note dead letters")

    async def caught_up(self) -> None:
        """Wait while so many notes that must not be left out wait to be written that there is hardly room for more."""
        if self._model is not None:
            await self._model.caught_up()

    def held(self, tasks: Sequence[TaskId]) -> None:
        """Keep the notes of tasks that are being run from expiring."""
        if self._model is not None and tasks:
            self._model.keep(tasks)

    def logged(self, chunks: Sequence[LogChunk]) -> None:
        """Copy pieces of logs."""
        if self._model is not None:
            self._model.log(chunks)

    async def status(self, task: TaskId, tenant: str | None) -> Status | None:
        """Return the status of a task that was shown to the tenant before, if the read model knows it."""
        if self._model is None or not self.has_seen(task, tenant):
            return None
        (known,) = await self._model.status([task])
        return known

    def has_seen(self, task: TaskId, tenant: str | None) -> bool:
        """Tell whether the store has shown a task to a tenant: the read model does not know whose a task is."""
        return tenant is None or (tenant, task) in self._seen

    def seen(self, view: TaskView, tenant: str | None) -> None:
        """Note a task that a client has read, since it may ask again."""
        if tenant is not None:
            self._seen[tenant, view.id] = None
            if len(self._seen) > MOST_SEEN:
                self._seen.popitem(last=False)
        if self._model is not None:
            self._model.note([_note_of_view(view, self._clock.now())])

    async def close(self) -> None:
        """Finish the look-ups under way, and close the read model."""
        if self._looking is not None:
            await asyncio.wait({self._looking})
        if self._model is not None:
            await self._model.close()

    async def _note_letters(self, model: ReadModel) -> None:
        try:
            while self._letters:
                tasks = list(self._letters)[:LOOKED_UP_AT_ONCE]
                for task in tasks:
                    del self._letters[task]
                model.note_letters(await self._look_up(tasks))
        except Unavailable:
            self._letters.clear()  # the lists expire
        finally:
            self._looking = None

    async def _look_up(self, tasks: list[TaskId]) -> list[LetterNote]:
        letters = await self._store.dead_letters.get_dead_letters(tasks)
        resolved = [task for task, letter in zip(tasks, letters, strict=True) if letter is None]
        views = await self._store.queries.get(resolved, payload=False) if resolved else []
        there = [LetterNote(task=letter.task, job=letter.job, is_there=True) for letter in letters if letter]
        gone = [LetterNote(task=view.id, job=view.options.job, is_there=False) for view in views if view]
        return [*there, *gone]


def _submitted(tasks: Sequence[NewTask], answers: Sequence[SubmitAnswer], now: Instant) -> Iterator[Note]:
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


def _renewals(effects: Effects, now: Instant) -> Iterator[Note]:
    epochs = dict(effects.epochs)
    for task, state, due_at in [
        *((hint.task, State.QUEUED, hint.due_at) for hint in effects.released),
        *((task, state, None) for task, state in effects.moved),
    ]:
        status, waits_ms = status_of(state, due_at, now), _waits_ms(due_at, now)
        yield Note(task=task, moment=Moment.RENEWED, status=status, epoch=epochs.get(task, 0), waits_ms=waits_ms)


def _note_of_view(view: TaskView, now: Instant) -> Note:
    facts = None if view.payload is None else Facts(view.lane.name, command_of(bytes(view.payload)), view.options)
    status = view.status(now)
    return Note(
        task=view.id,
        moment=Moment.SUBMITTED,
        status=status,
        facts=facts,
        started_at=view.started_at,
        ended_at=view.finished_at,
        waits_ms=_waits_ms(view.due_at, now) if status is Status.PENDING else 0,
    )


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
