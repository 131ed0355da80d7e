"""Runs a task of the framework in a worker of Drumline, with its signals and its context."""

import inspect
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.utils import timezone

from drumline.contrib.django.framework import (
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from drumline.sdk.context import Context, inject


def function_of(backend: Any, task: Any) -> Callable[..., Any]:
    """Return the function that a worker calls with a task's payload."""
    run = _async_function(backend, task) if inspect.iscoroutinefunction(task.func) else _function(backend, task)
    run.__module__, run.__qualname__ = task.func.__module__, task.func.__qualname__
    run.__doc__ = task.func.__doc__
    return run


def _function(backend: Any, task: Any) -> Callable[..., Any]:
    def run(args: list[Any], kwargs: dict[str, Any], *, ctx: Context[Any] = inject()) -> Any:
        close_old_connections()
        result = _started(backend, task, args, kwargs, ctx)
        try:
            value = normalize_json(task.func(*_arguments(task, result), **kwargs))
        except BaseException as error:
            _failed(backend, result, error)
            raise
        finally:
            close_old_connections()
        _succeeded(backend, result, value)
        return value

    return run


def _async_function(backend: Any, task: Any) -> Callable[..., Any]:
    async def run(args: list[Any], kwargs: dict[str, Any], *, ctx: Context[Any] = inject()) -> Any:
        result = await sync_to_async(_started)(backend, task, args, kwargs, ctx)
        try:
            value = normalize_json(await task.func(*_arguments(task, result), **kwargs))
        except Exception as error:
            await sync_to_async(_failed)(backend, result, error)
            raise
        await sync_to_async(_succeeded)(backend, result, value)
        return value

    return run


def _arguments(task: Any, result: Any) -> list[Any]:
    first = [TaskContext(task_result=result)] if task.takes_context else []
    return [*first, *result.args]


def _started(backend: Any, task: Any, args: list[Any], kwargs: dict[str, Any], ctx: Context[Any]) -> Any:
    now = timezone.now()
    result = TaskResult(
        task=task, id=str(ctx.id), status=TaskResultStatus.RUNNING, enqueued_at=None, started_at=now,
        finished_at=None, last_attempted_at=now, args=args, kwargs=kwargs, backend=backend.alias, errors=[],
        worker_ids=["drumline"] * ctx.attempt,
    )  # fmt: skip
    task_started.send(type(backend), task_result=result)
    return result


def _succeeded(backend: Any, result: Any, value: Any) -> None:
    object.__setattr__(result, "_return_value", value)
    _finished(backend, result, TaskResultStatus.SUCCESSFUL)


def _failed(backend: Any, result: Any, error: BaseException) -> None:
    kind = type(error)
    result.errors.append(TaskError(exception_class_path=f"{kind.__module__}.{kind.__qualname__}", traceback=str(error)))
    _finished(backend, result, TaskResultStatus.FAILED)


def _finished(backend: Any, result: Any, status: Any) -> None:
    object.__setattr__(result, "status", status)
    object.__setattr__(result, "finished_at", timezone.now())
    task_finished.send(type(backend), task_result=result)
