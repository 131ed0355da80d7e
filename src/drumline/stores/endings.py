"""The ends of tasks, as each store writes them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from drumline.core.codec import encode
from drumline.core.dead_letter import FailureCause
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import TERMINAL, UNCOUNTED, Act, State
from drumline.ports.hint import Effects


class Ending(NamedTuple):
    """The end of one attempt, or of a task that waited.

    The latter has no execution, so its last row has an epoch of its own.
    """

    id: TaskId
    act: Act
    state: State
    epoch: int
    lane: int
    attempt: int
    nonce: int | None = None
    session: int | None = None
    started_at: int | None = None
    result: bytes | None = None
    error: str | None = None
    due_at: int | None = None
    counted: int = 0
    failures: int = 0
    crashes: int = 0
    cause: FailureCause | None = None


class Counters(NamedTuple):
    """How often a task was tried, and how often that failed or its worker died."""

    attempt: int
    failures: int
    crashes: int

    def after(self, act: Act) -> "Counters":
        """Return them as they are after an act that queues the task again; a new round counts anew."""
        if act is Act.RESTART:
            return Counters(0, 0, 0)
        return Counters(
            self.attempt - (act in UNCOUNTED), self.failures + (act is Act.BACK_OFF), self.crashes + (act is Act.REAP)
        )


def is_queued(ending: Ending) -> bool:
    """Tell whether a task waits to be claimed again."""
    return ending.state not in TERMINAL


def error_text(error: ErrorInfo | None) -> str | None:
    """Return an error as it is stored."""
    return None if error is None else encode(error).decode()


def moved_by(endings: Sequence[Ending]) -> Effects:
    """Return the ends of tasks as effects."""
    return Effects(
        moved=tuple((each.id, each.state) for each in endings), epochs=tuple((each.id, each.epoch) for each in endings)
    )


def held_back_by(epochs: Mapping[TaskId, int]) -> Effects:
    """Return tasks that are blocked again, with their epochs, as effects."""
    return Effects(moved=tuple((task, State.BLOCKED) for task in epochs), epochs=tuple(epochs.items()))
