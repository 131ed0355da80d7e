"""Runs long computations in threads, so that one tenant's large request does not block the event loop.

The threads share the interpreter with the loop, which gets its turn within milliseconds; they are few, so that large
requests wait for each other before they slow everything down.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import Final, TypeVar

T = TypeVar("T")

LARGE: Final = 128 * 1024
"""Bytes of JSON from which on it is worth another thread."""
THREADS: Final = 2


async def off_loop(weight: int, work: Callable[[], T]) -> T:
    """Return the result of `work`: called directly if its weight in bytes of JSON is small, else in a thread."""
    if weight < LARGE:
        return work()
    return await in_thread(work)


async def in_thread(work: Callable[[], T]) -> T:
    """Return the result of `work`, called in one of a few threads."""
    run: Callable[..., T] = partial(copy_context().run, work)
    return await asyncio.get_running_loop().run_in_executor(_threads(), run)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="drumline-large")
