"""A task that was submitted: look at it, wait for it, cancel it, run it again.

Every act comes twice: blocking (`result`) and async (`aresult`, also `await handle`).
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw

from drumline.core.clock import Clock
from drumline.core.duration import Duration, format_duration, parse_duration
from drumline.core.errors import DrumlineError
from drumline.core.ids import TaskId
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status, is_ended
from drumline.sdk.client import Client, Steps, ended, only, warn_if_blocking
from drumline.sdk.errors import TaskCancelled, TaskFailed, WaitTimeout
from drumline.sdk.transport import Cancel, CollapsedId, Get, LiveNames, ReadLog, RetryTask, TaskInfo

if TYPE_CHECKING:
    from drumline.core.child_views import ChildInfo
    from drumline.sdk.task_asks import TaskAttemptInfo

R = TypeVar("R")
T = TypeVar("T")


def decode_any(result: Raw) -> Any:
    """Return a result whose type is unknown."""
    return msgspec.json.decode(result)


class TaskHandle(Generic[R]):
    """A submitted task; `R` is what its function returns."""

    __slots__ = ("_client", "_clock", "_decode", "collapsed", "id")

    collapsed: str | None
    """What the submission did if it made no task of its own: `replaced` the payload of the earlier task that this is,
    `postponed` it, or was `dropped`; None for a task that it made."""

    def __init__(
        self, id: TaskId, client: Client, decode: Callable[[Raw], R] = decode_any, *, clock: Clock | None = None
    ) -> None:
        is_own = not isinstance(id, CollapsedId)
        self.collapsed = None if is_own else getattr(id, "how", None)
        self.id = id if is_own else TaskId(str(id))
        self._client = client
        self._decode = decode
        self._clock = clock or client.clock

    @property
    def url(self) -> str:
        """Where a browser shows the task: its page in the web interface, or the data folder where no server runs."""
        return self._client.transport.url_of(self.id)

    def info(self) -> TaskInfo:
        """Return the current state of the task."""
        return self._run(self._info(), "ainfo")

    async def ainfo(self) -> TaskInfo:
        """Return the current state of the task."""
        return await self._client.arun(self._info())

    def status(self) -> Status:
        """Return the task's status."""
        return self._run(self._info(), "astatus").status

    async def astatus(self) -> Status:
        """Return the task's status."""
        return (await self._client.arun(self._info())).status

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for the task to end and return its result.

        Raises `TaskFailed` or `TaskCancelled` when there is none, and `WaitTimeout` when the task has not ended by
        then; without a timeout the wait has no end of its own.
        """
        return self._run(self.result_in_steps(timeout), "aresult")

    async def aresult(self, timeout: Duration | None = None) -> R:  # noqa: ASYNC109 - its end is told apart, with reasons
        """Wait for the task to end and return its result, as `result` does."""
        return await self._client.arun(self.result_in_steps(timeout))

    def __await__(self) -> Generator[Any, None, R]:
        return self.aresult().__await__()

    def cancel(self, *, force: bool = False) -> None:
        """Cancel the task if it waits, ask it to stop if it runs; `force` ends it now, whatever its worker does."""
        self._run(only(Cancel(self.id, force)), "acancel")

    async def acancel(self, *, force: bool = False) -> None:
        """Cancel the task, as `cancel` does."""
        await self._client.arun(only(Cancel(self.id, force)))

    def retry(self) -> None:
        """Run a failed, cancelled or skipped task again."""
        self._run(only(RetryTask(self.id)), "aretry")

    async def aretry(self) -> None:
        """Run a failed, cancelled or skipped task again."""
        await self._client.arun(only(RetryTask(self.id)))

    def signal(self, name: str, payload: Any = None, *, id: str | None = None) -> bool:
        """Send the task a signal, for `ctx.wait_for`; return whether it is new.

        It is kept if the task does not wait for it yet. The same `id` twice is one signal. Raises `Conflict` if the
        task has ended.
        """
        from drumline.sdk.sending import send_signal  # noqa: PLC0415 - only those who send signals pay for it

        return self._run(only(send_signal(name, payload, id=id, task=self.id)), "asignal").created

    async def asignal(self, name: str, payload: Any = None, *, id: str | None = None) -> bool:
        """Send the task a signal, as `signal` does."""
        from drumline.sdk.sending import send_signal  # noqa: PLC0415

        return (await self._client.arun(only(send_signal(name, payload, id=id, task=self.id)))).created

    def fork(
        self, step: str, *, key: str | int | None = None, payload: Any = UNSET, id: str | None = None
    ) -> "TaskHandle[R]":
        """Submit a task like this one that begins with its records before a step, and return its handle.

        The step and what comes after it are done anew. `payload`, an object of arguments, takes the place of this
        task's. The same `id` twice makes one task.
        """
        from drumline.sdk.forking import fork_task  # noqa: PLC0415 - only those who fork pay for it

        made = self._run(only(fork_task(self.id, step, key=key, payload=payload, id=id)), "afork")
        return TaskHandle(made.id, self._client, self._decode, clock=self._clock)

    async def afork(
        self, step: str, *, key: str | int | None = None, payload: Any = UNSET, id: str | None = None
    ) -> "TaskHandle[R]":
        """Submit a task that begins with the records of this one, as `fork` does."""
        from drumline.sdk.forking import fork_task  # noqa: PLC0415

        made = await self._client.arun(only(fork_task(self.id, step, key=key, payload=payload, id=id)))
        return TaskHandle(made.id, self._client, self._decode, clock=self._clock)

    def log(self) -> str:
        """Return what the task has logged so far."""
        return self._run(only(ReadLog(self.id)), "alog")

    async def alog(self) -> str:
        """Return what the task has logged so far."""
        return await self._client.arun(only(ReadLog(self.id)))

    def attempts(self) -> "tuple[TaskAttemptInfo, ...]":
        """Return the task's executions, oldest first, with the error of each that failed."""
        return self._run(self._attempts(), "aattempts")

    async def aattempts(self) -> "tuple[TaskAttemptInfo, ...]":
        """Return the task's executions, as `attempts` does."""
        return await self._client.arun(self._attempts())

    def children(self) -> "tuple[ChildInfo, ...]":
        """Return the tasks that the task has started, in the order of the names and keys of their calls."""
        return self._run(self._children(), "achildren")

    async def achildren(self) -> "tuple[ChildInfo, ...]":
        """Return the tasks that the task has started, as `children` does."""
        return await self._client.arun(self._children())

    def __repr__(self) -> str:
        return f"<TaskHandle {self.id}>"

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, str]:
        """Show a notebook the task's state and progress as they are now."""
        from drumline.sdk.notebook import mimebundle  # noqa: PLC0415 - only notebooks pay for it

        return mimebundle(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskHandle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    # -- steps

    @property
    def client(self) -> Client:
        """The way to the server that has the task."""
        return self._client

    def _attempts(self) -> "Steps[tuple[TaskAttemptInfo, ...]]":
        from drumline.sdk.task_asks import GetTaskAttempts  # noqa: PLC0415 - only those who look pay for it

        return only(GetTaskAttempts(self.id))

    def _children(self) -> "Steps[tuple[ChildInfo, ...]]":
        from drumline.sdk.task_asks import all_children  # noqa: PLC0415 - only those who look pay for it

        return all_children(self.id)

    def _run(self, steps: Steps[T], twin: str) -> T:
        warn_if_blocking(twin, level=4)
        return self._client.run(steps)

    def _info(self) -> Steps[TaskInfo]:
        return only(Get(self.id))

    def result_in_steps(self, timeout: Duration | None) -> Steps[R]:
        """Return the steps of `result`, for those who take them among others."""
        within = None if timeout is None else parse_duration(timeout, field="timeout")
        seconds = float("inf") if within is None else within.total_seconds()
        info = yield from ended(
            lambda wait: Get(self.id, wait),
            lambda info: is_ended(info.status),
            seconds=seconds,
            clock=self._clock,
            long_poll=self._client.long_poll,
        )
        if info is None or not is_ended(info.status):
            after = "" if within is None else f" after {format_duration(within)}"
            raise (yield from self._timed_out(info, after))
        if info.status is Status.COMPLETED and info.error is None:  # else its result was lost, and the error tells
            return self._decode(info.result)
        if info.status in {Status.FAILED, Status.COMPLETED}:
            raise TaskFailed(self.id, info.error or ErrorInfo("Unknown", "the worker gave no reason"))
        raise TaskCancelled(self.id, info.status, "" if info.error is None else info.error.message)

    def _timed_out(self, info: TaskInfo | None, after: str) -> Steps[WaitTimeout]:
        if info is None:
            info = yield Get(self.id)
        status, has_worker = info.status, None
        reason = ""
        if status is not Status.PROCESSING:
            try:
                has_worker = info.name in (yield LiveNames())
            except DrumlineError as error:
                reason = f"; whether a worker can run it is unknown: {error}"
        if has_worker is False:
            reason = f"; no live worker can run {info.name!r}: start one that has it, with `drumline worker`"
        elif info.error is not None:
            reason = f"; its last attempt failed: {info.error.kind}: {info.error.message}{reason}"
        if has_worker is not False:
            reason += f"; it goes on: wait again, or ask `drumline tasks why {self.id}`"
        message = f"task {self.id} is still {status.value}{after}{reason}"
        return WaitTimeout(message, self.id, status, has_worker=has_worker)
