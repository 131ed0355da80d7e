"""Gauges of the whole installation: what waits in queues, which workers there are, how far the log was passed on."""

from collections.abc import Iterable, Sequence
from typing import Final

from drumline.core.clock import Clock, Instant
from drumline.core.durable import WaitKind
from drumline.core.meters import Labels, summed
from drumline.core.metrics import Metrics
from drumline.core.session import SessionView
from drumline.ports.dead_letters import DeadLetterFilter
from drumline.ports.outbox import CursorView
from drumline.ports.store import QueueView, Store

MOST_LETTERS: Final = 10_000
MOST_WAITING: Final = 100_000


async def update_queue_metrics(store: Store, metrics: Metrics, clock: Clock) -> int:
    """Set the gauges from the store, and return how many queues there are. Reads much of a table: do it seldom."""
    now = await store.queries.now()
    queues = await store.queries.queues()
    sessions = await store.sessions.sessions()
    cursors = await store.events.cursors()
    letters = await store.bulks.survey(DeadLetterFilter(), most=MOST_LETTERS)
    _set_queues(metrics, queues, now)
    _set_sessions(metrics, queues, sessions)
    _set_cursors(metrics, cursors, now)
    metrics.dead_letters.set(letters.count)
    waiting = await store.durable.count_waiting(most=MOST_WAITING)
    metrics.waiting_tasks.replace({(kind.word,): waiting.get(kind, 0) for kind in WaitKind})
    metrics.stock_taken.set(clock.now() / 1000)
    return len(queues)


def _set_queues(metrics: Metrics, queues: Sequence[QueueView], now: Instant) -> None:
    """Note what waits, of all tenants together: there may be thousands of them."""
    of = metrics.queue_labels.of
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


def _set_sessions(metrics: Metrics, queues: Sequence[QueueView], sessions: Sequence[SessionView]) -> None:
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


def _set_cursors(metrics: Metrics, cursors: Sequence[CursorView], now: Instant) -> None:
    metrics.outbox_rows.replace({(cursor.consumer,): cursor.behind for cursor in cursors})
    metrics.outbox_age.replace({(cursor.consumer,): _age(cursor.oldest_at, now) for cursor in cursors})


def _age(since: Instant | None, now: Instant) -> float:
    return 0.0 if since is None else max(now - since, 0) / 1000


def _most(pairs: Iterable[tuple[Labels, float]]) -> dict[Labels, float]:
    """Return the largest value for each of some labels."""
    largest: dict[Labels, float] = {}
    for labels, value in pairs:
        largest[labels] = max(largest.get(labels, 0.0), value)
    return largest
