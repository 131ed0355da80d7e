"""Events from rows of the outbox: an act on a task, joined with what is stored about the task.

Only the act is written when it happens. The rest is looked up when the event is read: what a task is never changes,
and how an execution began and ended is found by the task's id and epoch, whatever has happened since.
"""

from typing import Final, NamedTuple

from drumline.core.clock import NEVER, Instant, moment_of
from drumline.core.codec import decode
from drumline.core.event import Event, EventPosition, Fact, TaskChange, type_of, worker_text
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.shorten import shorten
from drumline.core.state import Act, State, Status, status_of
from drumline.core.task import Lane, decode_options

UNREAD_LOOKED_AT: Final = 10_000
"""Unread rows of which it is known when each was written."""
SLACK_MS: Final = 120_000
"""How much earlier than every unread row a task must have ended to be pruned: what is being written is not seen yet,
and no transaction takes half as long."""
LONG_SLACK_MS: Final = 3_600_000
"""The same where there are more unread rows than are looked at. They were written in the order of time only nearly,
since transactions take a while and clocks are set back."""
LOG_LINES: Final = 20
LOG_CHARACTERS: Final = 4000
LOG_CHUNKS: Final = 8
"""Pieces of a log that are looked at for its last lines."""
LONGEST_MESSAGE: Final = 4000
LONGEST_TRACEBACK: Final = 8000

EXECUTION_ENDED: Final = frozenset(
    {
        Act.COMPLETE,
        Act.BACK_OFF,
        Act.FAIL,
        Act.SNOOZE,
        Act.PARK,
        Act.RESTART,
        Act.RELEASE,
        Act.REAP,
        Act.STOP,
        Act.CANCEL,
        Act.FORCE_CANCEL,
        Act.SKIP,
    }
)
"""The acts that leave a row in the history under their own epoch."""
FAILED: Final = frozenset({Act.BACK_OFF, Act.FAIL, Act.REAP})
"""The acts after which people want to see the log."""
LOGGED_IN_NOTIFICATIONS: Final = FAILED | {Act.COMPLETE, Act.STOP, Act.CANCEL, Act.FORCE_CANCEL}
"""The acts whose notifications carry the last lines of the log; the stream of events has them for failures only."""
_PUT_OFF: Final = frozenset({Act.BACK_OFF, Act.SNOOZE, Act.PARK})


class RecordedAct(NamedTuple):
    """An act on a task, as the outbox keeps it."""

    place: EventPosition
    at: Instant
    task: TaskId
    act: Act | None
    """None is its submission."""
    state: State
    epoch: int


class EndedExecution(NamedTuple):
    """An execution that has ended."""

    attempt: int
    session: int | None
    started_at: int | None
    finished_at: int
    error: str | None


class LiveTask(NamedTuple):
    """The live row of a task at the time of reading, if it has not ended."""

    state: int
    epoch: int
    attempt: int
    session: int | None
    started_at: int | None
    due_at: int | None


class KnownTask(NamedTuple):
    """What is known of a task that an act is about."""

    lane: Lane
    options: str | None
    created_at: int
    asked_due_at: int
    past: EndedExecution | None
    """The execution of the act's own epoch, if there was one and it has ended."""
    now: LiveTask | None


class PruneProgress(NamedTuple):
    """How far full batches of pruning have come that have the same limit of time: the next one begins there.

    It saves time and decides nothing. What they passed over, being locked, is found by the next pass.
    """

    ended_before: Instant
    """As it was asked for."""
    before: Instant
    """The same, or earlier if a consumer has not read so far."""
    above: str
    """The last task that was pruned."""


def prunable_before(ended_before: Instant, unread_since: int | None, unread: int) -> Instant:
    """Return the time before which tasks must have ended to be pruned: the one that is asked for, or an earlier one.

    `unread_since` is when the earliest was written of the first `UNREAD_LOOKED_AT` rows that some consumer has not
    passed on, and `unread` how many those are.
    """
    if unread_since is None:
        return ended_before
    slack = SLACK_MS if unread < UNREAD_LOOKED_AT else LONG_SLACK_MS
    return Instant(min(ended_before, unread_since - slack))


def task_event(log: str, told: RecordedAct, known: KnownTask | None, lines: str | None = None) -> Event:
    """Return an act on a task as an event; nothing is known of a task that was pruned."""
    type_ = type_of(told.act, told.state)
    if known is None:
        status = _status(told, None)
        data = TaskChange(id=told.task, status=status)
        return Event(log=log, place=told.place, type=type_, at=told.at, subject=told.task, tenant="", data=data)
    options = decode_options(known.options)
    due_at = _due_at(told, known)
    run = _execution(told, known)
    ended = known.past if told.act in EXECUTION_ENDED else None
    data = TaskChange(
        id=told.task,
        status=_status(told, due_at),
        name=known.lane.name,
        queue=known.lane.queue,
        job=options.job,
        tags=options.tags,
        attempt=0 if run is None else run.attempt,
        worker=None if run is None else worker_text(run.session),
        created_at=moment_of(Instant(known.created_at)),
        due_at=None if due_at is None else moment_of(Instant(due_at)),
        started_at=moment_of(Instant(run.started_at)) if run is not None and run.started_at else None,
        finished_at=None if ended is None else moment_of(Instant(ended.finished_at)),
        duration=_duration(ended),
        error=None if ended is None or ended.error is None else shortened(decode(ended.error, ErrorInfo)),
        log=lines,
    )
    return Event(
        log=log,
        place=told.place,
        type=type_,
        at=told.at,
        subject=told.task,
        tenant=known.lane.tenant,
        data=data,
        notify=options.notify,
        trace=options.trace,
    )


def fact_events(log: str, position: int, at: Instant, facts: str) -> list[Event]:
    """Return the facts of a row as events."""
    return [
        Event(
            log=log,
            place=EventPosition(position, offset),
            type=fact.type,
            at=at,
            subject=fact.subject,
            tenant=fact.tenant,
            data=fact.data,
        )
        for offset, fact in enumerate(decode(facts, list[Fact]))
    ]


def shortened(error: ErrorInfo) -> ErrorInfo:
    """Return an error small enough to be sent around; of a traceback the end says most."""
    if len(error.message) <= LONGEST_MESSAGE and len(error.traceback) <= LONGEST_TRACEBACK:
        return error
    return ErrorInfo(error.kind, error.message[:LONGEST_MESSAGE], shorten(error.traceback, LONGEST_TRACEBACK))


def last_lines(text: str) -> str | None:
    """Return the end of a log; nothing if there is none."""
    lines = text[-LOG_CHARACTERS:].splitlines()[-LOG_LINES:]
    return "\n".join(lines) or None


def _execution(told: RecordedAct, known: KnownTask) -> EndedExecution | LiveTask | None:
    """Return the execution that an act is about: the ended one of its epoch, or else the one under way."""
    if known.past is not None:
        return known.past
    now = known.now
    return now if now is not None and now.epoch == told.epoch else None


def _due_at(told: RecordedAct, known: KnownTask) -> int | None:
    """Return when a task that was left waiting is due, if it still waits for that."""
    if told.state is not State.QUEUED:
        return None
    waiting = told.epoch + 1 if told.act in EXECUTION_ENDED else told.epoch
    now = known.now
    if now is not None and now.state == State.QUEUED and now.epoch == waiting:
        return None if now.due_at == NEVER else now.due_at
    return known.asked_due_at if told.act is None else None


def _status(told: RecordedAct, due_at: int | None) -> Status:
    if told.act in _PUT_OFF and told.state is State.QUEUED:
        return Status.PENDING
    return status_of(told.state, told.at if due_at is None else due_at, told.at)


def _duration(ended: EndedExecution | None) -> float | None:
    if ended is None or not ended.started_at:
        return None
    return max(ended.finished_at - ended.started_at, 0) / 1000
