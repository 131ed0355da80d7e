"""An executor with an app's hooks around each execution."""

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from drumline.core.outcome import Outcome, Succeeded
from drumline.core.session import TaskType
from drumline.sdk.app_hooks import Around, AroundExecution, Execution, ExecutionEnd
from drumline.worker.executors.executor import Executor, ExecutorCall
from drumline.worker.failures import ExecutorFailure, outcome_of_error
from drumline.worker.stop_reason import outcome_of

NO_VALUE = Succeeded()


class HookedExecutor:
    """Runs another executor inside the hooks of its app."""

    def __init__(self, executor: Executor, hooks: Sequence[Around]) -> None:
        self._executor = executor
        self._hooks = hooks

    @property
    def type(self) -> TaskType:
        """What the executor publishes."""
        return self._executor.type

    async def execute(self, call: ExecutorCall) -> Any:
        """Execute between the two halves of the hooks, which run in the attempt's own context."""
        around = AroundExecution(self._hooks)
        try:
            await around.begin(_execution(call))
            value = await self._executor.execute(call)
        except BaseException as error:
            await around.end(_failed(call, error))
            raise
        outcome = NO_VALUE if call.stopping is None else outcome_of(call.stopping, timeout=call.timeout)
        await around.end(ExecutionEnd(outcome=outcome, value=value))
        return value


def _execution(call: ExecutorCall) -> Execution:
    task = call.task
    return Execution(
        id=task.lease.task,
        name=task.name,
        queue=task.queue,
        attempt=task.attempt,
        payload=Raw(bytes(task.payload)),
        tags=task.options.tags,
        traceparent=task.options.trace,
        get_context=call.context,
    )


def _failed(call: ExecutorCall, error: BaseException) -> ExecutionEnd:
    """Return the end of an attempt that raised: its stop, if it was stopped, or else its error."""
    outcome: Outcome | None
    if call.stopping is not None:
        outcome = outcome_of(call.stopping, timeout=call.timeout)
    elif isinstance(error, asyncio.CancelledError):  # the process ends; the task is given back
        outcome = None
    else:
        outcome = outcome_of_error(error)
    raised = error.__cause__ if isinstance(error, ExecutorFailure) and error.__cause__ is not None else error
    return ExecutionEnd(outcome=outcome, error=raised)
