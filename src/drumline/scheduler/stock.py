"""Take stock: how much waits and for how long, which workers there are, and how far the log has been passed on.

Counting all that is not ended looks at much of a table, so it is done now and then by schedulers and never when
somebody reads the figures, and the longer it takes the less often: a hundredth of the time goes into it at most.
Several schedulers take the same stock.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from drumline.core.clock import Clock, Instant
from drumline.core.meters import Labels, summed
from drumline.core.metrics import Metrics
from drumline.core.session import SessionView
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.outbox import CursorView
from drumline.ports.store import QueueView, Store

MOST_LETTERS: Final = 10_000
SHARE: Final = 100
"""How many times longer than it took the next one is put off."""
LONGEST_PAUSE: Final = 300.0
PASS_SECONDS: Final = 90.0


class Stocktaker:
    """Keeps the gauges of the whole system."""

    name = "take stock"

    def __init__(self, store: Store, metrics: Metrics, *, clock: Clock, every: float = 5.0) -> None:
        self.every = every
        self._usually_every = every
        self._store = store
        self._metrics = metrics
        self._clock = clock

    async def pass_once(self) -> int:
        """Look at everything once, and return how many queues there are."""
        began = self._clock.monotonic()
        async with asyncio.timeout(PASS_SECONDS):
            now = await self._store.now()
            queues = await self._store.queues()
            sessions = await self._store.sessions()
            cursors = await self._store.cursors()
            letters = await self._store.survey(DeadLetterFilter(), most=MOST_LETTERS)
        self._tell_queues(queues, now)
        self._tell_sessions(queues, sessions)
        self._tell_cursors(cursors, now)
        self._metrics.dead_letters.set(letters.count)
        self._metrics.stock_taken.set(self._clock.now() / 1000)
        took = self._clock.monotonic() - began
        self.every = min(max(self._usually_every, took * SHARE), LONGEST_PAUSE)
        return len(queues)

    def _tell_queues(self, queues: Sequence[QueueView], now: Instant) -> None:
        """Note what waits, of all tenants together: there may be thousands of them."""
        metrics, of = self._metrics, self._metrics.queue_labels.of
        metrics.queue_tasks.replace(
            summed(
                ((*of(queue.name), state), count)
                for queue in queues
                for state, count in (
                    ("pending", queue.pending),
                    ("queued", queue.queued),
                    ("processing", queue.processing),
                )
            )
        )
        metrics.queue_oldest.replace(_most((of(queue.name), _age(queue.oldest_due_at, now)) for queue in queues))
        metrics.queue_paused.replace(_most((of(queue.name), float(queue.is_paused)) for queue in queues))

    def _tell_sessions(self, queues: Sequence[QueueView], sessions: Sequence[SessionView]) -> None:
        metrics = self._metrics
        metrics.sessions.set(len(sessions))
        metrics.session_slots.set(sum(session.spec.capacity for session in sessions))
        for_all = sum(session.spec.capacity for session in sessions if not session.spec.queues)
        own = summed(
            ((queue,), session.spec.capacity) for session in sessions for queue in dict.fromkeys(session.spec.queues)
        )
        names = {queue.name for queue in queues} | {queue for (queue,) in own}
        metrics.queue_slots.replace(
            _most((metrics.queue_labels.of(name), for_all + own.get((name,), 0)) for name in sorted(names))
        )

    def _tell_cursors(self, cursors: Sequence[CursorView], now: Instant) -> None:
        self._metrics.outbox_rows.replace({(cursor.consumer,): cursor.behind for cursor in cursors})
        self._metrics.outbox_age.replace({(cursor.consumer,): _age(cursor.oldest_at, now) for cursor in cursors})


def _age(since: Instant | None, now: Instant) -> float:
    return 0.0 if since is None else max(now - since, 0) / 1000


def _most(pairs: Iterable[tuple[Labels, float]]) -> dict[Labels, float]:
    """Return the largest value for each of some labels."""
    largest: dict[Labels, float] = {}
    for labels, value in pairs:
        largest[labels] = max(largest.get(labels, 0.0), value)
    return largest
