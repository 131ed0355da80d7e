"""The result of a task that was submitted."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import json

from drumline.compat.celery import states
from drumline.compat.celery.errors import exception_of
from drumline.compat.celery.exceptions import TaskRevokedError, TimeoutError, UpstreamFailed  # noqa: A004
from drumline.compat.celery.result_base import ResultBase
from drumline.compat.celery.state import current_app
from drumline.compat.celery.wire import REPLACED, from_wire
from drumline.core.errors import Invalid, NotFound
from drumline.core.outcome import ErrorInfo
from drumline.core.state import Status, is_ended
from drumline.sdk.errors import TaskCancelled, TaskFailed, WaitTimeout
from drumline.sdk.handle import TaskHandle
from drumline.sdk.transport import TaskInfo

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery

NO_REASON: Final = ErrorInfo("TaskError", "the worker gave no reason")


class AsyncResult(ResultBase):
    """The result of one task."""

    def __init__(self, id: str, backend: Any = None, app: "Celery | None" = None, parent: Any = None) -> None:
        if not id:
            raise ValueError("AsyncResult requires a valid id, not " + type(id).__name__)
        self.id = str(id)
        self._app = app
        self.parent = parent
        self.ignored = False
        self._ended: TaskInfo | None = None

    @property
    def app(self) -> "Celery":
        """The app."""
        return self._app if self._app is not None else current_app()

    @property
    def task_id(self) -> str:
        """The id."""
        return self.id

    @property
    def handle(self) -> TaskHandle[Any]:
        """The handle of the task in Drumline."""
        return self.app.drumline.handle(self.app.known_id(self.id))

    # -- look

    @property
    def status(self) -> str:
        """The state, in Celery's words."""
        return self.outcome()[0]

    state = status

    @property
    def result(self) -> Any:
        """What it returned, or the exception it failed with; None while it has not ended."""
        return self.outcome()[1]

    info = result

    @property
    def traceback(self) -> str | None:
        """The traceback of its failure."""
        error = self._info().error
        return None if error is None else error.traceback or None

    def ready(self) -> bool:
        """Tell whether it has ended."""
        return self.status in states.READY_STATES

    def successful(self) -> bool:
        """Tell whether it returned."""
        return self.status == states.SUCCESS

    def failed(self) -> bool:
        """Tell whether it failed."""
        return self.status == states.FAILURE

    @property
    def children(self) -> list[Any]:
        """Nothing: Drumline keeps no list of what a task submitted."""
        return []

    @property
    def name(self) -> str:
        """The task's name."""
        return self._info().name

    @property
    def retries(self) -> int:
        """How often it was retried."""
        return max(self._info().attempt - 1, 0)

    @property
    def queue(self) -> str:
        """The queue."""
        return self._info().queue

    @property
    def worker(self) -> str | None:
        """The worker that ran it last."""
        return self._info().worker

    @property
    def date_done(self) -> Any:
        """When it ended."""
        return self._info().finished_at

    # -- wait

    def get(self, timeout: float | None = None, propagate: bool = True, callback: Any = None, **_: Any) -> Any:
        """Wait for the end and return the result; raise the exception that it failed with, unless told otherwise."""
        if self.ignored:
            return None
        self.wait_for_end(timeout)
        state, value = self.outcome()
        if state in states.PROPAGATE_STATES and propagate:
            raise value
        if callback is not None:
            callback(self.id, value)
        return value

    wait = get

    def wait_for_end(self, timeout: float | None = None) -> None:
        """Wait for the end, however it ends, also of what it was replaced with; raise `TimeoutError`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for handle in self.to_await():
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            try:
                handle.result(left)
            except (TaskFailed, TaskCancelled):
                continue
            except WaitTimeout as error:
                raise TimeoutError("The operation timed out.") from error

    def maybe_throw(self, propagate: bool = True, callback: Any = None) -> Any:
        """Return the result, or raise the exception if the task failed."""
        state, value = self.outcome()
        if state in states.PROPAGATE_STATES and propagate:
            raise value
        if callback is not None:
            callback(self.id, value)
        return value

    maybe_reraise = maybe_throw

    # -- steer

    def revoke(self, terminate: bool = False, **_: Any) -> None:
        """Cancel the task if it waits; with `terminate` stop it if it runs."""
        handle = self.handle
        if terminate or handle.status() is not Status.PROCESSING:
            handle.cancel()

    def forget(self) -> None:
        """Do nothing: results are kept with their tasks, for as long as the installation keeps tasks."""

    def as_tuple(self) -> Any:
        """Return the id and that of its parent, as JSON can hold them."""
        return (self.id, None if self.parent is None else self.parent.as_tuple()), None

    as_wire = as_tuple

    def as_list(self) -> list[str]:
        """Return the ids of this task and those before it."""
        return [self.id, *(each for parent in self._parents() for each in [parent.id])]

    def __str__(self) -> str:
        return self.id

    def __repr__(self) -> str:
        return f"<AsyncResult: {self.id}>"

    def __eq__(self, other: object) -> bool:
        return other == self.id if isinstance(other, str) else isinstance(other, AsyncResult) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def written(self) -> Any:
        """Return the result as it is stored."""
        return json.decode(self._info().result)

    # -- steps

    def _info(self) -> TaskInfo:
        if self._ended is not None:
            return self._ended
        info = self.handle.info()
        if is_ended(info.status):
            self._ended = info
        return info

    def to_await(self) -> Iterator[TaskHandle[Any]]:
        """Yield the tasks that must end before the result is there: this one, and those it was replaced with."""
        yield self.handle
        for replacement in replacements(self._info()):
            yield from AsyncResult(replacement, app=self._app).to_await()

    def outcome(self) -> tuple[str, Any]:
        """Return the state, and the result or the exception."""
        try:
            info = self._info()
        except (NotFound, Invalid):  # never submitted, or its retention is over
            return states.PENDING, None
        if info.status is Status.COMPLETED:
            return self._completed(info)
        state, value = states.OF_STATUS[info.status], None
        match info.status:
            case Status.FAILED:
                value = self._failure(info)
            case Status.SKIPPED:
                value = self._cause(info)
            case Status.CANCELLED:
                value = TaskRevokedError("revoked" if info.error is None else info.error.message)
            case Status.PROCESSING if self.app.conf.task_track_started:
                pass
            case _ if info.error is not None and info.attempt > 0:
                state, value = states.RETRY, exception_of(info.error)
            case _:
                state = states.PENDING
        return state, value

    def _completed(self, info: TaskInfo) -> tuple[str, Any]:
        written = json.decode(info.result)
        if not isinstance(written, dict) or REPLACED not in written:
            return states.SUCCESS, from_wire(written)
        return self._replaced(written[REPLACED])

    def _replaced(self, ids: Any) -> tuple[str, Any]:
        """Return the state and result of what the task was replaced with: one task, or a list of them."""
        if isinstance(ids, str):
            return AsyncResult(ids, app=self._app).outcome()
        parts = [self._replaced(each) for each in ids]
        bad = next((part for part in parts if part[0] != states.SUCCESS), None)
        return (states.SUCCESS, [value for _, value in parts]) if bad is None else bad

    def _failure(self, info: TaskInfo) -> Any:
        error = info.error or NO_REASON
        if error.kind == UpstreamFailed.__qualname__:
            return AsyncResult(error.message.split(" ", 1)[0], app=self._app).outcome()[1]
        return exception_of(error)

    def _cause(self, info: TaskInfo) -> Any:
        """Return the exception of the task for whose failure this one was skipped."""
        if info.job_id is not None:
            nodes = {node.key: node for node in self.app.drumline.job(info.job_id).nodes()}
            cause = nodes[info.key or ""].cause
            if cause is not None:
                return AsyncResult(nodes[cause].task_id, app=self._app).outcome()[1]
        return TaskRevokedError("skipped" if info.error is None else info.error.message)


def replacements(info: TaskInfo) -> list[str]:
    """Return the ids of the tasks that a task was replaced with, flat."""
    if info.status is not Status.COMPLETED or REPLACED.encode() not in bytes(info.result):
        return []
    written = json.decode(info.result)
    return list(_flat(written[REPLACED])) if isinstance(written, dict) and REPLACED in written else []


def _flat(ids: Any) -> Iterator[str]:
    if isinstance(ids, str):
        yield ids
        return
    for each in ids:
        yield from _flat(each)
