"""Events: waiting for them with a time limit, and being called when one is set."""

import asyncio
from collections.abc import Callable


class StopEvent(asyncio.Event):
    """An event that calls back when it is set: where thousands wait for it, none needs a task for that."""

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: dict[Callable[[], None], None] = {}

    def set(self) -> None:
        """Set it, and call those who asked for it."""
        super().set()
        for callback in tuple(self._callbacks):
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call `callback` when it is set."""
        self._callbacks[callback] = None

    def remove_callback(self, callback: Callable[[], None]) -> None:
        """Do not call `callback` any more."""
        self._callbacks.pop(callback, None)


async def wait_for(event: asyncio.Event, *, within: float) -> bool:
    """Wait for an event, at most `within` seconds; tell whether it was set."""
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def wait_for_any(*events: asyncio.Event, within: float | None = None) -> None:
    """Wait until one of several events is set, or `within` seconds have passed."""
    waits = [asyncio.create_task(event.wait(), name="wait for an event") for event in events]
    try:
        await asyncio.wait(waits, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
