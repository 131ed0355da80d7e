"""Offers tasks that callers have stored in transactions of their own, as soon as PostgreSQL tells that they committed.

Only a queue that keeps hints needs it: those who wait on PostgreSQL's own index are woken by it directly. What is not
heard, because nobody listens at that moment or too much is told at once, the sweep finds.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog

from drumline.core.errors import Invalid, Unavailable
from drumline.core.ids import TaskId, parse_task_id
from drumline.core.state import State
from drumline.ports.hint import Hint
from drumline.ports.store import Store

MOST_WAITING: Final = 100
"""Notifications that wait to be looked up; the oldest of more are left to the sweep."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()

Listen = Callable[[Callable[[str], None]], Awaitable[bool]]
"""Calls a function for each notification, until cancelled; returns False where none can be heard."""


class StoredTasks:
    """Looks up tasks that notifications name, and offers those that wait."""

    def __init__(self, store: Store, offer: Callable[[Sequence[Hint]], None], listen: Listen) -> None:
        self._store = store
        self._offer = offer
        self._listen = listen
        self._told: deque[str] = deque(maxlen=MOST_WAITING)
        self._has_told = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Listen and offer until `stop` is set."""
        running = asyncio.gather(self._listen(self.heard), self._offer_all())
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            running.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)

    def heard(self, message: str) -> None:
        """Take a notification; returns at once."""
        self._told.append(message)
        self._has_told.set()

    async def pass_once(self) -> int:
        """Offer what the notifications so far have named, and return how many tasks that were."""
        self._has_told.clear()
        offered = 0
        while self._told:
            tasks = _ids(self._told.popleft())
            views = await self._store.queries.get(tasks, payload=False)
            hints = [
                Hint(view.id, view.lane, view.due_at)
                for view in views
                if view is not None and view.state is State.QUEUED and view.due_at is not None
            ]
            self._offer(hints)
            offered += len(hints)
        return offered

    async def _offer_all(self) -> None:
        while True:
            await self._has_told.wait()
            try:
                await self.pass_once()
            except Unavailable as error:
                log.info("stored.left_to_sweep", error=error.message)


def _ids(message: str) -> list[TaskId]:
    """Return the ids in a notification; what is none was sent by others."""
    found = []
    for word in message.split():
        try:
            found.append(parse_task_id(word))
        except Invalid:
            log.info("stored.not_understood", word=word[:40])
    return found
