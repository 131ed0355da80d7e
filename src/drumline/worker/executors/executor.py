"""The executor protocol and its argument: the whole contract for adding a kind of task."""

import asyncio
import re
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Raw

from drumline.core.codec import check_bounds, decode
from drumline.core.errors import Invalid
from drumline.core.masking import Mask
from drumline.core.names import check_text
from drumline.core.session import TaskType
from drumline.core.task import ClaimedTask
from drumline.ports.store import Artifact
from drumline.sdk.context import Context
from drumline.worker.durable import AttemptHooks, DurableAttempt, ThreadCalls
from drumline.worker.failures import refusal
from drumline.worker.logs import AttemptLog
from drumline.worker.services import AttemptServices
from drumline.worker.stop_reason import StopReason

T = TypeVar("T", bound=msgspec.Struct)

MOST_ARTIFACTS: Final = 100
_SEPARATOR: Final = re.compile(r"[/\\]")


class ContextFactory(Protocol):
    """Makes the `ctx` of an attempt; executors of Python functions are such."""

    def context_of(self, call: "ExecutorCall") -> Context[Any]:
        """Return the attempt's `ctx`."""
        ...


class ExecutorCall(msgspec.Struct, eq=False):
    """One attempt, as its executor sees it."""

    task: ClaimedTask
    _services: AttemptServices
    has_secrets: bool = False
    """Whether its payload refers to secrets, which have to be filled in."""
    timeout: float | None = None
    """Seconds that this attempt may take."""
    stopping: StopReason | None = None
    """Set before the executor is cancelled; read from any thread."""
    lingering: asyncio.Future[Any] | None = None
    """What still runs although the attempt was given up: its slot stays taken until it ends."""
    context_factory: ContextFactory | None = None
    """Who makes the context, if there is one to ask for."""
    _context: Context[Any] | None = None
    opened: AttemptLog | None = None
    """Its log, once something was written."""
    has_progress: bool = False
    artifacts: dict[str, Artifact] = {}
    mask: Mask | None = None
    """What to blot out of all that leaves the attempt, if it was given secrets."""
    durable: DurableAttempt | None = None
    """Its durable calls, once it has made one."""

    @property
    def log(self) -> AttemptLog:
        """Where its output goes: most attempts have none, so that it is opened when it is first asked for."""
        if self.opened is None:
            with self._services.logs.lock:
                if self.opened is None:  # not by another thread meanwhile
                    self.opened = self._services.logs.open(self.task.lease)
        return self.opened

    def context(self) -> Context[Any] | None:
        """Return the attempt's `ctx`, made when it is first asked for."""
        if self._context is None and self.context_factory is not None:
            self._context = self.context_factory.context_of(self)
        return self._context

    def durable_calls(self) -> DurableAttempt:
        """Return the attempt's durable calls, made when they are first asked for."""
        if self.durable is None:
            with self._services.logs.lock:
                if self.durable is None:  # not by another thread meanwhile
                    hooks = AttemptHooks(self._take_artifacts, self._masked_json, self.main_task)
                    self.durable = DurableAttempt(self.task, self._services.records, hooks)
        return self.durable

    def blocking_calls(self) -> ThreadCalls:
        """Return the same for a function in a thread."""
        return ThreadCalls(self.durable_calls(), self._services.loop)

    def main_task(self) -> asyncio.Task[Any] | None:
        """Return the task in which the attempt runs."""
        return None

    def _take_artifacts(self) -> list[Artifact]:
        taken = list(self.artifacts.values())
        self.artifacts.clear()
        return taken

    def _masked_json(self, value: Raw) -> Raw:
        return value if self.mask is None else self.mask.json(value)

    @property
    def grace(self) -> float:
        """Seconds to let a stopped attempt end by itself; 0 if another worker may be running the task already."""
        return 0.0 if self.stopping is StopReason.LOST else self._services.stop_grace

    def payload_as(self, type: type[T]) -> T:
        """Return the payload as a struct; one that does not fit fails the task for good, naming the field."""
        try:
            return decode(self.task.payload, type, field="payload")
        except Invalid as error:
            raise refusal(error) from error

    def note_progress(self, done: float, total: float | None, message: str) -> None:
        """Note how far the attempt is. Safe from any thread, and as often as one likes."""
        self.has_progress = True
        self._services.progress.note(self.task.lease, done, total, self.masked(message))

    def masked(self, text: str) -> str:
        """Return a text without the secrets that the attempt was given."""
        return text if self.mask is None else self.mask.text(text)

    def settled_result(self, result: bytes) -> bytes:
        """Return a result that the attempt records itself, as a report would have it, or raise `Invalid`."""
        if self.artifacts:
            raise Invalid("are stored with the worker's report: an attempt that settles itself has none", field="files")
        limits = self._services.limits
        check_bounds(result, field="result", largest=limits.result, deepest=limits.nesting)
        return result if self.mask is None else bytes(self.mask.json(msgspec.Raw(result)))

    def put_artifact(self, name: str, data: bytes, content_type: str) -> None:
        """Keep a file; it is stored before the attempt is reported. Safe from any thread."""
        check_artifact_name(name)
        name = self.masked(name)
        if len(data) > self._services.limits.artifact:
            raise Invalid(
                f"is {len(data):,} bytes; at most {self._services.limits.artifact:,} are kept",
                field=name,
                code="too_large",
            )
        if len(self.artifacts) >= MOST_ARTIFACTS and name not in self.artifacts:
            raise Invalid(f"must be at most {MOST_ARTIFACTS} files", field="artifact")
        lease = self.task.lease
        self.artifacts[name] = Artifact(task=lease.task, name=name, content_type=content_type, data=data, lease=lease)


Call = ExecutorCall
"""The former name, which executors of other packages import."""


class Executor(Protocol):
    """Runs one kind of task."""

    @property
    def type(self) -> TaskType:
        """The task's name, what it does, and the JSON Schema of its payload, as published by workers."""
        ...

    async def execute(self, call: ExecutorCall) -> Any:
        """Do the work and return the result, anything that can be written as JSON.

        An error raised is a failure: `Permanent` is not retried, everything else is. When the attempt is to stop,
        this is cancelled: end whatever runs outside the loop within `call.grace` and let the cancellation through.
        """
        ...


def published(name: str, payload: type[msgspec.Struct], *, doc: str) -> TaskType:
    """Return the type of a task whose payload is a struct."""
    described = msgspec.json.schema(payload)
    definitions = described.pop("$defs", {})
    schema: dict[str, object] = dict(definitions.pop(payload.__name__))
    schema.pop("description", None)
    schema["title"] = name
    if definitions:
        schema["$defs"] = definitions
    return TaskType(name=name, doc=doc, schema=schema)


def check_artifact_name(name: str, *, field: str = "artifact") -> str:
    """Return a file name, or raise `Invalid` if it is a path or is not valid in a URL or a header."""
    check_text(name, field=field, longest=255)
    if _SEPARATOR.search(name) or name.strip(". ") == "":
        raise Invalid("must be a plain file name, without folders", field=field)
    return name
