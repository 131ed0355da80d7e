"""Threads for functions that block."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Self

from msgspec import Struct


class Ran(Struct, frozen=True):
    """How a function in a thread ended: with an error or a value."""

    value: Any = None
    error: BaseException | None = None


_Item = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Ran]"]


class Threads:
    """Runs functions in threads that are started when needed and kept.

    They are daemons: a function that hangs in one, and cannot be killed, does not keep the process from ending. How
    many there are is bounded by the gate in front of them.
    """

    def __init__(self) -> None:
        self._items: SimpleQueue[_Item | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._count = 0

    def run(self, function: Callable[[], Any]) -> "asyncio.Future[Ran]":
        """Start `function` in a thread; the future is never failed, it holds the error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Ran] = loop.create_future()
        self._items.put((function, loop, future))
        with self._lock:
            # Each idle thread is promised to one item, so that no item waits behind a busy thread.
            if self._idle:
                self._idle -= 1
                return future
            self._count += 1
            number = self._count
        threading.Thread(target=self._work, name=f"task thread {number}", daemon=True).start()
        return future

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for _ in range(self._count):
            self._items.put(None)

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            function, loop, future = item
            del item
            ran = _run(function)
            with self._lock:
                self._idle += 1
            # If the loop was closed meanwhile, nothing waits for the result.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_tell, future, ran)
            del function, future, ran


def _run(function: Callable[[], Any]) -> Ran:
    try:
        return Ran(value=function())
    except BaseException as error:  # noqa: BLE001 - it is user code's, and told to who waits for it
        return Ran(error=error)


def _tell(future: "asyncio.Future[Ran]", ran: Ran) -> None:
    if not future.done():
        future.set_result(ran)
