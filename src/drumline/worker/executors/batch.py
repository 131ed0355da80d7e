"""Functions that handle many tasks in one call: attempts that come within a time are gathered, and called together."""

import asyncio
from contextvars import Context, copy_context
from typing import Any

from drumline.core.current_attempt import CURRENT_ATTEMPT
from drumline.core.errors import Invalid
from drumline.core.session import TaskType
from drumline.sdk.definition import BatchSettings, Mode, TaskDefinition
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.executors.function import judge
from drumline.worker.executors.threads import Threads
from drumline.worker.failures import failure, refusal


class BatchItem:
    """One attempt that waits for its part of a call."""

    __slots__ = ("answer", "value")

    def __init__(self, value: Any, answer: "asyncio.Future[Any]") -> None:
        self.value = value
        self.answer = answer


class BatchFunction:
    """Calls a function of many items; if the call raises, its halves are called, until what raises is alone.

    A task that has failed before is called alone, so that it does not take others with it again.
    """

    def __init__(self, definition: TaskDefinition, settings: BatchSettings, threads: Threads) -> None:
        self._definition = definition
        self._settings = settings
        self._threads = threads
        self._waiting: list[BatchItem] = []
        self._timer: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()

    @property
    def type(self) -> TaskType:
        """The function as a task of one item."""
        return self._definition.published()

    async def execute(self, call: ExecutorCall) -> Any:
        """Wait for the outcome of the task's item."""
        try:
            value = self._definition.arguments.bind(call.task.payload)["item"]
        except Invalid as error:
            raise refusal(error) from error
        loop = asyncio.get_running_loop()
        item = BatchItem(value, loop.create_future())
        if call.task.attempt > 1:
            self._start([item])
        else:
            self._add(item, loop)
        try:
            return await item.answer
        finally:
            item.answer.cancel()  # one that was stopped is not called any more, unless the call has begun

    def _add(self, item: BatchItem, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting.append(item)
        if len(self._waiting) >= self._settings.most:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_later(self._settings.seconds, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, self._waiting = self._waiting, []
        self._start(items)

    def _start(self, items: list[BatchItem]) -> None:
        """Begin a call, in a context that belongs to none of its attempts."""
        context: Context = copy_context()
        context.run(CURRENT_ATTEMPT.set, None)
        task = asyncio.get_running_loop().create_task(
            self._run(items), name=f"batch {self._definition.name}", context=context
        )
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, items: list[BatchItem]) -> None:
        items = [item for item in items if not item.answer.done()]
        if not items:
            return
        try:
            results = await self._call([item.value for item in items])
            if len(results) != len(items):
                raise failure(  # noqa: TRY301 - as if the function had raised it
                    "WrongLength", f"the function returned {len(results)} results for {len(items)} items"
                )
        except asyncio.CancelledError:
            for item in items:
                item.answer.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - anything may come out of user code
            await self._bisect(items, error)
            return
        for item, result in zip(items, results, strict=True):
            self._tell(item, result)

    async def _bisect(self, items: list[BatchItem], error: Exception) -> None:
        """Call both halves of a list whose call raised; the error of a single item is its own."""
        if len(items) == 1:
            self._tell(items[0], error)
            return
        middle = len(items) // 2
        await self._run(items[:middle])
        await self._run(items[middle:])

    def _tell(self, item: BatchItem, result: Any) -> None:
        if item.answer.done():
            return
        if not isinstance(result, Exception):
            item.answer.set_result(result)
            return
        judged = judge(result, self._definition)
        if judged is not result:
            judged.__cause__ = result
        item.answer.set_exception(judged)

    async def _call(self, values: list[Any]) -> Any:
        function = self._settings.function
        if self._definition.mode is Mode.ASYNC:
            return await function(values)
        ran = await self._threads.run(lambda: function(values))
        if ran.error is not None:
            raise ran.error
        return ran.value
