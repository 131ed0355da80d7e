"""Fire: make the runs of schedules when their time has come. Any number of schedulers do it, without a leader.

**Who was there.** What was due while a scheduler was there fires, late or not; what was due while none was goes by the
schedule's misfire policy. A scheduler knows that it has been there if it has made its passes: by a clock that is never
set and that goes on while the machine sleeps. So neither a step of the wall clock nor a suspended machine is taken
for the other. Of the time before its own first pass it knows by the word that those who are there leave in the store,
each second. After an absence the word is left only when all that was missed is dealt with: a scheduler that dies
half-way through it leaves it to the next one to judge in the same way.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

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
LEAVE_WORD_MS: Final = 1_000
MOST_BATCHES: Final = 200
"""Transactions in one pass; what is left waits for the next one, so that a pass has an end."""
STATEMENT_SECONDS: Final = 30.0
ELSEWHERE_SECONDS: Final = 0.02

log: structlog.stdlib.BoundLogger = structlog.get_logger()


def since_boot() -> float:
    """Return seconds that are never set back or forth, those in which the machine slept included where it can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


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
        self._due: float | None = None

    async def pass_once(self) -> int:
        """Fire all that is due, start what has waited for long enough, and return how many runs that made."""
        began = self._clock()
        watch = await _within(self._firings.watch())
        absence = self._absence(watch, began)
        runs = 0
        is_done = True
        if _is_due(watch):
            fired, is_done = await self._repeat(lambda: self._firings.fire(absence=absence, limit=self._batch))
            runs += self._told(fired, absence)
        if _is_due(watch) or watch.has_waiting:
            started, is_all = await self._repeat(lambda: self._firings.start_runs(limit=self._batch))
            runs += self._told(started, None)
            is_done = is_done and is_all
            watch = await _within(self._firings.watch())
        if absence is None or (is_done and not _is_due(watch)):
            await self._leave_word(watch)
            self._lived_at = began
        self._due = self._next_look(watch)
        return runs

    def next_in(self) -> float | None:
        """Return the seconds until the next firing that is known of."""
        return None if self._due is None else self._due - self._clock()

    def _absence(self, watch: Watch, now: float) -> Absence | None:
        if self._lived_at is not None and now - self._lived_at <= LIVED_SECONDS:
            return None
        if watch.seen_at is not None and watch.now - watch.seen_at <= LAPSE_MS:
            return None
        return Absence(since=watch.seen_at or Instant(0), until=Instant(watch.now - ON_TIME_MS))

    def _next_look(self, watch: Watch) -> float | None:
        if watch.next_due is None:
            return None
        # What is still due is being fired by somebody else, whose transaction has not ended.
        seconds = ELSEWHERE_SECONDS if _is_due(watch) else (watch.next_due - watch.now) / 1000
        return self._clock() + seconds

    async def _repeat(self, act: Callable[[], Awaitable[Fired]]) -> tuple[list[Fired], bool]:
        """Do something until nothing is left of it, and tell whether that is so."""
        done: list[Fired] = []
        for _ in range(MOST_BATCHES):
            done.append(await _within(act()))
            if not done[-1].schedules:
                return done, True
        return done, False

    async def _leave_word(self, watch: Watch) -> None:
        if watch.next_due is None and not watch.has_waiting:
            return  # there is nothing that could be missed
        if watch.seen_at is None or abs(watch.now - watch.seen_at) >= LEAVE_WORD_MS:
            await _within(self._firings.note_watch())

    def _told(self, fired: list[Fired], absence: Absence | None) -> int:
        runs = sum(len(one.runs) for one in fired)
        missed = sum(one.missed for one in fired)
        if runs or missed:
            log.debug("schedules.fired", runs=runs, missed=missed)
        if missed and absence is not None:
            log.warning("schedules.missed", firings=missed, since=absence.since)
        return runs


def _is_due(watch: Watch) -> bool:
    return watch.next_due is not None and watch.next_due <= watch.now


async def _within(work: Awaitable[T]) -> T:
    async with asyncio.timeout(STATEMENT_SECONDS):
        return await work
