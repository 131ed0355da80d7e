"""Threads that never hold up the end of a program, for blocking calls on behalf of async callers.

`concurrent.futures.ThreadPoolExecutor` joins its threads when the interpreter ends; one that sits in a long poll would
keep a finished program alive for as long. These are daemons: what they wait for at the end was only being read.
"""

from collections.abc import Callable
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
