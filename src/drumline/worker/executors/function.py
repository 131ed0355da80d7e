"""Python functions: async ones on the loop, sync ones in threads, CPU-bound ones in child processes."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from typing import Any

from drumline.core.clock import to_datetime
from drumline.core.errors import Invalid
from drumline.core.outcome import Failed
from drumline.core.session import TaskType
from drumline.sdk.context import Context
from drumline.sdk.definition import TaskDefinition
from drumline.sdk.signals import Signal
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.executors.processes import Processes
from drumline.worker.executors.threads import Ran, Threads
from drumline.worker.failures import ExecutorFailure, describe, refusal

GetState = Callable[[], Any]
"""Gives what the app's lifespan yielded."""


class AsyncFunction:
    """Runs an async function on the worker's loop."""

    def __init__(self, definition: TaskDefinition, get_state: GetState) -> None:
        self._definition = definition
        self._get_state = get_state

    @property
    def type(self) -> TaskType:
        """The function as a task."""
        return self._definition.published()

    async def execute(self, call: ExecutorCall) -> Any:
        """Await the function."""
        definition = self._definition
        bound = bind_arguments(definition, call)
        call.context_factory = self
        context = None
        if definition.arguments.injected or call.timeout is not None:  # which is counted from now
            context = call.context()
        try:
            coroutine = definition.invoke(bound, context)
        except TypeError as error:
            # The function's body has not begun: its arguments do not fit, now or ever.
            raise refusal(Invalid(str(error), field="payload")) from error
        try:
            return await coroutine
        except (Exception, SystemExit) as error:
            judged = judge(error, definition)
            if judged is error:
                raise  # not `from` itself, which would take the place of its own cause
            raise judged from error

    def context_of(self, call: ExecutorCall) -> Context[Any]:
        """Return what the function may know of its attempt."""
        return context_of(call, self._get_state(), is_async=True)


class ThreadFunction:
    """Runs a sync function in a thread, inside a copy of the attempt's context."""

    def __init__(self, definition: TaskDefinition, get_state: GetState, threads: Threads) -> None:
        self._definition = definition
        self._get_state = get_state
        self._threads = threads

    @property
    def type(self) -> TaskType:
        """The function as a task."""
        return self._definition.published()

    async def execute(self, call: ExecutorCall) -> Any:
        """Call the function and wait for it.

        A thread cannot be stopped from outside. A function learns from its context that it should stop; if it has not
        ended by the end of the grace it is left behind, and its slot stays taken until it ends.
        """
        definition = self._definition
        bound = bind_arguments(definition, call)
        call.context_factory = self
        context = call.context()
        inside = copy_context()
        running = self._threads.run(lambda: inside.run(definition.invoke, bound, context))
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError:
            await self._let_end(running, call)
            raise
        ran = running.result()
        if ran.error is not None:  # sys.exit() too
            judged = judge(ran.error, definition)
            if judged is not ran.error:
                raise judged from ran.error
            raise ran.error
        return ran.value

    def context_of(self, call: ExecutorCall) -> Context[Any]:
        """Return what the function may know of its attempt."""
        return context_of(call, self._get_state())

    async def _let_end(self, running: "asyncio.Future[Ran]", call: ExecutorCall) -> None:
        try:
            await asyncio.wait((running,), timeout=call.grace)
        finally:
            if not running.done():
                call.lingering = running


class ProcessFunction:
    """Runs a CPU-bound function in a child process, which can be killed."""

    def __init__(self, definition: TaskDefinition, processes: Processes) -> None:
        self._definition = definition
        self._processes = processes

    @property
    def type(self) -> TaskType:
        """The function as a task."""
        return self._definition.published()

    async def execute(self, call: ExecutorCall) -> Any:
        """Have a child process call the function and wait for its answer."""
        bind_arguments(self._definition, call)  # a payload that does not fit need not travel
        return await self._processes.call(self._definition, call)


def context_of(call: ExecutorCall, state: Any, *, is_async: bool = False) -> Context[Any]:
    """Return what the function may know of its attempt."""
    task = call.task
    return Context(
        id=task.lease.task,
        state=state,
        name=task.name,
        attempt=task.attempt,
        queue=task.queue,
        deadline=None if call.timeout is None else datetime.now(UTC) + timedelta(seconds=call.timeout),
        fire_time=None if task.options.fire_time is None else to_datetime(task.options.fire_time),
        on_progress=call.note_progress,
        on_artifact=call.put_artifact,
        on_look=lambda: call.stopping is not None,
        on_settle=call.settled_result,
        lease=task.lease,
        on_durable=call.durable_calls if is_async else None,
        on_blocking=None if is_async else call.blocking_calls,
    )


def judge(error: BaseException, definition: TaskDefinition) -> BaseException:
    """Return the error, or an `ExecutorFailure` if the task's definition says how to treat it."""
    if isinstance(error, Signal) or not definition.is_permanent(error):
        return error
    return ExecutorFailure(Failed(describe(error), permanent=True))


def bind_arguments(definition: TaskDefinition, call: ExecutorCall) -> dict[str, Any]:
    """Return the arguments of a call by name; a payload that does not fit fails the task for good."""
    try:
        return definition.arguments.bind(call.task.payload)
    except Invalid as error:
        raise refusal(error) from error
