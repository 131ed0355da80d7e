"""Telling the read model which tasks have a dead letter, after the fact: looked up, so that it is never guessed."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from drumline.core.errors import Unavailable
from drumline.core.ids import TaskId
from drumline.ports.read_model import LetterNote, NoReadModel, ReadModel
from drumline.ports.store import Store

MOST_WAITING: Final = 10_000
"""Tasks that may wait to be looked up; under pressure the board says less."""
AT_ONCE: Final = 500


class LetterNotes:
    """Looks up tasks that may have got or lost a dead letter, in the background and many at once."""

    def __init__(self, store: Store, board: Callable[[], ReadModel]) -> None:
        self._store = store
        self._board = board
        self._waiting: dict[TaskId, None] = {}
        self._looking: asyncio.Task[None] | None = None

    def changed(self, tasks: Iterable[TaskId]) -> None:
        """Look at these tasks soon. Returns at once, and costs nothing where nobody keeps notes."""
        if isinstance(self._board(), NoReadModel):
            return
        for task in tasks:
            if len(self._waiting) < MOST_WAITING:
                self._waiting[task] = None
        if self._waiting and self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look(), name="note dead letters")

    async def drained(self) -> None:
        """Wait until all have been looked up."""
        if self._looking is not None:
            await asyncio.wait({self._looking})

    async def _look(self) -> None:
        try:
            while self._waiting:
                tasks = list(self._waiting)[:AT_ONCE]
                for task in tasks:
                    del self._waiting[task]
                self._board().note_letters(await self._looked_up(tasks))
        except Unavailable:
            self._waiting.clear()  # the lists expire
        finally:
            self._looking = None

    async def _looked_up(self, tasks: list[TaskId]) -> list[LetterNote]:
        letters = await self._store.get_dead_letters(tasks)
        resolved = [task for task, letter in zip(tasks, letters, strict=True) if letter is None]
        views = await self._store.get(resolved, payload=False) if resolved else []
        there = [LetterNote(task=letter.task, job=letter.job, is_there=True) for letter in letters if letter]
        gone = [LetterNote(task=view.id, job=view.options.job, is_there=False) for view in views if view]
        return [*there, *gone]
