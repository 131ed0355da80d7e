"""Threads for code of users, which may hang: they do not keep the process from ending."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Item = tuple[Callable[[], Any], Callable[[Any], None]]


class DaemonThreads:
    """Threads that are started when needed and kept, `most` of them; without it whoever asks keeps them few."""

    def __init__(self, name: str, most: int | None = None) -> None:
        self._name = name
        self._most = most
        self._items: SimpleQueue[_Item | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self._waiting = 0
        self._count = 0

    def start(self, work: Callable[[], T], tell: Callable[[T], None]) -> None:
        """Run `work`, which never raises, in a thread, and tell from there what it returned."""
        self._items.put((work, tell))
        with self._lock:
            # Each idle thread is promised to one item, so that no item waits behind a busy thread.
            if self._idle:
                self._idle -= 1
                return
            if self._count == self._most:
                self._waiting += 1
                return
            self._count += 1
            number = self._count
        threading.Thread(target=self._work, name=f"{self._name} {number}", daemon=True).start()

    def close(self) -> None:
        """Let each thread end once it has nothing to do."""
        for _ in range(self._count):
            self._items.put(None)

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            work, tell = item
            del item
            told = work()
            with self._lock:
                if self._waiting:
                    self._waiting -= 1
                else:
                    self._idle += 1
            tell(told)
            del work, tell, told


class DaemonExecutor(Executor):
    """Such threads for `loop.run_in_executor`."""

    def __init__(self, name: str, most: int) -> None:
        self._threads = DaemonThreads(name, most)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a thread."""
        future: Future[T] = Future()

        def work() -> Callable[[], None]:
            if not future.set_running_or_notify_cancel():
                return _nothing
            try:
                value = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - it is user code's, and told to who waits for it
                raised = error
                return lambda: future.set_exception(raised)
            return lambda: future.set_result(value)

        self._threads.start(work, _call)
        return future


def _call(tell: Callable[[], None]) -> None:
    tell()


def _nothing() -> None:
    """Tell nobody: it was cancelled before it began."""
