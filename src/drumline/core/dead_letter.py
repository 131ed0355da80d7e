"""A dead letter: a task that failed for good, until it is retried or discarded; and the message sent to the bus."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from drumline.core.attempt import AttemptView
from drumline.core.clock import Instant, moment_of
from drumline.core.event import CloudEvent, Event, TaskChange, cloud_event, worker_text
from drumline.core.fingerprint import fingerprint
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo

POISON: Final = "Poison"
"""The kind of error of a task that took its workers down."""
LONGEST_SAID: Final = 500
UNKNOWN: Final = ErrorInfo("Unknown", "nothing was said about the failure")


class Reason(StrEnum):
    """Why there was no further attempt."""

    RETRIES_EXHAUSTED = "retries_exhausted"
    """It failed as often as it may."""
    PERMANENT = "permanent"
    """Its error says that trying again is of no use."""
    POISON = "poison"
    """Worker after worker died while running it."""
    UNRESOLVED_INPUT = "unresolved_input"
    """It never ran: its payload needs a parent's result that is not there."""


class FailureCause(Struct, frozen=True):
    """Why a task failed for good, as its dead letter says it. Those of one fingerprint are one group."""

    reason: Reason
    fingerprint: str
    kind: str
    """The class of the error."""
    message: str
    """The error's message with all that varies folded away."""
    said: str
    """The beginning of the message as it was."""


def cause_of(error: ErrorInfo | None, reason: Reason = Reason.PERMANENT) -> FailureCause:
    """Return the cause of a failure, given why there was no further attempt."""
    error = error or UNKNOWN
    made = fingerprint(error)
    return FailureCause(reason, made.text, error.kind, made.message, error.message[:LONGEST_SAID])


DEAD_LETTER_CREATED: Final = "drumline.dead_letter.created"
MOST_ATTEMPTS: Final = 50
LONGEST_MESSAGE: Final = 1000
LAST: Final = 1 << 31
"""Above the number of every attempt."""


class AttemptMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One execution."""

    attempt: int
    """Its number; those that did not count have that of the next one."""
    outcome: str
    """How it ended: `retried`, `failed`, `crashed` …"""
    worker: str | None = None
    """Who ran it."""
    started_at: str | None = None
    """When it began."""
    finished_at: str | None = None
    """When it ended."""
    error: ErrorInfo | None = None
    """Why it failed, without the traceback."""


class DeadLetterMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task that failed for good."""

    task: TaskId
    """The task."""
    name: str
    """What kind of task it was."""
    queue: str
    """The queue it was in."""
    reason: Reason
    """Why it is not tried again: `retries_exhausted`, `permanent`, `poison` or `unresolved_input`."""
    fingerprint: str
    """Equal for failures of one cause."""
    error: ErrorInfo | None = None
    """The last error: kind, message and the end of the traceback."""
    job: str | None = None
    """The job it belongs to."""
    tags: tuple[str, ...] = ()
    """Its tags."""
    created_at: str | None = None
    """When it was submitted."""
    failed_at: str
    """When it failed for good."""
    payload: Raw | None = None
    """What the task was given; left out if the message would become too large."""
    attempts: tuple[AttemptMessage, ...] = ()
    """Every execution, oldest first; of very many the last ones."""
    log: str | None = None
    """The last lines that the last execution logged."""


class FailedTask(Struct, frozen=True, kw_only=True):
    """What is known of a task that failed for good."""

    change: TaskChange
    at: Instant
    payload: Raw | None = None
    attempts: Sequence[AttemptView] = ()
    """As they are now: the task may have been retried since."""
    reason: Reason | None = None
    """Why, as its dead letter said it, whatever became of that."""


def dead_letter_message(failure: FailedTask) -> DeadLetterMessage:
    """Return the message about a failure: the facts of when it happened, and nothing later."""
    change = failure.change
    cause = cause_of(change.error)
    before = [
        each
        for each in failure.attempts
        if each.finished_at is not None and each.finished_at <= failure.at and each.attempt <= (change.attempt or LAST)
    ]
    return DeadLetterMessage(
        task=change.id,
        name=change.name,
        queue=change.queue,
        reason=failure.reason or cause.reason,
        fingerprint=cause.fingerprint,
        error=change.error,
        job=change.job,
        tags=change.tags,
        created_at=change.created_at,
        failed_at=moment_of(failure.at),
        payload=failure.payload,
        attempts=tuple(_attempt(each) for each in before[-MOST_ATTEMPTS:]),
        log=change.log,
    )


def dead_letter_event(failed: Event, message: DeadLetterMessage, *, source: str) -> CloudEvent:
    """Return a dead letter as a published event, beside that of the failure itself."""
    event = cloud_event(failed, source=source)
    return replace(event, id=f"{event.id}-dead", type=DEAD_LETTER_CREATED, data=message)


def _attempt(view: AttemptView) -> AttemptMessage:
    error = view.error
    return AttemptMessage(
        attempt=view.attempt,
        outcome=view.outcome.word,
        worker=worker_text(view.worker),
        started_at=None if not view.started_at else moment_of(view.started_at),
        finished_at=None if view.finished_at is None else moment_of(view.finished_at),
        error=None if error is None else ErrorInfo(error.kind, error.message[:LONGEST_MESSAGE]),
    )
