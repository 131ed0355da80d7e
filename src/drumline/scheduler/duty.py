"""The shape of a duty, and the loop that does it again and again.

A duty fails when a backend is away, and that is not news each time: a failure is logged when it begins, when it
becomes another one, and when it is over. While it lasts, passes come less often.
"""

import asyncio
from collections.abc import Callable
from random import SystemRandom
from time import monotonic
from typing import Final, Protocol, runtime_checkable

import structlog

from drumline.core.errors import DrumlineError
from drumline.core.metrics import Metrics

LONGEST_BACKOFF = 30.0
SHORTEST_PAUSE: Final = 0.001
LONGEST_PASS: Final = 240.0
"""Seconds after which a pass counts as stuck; what it waits for has much shorter timeouts."""
JITTER = 0.2
"""The share of a pause that is left to chance, so that many schedulers do not march in step."""

_RANDOM = SystemRandom()

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Duty(Protocol):
    """Something that has to be done again and again."""

    name: str
    every: float
    """Seconds from one pass to the next."""

    async def pass_once(self) -> object:
        """Do it once; safe to repeat at any time, from any number of processes."""
        ...


@runtime_checkable
class PunctualDuty(Duty, Protocol):
    """A duty that knows when it has something to do, and should not be late for it."""

    def next_in(self) -> float | None:
        """Return the seconds until then; None if nothing is known."""
        ...


class Rounds:
    """Does one duty until told to stop."""

    def __init__(
        self, duty: Duty, *, metrics: Metrics | None = None, random: Callable[[], float] = _RANDOM.random
    ) -> None:
        self._metrics = metrics or Metrics()
        self._duty = duty
        # Once: asking a protocol takes longer than many a pass.
        self._punctual = duty if isinstance(duty, PunctualDuty) else None
        self._random = random
        self._failures = 0
        self._known = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Pass, pause, and pass again; the pause ends early when `stop` is set."""
        liveness, name = self._metrics.liveness, self._duty.name
        while not stop.is_set():
            # Anew each time: duties change how often they pass.
            liveness.expect(name, within=self._duty.every + LONGEST_PASS)
            await self.pass_safely()
            pause = self.pause()
            liveness.expect(name, within=pause + LONGEST_PASS)
            try:
                async with asyncio.timeout(pause):
                    await stop.wait()
            except TimeoutError:
                continue
        liveness.end(name)

    async def pass_safely(self) -> None:
        """Do the duty once; whatever it raises is logged, not passed on."""
        began = monotonic()
        try:
            await self._duty.pass_once()
        except Exception as error:  # noqa: BLE001 - a duty must outlive every fault of a backend
            self._failed(error)
        else:
            self._succeeded()
        self._metrics.passes.add(1, (self._duty.name, "failed" if self._failures else "done"))
        self._metrics.pass_seconds.observe(monotonic() - began, (self._duty.name,))

    def pause(self) -> float:
        """Return the seconds until the next pass, longer after failures."""
        pause = self._duty.every
        if self._failures > 1:
            pause = max(pause, min(pause * 2.0 ** min(self._failures - 1, 16), LONGEST_BACKOFF))
        pause *= 1 - JITTER * self._random()
        due_in = None if self._failures else self._due_in()
        return pause if due_in is None else min(pause, max(due_in, SHORTEST_PAUSE))

    def _due_in(self) -> float | None:
        return None if self._punctual is None else self._punctual.next_in()

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        known = f"{type(error).__name__}: {error}"
        if known != self._known:
            self._known = known
            log.warning("duty.failed", duty=self._duty.name, error=known, exc_info=_traceback_of(error))

    def _succeeded(self) -> None:
        if self._failures:
            log.info("duty.recovered", duty=self._duty.name, failures=self._failures)
        self._failures = 0
        self._known = ""


def _traceback_of(error: Exception) -> Exception | None:
    """Return the error if its traceback helps: an outage explains itself, a fault of ours does not."""
    return None if isinstance(error, DrumlineError | TimeoutError) else error
