"""Stop signals: the first stops in order, the second hurries. While a process starts, one ends it."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

SIGNALS = (signal.SIGTERM, signal.SIGINT)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Stopping:
    """Two events: `asked`, and `hurried` at the second signal."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()

    def ask(self, reason: str) -> None:
        """Stop in order; a second call hurries."""
        # First the event, then the log: whatever becomes of the line, the process stops.
        if self.asked.is_set():
            self.hurried.set()
            log.warning("process.hurried", reason=reason)
        else:
            self.asked.set()
            log.info("process.stopping", reason=reason)


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


class Startup:
    """Ends a process by a signal that comes before anything in it can be stopped in order."""

    def __init__(self, main: "asyncio.Task[None]") -> None:
        self._main = main
        self.ended_by: signal.Signals | None = None

    def end(self, number: signal.Signals) -> None:
        """End a process that is still starting: nothing is served yet, so nothing has to be finished."""
        self.ended_by = number
        self._main.cancel()
        log.info("process.stopping", reason=number.name)


@contextmanager
def ending_by_signal(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[None]") -> Iterator[Startup]:
    """End a process that starts by a signal, until `stopping_by_signal` takes over."""
    startup = Startup(main)
    for number in SIGNALS:
        loop.add_signal_handler(number, startup.end, signal.Signals(number))
    try:
        yield startup
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
