"""Reap: close the sessions of workers that died, and let their tasks run elsewhere.

Death is observed, not read off a clock: a session is dead when its beat number has not moved for a whole TTL of
this observer's own healthy time. Time is healthy while passes succeed and come when they should. What interrupts it (a
database outage, a suspended machine, a stalled loop) takes back the time in which a live worker beats once: a session
that has beaten as it should gets a full TTL again, so an outage reaps none, and one that was silent for longer is
reaped in the end even if outages keep coming. The store closes a session only if its beat number is still the one
observed: a beat that arrives in between saves it.
"""

import asyncio
from typing import NamedTuple

import structlog

from drumline.core.clock import Clock
from drumline.core.dead_letter import Reason
from drumline.core.ids import SessionId, session_text
from drumline.core.session import SESSION_TTL
from drumline.engine.engine import Engine
from drumline.ports.store import Reaped

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Silence(NamedTuple):
    """A beat number, and for how long it has not moved."""

    beat: int
    seconds: float
    """Only those in which a beat would have been seen."""


class Reaper:
    """Watches the beat numbers."""

    name = "reap"

    def __init__(
        self, engine: Engine, *, clock: Clock, poison_after: int, ttl: float = SESSION_TTL, every: float = 1.0
    ) -> None:
        self.every = every
        self._engine = engine
        self._clock = clock
        self._poison_after = poison_after
        self._ttl = ttl
        # Workers beat about three times in a TTL: a gap shorter than that between two looks hides nothing.
        self._longest_gap = max(ttl / 3, every * 2)
        self._taken_back = self._longest_gap + every
        """Seconds in which a live worker beats, and a pass sees it."""
        self._silences: dict[SessionId, Silence] = {}
        self._last_look: float | None = None
        """When the last pass looked; None after an interruption."""

    async def pass_once(self) -> Reaped:
        """Look at every session, and reap those that were silent for too long."""
        began = self._clock.monotonic()
        if self._last_look is not None and began - self._last_look > self._longest_gap:
            self._interrupt()
        try:
            reaped = await self._look(began)
        except BaseException:
            self._interrupt()
            raise
        # A pass that took too long says as little about the workers as one that failed.
        if self._clock.monotonic() - began > self._longest_gap:
            self._interrupt()
        self._tell(reaped)
        return reaped

    async def _look(self, now: float) -> Reaped:
        async with asyncio.timeout(self._longest_gap):
            self._observe(await self._engine.store.sessions.beat_numbers(), now)
            dead = [(session, seen.beat) for session, seen in self._silences.items() if seen.seconds >= self._ttl]
            # Also with no session to close: tasks of sessions that were closed, and lost claims, are freed here.
            return await self._engine.store.sessions.reap(dead, poison_after=self._poison_after)

    def _observe(self, beats: dict[SessionId, int], now: float) -> None:
        healthy = 0.0 if self._last_look is None else now - self._last_look
        self._last_look = now
        self._silences = {
            session: Silence(beat, seen.seconds + healthy)
            if (seen := self._silences.get(session)) and seen.beat == beat
            else Silence(beat, 0.0)
            for session, beat in beats.items()
        }

    def _interrupt(self) -> None:
        """Take back a part of each silence, whose worker may have been unable to beat; failures in a row are one."""
        if self._last_look is None:
            return
        self._last_look = None
        self._silences = {
            session: Silence(seen.beat, max(seen.seconds - self._taken_back, 0.0))
            for session, seen in self._silences.items()
        }

    def _tell(self, reaped: Reaped) -> None:
        self._engine.offer_freed(reaped.requeued)
        self._engine.effects.follow(reaped.effects)
        self._engine.notes.letters_changed(reaped.poisoned)
        metrics = self._engine.metrics
        metrics.reaped_sessions.add(len(reaped.sessions))
        for fate, count in (
            ("requeued", len(reaped.requeued)),
            ("poisoned", len(reaped.poisoned)),
            ("ghost", reaped.ghosts),
        ):
            metrics.reaped_tasks.add(count, (fate,))
        metrics.dead_lettered.add(len(reaped.poisoned), (Reason.POISON.value,))
        for session in reaped.sessions:
            self._silences.pop(session, None)
            log.warning("session.reaped", worker=session_text(session), silent_for=self._ttl)
        if reaped.requeued or reaped.poisoned or reaped.ghosts:
            log.info("tasks.freed", requeued=len(reaped.requeued), poisoned=len(reaped.poisoned), ghosts=reaped.ghosts)
