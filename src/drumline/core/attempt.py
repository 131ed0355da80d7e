"""An attempt: one execution of a task, its progress, and how it ended."""

import math
from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.state import TRANSITIONS, Act, State


class AttemptOutcome(IntEnum):
    """How an execution ended. The numbers are stored: never reuse one; those that end the task are its state's."""

    RUNNING = 2
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5
    SKIPPED = 6
    RETRIED = 10
    SNOOZED = 11
    RELEASED = 12
    CRASHED = 13
    PARKED = 14
    RESTARTED = 15

    @property
    def word(self) -> str:
        """The outcome as people read it."""
        return self.name.lower()


OUTCOME_OF: Final[Mapping[Act, AttemptOutcome]] = MappingProxyType(
    {
        Act.COMPLETE: AttemptOutcome.COMPLETED,
        Act.BACK_OFF: AttemptOutcome.RETRIED,
        Act.FAIL: AttemptOutcome.FAILED,
        Act.SNOOZE: AttemptOutcome.SNOOZED,
        Act.PARK: AttemptOutcome.PARKED,
        Act.RESTART: AttemptOutcome.RESTARTED,
        Act.RELEASE: AttemptOutcome.RELEASED,
        Act.REAP: AttemptOutcome.CRASHED,
        Act.STOP: AttemptOutcome.CANCELLED,
        Act.CANCEL: AttemptOutcome.CANCELLED,
        Act.FORCE_CANCEL: AttemptOutcome.CANCELLED,
        Act.SKIP: AttemptOutcome.SKIPPED,
    }
)
"""What the history says of an execution that an act ended."""

ENDING: Final = frozenset(
    {
        AttemptOutcome.COMPLETED,
        AttemptOutcome.FAILED,
        AttemptOutcome.CANCELLED,
        AttemptOutcome.SKIPPED,
    }
)
"""The outcomes that end the task too: the last such row of a task without a live one is its final state."""


def state_after(outcome: AttemptOutcome) -> State:
    """Return the state that a recorded outcome left the task in."""
    return State(outcome) if outcome in ENDING else TRANSITIONS[State.RUNNING, Act.RELEASE]


class Execution(Struct, frozen=True, kw_only=True):
    """The fields of every execution."""

    epoch: int
    attempt: int
    outcome: AttemptOutcome
    worker: SessionId | None
    started_at: Instant | None
    finished_at: Instant | None


class AttemptView(Execution, frozen=True, kw_only=True):
    """One execution of a task, for people."""

    error: ErrorInfo | None = None


class JobAttempt(Execution, frozen=True, kw_only=True):
    """One execution of a task of a job, in lists."""

    key: str
    task: TaskId
    reason: str | None = None
    """What the error says that it ended with."""


LONGEST_MESSAGE: Final = 500


class Progress(Struct, frozen=True):
    """How much of an attempt is done; `total` is None if it is unknown."""

    done: float
    total: float | None = None
    message: str = ""


class ProgressNote(Struct, frozen=True):
    """How far the attempt of a lease is."""

    lease: Lease
    progress: Progress


def progress_of(done: float, total: float | None, message: str) -> Progress | None:
    """Return the progress that a task reports; None if it is invalid, which does not fail the task."""
    if not math.isfinite(done) or (total is not None and not math.isfinite(total)):
        return None
    return Progress(float(done), None if total is None else float(total), message[:LONGEST_MESSAGE])
