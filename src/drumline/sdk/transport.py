"""What a client asks of Drumline, as values, and the transports that answer.

An `Ask` says what is wanted and, by its type, what the answer looks like. A transport answers it over HTTP or from an
engine in this process, for blocking and for async callers; the code above it does not know which.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Raw, Struct

from drumline.core.attempt import Progress
from drumline.core.clock import Instant, to_datetime
from drumline.core.errors import DrumlineError
from drumline.core.ids import JobId, TaskId
from drumline.core.task import TaskRequest, TaskView
from drumline.core.views import PublicTask, show_task

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

NULL: Final = Raw(b"null")


class TaskInfo(PublicTask[datetime], frozen=True, kw_only=True):
    """The state of a task, as the HTTP API shows it."""

    payload: Raw = NULL
    progress: Progress | None = None
    """The progress that the running attempt reported."""
    shard: str | None = None
    """The shard that holds it, where there are several."""
    result: Raw = NULL
    """JSON; null until the task is completed."""


def task_info(view: TaskView, now: Instant, progress: Progress | None = None) -> TaskInfo:
    """Return a task of an engine in this process as clients see it."""
    return show_task(
        TaskInfo,
        view,
        now=now,
        time=to_datetime,
        payload=view.payload or NULL,
        backoff=view.options.backoff,
        notify=view.options.notify,
        progress=progress,
        result=view.result or NULL,
        error=view.error,
    )


@dataclass(frozen=True, slots=True)
class Ask(Generic[T_co]):
    """Something that a client wants; the answer is a `T_co`."""


@dataclass(frozen=True, slots=True)
class SubmitMany(Ask[list[TaskId | DrumlineError]]):
    """Store tasks; each gets its id or its error, in order. Raises only if nothing was stored."""

    requests: Sequence[TaskRequest]


class CollapsedId(str):
    """The id of the earlier task that stands for a submission, with what the submission did to it."""

    __slots__ = ("how",)
    how: str


def collapsed_id(id: str, how: str) -> TaskId:
    """Return the answer to a submission that made no task of its own."""
    answer = CollapsedId(id)
    answer.how = how
    return TaskId(answer)


class Gathered:
    """The answer to a `SubmitMany` that is sent in several parts."""

    def __init__(self) -> None:
        self._answers: list[TaskId | DrumlineError] = []
        self._failure: DrumlineError | None = None
        self._is_stored = False

    def add(self, answers: Sequence[TaskId | DrumlineError]) -> None:
        """Take the answers to the next part."""
        self._answers += answers
        self._is_stored = True

    def fail(self, error: DrumlineError, count: int) -> None:
        """Note that the next part, of so many tasks, could not be sent."""
        self._answers += [error] * count
        self._failure = error

    def answers(self) -> list[TaskId | DrumlineError]:
        """Return all answers in order, or raise what went wrong if no part was taken."""
        if self._failure is not None and not self._is_stored:
            raise self._failure
        return self._answers


@dataclass(frozen=True, slots=True)
class Get(Ask[TaskInfo]):
    """Return the state of a task, waiting up to `wait` seconds for it to end."""

    task: TaskId
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Cancel(Ask[None]):
    """Cancel a task; one that is cancelled already is no conflict, so that the act can be repeated."""

    task: TaskId
    force: bool = False


@dataclass(frozen=True, slots=True)
class RetryTask(Ask[None]):
    """Run an ended task again."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class ReadLog(Ask[str]):
    """Return what a task has logged so far."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class LiveNames(Ask[frozenset[str]]):
    """Return the task names that live workers can run."""


@dataclass(frozen=True, slots=True)
class JobAsk(Ask[T_co]):
    """Something that a client wants of a job: `sdk/jobs.py` has them, for those who use jobs."""


@dataclass(frozen=True, slots=True)
class ScheduleAsk(Ask[T_co]):
    """Something that a client wants of schedules: `sdk/schedules.py` has them, for those who use schedules."""


@dataclass(frozen=True, slots=True)
class LimitAsk(Ask[T_co]):
    """Something that a client wants of limits: `sdk/limits.py` has them, for those who use limits."""


class SelfContainedAsk(Ask[T_co]):
    """Something that a client wants, and that says itself how it is sent and answered: it needs no case elsewhere."""

    def message(self) -> "HttpMessage":
        """Return it as an HTTP request, with how the answer is read."""
        raise NotImplementedError

    async def answer(self, engine: Any) -> T_co:
        """Answer it from an engine in this process."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Pause(Ask[None]):
    """Let some seconds pass; clients do this themselves."""

    seconds: float


class HttpMessage(Struct, frozen=True, kw_only=True):
    """An HTTP request, and how its answer is read."""

    path: str
    method: str = "GET"
    body: bytes | None = None
    is_repeatable: bool = True
    """Whether sending it twice does no more than sending it once."""
    wait: float = 0.0
    answer: Any = None
    read: Callable[[Any], Any] = lambda answer: answer


class Transport(Protocol):
    """Answers asks. `Unavailable` means that nothing is known of what was asked."""

    def send(self, ask: Ask[T]) -> T:
        """Answer, blocking the calling thread."""
        ...

    async def asend(self, ask: Ask[T]) -> T:
        """Answer, on any event loop."""
        ...

    def url_of(self, task: TaskId) -> str:
        """Return where the task can be looked at."""
        ...

    def url_of_job(self, job: JobId) -> str:
        """Return where the job can be looked at."""
        ...

    def close(self) -> None:
        """Let go of connections and threads."""
        ...
