"""An event loop in a thread of its own, for blocking callers and for async callers on other loops."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

JOIN_SECONDS = 5.0


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def start_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Run `work` on a loop of another thread."""
    if loop.is_closed():
        work.close()
        raise RuntimeError("the connection was closed")
    return asyncio.run_coroutine_threadsafe(work, loop)


def wait_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
    """Run `work` on a loop of another thread and block until it is done."""
    if running_loop() is loop:
        work.close()
        raise RuntimeError("a blocking call on Drumline's own event loop would never end: use its async twin")
    future = start_on(loop, work)
    try:
        return future.result(seconds)
    except BaseException:
        future.cancel()
        raise


class LoopThread:
    """An event loop in a daemon thread of its own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        """Whether the loop has ended."""
        return self.loop.is_closed()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run `work` on the loop."""
        return start_on(self.loop, work)

    def wait(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Run `work` on the loop and block until it is done."""
        return wait_on(self.loop, work, seconds)

    def stop(self) -> None:
        """End the loop and its thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
