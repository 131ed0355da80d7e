"""How waiting for a task's or a job's result can end without one.

DrumlineError
├── TaskFailed       the task failed for good; carries the remote error
├── TaskCancelled    the task was cancelled or skipped, so there will be no result
├── StepFailed       a step of a durable task has failed, with no tries left
├── ChildFailed      a child of a durable task failed or was cancelled
├── SignalTimeout    a durable task waited for a signal, and none came in time        (a `TimeoutError` too)
├── JobFailed        a task of the job failed for good, or a job that it depends on did not complete
├── JobCancelled     the job was cancelled
├── WaitTimeout      only the waiting ended; the task or job lives on                (a `TimeoutError` too)
└── NoServer         nothing says where tasks go, so none was submitted
"""

from typing import TYPE_CHECKING, Any

from drumline.core.errors import DrumlineError
from drumline.core.ids import JobId, TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status

if TYPE_CHECKING:
    from drumline.core.job import JobStatus


class NoServer(DrumlineError):
    """Nothing says where tasks go: no server, no database, and no data folder here. Nothing was submitted."""

    code = "no_server"


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


class StepFailed(DrumlineError):
    """A step of a durable task failed, and has no tries left: `kind` and `remote_message` say how.

    It is recorded: each time that the task runs, the step raises it again. An operator's retry lets it be tried anew.
    """

    code = "step_failed"

    def __init__(self, step: str, key: str, error: ErrorInfo) -> None:
        of = f" ({key})" if key else ""
        super().__init__(f"step {step!r}{of} failed: {error.kind}: {error.message}")
        self.step = step
        self.key = key
        self.kind = error.kind
        self.remote_message = error.message
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.step, self.key, self._error)


class ChildFailed(DrumlineError):
    """A child of a durable task ended badly: `child` is its id, `state` how it ended, `kind` and `remote_message` why.

    It is recorded: each time that the task runs, the call raises it again. An operator's retry of the parent retries
    the child as well.
    """

    code = "child_failed"

    def __init__(self, call: str, key: str, child: TaskId, state: str, error: ErrorInfo | None = None) -> None:
        of = f" ({key})" if key else ""
        why = f": {error.kind}: {error.message}" if error is not None else ""
        super().__init__(
            f"child {child} of call {call!r}{of} has {state}{why}".replace("has cancelled", "was cancelled")
        )
        self.call = call
        self.key = key
        self.child = child
        self.state = state
        self.kind = "" if error is None else error.kind
        self.remote_message = "" if error is None else error.message
        self.traceback = "" if error is None else error.traceback
        self._error = error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.call, self.key, self.child, self.state, self._error)


class SignalTimeout(DrumlineError, TimeoutError):
    """A durable task waited for a signal, and none came in time. It is recorded: each run raises it again."""

    code = "signal_timeout"

    def __init__(self, signal: str, key: str = "") -> None:
        super().__init__(f"no signal {signal!r} came in time")
        self.signal = signal
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.signal, self.key)


class TaskCancelled(DrumlineError):
    """The task was cancelled, or skipped because a task before it failed."""

    code = "task_cancelled"

    def __init__(self, task: TaskId, status: Status, reason: str = "") -> None:
        super().__init__(f"task {task} was {status.value.lower()}" + (f": {reason}" if reason else ""))
        self.task = task
        self.status = status
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task, self.status, self.reason)


class JobFailed(DrumlineError):
    """The job failed: `failed` are the keys of its tasks that did, and `traceback` is that of the first."""

    code = "job_failed"

    def __init__(self, job: JobId, reason: str, failed: tuple[str, ...] = (), error: ErrorInfo | None = None) -> None:
        super().__init__(f"job {job} failed: {reason}")
        self.job = job
        self.reason = reason
        self.failed = failed
        self.kind = "" if error is None else error.kind
        self.remote_message = "" if error is None else error.message
        self.traceback = "" if error is None else error.traceback
        self._error = error
        if self.traceback:
            self.add_note(f"On the worker of {failed[0]!r}:\n{self.traceback.rstrip()}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job, self.reason, self.failed, self._error)


class JobCancelled(DrumlineError):
    """The job was cancelled, so there will be no result."""

    code = "job_cancelled"

    def __init__(self, job: JobId, reason: str = "") -> None:
        super().__init__(f"job {job} was cancelled" + (f": {reason}" if reason else ""))
        self.job = job
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job, self.reason)


class WaitTimeout(DrumlineError, TimeoutError):
    """The waiting ended before the task or job did; it lives on."""

    code = "wait_timeout"

    def __init__(
        self,
        message: str,
        task: TaskId | None,
        status: "Status | JobStatus",
        *,
        has_worker: bool | None = None,
        job: JobId | None = None,
    ) -> None:
        super().__init__(message)
        self.task = task
        self.job = job
        self.status = status
        self.has_worker = has_worker
        """Whether a live worker can run the task; None if that could not be learnt."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.task, self.status), {"has_worker": self.has_worker, "job": self.job}
