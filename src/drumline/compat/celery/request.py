"""What a running task knows of itself: `self.request`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from drumline.core.ids import TaskId

if TYPE_CHECKING:
    from drumline.compat.celery.app import Celery


@dataclass
class Request:
    """One execution of a task, under Celery's names."""

    id: str | None = None
    task: str = ""
    args: Any = ()
    kwargs: Any = field(default_factory=dict)
    retries: int = 0
    is_eager: bool = False
    called_directly: bool = True
    app: "Celery | None" = None
    task_id: TaskId | None = None
    """The id in Drumline."""
    job_id: str | None = None
    written: Mapping[str, Any] = field(default_factory=dict)
    """What the payload says of the request."""
    delivery_info: dict[str, Any] = field(default_factory=dict)
    known_root: str | None = None
    known_parent: str | None = None
    retries_allowed: int = 0

    hostname = "drumline"
    reply_to = correlation_id = chord = chain = callbacks = stamps = stamped_headers = None

    @property
    def headers(self) -> dict[str, Any]:
        """The headers that were given to `apply_async`."""
        return dict(self.written.get("headers") or {})

    @property
    def properties(self) -> dict[str, Any]:
        """Other options that were given to `apply_async`."""
        return dict(self.written.get("properties") or {})

    @property
    def group(self) -> str | None:
        """The id of the group that the task is a member of."""
        return self.written.get("group_id")

    @property
    def eta(self) -> str | None:
        """When it was to run."""
        return self.written.get("eta")

    @property
    def expires(self) -> Any:
        """When it was to expire."""
        return self.written.get("expires")

    @property
    def time_limit(self) -> float | None:
        """The seconds that one attempt may take."""
        return self.written.get("time_limit")

    @property
    def soft_time_limit(self) -> float | None:
        """What was given, although only `time_limit` is kept to."""
        return self.written.get("soft_time_limit")

    @property
    def timelimit(self) -> tuple[Any, Any]:
        """Both limits."""
        return self.time_limit, self.soft_time_limit

    @property
    def ignore_result(self) -> bool:
        """Whether the result is dropped."""
        return bool(self.written.get("ignore_result"))

    @property
    def errbacks(self) -> list[Any]:
        """The signatures to be submitted if the task fails."""
        return list(self.written.get("errbacks") or [])

    @property
    def replaced_task_nesting(self) -> int:
        """How many replacements led to this task."""
        return int(self.written.get("nesting") or 0)

    @property
    def parent_id(self) -> str | None:
        """The id of the task before this one in its canvas, or of the one that submitted it."""
        if self.known_parent is None:
            given = self.written.get("parent_id")
            self.known_parent = given or (self._id_of(self.written["parent"]) if "parent" in self.written else None)
        return self.known_parent

    @property
    def root_id(self) -> str | None:
        """The id of the first task of all that led to this one."""
        if self.known_root is None:
            given = self.written.get("root_id")
            is_first = self.written.get("root") == self.written.get("key")
            self.known_root = given or (self.id if is_first else self._id_of(self.written["root"]))
        return self.known_root

    def _id_of(self, key: str) -> str | None:
        """Return the id of a task of the same job, by its key."""
        if self.app is None or self.task_id is None:
            return None
        drumline = self.app.drumline
        job = drumline.handle(self.task_id).info().job_id
        nodes = drumline.job(job).nodes() if job is not None else ()
        return next((node.task_id for node in nodes if node.key == key), None)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute by name."""
        return getattr(self, name, default)

    def update(self, **named: Any) -> None:
        """Set attributes."""
        for name, value in named.items():
            setattr(self, name, value)


_CURRENT: Final[ContextVar[tuple[Request, ...]]] = ContextVar("drumline_celery_requests", default=())


def current_request() -> Request | None:
    """Return the request of the task that runs here."""
    stack = _CURRENT.get()
    return stack[-1] if stack else None


def request_for(name: str) -> Request:
    """Return the request of the innermost execution of a task here, or an empty one."""
    return next((request for request in reversed(_CURRENT.get()) if request.task == name), None) or Request(task=name)


@contextmanager
def running(request: Request) -> Iterator[None]:
    """Make a request the current one inside the block."""
    token = _CURRENT.set((*_CURRENT.get(), request))
    try:
        yield
    finally:
        _CURRENT.reset(token)
