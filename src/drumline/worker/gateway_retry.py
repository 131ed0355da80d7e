"""Repeats calls to the gateway until they are answered; an outage is logged once, not per call."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from random import SystemRandom
from typing import Final, TypeVar

from drumline.aio.events import wait_for
from drumline.core.errors import Overloaded, Unavailable
from drumline.core.metrics import Metrics

T = TypeVar("T")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
ACTIVITY: Final = "talk to the engine"
"""The activity that shows that a worker is not stuck."""
PASSING: Final = (Unavailable, Overloaded, OSError)  # TimeoutError is an OSError
"""Errors that may pass, so that the call is repeated."""

_log = logging.getLogger("drumline.worker")
_random = SystemRandom()


class GatewayRetry:
    """Repeats calls to the gateway with growing pauses, until they are answered or `stop_retrying` is called."""

    def __init__(
        self,
        *,
        metrics: Metrics | None = None,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self._metrics = metrics or Metrics()
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._failures = 0
        self._stopped = asyncio.Event()

    async def call(self, call: Callable[[], Awaitable[T]], *, seconds: float) -> T:
        """Return the answer to `call`, each try of which may take `seconds`; repeat it through outages.

        Raises `Unavailable` only after `stop_retrying`, and at once whatever will not pass by itself.
        """
        while True:
            try:
                async with asyncio.timeout(seconds):
                    answer = await call()
            except PASSING as error:
                if self._stopped.is_set():
                    raise Unavailable(f"the worker is leaving and the engine does not answer: {error}") from error
                await wait_for(self._stopped, within=self.note_failure(error))
            else:
                self.note_answer()
                return answer

    @property
    def is_stopped(self) -> bool:
        """Whether `stop_retrying` was called: what is not answered now is given up."""
        return self._stopped.is_set()

    async def pause(self, seconds: float) -> None:
        """Pause before a call is repeated; not when the worker is leaving."""
        await wait_for(self._stopped, within=seconds)

    def stop_retrying(self) -> None:
        """Stop repeating: each running call gets one last try."""
        self._stopped.set()

    def note_failure(self, error: Exception) -> float:
        """Note a call that failed, and return how long to pause before the next."""
        self._metrics.unanswered.add()
        self._metrics.liveness.beat(ACTIVITY)
        if not self._failures:
            _log.warning("engine.unavailable: %s: %s", type(error).__name__, error)
        self._failures += 1
        pause = min(self._first_pause * 2.0 ** min(self._failures - 1, 16), self._longest_pause)
        return float(pause * (0.5 + _random.random() / 2))

    def note_answer(self) -> None:
        """Note a call that was answered."""
        self._metrics.liveness.beat(ACTIVITY)
        if self._failures:
            _log.warning("engine.available: after %d failed calls", self._failures)
            self._failures = 0
