"""The backend: submits tasks of Django's Tasks framework to Drumline, and finds their results there."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from importlib import import_module
from threading import Lock
from typing import Any, Final

import msgspec
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from drumline.contrib.django.framework import (
    BaseTaskBackend,
    Task,
    TaskError,
    TaskResult,
    TaskResultStatus,
    no_such_result,
    task_enqueued,
)
from drumline.contrib.django.running import function_of
from drumline.core.clock import Instant, to_datetime
from drumline.core.errors import DrumlineError, Invalid, NotFound
from drumline.core.ids import made_at
from drumline.core.names import check_name
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status
from drumline.sdk.app import Drumline
from drumline.sdk.definition import Defaults, define
from drumline.sdk.handle import TaskHandle
from drumline.sdk.transport import TaskInfo

OPTIONS: Final = {
    "url",
    "api_key",
    "data",
    "interface",
    "database",
    "transaction",
    "retries",
    "timeout",
    "expires",
    "tags",
}
"""What `OPTIONS` of the backend takes."""
ON_COMMIT: Final = "on_commit"
SAME: Final = "same"
IGNORED: Final = "ignored"
TRANSACTIONS: Final = (ON_COMMIT, SAME, IGNORED)
"""What becomes of a task that is enqueued inside a transaction."""
CRASH_RETRIES: Final = 3
"""So often a task runs again whose worker died; one that raised an error has failed, as the framework says."""
_STATUS: Final[Mapping[Status, Any]] = {
    Status.PENDING: TaskResultStatus.READY,
    Status.QUEUED: TaskResultStatus.READY,
    Status.PROCESSING: TaskResultStatus.RUNNING,
    Status.COMPLETED: TaskResultStatus.SUCCESSFUL,
    Status.FAILED: TaskResultStatus.FAILED,
    Status.CANCELLED: TaskResultStatus.FAILED,
    Status.SKIPPED: TaskResultStatus.FAILED,
}
_APPS: Final[dict[tuple[str | None, ...], Drumline[Any]]] = {}
"""The apps of this process, by alias and by where they submit to."""
_LOCK: Final = Lock()
_CANCELLED: Final = "drumline.sdk.errors.TaskCancelled"
_EXITS: Final = frozenset({"SystemExit", "KeyboardInterrupt"})
"""What a function may raise though it is no `Exception`."""


class DrumlineBackend(BaseTaskBackend):  # type: ignore[misc]  # the framework is found when this is imported
    """A backend of Django's Tasks framework.

    Inside `transaction.atomic` a task is submitted when the transaction commits; until then its result has no id. With
    `transaction="same"` it is written in the transaction itself, whose database has to be Drumline's store.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        unknown = sorted(set(self.options) - OPTIONS)
        if unknown:
            raise ImproperlyConfigured(
                f"TASKS[{alias!r}]['OPTIONS'] has no {unknown[0]!r}: {', '.join(sorted(OPTIONS))}"
            )

        mode = self.options.get("transaction", ON_COMMIT)
        if mode not in TRANSACTIONS:
            raise ImproperlyConfigured(
                f"TASKS[{alias!r}]['OPTIONS']['transaction'] must be one of {', '.join(TRANSACTIONS)}, not {mode!r}"
            )

    @cached_property
    def app(self) -> Drumline[Any]:
        """The app that tasks are submitted through; Django makes a backend for each thread, and all share one."""
        given = self.app_options
        key = (self.alias, *(None if value is None else str(value) for value in given.values()))
        with _LOCK:
            if key not in _APPS:
                _APPS[key] = Drumline(f"django.{self.alias}", **given)
            return _APPS[key]

    @property
    def app_options(self) -> dict[str, Any]:
        """Which installation the app submits to."""
        return {name: self.options.get(name) for name in ("url", "api_key", "data")}

    @property
    def interface(self) -> str | None:
        """The address of the web interface, if it is known."""
        named, url = self.options.get("interface"), self.options.get("url")
        return named or (None if url is None else f"{url.rstrip('/')}/ui/")

    # -- define

    def validate_task(self, task: Any) -> None:
        """Check a task, and let workers of this process run its function."""
        super().validate_task(task)
        check_name(task.module_path)
        self._define(task)

    def _define(self, task: Any) -> None:
        retries = self.options.get("retries")
        defaults = Defaults(
            retries=CRASH_RETRIES if retries is None else retries, retry_on=() if retries is None else None
        )
        if task.module_path not in self.app.registry:
            function = function_of(self, task)
            self.app.registry.add(define(function, name=task.module_path, defaults=defaults))

    # -- submit

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Submit a task, now or when the transaction commits."""
        self.validate_task(task)
        result = TaskResult(
            task=task, id="", status=TaskResultStatus.READY, enqueued_at=None, started_at=None, finished_at=None,
            last_attempted_at=None, args=list(args), kwargs=dict(kwargs), backend=self.alias, errors=[], worker_ids=[],
        )  # fmt: skip
        database = self.options.get("database", DEFAULT_DB_ALIAS)
        connection = connections[database]
        mode = self.options.get("transaction", ON_COMMIT) if connection.in_atomic_block else IGNORED
        if mode == ON_COMMIT:
            transaction.on_commit(partial(self._submit, result), using=database)
        else:
            self._submit(result, tx=connection if mode == SAME else None)
        return result

    def _submit(self, result: Any, *, tx: Any = None) -> None:
        task = result.task
        options: dict[str, Any] = {
            name: self.options[name] for name in ("timeout", "expires", "tags") if name in self.options
        }
        options |= {"priority": task.priority, "queue": task.queue_name}
        options["retries"] = self.options.get("retries", CRASH_RETRIES)
        if task.run_after is not None:
            options["run_at"] = _aware(task.run_after)
        if tx is not None:
            options["tx"] = tx
        payload = {"args": result.args, "kwargs": result.kwargs}
        handle = self.app.submit_task(task.module_path, payload, **options)
        object.__setattr__(result, "id", str(handle.id))
        object.__setattr__(result, "enqueued_at", _enqueued_at(handle.id))
        task_enqueued.send(type(self), task_result=result)

    # -- look

    def get_result(self, result_id: str) -> Any:
        """Return a result by its id."""
        try:
            info = self.app.handle(result_id).info()
        except (NotFound, Invalid) as error:
            raise no_such_result(result_id) from error
        return self.result_of(info)

    def handle(self, result: Any) -> TaskHandle[Any]:
        """Return the handle of a result's task, to wait for it or to cancel it."""
        return self.app.handle(result.id)

    def result_of(self, info: TaskInfo) -> Any:
        """Return the state of a task as a result of the framework."""
        try:
            task = import_string(info.name)
        except ImportError as error:
            raise no_such_result(f"{info.id}: its task {info.name} cannot be imported") from error
        if not isinstance(task, Task):
            raise no_such_result(f"{info.id}: {info.name} is not a task")
        call: dict[str, Any] = msgspec.json.decode(info.payload)
        status = _STATUS[info.status]
        result = TaskResult(
            task=task.using(priority=info.priority, queue_name=info.queue), id=str(info.id), status=status,
            enqueued_at=_enqueued_at(info.id), started_at=info.started_at, finished_at=info.finished_at,
            last_attempted_at=info.started_at, args=call.get("args", []), kwargs=call.get("kwargs", {}),
            backend=self.alias, errors=_errors(info), worker_ids=[str(info.worker or "drumline")] * info.attempt,
        )  # fmt: skip
        if status == TaskResultStatus.SUCCESSFUL:
            object.__setattr__(result, "_return_value", msgspec.json.decode(info.result))
        return result

    # -- check

    def check(self, **_: Any) -> list[Any]:
        """Report options with which nothing can be submitted."""
        try:
            self.app.registry.names  # noqa: B018 - the app is made when it is first used
        except (DrumlineError, TypeError) as error:
            return [checks.Error(f"TASKS[{self.alias!r}]: {error}", id="drumline.E001")]
        return []


def _aware(moment: datetime) -> datetime:
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def _enqueued_at(id: str) -> datetime:
    """Return the moment that an id tells, which is the same before and after a result is refreshed."""
    return to_datetime(Instant(made_at(id)))


def _errors(info: TaskInfo) -> list[Any]:
    """Return the error of the last attempt; Drumline keeps those before it as attempts."""
    if info.status is Status.CANCELLED or (info.status is Status.SKIPPED and info.error is None):
        return [TaskError(exception_class_path=_CANCELLED, traceback="" if info.error is None else info.error.message)]
    if info.error is None:
        return []
    return [TaskError(exception_class_path=_path_of(info.error), traceback=info.error.traceback or info.error.message)]


def _path_of(error: ErrorInfo) -> str:
    """Return the path of the class of a remote error; of one that cannot be found, that of `TaskFailed`."""
    if error.kind in _EXITS:
        return f"builtins.{error.kind}"
    found = import_module("drumline.compat.celery.errors").class_of(error)
    return "drumline.sdk.errors.TaskFailed" if found is None else f"{found.__module__}.{found.__qualname__}"
