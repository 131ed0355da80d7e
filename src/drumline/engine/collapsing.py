"""Submissions that may collapse: stored by the store's rule, and followed by what that leads to."""

from collections.abc import Sequence

from drumline.core.errors import Moved
from drumline.core.task import NewTask, SubmitAnswer
from drumline.engine.effects import EffectFollower
from drumline.ports.collapsing import CollapseAnswer, Collapsing


class CollapsingSubmissions:
    """Stores tasks that have a collapse rule."""

    def __init__(self, store: Collapsing, effects: EffectFollower) -> None:
        self._store = store
        self._effects = effects

    async def submit(self, tasks: Sequence[NewTask]) -> list[SubmitAnswer]:
        """Store tasks, or let earlier ones stand for them; each has its answer, in order."""
        answers = await self._store.submit(tasks)
        # Committed: from here on nothing may fail the callers. A lost offer is found by the sweep.
        told: list[SubmitAnswer] = [answer if isinstance(answer, Moved) else answer.submitted for answer in answers]
        kept = [answer for answer in answers if isinstance(answer, CollapseAnswer)]
        changes = [answer.changed for answer in kept if answer.changed is not None]
        self._effects.submitted(tasks, told)
        self._effects.notes.changed(changes)
        self._effects.offers.offer([answer.hint for answer in kept if answer.hint is not None])
        self._effects.offers.move([change.hint for change in changes if change.hint is not None])
        return told
