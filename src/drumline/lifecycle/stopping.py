"""Being asked to stop: the first signal stops in order, the second hurries."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

SIGNALS = (signal.SIGTERM, signal.SIGINT)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Stopping:
    """Two events: `asked`, and `hurried` when somebody asks again."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()

    def ask(self, reason: str) -> None:
        """Stop in order; a second call hurries."""
        if self.asked.is_set():
            log.warning("process.hurried", reason=reason)
            self.hurried.set()
        else:
            log.info("process.stopping", reason=reason)
            self.asked.set()


@contextmanager
def stopping_by_signal() -> Iterator[Stopping]:
    """Turn signals into events while inside."""
    loop = asyncio.get_running_loop()
    stopping = Stopping()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.ask, signal.Signals(number).name)
    try:
        yield stopping
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
