"""Which executor runs which task name, and what lives as long as the worker does."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self

from drumline.core.session import TaskType
from drumline.worker.executors.executor import Executor


class RegisteredExecutor:
    """An executor with its bounds: how many attempts at once, how long each by default."""

    __slots__ = ("executor", "fills_secrets", "gate", "timeout")

    def __init__(
        self, executor: Executor, *, gate: asyncio.Semaphore | None, timeout: float | None, fills_secrets: bool = True
    ) -> None:
        self.executor = executor
        self.gate = gate
        self.timeout = timeout
        self.fills_secrets = fills_secrets
        """Whether it is given the values of secrets; else the references to them."""


class Executors:
    """The task names that a worker can run. Enter it for as long as tasks are run."""

    def __init__(self, *, app_version: str = "") -> None:
        self.app_version = app_version
        """The apps whose tasks these are, with their versions."""
        self._entries: dict[str, RegisteredExecutor] = {}
        self._resources: list[AbstractAsyncContextManager[Any]] = []
        self._stack = AsyncExitStack()

    def add(
        self,
        executor: Executor,
        *,
        gate: asyncio.Semaphore | None = None,
        timeout: float | None = None,
        fills_secrets: bool = True,
    ) -> "Executors":
        """Run the executor's task name with it.

        `gate` bounds how many run at once (executors may share one); `timeout` holds for tasks that have none.
        """
        name = executor.type.name
        if name in self._entries:
            raise ValueError(f"there are two executors for the task name {name!r}")
        self._entries[name] = RegisteredExecutor(executor, gate=gate, timeout=timeout, fills_secrets=fills_secrets)
        return self

    def keep(self, resource: AbstractAsyncContextManager[Any]) -> None:
        """Enter `resource` when the worker starts and leave it when the worker has ended."""
        self._resources.append(resource)

    def get(self, name: str) -> RegisteredExecutor | None:
        """Return what runs a task name."""
        return self._entries.get(name)

    @property
    def types(self) -> tuple[TaskType, ...]:
        """What the worker publishes."""
        return tuple(entry.executor.type for entry in self._entries.values())

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for resource in self._resources:
                await stack.enter_async_context(resource)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()
