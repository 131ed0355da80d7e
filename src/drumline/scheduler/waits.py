"""Waits: jobs that wait for jobs of other shards are registered there, and told here when those have ended.

A wait is registered until it is marked, a ripple is told until it is deleted.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from drumline.ports.waits import FarRipple, FarWait
from drumline.scheduler.exchange import LONE_SECONDS, PAGE, Exchange, WaitShard

PASS_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class WaitExchange(Exchange):
    """Registers waits and tells of ends between shards: a duty."""

    name = "waits"

    async def pass_once(self) -> int:
        """Register all waits, tell all that have to be told, and return how many steps that were."""
        done = 0
        # With one shard there may be waits from a time when there were more.
        self.every = self._pace if len(list(self._shards)) > 1 else LONE_SECONDS
        async with asyncio.timeout(PASS_SECONDS):
            while passed := await self._for_each(self._register_waits_of) + await self._for_each(self._tell_ripples_of):
                done += passed
        if done:
            log.info("waits.passed_on", count=done)
        return done

    async def _register_waits_of(self, waiting: WaitShard) -> int:
        async def register(awaited: WaitShard, waits: Sequence[FarWait]) -> int:
            missing = await awaited.store.waits.register(waits)
            gone = await self._still_of(awaited, missing, lambda wait: wait.needs)
            await awaited.store.waits.register(gone, final=True)
            done = [wait for wait in waits if wait not in missing or wait in gone]
            await waiting.store.waits.mark_registered(done)
            return len(done)

        done, last = 0, None
        while page := await waiting.store.waits.unregistered(limit=PAGE, after=last):
            last = page[-1]
            done += await self._pass_on(page, lambda wait: wait.needs, register)
        return done

    async def _tell_ripples_of(self, awaited: WaitShard) -> int:
        async def tell(waiting: WaitShard, ripples: Sequence[FarRipple]) -> int:
            told = await waiting.store.waits.tell(ripples)
            for effects in told:
                if effects is not None:
                    waiting.engine.effects.follow(effects)
            missing = [ripple for ripple, effects in zip(ripples, told, strict=True) if effects is None]
            gone = await self._still_of(waiting, missing, lambda ripple: ripple.job)
            done = [ripple.number for ripple in ripples if ripple not in missing or ripple in gone]
            await awaited.store.waits.delete_ripples(done)
            return len(done)

        done, last = 0, 0
        while page := await awaited.store.waits.ripples(limit=PAGE, after=last):
            last = page[-1].number
            done += await self._pass_on(page, lambda ripple: ripple.job, tell)
        return done
