"""Sweep: make the queue whole again from the store, whatever was lost. Any number of schedulers do it, without a lock.

A queue that was emptied, restarted, failed over or set back has lost its generation, or has another one than the last
time: then it is refilled. Otherwise each pass looks at three things:

- the earliest tasks of each lane: a hint that is missing there was lost, by a process that died before its push, or
  after a pop; one that is there for a later time came after the hint of a later act, such as a wake-up. It is put back
  when it was missing in two passes running. One look would not do: between the store's answer and the queue's, workers
  claim tasks, and thousands of those would come back as wrong hints.
- the edge of the near future: tasks due later than that have no hints, and get them as time goes on.
- crowded lanes, of which the store has more than the queue holds: they are given what comes next.

A wrong hint does no harm, so nothing here has to be exact; a pass that fails is made good by the next.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Final

import structlog

from drumline.core.clock import Instant
from drumline.core.ids import TaskId
from drumline.core.metrics import Metrics
from drumline.core.task import Lane
from drumline.ports.queue import SweptQueue
from drumline.ports.store import Hint, Store

HORIZON_MS: Final = 5 * 60_000
"""How far ahead the queue holds hints."""
SOON_MS: Final = 10_000
"""How far ahead a lost hint is looked for."""
DEPTH: Final = 100
"""The earliest tasks of a lane that are looked at, while they are in place."""
DEEPEST: Final = 6_400
"""And when many of them are missing."""
REFILL: Final = 200_000
"""Hints in one refill, shared by the lanes."""
PAUSES_EVERY: Final = 20
"""Passes between two looks at the paused queues; pausing one tells the queue at once."""
PASS_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Sweeper:
    """Refills a queue that has lost hints."""

    name = "sweep"

    def __init__(self, store: Store, queue: SweptQueue, *, metrics: Metrics | None = None, every: float = 1.5) -> None:
        self._hints = (metrics or Metrics()).sweep_hints
        self.every = every
        self._store = store
        self._queue = queue
        self._generation: str | None = None
        self._filled_to = Instant(0)
        self._missing: frozenset[TaskId] = frozenset()
        self._depth = DEPTH
        self._passes = 0

    async def pass_once(self) -> int:
        """Put back what is missing, and return how many hints that were. A queue that is away is left alone."""
        async with asyncio.timeout(PASS_SECONDS):
            paused = await self._store.paused_queues() if self._passes % PAUSES_EVERY == 0 else None
            now = await self._store.queries.now()
            queue_state = await self._queue.sync(now=now, paused=paused)
            if queue_state is None:
                return 0
            self._passes += 1
            if queue_state.generation is None or queue_state.generation != self._generation:
                return await self._refill(now)
            return await self._look(now, frozenset(queue_state.crowded))

    async def _refill(self, now: Instant) -> int:
        """Put everything that is due soon into the queue, or of long lanes as much as there is room for."""
        until = Instant(now + HORIZON_MS)
        depth = DEPTH
        hints = await self._store.upcoming(due_before=until, per_lane=depth)
        lanes = _by_lane(hints)
        if any(len(held) >= depth for held in lanes.values()):
            depth = max(DEPTH, min(REFILL // len(lanes), DEEPEST))
            hints = await self._store.upcoming(due_before=until, per_lane=depth)
            lanes = _by_lane(hints)
        bounds = {lane: held[-1].due_at for lane, held in lanes.items() if len(held) >= depth}
        await self._queue.sync(now=now, paused=await self._store.paused_queues())
        if not await self._queue.restore(hints, bounds=bounds):
            return 0
        self._generation = await self._queue.filled()
        self._filled_to = until
        self._missing = frozenset()
        self._hints.add(len(hints))
        log.info("queue.refilled", hints=len(hints), crowded_lanes=len(bounds))
        return len(hints)

    async def _look(self, now: Instant, crowded: frozenset[Lane]) -> int:
        until = Instant(now + HORIZON_MS)
        heads = await self._store.upcoming(due_before=Instant(now + SOON_MS), per_lane=self._depth)
        crowd = await self._crowd(until, crowded)
        looked_at = [hint for hint in heads if hint.lane not in crowded] + crowd
        absent = await self._queue.absent(looked_at)
        if absent is None:
            return 0
        lost = [hint for hint in looked_at if hint.task in absent and hint.task in self._missing]
        self._missing = absent - {hint.task for hint in lost}
        edge = await self._store.upcoming(due_after=self._filled_to, due_before=until, per_lane=DEEPEST)
        edge = [hint for hint in edge if hint.lane not in crowded]
        bounds = self._bounds(crowd, crowded) | _full(edge)
        if not await self._queue.restore([*lost, *edge], bounds=bounds):
            return 0
        self._filled_to = until
        self._depth = self._next_depth(lost, len(absent))
        self._hints.add(len(lost) + len(edge))
        if lost:
            log.info("queue.restored", hints=len(lost))
        return len(lost) + len(edge)

    async def _crowd(self, until: Instant, crowded: frozenset[Lane]) -> list[Hint]:
        if not crowded:
            return []
        return await self._store.upcoming(due_before=until, per_lane=DEEPEST, lanes=tuple(crowded))

    def _bounds(self, crowd: list[Hint], crowded: frozenset[Lane]) -> dict[Lane, Instant | None]:
        """Return how far each crowded lane is in place, where that is known: nothing in it is still in doubt."""
        bounds: dict[Lane, Instant | None] = dict.fromkeys(crowded)
        bounds |= _full(crowd)
        for hint in crowd:
            if hint.task in self._missing:
                bounds.pop(hint.lane, None)
        return bounds

    def _next_depth(self, lost: Iterable[Hint], absent: int) -> int:
        """Return how deep to look next: deeper after much of a lane was lost, and again before giving that up."""
        most = max(Counter(hint.lane for hint in lost).values(), default=0)
        if most * 2 >= self._depth:
            return min(self._depth * 8, DEEPEST)
        return self._depth if absent * 2 >= self._depth > DEPTH else DEPTH


def _by_lane(hints: Iterable[Hint]) -> dict[Lane, list[Hint]]:
    lanes: dict[Lane, list[Hint]] = {}
    for hint in hints:
        lanes.setdefault(hint.lane, []).append(hint)
    return lanes


def _full(hints: Iterable[Hint]) -> dict[Lane, Instant | None]:
    """Return the lanes of which the store gave as many as it was asked for, and how far that reaches."""
    return {lane: held[-1].due_at for lane, held in _by_lane(hints).items() if len(held) >= DEEPEST}
