"""Runs functions of an app in a simulated worker: async ones on the loop, all others in place, one by one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from drumline.core.clock import Clock, to_datetime
from drumline.core.session import TaskType
from drumline.sdk.context import Context
from drumline.sdk.definition import BatchSettings, Mode, TaskDefinition
from drumline.testing.world_loop import SimulatedCrash, WorldLoop, left_loop
from drumline.worker.durable import DurableAttempt, ThreadCalls
from drumline.worker.executors.batch import BatchFunction
from drumline.worker.executors.catalogue import App, AppState, add_map
from drumline.worker.executors.executor import Executor, ExecutorCall
from drumline.worker.executors.function import AsyncFunction, bind_arguments, context_of, judge
from drumline.worker.executors.hooked import HookedExecutor
from drumline.worker.executors.registry import Executors
from drumline.worker.executors.threads import Ran, Threads

T = TypeVar("T")


class Interruptions(Protocol):
    """Decides whether an execution fails instead of beginning."""

    def failure_of(self, task: str) -> Exception | None:
        """Return what the next execution of a task should fail with, if anything."""
        ...


class WorldFunction(AsyncFunction):
    """Runs a function of either kind on the world's loop and clock."""

    def __init__(
        self, definition: TaskDefinition, get_state: Callable[[], Any], *, clock: Clock, interruptions: Interruptions
    ) -> None:
        super().__init__(definition, get_state)
        self._clock = clock
        self._interruptions = interruptions
        self._type = definition.published()

    @property
    def type(self) -> TaskType:
        """The function as a task."""
        return self._type

    async def execute(self, call: ExecutorCall) -> Any:
        """Run the function, unless it should fail."""
        error = self._interruptions.failure_of(self._definition.name)
        if error is not None:
            raise judge(error, self._definition)
        try:
            return await self._run(call)
        except SimulatedCrash:
            return await asyncio.get_running_loop().create_future()  # nothing of a dead process goes on

    async def _run(self, call: ExecutorCall) -> Any:
        return await super().execute(call)

    def context_of(self, call: ExecutorCall) -> Context[Any]:
        """Return what the function may know of its attempt, by virtual time."""
        context = context_of(call, self._get_state(), is_async=self._definition.mode is Mode.ASYNC)
        if call.timeout is None:
            return context
        return replace(context, deadline=to_datetime(self._clock.now()) + timedelta(seconds=call.timeout))


class InPlaceCalls(ThreadCalls):
    """Durable calls of a function that runs in place: the loop goes on from inside of them."""

    def __init__(self, attempt: DurableAttempt, loop: WorldLoop) -> None:
        super().__init__(attempt, loop)
        self._world_loop = loop

    def _run(self, call: Awaitable[T]) -> T:
        async def run() -> T:
            return await call

        task = self._world_loop.create_task(run(), name="durable call")
        self._world_loop.pump(task)
        return task.result()


class InPlaceFunction(WorldFunction):
    """Runs a sync or CPU-bound function in place: a thread or a child process would bring in an order of its own."""

    def context_of(self, call: ExecutorCall) -> Context[Any]:
        """Return what the function may know of its attempt, by virtual time."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, WorldLoop):
            raise TypeError("a function runs in place on the loop of a world only")
        return replace(super().context_of(call), on_blocking=lambda: InPlaceCalls(call.durable_calls(), loop))

    async def _run(self, call: ExecutorCall) -> Any:
        """Call the function; where it blocks on Drumline or sleeps, the loop goes on."""
        definition = self._definition
        bound = bind_arguments(definition, call)
        call.context_factory = self
        context = call.context()
        inside = copy_context()
        with left_loop():
            try:
                return inside.run(definition.invoke, bound, context)
            except Exception as error:
                judged = judge(error, definition)
                if judged is error:
                    raise
                raise judged from error


class InPlaceThreads(Threads):
    """Stands where a worker has threads: runs each function in place."""

    def run(self, function: Callable[[], Any]) -> "asyncio.Future[Ran]":
        """Run a function to its end; the future is done."""
        future: asyncio.Future[Ran] = asyncio.get_running_loop().create_future()
        with left_loop():
            try:
                ran = Ran(value=function())
            except BaseException as error:  # noqa: BLE001 - it is user code's, and told to who waits for it
                ran = Ran(error=error)
        future.set_result(ran)
        return future


class WorldBatchFunction(BatchFunction):
    """Calls a function of many items on the world's loop."""

    def __init__(self, definition: TaskDefinition, settings: BatchSettings, *, interruptions: Interruptions) -> None:
        super().__init__(definition, settings, InPlaceThreads())
        self._interruptions = interruptions

    async def execute(self, call: ExecutorCall) -> Any:
        """Wait for the outcome of the task's item, unless it should fail."""
        error = self._interruptions.failure_of(self._definition.name)
        if error is not None:
            raise judge(error, self._definition)
        return await super().execute(call)


def executors_of(apps: Sequence[App], *, clock: Clock, interruptions: Interruptions) -> Executors:
    """Return what a worker of a world runs: the functions of its apps, and maps of them."""
    executors = Executors()
    for app in apps:
        get_state: Callable[[], Any] = _no_state
        if app.lifespan is not None:
            state = AppState(app.lifespan)
            executors.keep(state.opened())
            get_state = state.get
        around = tuple(app.hooks.around)
        for definition in app.registry:
            function: Executor
            if definition.batch is not None:
                function = WorldBatchFunction(definition, definition.batch, interruptions=interruptions)
            else:
                kind = WorldFunction if definition.mode is Mode.ASYNC else InPlaceFunction
                function = kind(definition, get_state, clock=clock, interruptions=interruptions)
            timeout = definition.defaults.timeout
            executors.add(
                HookedExecutor(function, around) if around else function,
                timeout=None if timeout is None else timeout.total_seconds(),
            )
    add_map(executors)
    return executors


def _no_state() -> None:
    return None
