"""Fire: make the runs of schedules when their time has come. Any number of schedulers do it, without a leader.

**Who was there.** What was due while a scheduler was there fires, late or not; what was due while none was goes by the
schedule's misfire policy. A scheduler knows that it has been there if it has made its passes: by a clock that is never
set and that goes on while the machine sleeps. So neither a step of the wall clock nor a suspended machine is taken
for the other. Of the time before its own first pass it knows by the word that those who are there leave in the store,
each second. If the last word is old, it does not act on it at once: the clock may have been set just now. It waits
for longer than a running scheduler would, and only if no record comes was there an absence.

After an absence no word is left before all that was missed is dealt with: a scheduler that dies half-way through it
leaves it to the next one to judge in the same way.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

import structlog

from drumline.core.clock import Instant
from drumline.core.firing import Absence
from drumline.engine.fire import AT_ONCE, Firings
from drumline.ports.schedules import Fired, Watch

T = TypeVar("T")

LIVED_SECONDS: Final = 60.0
"""A scheduler that made its last pass not longer ago than this has been there since."""
LAPSE_MS: Final = 5_000
"""The word of another one is good for so long."""
ON_TIME_MS: Final = 1_000
"""What is late by no more than this was not missed."""
WORD_EVERY: Final = 1.0
"""Seconds between two words of a scheduler that is there."""
PATIENCE: Final = 3.0
"""Seconds without a record after which no other scheduler is running."""
LOOK_EVERY: Final = 0.25
"""Seconds between two looks at whether a word has come."""
MOST_BATCHES: Final = 200
"""Transactions in one pass; what is left waits for the next one, so that a pass has an end."""
STATEMENT_SECONDS: Final = 30.0
ELSEWHERE_SECONDS: Final = 0.02

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def since_boot() -> float:
    """Return seconds that are never set back or forth, those in which the machine slept included where it can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class Doubt(NamedTuple):
    """Whether another scheduler is running: how many records there were, the last one, and since when none came."""

    words: int
    last: Instant | None
    at: Instant
    """By the store's clock: what is due from then on is not missed, for this scheduler is there."""
    began: float


class Firer:
    """Watches the schedules."""

    name = "fire"

    def __init__(
        self, firings: Firings, *, every: float = 1.0, clock: Callable[[], float] = since_boot, batch: int = AT_ONCE
    ) -> None:
        self.every = every
        self._firings = firings
        self._clock = clock
        self._batch = batch
        self._lived_at: float | None = None
        self._left_word_at: float | None = None
        self._doubt: Doubt | None = None
        self._due: float | None = None

    async def pass_once(self) -> int:
        """Fire all that is due, start what has waited for long enough, and return how many runs that made."""
        began = self._clock()
        watch = await _within(self._firings.schedules.watch())
        if self._firings.is_shut:
            await self._stay(watch, began)
            return 0
        runs = await self._start(watch, began)
        if _is_due(watch) and self._is_in_doubt(watch, began):
            self._due = began + LOOK_EVERY
            return runs
        absence = self._absence(watch, began) if _is_due(watch) else None
        fired, is_done = await self._fire(watch, absence)
        if fired or runs:
            watch = await _within(self._firings.schedules.watch())
        if absence is None or (is_done and not _is_due(watch)):
            self._lived_at = began
            self._doubt = None
            await self._leave_word(watch)
        self._due = self._next_look(watch)
        return runs + sum(len(one.runs) for one in fired)

    def next_in(self) -> float | None:
        """Return the seconds until the next firing that is known of."""
        return None if self._due is None else self._due - self._clock()

    async def _stay(self, watch: Watch, began: float) -> None:
        """Be there while nothing can fire: what is due meanwhile is late, and not missed."""
        if self._is_known_to_be_attended(watch, began):
            self._lived_at = began
            await self._leave_word(watch)
        self._due = None

    def _is_known_to_be_attended(self, watch: Watch, now: float) -> bool:
        """Tell whether surely a scheduler was there until now: this one, or one that left word just now."""
        if self._lived_at is not None and now - self._lived_at <= LIVED_SECONDS:
            return True
        return watch.seen_at is not None and watch.now - watch.seen_at <= LAPSE_MS

    def _is_in_doubt(self, watch: Watch, now: float) -> bool:
        """Tell whether it is still unknown if another scheduler is running."""
        if self._is_known_to_be_attended(watch, now):
            return False
        if self._doubt is None or self._doubt.words != watch.words:
            self._doubt = Doubt(watch.words, watch.seen_at, watch.now, now)
        return now - self._doubt.began < PATIENCE

    def _absence(self, watch: Watch, now: float) -> Absence | None:
        if self._doubt is None or self._is_known_to_be_attended(watch, now):
            return None
        return Absence(since=self._doubt.last or Instant(0), until=Instant(self._doubt.at - ON_TIME_MS))

    async def _start(self, watch: Watch, now: float) -> int:
        """Start what has waited for long enough, and return how many runs that are."""
        if not _is_past(watch.next_start, watch.now) and not watch.has_waiting:
            return 0
        is_attended = self._is_known_to_be_attended(watch, now)
        started, _ = await self._repeat(lambda: self._firings.start_runs(limit=self._batch), says_word=is_attended)
        return sum(len(one.runs) for one in started)

    async def _fire(self, watch: Watch, absence: Absence | None) -> tuple[list[Fired], bool]:
        """Fire what is due, and tell whether nothing is left."""
        if not _is_due(watch):
            return [], True
        fired, is_done = await self._repeat(
            lambda: self._firings.fire(absence=absence, limit=self._batch), says_word=absence is None
        )
        runs, missed = sum(len(one.runs) for one in fired), sum(one.missed for one in fired)
        if runs:
            log.debug("schedules.fired", runs=runs)
        if missed:
            log.warning("schedules.missed", firings=missed, since=None if absence is None else absence.since)
        return fired, is_done

    def _next_look(self, watch: Watch) -> float | None:
        times = [time for time in (watch.next_due, watch.next_start) if time is not None]
        if not times:
            return None
        # What is still due is being fired by another scheduler, whose transaction has not ended.
        seconds = ELSEWHERE_SECONDS if min(times) <= watch.now else (min(times) - watch.now) / 1000
        return self._clock() + seconds

    async def _repeat(self, act: Callable[[], Awaitable[Fired]], *, says_word: bool) -> tuple[list[Fired], bool]:
        """Do something until nothing is left of it, and tell whether that is so."""
        done = [await _within(act())]
        while done[-1].has_more and len(done) < MOST_BATCHES:
            if says_word:
                await self._leave_word()
            batches = await asyncio.gather(*(_within(act()) for _ in range(self._firings.parallel)))
            # A batch that has more comes last, so that the loop goes on.
            done += sorted(batches, key=lambda fired: fired.has_more)
        return done, not done[-1].has_more

    async def _leave_word(self, watch: Watch | None = None) -> None:
        """Record that a scheduler is running, unless that was just done, or there is nothing that could be missed."""
        now = self._clock()
        if watch is not None and watch.next_due is None and not watch.has_waiting:
            return
        if self._left_word_at is None or now - self._left_word_at >= WORD_EVERY:
            self._left_word_at = now
            await _within(self._firings.schedules.note_watch())


def _is_due(watch: Watch) -> bool:
    return _is_past(watch.next_due, watch.now)


def _is_past(time: Instant | None, now: Instant) -> bool:
    return time is not None and time <= now


async def _within(work: Awaitable[T]) -> T:
    async with asyncio.timeout(STATEMENT_SECONDS):
        return await work
