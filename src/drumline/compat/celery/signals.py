"""Signals: functions that are called around submissions and executions, in the process where these happen."""

import logging
import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any, Final

_log: Final = logging.getLogger("drumline.compat.celery")

Receiver = Callable[..., Any]


class Signal:
    """A list of functions that are called when something happens; errors in them are logged, not raised."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = Lock()
        self._receivers: dict[object, tuple[Callable[[], Receiver | None], Any]] = {}

    def connect(self, receiver: Receiver | None = None, *_: Any, **options: Any) -> Any:
        """Call a function when it happens: `@signal.connect`, or `signal.connect(function, sender=task)`.

        Like Celery's it keeps a weak reference unless `weak=False` is given.
        """
        if receiver is None:
            return lambda function: self.connect(function, **options)
        sender = options.get("sender")
        held = _weak(receiver) if options.get("weak", True) else lambda: receiver
        with self._lock:
            self._receivers[options.get("dispatch_uid") or _identity(receiver), id(sender)] = held, sender
        return receiver

    def disconnect(self, receiver: Receiver | None = None, sender: Any = None, dispatch_uid: Any = None) -> bool:
        """Call the function no more; tell whether it was connected."""
        key = dispatch_uid or _identity(receiver)
        with self._lock:
            return self._receivers.pop((key, id(sender)), None) is not None

    def send(self, sender: Any, **named: Any) -> list[tuple[Receiver, Any]]:
        """Call the connected functions and return what they returned or raised."""
        answers: list[tuple[Receiver, Any]] = []
        for held, wanted in tuple(self._receivers.values()):
            receiver = held()
            if receiver is None or not (wanted is None or wanted is sender or wanted == sender):
                continue
            try:
                answers.append((receiver, receiver(signal=self, sender=sender, **named)))
            except Exception as error:  # noqa: BLE001 - a receiver of the user's
                _log.exception("a receiver of the signal %s raised an error", self.name)
                answers.append((receiver, error))
        return answers

    def __repr__(self) -> str:
        return f"<Signal {self.name}>"


def _weak(receiver: Receiver) -> Callable[[], Receiver | None]:
    return weakref.WeakMethod(receiver) if hasattr(receiver, "__self__") else weakref.ref(receiver)


def _identity(receiver: Any) -> object:
    owner = getattr(receiver, "__self__", None)
    return id(receiver) if owner is None else (id(owner), id(receiver.__func__))


before_task_publish: Final = Signal("before_task_publish")
after_task_publish: Final = Signal("after_task_publish")
task_received: Final = Signal("task_received")
task_prerun: Final = Signal("task_prerun")
task_postrun: Final = Signal("task_postrun")
task_success: Final = Signal("task_success")
task_failure: Final = Signal("task_failure")
task_retry: Final = Signal("task_retry")
worker_init: Final = Signal("worker_init")
worker_process_init: Final = Signal("worker_process_init")
worker_ready: Final = Signal("worker_ready")
worker_process_shutdown: Final = Signal("worker_process_shutdown")
worker_shutdown: Final = Signal("worker_shutdown")
