"""Threads of the SDK: daemon threads for blocking calls, and an event loop in a thread of its own.

`concurrent.futures.ThreadPoolExecutor` joins its threads when the interpreter ends; one that sits in a long poll would
keep a finished program alive for as long. These are daemons: what they wait for at the end was only being read.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")


class DaemonThreads:
    """Runs calls in up to `most` threads, made as they are needed."""

    def __init__(self, most: int, *, name: str) -> None:
        self._most = most
        self._name = name
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._idle = 0
        self._is_closed = False

    @property
    def has_backlog(self) -> bool:
        """Whether calls are waiting for a thread."""
        return self._idle < 0

    def run(self, call: Callable[[], T]) -> "Future[T]":
        """Run `call` in one of the threads, in the caller's context: its trace goes along."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the connection was closed")
            self._idle -= 1
            if self._idle < 0 and self._threads < self._most:
                self._threads += 1
                self._idle += 1
                Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()
        self._calls.put((partial(copy_context().run, call), future))
        return future

    def close(self) -> None:
        """Let the threads end after their present calls."""
        with self._lock:
            self._is_closed = True
        for _ in range(self._threads):
            self._calls.put(None)

    def _work(self) -> None:
        while (work := self._calls.get()) is not None:
            call, future = work
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - it is raised where the future is awaited
                    future.set_exception(error)
            del call, future, work
            with self._lock:
                self._idle += 1


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
