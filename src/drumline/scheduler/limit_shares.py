"""Limit shares: move shares of limits to the databases where tasks wait for them.

Any number of processes may do it at once, and each carries on what another has begun: see `engine.limit_shares`.
"""

import asyncio
from typing import Final

import structlog

from drumline.engine.limit_shares import ShareMover

PASS_SECONDS: Final = 60.0
THOROUGH_EVERY: Final = 20
"""Every so many passes shares go back that nothing uses."""

ASKING_SECONDS: Final = 0.2
"""How soon the next pass follows while a database was asked to use less: what it frees is in use nowhere."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class LimitShares:
    """Moves shares of limits."""

    name = "limit_shares"

    def __init__(self, mover: ShareMover, *, every: float = 0.5) -> None:
        self.every = every
        self._mover = mover
        self._passes = 0

    def next_in(self) -> float | None:
        """Return the seconds until a database may have freed what it was asked for; None if none was."""
        return ASKING_SECONDS if self._mover.is_asking else None

    async def pass_once(self) -> int:
        """Move what tasks wait for, and return how many transfers were written."""
        self._passes += 1
        async with asyncio.timeout(PASS_SECONDS):
            given = await self._mover.pass_once(thorough=self._passes % THOROUGH_EVERY == 1)
        if given:
            log.debug("limit_shares.moved", transfers=given)
        return given
