"""Waiting for what another process does: look again until a deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable


async def until(look: Callable[[], bool | Awaitable[bool]], *, seconds: float = 20) -> None:
    """Return when `look` says so; fail after a deadline."""
    async with asyncio.timeout(seconds):
        while True:
            seen = look()
            if await seen if isawaitable(seen) else seen:
                return
            await asyncio.sleep(0.01)
