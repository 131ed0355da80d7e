"""Long-polls the engine for attempts to stop, which is faster than the next heartbeat."""

import asyncio
import logging
from typing import Final

from drumline.core.errors import NotFound
from drumline.core.ids import SessionId
from drumline.ports.gateway import Gateway
from drumline.worker.heartbeat import Heartbeat
from drumline.worker.held_attempts import HeldAttempts

WAIT_SECONDS: Final = 20.0
ANSWER_SECONDS: Final = 10.0
"""Added to the wait to get the request's timeout."""
APART: Final = 0.2
"""Minimum seconds between two requests."""
AGAIN_AFTER: Final = 5.0
"""Seconds before the next request after a failed one; heartbeats go on meanwhile."""

_log = logging.getLogger("drumline.worker")


class StopListener:
    """Asks the engine which attempts should stop, and stops them."""

    def __init__(self, gateway: Gateway, held_attempts: HeldAttempts, heartbeat: Heartbeat) -> None:
        self._gateway = gateway
        self._held_attempts = held_attempts
        self._heartbeat = heartbeat

    async def run(self, session: SessionId) -> None:
        """Listen until cancelled, or until the engine answers that it does not support this."""
        while True:
            held = self._held_attempts.running(session)
            try:
                async with asyncio.timeout(WAIT_SECONDS + ANSWER_SECONDS):
                    stops = await self._gateway.stops(session, held, wait=WAIT_SECONDS)
            except NotFound:
                return  # the session is closed, or the server does not support this: heartbeats do the same
            except Exception as error:  # noqa: BLE001 - whatever the gateway raises, heartbeats say the same later
                _log.debug("stops.not_heard: %s", error)
                await asyncio.sleep(AGAIN_AFTER)
                continue
            if stops:
                self._heartbeat.stop(held, stops.lost, stops.cancelled)
            await asyncio.sleep(APART)
