"""Watching the event loop: how late it gets to things, which everything in the process waits for."""

import asyncio
from typing import Final

from drumline.core.metrics import Metrics

EVERY: Final = 0.25
LONGEST_SILENCE: Final = 30.0
ACTIVITY: Final = "event loop"


async def watch_loop(metrics: Metrics, stop: asyncio.Event) -> None:
    """Note how late the loop is, until `stop` is set."""
    loop = asyncio.get_running_loop()
    metrics.liveness.expect(ACTIVITY, within=LONGEST_SILENCE)
    while not stop.is_set():
        due = loop.time() + EVERY
        try:
            async with asyncio.timeout_at(due):
                await stop.wait()
        except TimeoutError:
            metrics.loop_lag.observe(max(loop.time() - due, 0.0))
            metrics.liveness.beat(ACTIVITY)
    metrics.liveness.end(ACTIVITY)
