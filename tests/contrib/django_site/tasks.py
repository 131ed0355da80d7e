"""Tasks, found because their module is called `tasks`."""

from importlib import import_module
from typing import Any

from drumline.contrib.django.framework import NAME

task: Any = import_module(NAME).task


@task()  # type: ignore[untyped-decorator]
def add(x: int, y: int = 0) -> int:
    return x + y


@task(priority=10, queue_name="mail")  # type: ignore[untyped-decorator]
def send(to: str) -> str:
    return f"sent to {to}"


@task(takes_context=True)  # type: ignore[untyped-decorator]
def whoami(context: Any, word: str) -> list[Any]:
    return [context.task_result.id, context.attempt, word]


@task()  # type: ignore[untyped-decorator]
async def later(x: int) -> int:
    return x * 2


@task()  # type: ignore[untyped-decorator]
def fail() -> None:
    raise LookupError("broken")
