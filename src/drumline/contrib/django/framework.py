"""Django's Tasks framework: that of Django itself, or else the package `django-tasks` with the same names."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

NAME: Final = "django.tasks" if find_spec("django.tasks") is not None else "django_tasks"

_base: Final[Any] = import_module(f"{NAME}.base")
_signals: Final[Any] = import_module(f"{NAME}.signals")
_exceptions: Final[Any] = import_module(f"{NAME}.exceptions")

BaseTaskBackend: Final[Any] = import_module(f"{NAME}.backends.base").BaseTaskBackend
Task: Final[Any] = _base.Task
TaskContext: Final[Any] = _base.TaskContext
TaskError: Final[Any] = _base.TaskError
TaskResult: Final[Any] = _base.TaskResult
TaskResultStatus: Final[Any] = _base.TaskResultStatus
normalize_json: Final[Any] = import_module(
    "django.utils.json" if NAME == "django.tasks" else f"{NAME}.utils"
).normalize_json
task_enqueued: Final[Any] = _signals.task_enqueued
task_started: Final[Any] = _signals.task_started
task_finished: Final[Any] = _signals.task_finished


def backends() -> Any:
    """Return the configured backends by alias."""
    return import_module(NAME).task_backends


def no_such_result(text: str) -> Exception:
    """Return the error for a result that does not exist."""
    error: Exception = _exceptions.TaskResultDoesNotExist(text)
    return error
