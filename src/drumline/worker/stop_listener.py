"""Hearing soon that attempts should stop, instead of at the next beat."""

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
"""How much longer than its own wait a question may take."""
APART: Final = 0.2
"""Seconds between two questions at least, however many signals there are."""
AGAIN_AFTER: Final = 5.0
"""Seconds until an engine that does not answer is asked again: heartbeat go on meanwhile."""

_log = logging.getLogger("drumline.worker")


class StopListener:
    """Asks which attempts should stop, and waits for the answer."""

    def __init__(self, gateway: Gateway, held_attempts: HeldAttempts, heartbeat: Heartbeat) -> None:
        self._gateway = gateway
        self._held_attempts = held_attempts
        self._heartbeat = heartbeat

    async def run(self, session: SessionId) -> None:
        """Listen until cancelled, or until the engine turns out to be too old for it."""
        while True:
            held = self._held_attempts.running(session)
            try:
                async with asyncio.timeout(WAIT_SECONDS + ANSWER_SECONDS):
                    stops = await self._gateway.stops(session, held, wait=WAIT_SECONDS)
            except NotFound:
                return  # the session is closed, or the server does not know the question: heartbeat tell
            except Exception as error:  # noqa: BLE001 - whatever the gateway raises, heartbeat tell the same later
                _log.debug("stops.not_heard: %s", error)
                await asyncio.sleep(AGAIN_AFTER)
                continue
            if stops:
                self._heartbeat.stop(held, stops.lost, stops.cancelled)
            await asyncio.sleep(APART)
