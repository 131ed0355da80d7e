"""The part of the store that takes submissions which may collapse into earlier ones."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Moved
from drumline.core.task import NewTask, Submitted
from drumline.ports.changed import Changed
from drumline.ports.hint import Hint


class CollapseAnswer(Struct, frozen=True):
    """What became of a submission: a task of its own, with the hint to offer it, or a change of an earlier one."""

    submitted: Submitted
    hint: Hint | None = None
    changed: Changed | None = None


class Collapsing(Protocol):
    """Tasks that have a `collapse` rule."""

    async def submit(self, tasks: Sequence[NewTask]) -> list[CollapseAnswer | Moved]:
        """Store tasks durably, in order, or let the earlier task of their key stand for them.

        One transaction for all, in which the rows of their keys are locked: of two submissions of one key at the same
        instant, the second sees what the first did. A task that is stored already under its id has its first answer.
        """
        ...

    async def prune(self, *, before: Instant, limit: int) -> int:
        """Forget up to `limit` keys whose time was over by then and whose task has ended; return how many."""
        ...
