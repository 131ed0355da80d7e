"""What a world changes around it while it is open: where log lines go, and how long `time.sleep` takes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from drumline.testing.loop import PROCESS


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Let the engine's own log lines go nowhere, unless the program has said where they go."""
    if structlog.is_configured():
        yield
        return
    structlog.configure(processors=[_drop])
    try:
        yield
    finally:
        structlog.reset_defaults()


@contextmanager
def virtual_sleep(sleep_virtually: Callable[[float], None], is_running_here: Callable[[], bool]) -> Iterator[None]:
    """Let `time.sleep` in a task take virtual time, in the thread that runs the world."""
    real = time.sleep

    def sleep(seconds: float, /) -> None:
        is_in_task = PROCESS.get() is not None and is_running_here()
        (sleep_virtually if is_in_task else real)(seconds)

    time.sleep = sleep  # type: ignore[assignment]  # the stubs let it take what has __index__
    try:
        yield
    finally:
        time.sleep = real


def _drop(_logger: Any, _method: str, _event: Any) -> Any:
    raise structlog.DropEvent
