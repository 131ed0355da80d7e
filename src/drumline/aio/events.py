"""Waiting for events with a time limit."""

import asyncio


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
