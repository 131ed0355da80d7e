"""How waiting for a task's result can end without one.

DrumlineError
├── TaskFailed       the task failed for good; carries the remote error
├── TaskCancelled    the task was cancelled or skipped, so there will be no result
└── WaitTimeout      only the waiting ended; the task lives on                      (a `TimeoutError` too)
"""

from typing import Any

from drumline.core.errors import DrumlineError
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status


class TaskFailed(DrumlineError):
    """The task failed for good: `kind`, `remote_message` and `traceback` say how, as the worker saw it."""

    code = "task_failed"

    def __init__(self, task: TaskId, error: ErrorInfo) -> None:
        super().__init__(f"task {task} failed: {error.kind}: {error.message}")
        self.task = task
        self.kind = error.kind
        self.remote_message = error.message
        self.traceback = error.traceback
        self._error = error
        if error.traceback:
            self.add_note(f"On the worker:\n{error.traceback.rstrip()}")

    def __reduce__(self) -> tuple[Any, ...]:  # so that it can cross to another process
        return type(self), (self.task, self._error)


class TaskCancelled(DrumlineError):
    """The task was cancelled, or skipped because a task before it failed."""

    code = "task_cancelled"

    def __init__(self, task: TaskId, status: Status) -> None:
        super().__init__(f"task {task} was {status.value.lower()}")
        self.task = task
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task, self.status)


class WaitTimeout(DrumlineError, TimeoutError):
    """The waiting ended before the task did; the task lives on."""

    code = "wait_timeout"

    def __init__(self, message: str, task: TaskId, status: Status, *, has_worker: bool | None = None) -> None:
        super().__init__(message)
        self.task = task
        self.status = status
        self.has_worker = has_worker
        """Whether a live worker can run the task; None if that could not be learnt."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.task, self.status), {"has_worker": self.has_worker}
