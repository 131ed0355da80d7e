"""Threads for functions that block."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from msgspec import Struct

from drumline.aio.daemon_threads import DaemonThreads


class Ran(Struct, frozen=True):
    """How a function in a thread ended: with an error or a value."""

    value: Any = None
    error: BaseException | None = None


class Threads:
    """Runs functions in threads. How many there are is bounded by the gate in front of them."""

    def __init__(self) -> None:
        self._threads = DaemonThreads("task thread")

    def run(self, function: Callable[[], Any]) -> "asyncio.Future[Ran]":
        """Start `function` in a thread; the future is never failed, it holds the error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Ran] = loop.create_future()
        self._threads.start(partial(_run, function), partial(_tell, loop, future))
        return future

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._threads.close()


def _run(function: Callable[[], Any]) -> Ran:
    try:
        return Ran(value=function())
    except BaseException as error:  # noqa: BLE001 - it is user code's, and told to who waits for it
        return Ran(error=error)


def _tell(loop: asyncio.AbstractEventLoop, future: "asyncio.Future[Ran]", ran: Ran) -> None:
    # If the loop was closed meanwhile, nothing waits for the result.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_set, future, ran)


def _set(future: "asyncio.Future[Ran]", ran: Ran) -> None:
    if not future.done():
        future.set_result(ran)
