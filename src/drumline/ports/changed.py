"""The answer to an act on a task."""

from msgspec import Struct

from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.ports.hint import NO_EFFECTS, Effects, Hint


class Changed(Struct, frozen=True):
    """A control act that holds: the task's state after it, the hint if it waits to be claimed, and what it led to."""

    task: TaskId
    state: State
    hint: Hint | None = None
    effects: Effects = NO_EFFECTS
    epoch: int = 0
    """The task's epoch after it: what was noted under an older one is out of date."""
