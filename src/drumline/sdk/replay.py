"""Runs the function of a durable task against records: recorded calls return their records, new effects are not made.

Nothing is written, and no step runs: the function ends where it would run a step that has no record, or wait. What it
does outside of steps is done for real; asking Drumline for anything is refused.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from msgspec import Raw, Struct

from drumline.core.children import OutcomePage, StartedIds
from drumline.core.durable import Record, Wait, WaitKind
from drumline.core.errors import Invalid
from drumline.core.ids import JobId, TaskId
from drumline.sdk.children import Outcomes, Start
from drumline.sdk.context import Context, activated
from drumline.sdk.definition import Mode, TaskDefinition
from drumline.sdk.durable_steps import Save
from drumline.sdk.transport import Ask

if TYPE_CHECKING:
    from drumline.sdk.app import Drumline

T = TypeVar("T")
Named = tuple[str, str]


class Stopped(BaseException):
    """The function came to what no record answers. No `Exception`, like `Parked`: code lets it pass."""


class NewEffect(Struct, frozen=True, kw_only=True):
    """Something that the function would do or wait for, and that no record answers."""

    kind: str
    """`step`, `sleep`, `signal`, `retry`, `restart`, `unreadable` for a record that the code cannot read, `request`."""
    name: str
    key: str = ""
    reason: str = ""


class Replay(Struct, frozen=True, kw_only=True):
    """How a replay ended."""

    used: tuple[Named, ...]
    """The names and keys of the records that answered calls, in the order of the calls."""
    new: tuple[NewEffect, ...]
    """What would be done next; several if branches run side by side."""
    unused: tuple[Named, ...]
    """Recorded, and not asked for: by a function that has ended they never will be."""
    result: Raw | None = None
    """What the function returned, if it came to its end."""
    error: str = ""
    """What it raised."""

    @property
    def has_ended(self) -> bool:
        """Whether the function came to its end, by returning or raising."""
        return self.result is not None or bool(self.error)


class Journal:
    """The records of a task, and what its function has asked of them; safe to use from any thread."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = {(each.name, each.key): each for each in records}
        self._lock = Lock()
        self.used: list[Named] = []
        self.new: list[NewEffect] = []

    def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under a name."""
        record = self._records.get((name, key))
        if record is not None:
            with self._lock:
                self.used.append((name, key))
        return record

    def stop(self, kind: str, name: str, key: str = "", reason: str = "") -> NoReturn:
        """Note what would be done, and end the function."""
        with self._lock:
            self.new.append(NewEffect(kind=kind, name=name, key=key, reason=reason))
        raise Stopped

    @property
    def unused(self) -> tuple[Named, ...]:
        """What is recorded, and was not asked for."""
        used = set(self.used)
        return tuple(named for named in self._records if named not in used)


class RecordedCall:
    """`sdk.durable.BlockingCalls` of one call: answered by its record, or the function ends."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._named: Named = ("", "")

    def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under the name of the call."""
        self._named = name, key
        return self._journal.find(name, key)

    def begin(self) -> None:
        """Stop: the step would run."""
        self._journal.stop("step", *self._named)

    def save(self, save: Save) -> Record:
        """Stop: no step has run whose end could be recorded."""
        self._journal.stop("step", save.name, save.key)

    def give_up(self) -> None:
        """Do nothing."""

    def start(self, start: Start) -> StartedIds:
        """Stop: children would be started."""
        self._journal.stop("children", start.name, start.key)

    def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Stop: results of many children are not in the records."""
        self._journal.stop("children", outcomes.name, outcomes.key)

    def wait(self, wait: Wait) -> Record | None:
        """Stop: nothing answers it."""
        kind = "unreadable" if wait.kind is WaitKind.PERSON else wait.kind.word
        self._journal.stop(kind, wait.name, wait.key, wait.reason)

    def restart(self, payload: Raw) -> NoReturn:
        """Stop: the next round would begin."""
        self._journal.stop("restart", "restart", reason=bytes(payload).decode("utf-8", "replace"))


class AsyncRecordedCall:
    """The same for async functions."""

    def __init__(self, journal: Journal) -> None:
        self._call = RecordedCall(journal)
        self.begin = self._call.begin
        self.give_up = self._call.give_up

    async def find(self, name: str, key: str) -> Record | None:
        """Return what is recorded under the name of the call."""
        return self._call.find(name, key)

    async def save(self, save: Save) -> Record:
        """Stop: no step has run whose end could be recorded."""
        return self._call.save(save)

    async def start(self, start: Start) -> StartedIds:
        """Stop: children would be started."""
        return self._call.start(start)

    async def outcomes(self, outcomes: Outcomes) -> OutcomePage:
        """Stop: results of many children are not in the records."""
        return self._call.outcomes(outcomes)

    async def wait(self, wait: Wait) -> Record | None:
        """Stop: nothing answers it."""
        return self._call.wait(wait)

    async def restart(self, payload: Raw) -> NoReturn:
        """Stop: the next round would begin."""
        self._call.restart(payload)


class RefusingTransport:
    """`sdk.transport.Transport` of a replay: whatever a task asks of Drumline ends it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def send(self, ask: Ask[T]) -> T:
        """Stop: it would be asked."""
        self._journal.stop("request", type(ask).__name__)

    async def asend(self, ask: Ask[T]) -> T:
        """Stop: it would be asked."""
        return self.send(ask)

    def url_of(self, task: TaskId) -> str:
        """Return nothing: a replay knows no server."""
        del task
        return ""

    def url_of_job(self, job: JobId) -> str:
        """Return nothing: a replay knows no server."""
        del job
        return ""

    def close(self) -> None:
        """Do nothing."""


class ReplayedTask(Struct, frozen=True, kw_only=True):
    """A task as a replay needs it."""

    id: TaskId
    name: str
    payload: Raw
    records: Sequence[Record] = ()
    queue: str = "default"
    attempt: int = 1


async def replay(app: "Drumline[Any]", task: ReplayedTask) -> Replay:
    """Run the function of a task against its records, with the app's lifespan open, and tell how far it came.

    Raises `NotFound` if the app has no such task, and `Invalid` if the payload does not fit its function.
    """
    definition = app.registry.get(task.name)
    if definition.batch is not None:
        raise Invalid("handles many tasks in one call, and has no records", field="name")
    bound = definition.bind(task.payload)
    journal = Journal(task.records)
    app.use(RefusingTransport(journal))
    result, error = None, ""
    async with AsyncExitStack() as stack:
        state = None if app.lifespan is None else await stack.enter_async_context(app.lifespan())
        is_async = definition.mode is Mode.ASYNC
        context: Context[Any] = Context(
            id=task.id,
            state=state,
            name=task.name,
            attempt=task.attempt,
            queue=task.queue,
            on_durable=(lambda: AsyncRecordedCall(journal)) if is_async else None,
            on_blocking=None if is_async else lambda: RecordedCall(journal),
        )
        try:
            result = definition.encode_result(await _called(definition, bound, context))
        except Stopped:
            pass
        except BaseExceptionGroup as group:  # of branches side by side, some of which came to what is not recorded
            if group.split(Stopped)[0] is None:
                error = f"{type(group).__qualname__}: {group}"
        except Exception as raised:  # noqa: BLE001 - it is the function's, and told
            error = f"{type(raised).__qualname__}: {raised}"
    return Replay(used=tuple(journal.used), new=tuple(journal.new), unused=journal.unused, result=result, error=error)


async def _called(definition: TaskDefinition, bound: dict[str, Any], context: Context[Any]) -> Any:
    with activated(context):
        if definition.mode is Mode.ASYNC:
            return await definition.invoke(bound, context)
        return await asyncio.to_thread(definition.invoke, bound, context)
