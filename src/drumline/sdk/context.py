"""What a running task knows of itself, and what it may ask of its worker.

A worker makes one `Context` per attempt, when it is first asked for; the task gets it through a keyword-only
parameter (`*, ctx: Context[State] = inject()`) or from `current()`. The SDK knows nothing of the worker: all that the
worker does for a context is handed in as callbacks, which must be safe to call from any thread.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from drumline.core.current_attempt import CURRENT_ATTEMPT
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.sdk.durable import DurableContext
from drumline.sdk.durable_calls import BlockingCalls, DurableCalls
from drumline.sdk.injection import Injected
from drumline.sdk.signals import Cancelled

if TYPE_CHECKING:
    from drumline.sdk.settling import Settling

StateT = TypeVar("StateT")

TASK_LOG: Final = logging.getLogger("drumline.task")
"""Where tasks log through their context. Workers capture the whole of `logging`, not only this logger."""


def _ignore_progress(_done: float, _total: float | None, _message: str) -> None:
    return


def _ignore_artifact(_name: str, _data: bytes, _content_type: str) -> None:
    return


def _never() -> bool:
    return False


def _unchanged(result: bytes) -> bytes:
    return result


class Context(Struct, DurableContext, Generic[StateT], frozen=True, kw_only=True):
    """One attempt of a task, from the inside.

    Only `id` and `state` must be given, so that a test can call a task with a context of its own.
    """

    id: TaskId
    state: StateT
    """What the app's lifespan yielded in this worker; None without a lifespan."""
    name: str = ""
    attempt: int = 1
    queue: str = "default"
    deadline: datetime | None = None
    """When this attempt will be stopped, if it has a timeout."""
    fire_time: datetime | None = None
    """The time that the task is for, if a schedule made it: for a backfill long past, otherwise about now."""
    log: logging.Logger = TASK_LOG

    on_progress: Callable[[float, float | None, str], None] = _ignore_progress
    """The worker's callback behind `progress`."""
    on_artifact: Callable[[str, bytes, str], None] = _ignore_artifact
    """The worker's callback behind `put_artifact`: takes the data over without blocking."""
    on_look: Callable[[], bool] = _never
    """The worker's callback behind `is_cancelled`."""
    on_settle: Callable[[bytes], bytes] = _unchanged
    """The worker's callback behind `settling`: returns a result as it is stored, or raises why it cannot be."""
    lease: Lease | None = None
    """The attempt's right to settle its task; none in a context that a test has made."""
    on_durable: Callable[[], DurableCalls] | None = None
    """The worker's callback behind durable calls of async functions; without a worker steps run, waits are over."""
    on_blocking: Callable[[], BlockingCalls] | None = None
    """The worker's callback behind durable calls of other functions."""

    def __repr__(self) -> str:
        return f"<Context of task {self.id}, attempt {self.attempt}>"

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far the attempt is; cheap enough to be called in every round of a loop.

        People see the latest report about once a second. Numbers that are not finite are left out.
        """
        self.on_progress(done, total, message)

    @property
    def is_cancelled(self) -> bool:
        """Whether the task should stop: its cancellation was requested."""
        return self.on_look()

    def raise_if_cancelled(self) -> None:
        """Stop the attempt here if its cancellation was requested; async tasks are interrupted at their awaits."""
        if self.on_look():
            raise Cancelled(f"task {self.id} was cancelled")

    def settling(self, tx: object) -> "Settling":
        """Return a block, `with` or `async with`, at whose end the task is completed in the transaction of `tx`.

        `tx` is a connection or session to the database of Drumline's store. The work of the transaction and the
        completion, with the `result` that the block is given, commit together or not at all: the work is done exactly
        once. Raises `Fenced` if another attempt owns the task by now; then the transaction has to be rolled back.
        """
        from drumline.sdk.settling import Settling  # noqa: PLC0415 - only those who settle pay for it

        return Settling(self.lease, tx, self.on_settle)

    def put_artifact(
        self, name: str, data: bytes | bytearray | memoryview | str, content_type: str = "application/octet-stream"
    ) -> None:
        """Keep a file with the task, from async code or from any thread.

        The data is handed to the worker without waiting; it is stored before the attempt is reported as succeeded,
        and an attempt whose artifact cannot be stored fails.
        """
        self.on_artifact(name, data.encode() if isinstance(data, str) else bytes(data), content_type)


_ACTIVATED: Final[ContextVar[Context[Any] | None]] = ContextVar("drumline_context", default=None)


def current() -> Context[Any]:
    """Return the context of the task that is running here; raises `RuntimeError` outside of one."""
    context = current_or_none()
    if context is None:
        raise RuntimeError("no task is running here: drumline.current() works inside tasks only")
    return context


def current_or_none() -> Context[Any] | None:
    """Return the context of the task that is running here, or None outside of one."""
    activated = _ACTIVATED.get()
    if activated is not None:
        return activated
    attempt = CURRENT_ATTEMPT.get()
    return None if attempt is None else cast("Context[Any] | None", attempt.context())


@contextmanager
def activated(context: Context[Any]) -> Iterator[None]:
    """Make `context` the current one inside the block: for child processes, and tests of code that asks `current()`."""
    token = _ACTIVATED.set(context)
    try:
        yield
    finally:
        _ACTIVATED.reset(token)


_INJECTED: Final = Injected()


def inject() -> Any:
    """Mark a keyword-only parameter that the worker fills with the attempt's `Context`."""
    return cast("Any", _INJECTED)
