"""The life of a task: one table that every layer asks.

    blocked ──unblock──▶ queued ──claim──▶ running ──complete──▶ completed
                           ▲                 │ │ └──fail──▶ failed
                           └── back_off, snooze, park, restart, release, reap

The stores' guards, the all-pairs conformance test and the diagram in the docs are made from `TRANSITIONS`; no other
module compares states to decide what may happen.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final

from drumline.core.errors import Conflict


class State(IntEnum):
    """The stored state of a task. The numbers are stored: never reuse one."""

    BLOCKED = 0
    QUEUED = 1
    RUNNING = 2
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5
    SKIPPED = 6


class Act(StrEnum):
    """What can be done to a task."""

    __hash__ = str.__hash__  # an enumeration's own is written in Python, and acts are looked up for every task

    UNBLOCK = "unblock"  # its last parent is done
    SKIP = "skip"  # a parent failed, so it will not run
    CLAIM = "claim"  # a worker takes it
    COMPLETE = "complete"  # its attempt succeeded
    BACK_OFF = "back_off"  # its attempt failed; it will be tried again
    FAIL = "fail"  # its attempt failed for good
    SNOOZE = "snooze"  # its attempt asked to be run later, without counting
    PARK = "park"  # its attempt waits for a time or a signal: it ends, without counting
    RESTART = "restart"  # its attempt ends a round: it runs from the start, with another payload and no records
    WAKE = "wake"  # something that it waits for has come: it is due
    RELEASE = "release"  # its worker gives it back unfinished, without counting
    REAP = "reap"  # its worker died
    STOP = "stop"  # its worker saw the cancellation and stopped it
    CANCEL = "cancel"  # a caller asks that it does not run, or stops
    FORCE_CANCEL = "force_cancel"  # a caller cancels it now, whatever the worker does
    RESCHEDULE = "reschedule"  # a caller changes its time or priority
    RETRY = "retry"  # an operator runs an ended task again
    RESUME = "resume"  # an operator runs its job again, and it has to wait for others first


TRANSITIONS: Final[Mapping[tuple[State, Act], State]] = MappingProxyType(
    {
        (State.BLOCKED, Act.UNBLOCK): State.QUEUED,
        (State.BLOCKED, Act.SKIP): State.SKIPPED,
        (State.BLOCKED, Act.CANCEL): State.CANCELLED,
        (State.BLOCKED, Act.FORCE_CANCEL): State.CANCELLED,
        (State.QUEUED, Act.CLAIM): State.RUNNING,
        (State.QUEUED, Act.CANCEL): State.CANCELLED,
        (State.QUEUED, Act.FORCE_CANCEL): State.CANCELLED,
        (State.QUEUED, Act.RESCHEDULE): State.QUEUED,
        (State.QUEUED, Act.WAKE): State.QUEUED,
        (State.RUNNING, Act.COMPLETE): State.COMPLETED,
        (State.RUNNING, Act.BACK_OFF): State.QUEUED,
        (State.RUNNING, Act.FAIL): State.FAILED,
        (State.RUNNING, Act.SNOOZE): State.QUEUED,
        (State.RUNNING, Act.PARK): State.QUEUED,
        (State.RUNNING, Act.RESTART): State.QUEUED,
        (State.RUNNING, Act.RELEASE): State.QUEUED,
        (State.RUNNING, Act.REAP): State.QUEUED,
        (State.RUNNING, Act.STOP): State.CANCELLED,
        (State.RUNNING, Act.CANCEL): State.RUNNING,  # the worker learns it by a signal or its next heartbeat
        (State.RUNNING, Act.FORCE_CANCEL): State.CANCELLED,
        (State.FAILED, Act.RETRY): State.QUEUED,
        (State.CANCELLED, Act.RETRY): State.QUEUED,
        (State.SKIPPED, Act.RETRY): State.QUEUED,
        (State.QUEUED, Act.RESUME): State.BLOCKED,
        (State.FAILED, Act.RESUME): State.BLOCKED,
        (State.CANCELLED, Act.RESUME): State.BLOCKED,
        (State.SKIPPED, Act.RESUME): State.BLOCKED,
    }
)

TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED})
LIVE: Final = frozenset(State) - TERMINAL

SETTLING: Final = frozenset(
    {Act.COMPLETE, Act.BACK_OFF, Act.FAIL, Act.SNOOZE, Act.PARK, Act.RESTART, Act.RELEASE, Act.STOP}
)
"""The acts that end an attempt, and carry its lease."""

CANCELLABLE_BY_FLAG: Final = frozenset({Act.BACK_OFF, Act.SNOOZE, Act.PARK, Act.RESTART, Act.RELEASE, Act.REAP})
"""The acts that would queue a task again; if its cancellation was asked for, they end it as cancelled instead."""

UNCOUNTED: Final = frozenset({Act.SNOOZE, Act.PARK, Act.RELEASE})
"""The acts that end an attempt and give its number back."""


def step(state: State, act: Act) -> State:
    """Return the state after `act`, or raise `Conflict` if the table has no such transition."""
    after = TRANSITIONS.get((state, act))
    if after is None:
        raise Conflict(f"the task is {state.name.lower()}; {act.value.replace('_', ' ')} is not possible")
    return after


class Status(StrEnum):
    """The status that the API shows. Delayed and due tasks are one stored state with two names."""

    PENDING = "PENDING"
    QUEUED = "QUEUED"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


_STATUS: Final = {
    State.BLOCKED: Status.PENDING,
    State.RUNNING: Status.PROCESSING,
    State.COMPLETED: Status.COMPLETED,
    State.FAILED: Status.FAILED,
    State.CANCELLED: Status.CANCELLED,
    State.SKIPPED: Status.SKIPPED,
}


def status_of(state: State, due_at: int | None, now: int) -> Status:
    """Return the public status of a task."""
    if state is State.QUEUED:
        return Status.PENDING if due_at is None or due_at > now else Status.QUEUED
    return _STATUS[state]


def states_of(status: Status) -> tuple[State, ...]:
    """Return the stored states that a status may have."""
    if status is Status.PENDING:
        return (State.BLOCKED, State.QUEUED)
    if status is Status.QUEUED:
        return (State.QUEUED,)
    return tuple(state for state, shown in _STATUS.items() if shown is status)


def is_ended(status: Status) -> bool:
    """Tell whether a task with this status will change no more by itself."""
    return status not in {Status.PENDING, Status.QUEUED, Status.PROCESSING}
