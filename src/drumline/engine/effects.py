"""What acts led to in jobs, after their commit: offered to workers, told to those who wait, passed on to other jobs."""

import asyncio
from collections.abc import Callable

import structlog

from drumline.core.errors import Unavailable
from drumline.core.job import ENDED
from drumline.engine.endings import Endings
from drumline.engine.offer import Offers
from drumline.engine.stops import StopSignals
from drumline.ports.hint import Effects
from drumline.ports.jobs import Jobs

MOST_TOLD = 100
"""Jobs told of the ends of others in one go."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class EffectFollower:
    """Follows effects. Nothing here may fail those who acted: what is lost here is found by the duties."""

    def __init__(
        self, store: Jobs, offers: Offers, endings: Endings, stops: StopSignals, *, note: Callable[[Effects], None]
    ) -> None:
        self._store = store
        self._offers = offers
        self._endings = endings
        self.stops = stops
        self._note = note
        self._rippling: asyncio.Task[None] | None = None
        self._has_more = False

    def follow(self, effects: Effects) -> None:
        """Offer, note and tell what acts led to. Returns at once."""
        self._offers.offer(effects.released)
        self._note(effects)
        self._endings.ended([task for task, _ in effects.moved])
        self._endings.ended([job for job, _ in effects.jobs])
        if any(status in ENDED for _, status in effects.jobs):
            self._has_more = True
            if self._rippling is None:
                self._rippling = asyncio.get_running_loop().create_task(self._ripple_all(), name="ripple")

    async def ripple(self) -> int:
        """Tell jobs that others which they depend on have ended, until all are told, and return how many were."""
        told = 0
        while True:
            rippled = await self._store.ripple(limit=MOST_TOLD)
            told += rippled.told
            self.follow(rippled.effects)
            if rippled.is_done and not rippled.told:
                return told

    async def drained(self) -> None:
        """Wait until those who have to be told have been."""
        while self._rippling is not None:
            await asyncio.wait({self._rippling})

    async def _ripple_all(self) -> None:
        try:
            while self._has_more:
                self._has_more = False
                await self.ripple()
        except Unavailable as error:
            log.info("ripple.postponed", error=error.message)  # the duty does it
        finally:
            self._rippling = None
