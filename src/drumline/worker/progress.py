"""Reports progress of attempts: only the latest of each is kept, and all are sent together, once a second.

Noted from the loop and from threads, as often as user code likes; sent by the loop only. A note that is lost is made
good by the next.
"""

import asyncio
import contextlib
import logging
from threading import Lock
from typing import Final

from drumline.core.attempt import ProgressNote, progress_of
from drumline.core.lease import Lease
from drumline.ports.gateway import Gateway
from drumline.worker.gateway_retry import PASSING
from drumline.worker.texts import storable

SEND_SECONDS: Final = 10.0
MOST_AT_ONCE: Final = 500

_log = logging.getLogger("drumline.worker")


class ProgressReporter:
    """Keeps the latest progress of each attempt of a worker, and sends it to the engine."""

    def __init__(self, gateway: Gateway, *, every: float) -> None:
        self._gateway = gateway
        self._every = every
        self._is_told = False
        self._lock = Lock()
        self._latest: dict[Lease, ProgressNote] = {}
        self._noted = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def note(self, lease: Lease, done: float, total: float | None, message: str) -> None:
        """Note how far an attempt is; safe from any thread, and never waits."""
        progress = progress_of(done, total, storable(message))
        if progress is None:
            return
        with self._lock:
            is_first = not self._latest
            self._latest[lease] = ProgressNote(lease, progress)
        if is_first and self._loop is not None:
            # The loop may be closed at any moment while a thread goes on: then nothing is sent any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._noted.set)

    def forget(self, lease: Lease) -> None:
        """Send no more of an attempt that has ended."""
        if self._latest:
            with self._lock:
                self._latest.pop(lease, None)

    async def run(self) -> None:
        """Send new progress about every second, until cancelled; sleep while there is none."""
        self._loop = asyncio.get_running_loop()
        while True:
            await self._noted.wait()
            await asyncio.sleep(self._every)
            await self.pass_once()

    async def pass_once(self) -> int:
        """Send the latest progress of each attempt that has some; return how many there were."""
        self._noted.clear()
        with self._lock:
            notes = list(self._latest.values())
            self._latest.clear()
        for start in range(0, len(notes), MOST_AT_ONCE):
            await self._send(notes[start : start + MOST_AT_ONCE])
        return len(notes)

    async def _send(self, notes: list[ProgressNote]) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._gateway.report_progress(notes)
        except PASSING:
            return  # heartbeats and reports log the outage, and the next notes are newer anyway
        except Exception as error:  # noqa: BLE001 - it is for people: losing it must not fail the tasks
            if not self._is_told:
                _log.warning("progress.dropped: %s: %s", type(error).__name__, error)
            self._is_told = True
