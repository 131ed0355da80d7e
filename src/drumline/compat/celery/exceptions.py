"""The exceptions of Celery's interface, under its names.

CeleryError
├── TimeoutError              waiting for a result ended before the task did
├── TaskError                 a remote error whose class is not known here
├── TaskRevokedError          the task was cancelled
├── NotRegistered             there is no task of that name in this program
├── ChordError, ImproperlyConfigured, MaxRetriesExceededError, SoftTimeLimitExceeded, TimeLimitExceeded
└── TaskPredicate             raised inside a task to steer it: Retry, Ignore, Reject
"""

from typing import Any


class CeleryError(Exception):
    """The root of these exceptions."""


class ImproperlyConfigured(CeleryError):
    """The app cannot be used as it is configured."""


class NotRegistered(CeleryError, KeyError):
    """There is no task of that name in this program."""

    def __str__(self) -> str:
        return f"there is no task named {self.args[0]!r} in this program"


class TaskError(CeleryError):
    """An error of a task whose class could not be found here."""


class TaskRevokedError(CeleryError):
    """The task was cancelled, or expired."""


class ChordError(CeleryError):
    """A task in the header of a chord failed."""


class MaxRetriesExceededError(CeleryError):
    """The task has been retried as often as it may be."""

    def __init__(self, *args: Any, task_args: Any = (), task_kwargs: Any = None) -> None:
        super().__init__(*args)
        self.task_args = task_args
        self.task_kwargs = task_kwargs or {}


class SoftTimeLimitExceeded(CeleryError):
    """Never raised by Drumline, which has one limit: the attempt is stopped (see the page about Celery)."""


class TimeLimitExceeded(CeleryError):
    """The attempt took longer than its time limit and was stopped."""


class TimeoutError(CeleryError):  # noqa: A001 - Celery's name
    """Waiting ended before the task did; it goes on."""


class UpstreamFailed(CeleryError):
    """A task whose result is needed was replaced, and the replacement failed; the first word is that task's id."""


class TaskPredicate(CeleryError):
    """Raised inside a task to say what should become of it."""


class Retry(TaskPredicate):
    """This attempt ends here and the task runs again later: `self.retry()` raises it."""

    def __init__(self, message: str = "", exc: BaseException | None = None, when: float = 0.0, **_: Any) -> None:
        super().__init__(message)
        self.message = message
        self.exc = exc
        self.when = when
        self.args_given: Any = None
        self.kwargs_given: Any = None
        self.options_given: dict[str, Any] = {}


class Ignore(TaskPredicate):
    """The task ends here, without a result."""


class Reject(TaskPredicate):
    """The task fails for good, or is given back to the queue with `requeue`."""

    def __init__(self, reason: Any = None, requeue: bool = False) -> None:
        super().__init__(reason, requeue)
        self.reason = reason
        self.requeue = requeue


class Replaced(TaskPredicate):
    """The task was replaced: `ids` are the tasks whose results stand for its own."""

    def __init__(self, ids: Any) -> None:
        super().__init__("replaced")
        self.ids = ids
