"""Children of a running task: `ctx.call`, `ctx.map`, `ctx.gather`, `ctx.first`, written once as generators.

What is waited for together has one name and key, and is one record.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Raw, Struct

from drumline.core.children import (
    MOST_IN_GROUP,
    MOST_STARTED,
    ChildOutcome,
    FirstOutcome,
    OnEnd,
    OutcomePage,
    StartedIds,
)
from drumline.core.codec import decode
from drumline.core.durable import Record, RecordStatus, Wait, WaitKind
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import TaskRequest
from drumline.sdk.durable_steps import Operation, WaitFor, find, person_needed
from drumline.sdk.errors import ChildFailed

if TYPE_CHECKING:
    from drumline.sdk.app_hooks import AppHooks
    from drumline.sdk.task import Call

OnEndWord = Literal["cancel", "abandon"]

START_BYTES: Final = 512 * 1024
"""Payloads of children that are started by one request, about."""
STARTED_AT_ONCE: Final = 500


class Start(Struct, frozen=True, kw_only=True):
    """Start children of a call."""

    name: str
    key: str
    first: int = 0
    on_end: OnEnd = OnEnd.CANCEL
    tasks: tuple[TaskRequest, ...]


class Outcomes(Struct, frozen=True):
    """Read how children of a call ended, from a place on."""

    name: str
    key: str
    first: int


class HasHooks(Protocol):
    """An app, or what stands for one that has no hooks."""

    @property
    def hooks(self) -> "AppHooks":
        """The hooks of its submissions."""
        ...


class Startable(Protocol):
    """A call as far as a child is started by it; `sdk.task.Call` is one."""

    @property
    def request(self) -> TaskRequest:
        """The request of the child."""
        ...

    @property
    def app(self) -> HasHooks:
        """The app whose hooks see the request."""
        ...


class Prepare(NamedTuple):
    """Let the hooks of apps see the requests of calls."""

    calls: Sequence[Startable]


ChildOperation = Operation | Start | Outcomes | Prepare
Decode = Callable[[Raw], Any]


def on_end_of(word: OnEndWord) -> OnEnd:
    """Return what the end of a parent means for its children, or raise `Invalid`."""
    if word not in {"cancel", "abandon"}:
        raise Invalid("must be cancel or abandon", field="on_end")
    return OnEnd.CANCEL if word == "cancel" else OnEnd.ABANDON


def call_in_steps(name: str, key: str, call: "Call[Any]", on_end: OnEnd) -> Generator[ChildOperation, Any, Any]:
    """Return the result of a child, or raise `ChildFailed`."""
    record: Record | None = yield find(name, key)
    if record is None:
        yield Start(name=name, key=key, on_end=on_end, tasks=(yield from _prepared([call])))
        record = yield WaitFor(Wait(kind=WaitKind.CALL, name=name, key=key))
    if record.status is RecordStatus.FAILED:
        raise failure_of(name, key, decode(bytes(record.value), ChildOutcome))
    return (yield from _read(name, key, record.value, call.definition.decode_result))


def group_in_steps(
    name: str,
    key: str,
    calls: "LazyCalls",
    *,
    on_end: OnEnd,
    window: int,
    keep_errors: bool,
) -> Generator[ChildOperation, Any, list[Any]]:
    """Return the results of children in their order; one that ended badly raises `ChildFailed`, or is in its place."""
    if window < 1:
        raise Invalid("must be at least 1", field="window")
    if calls.total > MOST_IN_GROUP:
        raise Invalid(f"a call has at most {MOST_IN_GROUP:,} children", field=name)
    if not calls.total:
        return []
    if (yield find(name, key)) is None:
        yield from _start_all(name, key, calls, on_end, window)
        yield WaitFor(Wait(kind=WaitKind.GROUP, name=name, key=key))
    return (yield from _results(name, key, calls, keep_errors=keep_errors))


def _results(
    name: str, key: str, calls: "LazyCalls", *, keep_errors: bool
) -> Generator[ChildOperation, Any, list[Any]]:
    """Return the results of children that have ended, read page by page."""
    results: list[Any] = []
    while len(results) < calls.total:
        page: OutcomePage = yield Outcomes(name, key, len(results))
        if not page.outcomes:
            raise Invalid(f"has {len(results):,} children, and the list of them {calls.total:,} items", field=name)
        for outcome in page.outcomes[: calls.total - len(results)]:
            if outcome.state is State.COMPLETED:
                results.append((yield from _read(name, key, outcome.result, calls.decode_at(outcome.place))))
                continue
            error = failure_of(name, key, outcome)
            if not keep_errors:
                raise error
            results.append(error)
    return results


def first_in_steps(
    name: str, key: str, calls: Sequence["Call[Any]"], on_end: OnEnd
) -> Generator[ChildOperation, Any, Any]:
    """Return the result of the first child that completes; if none does, raise `ChildFailed` of the first."""
    if not 0 < len(calls) <= MOST_STARTED:
        raise Invalid(f"takes 1 to {MOST_STARTED:,} calls", field=name)
    record: Record | None = yield find(name, key)
    if record is None:
        yield Start(name=name, key=key, on_end=on_end, tasks=(yield from _prepared(calls)))
        record = yield WaitFor(Wait(kind=WaitKind.FIRST, name=name, key=key))
    failed = record.status is RecordStatus.FAILED
    first = FirstOutcome(0, TaskId("")) if failed else decode(bytes(record.value), FirstOutcome)
    page: OutcomePage = yield Outcomes(name, key, first.place)
    outcome = page.outcomes[0]
    if failed:
        raise failure_of(name, key, outcome)
    if first.place >= len(calls):
        raise Invalid(f"the call at place {first.place} has completed, and is not among the calls any more", field=name)
    return (yield from _read(name, key, outcome.result, calls[first.place].definition.decode_result))


def failure_of(name: str, key: str, outcome: ChildOutcome) -> ChildFailed:
    """Return the error of a child that ended badly."""
    state = State.CANCELLED if outcome.state is None else outcome.state
    return ChildFailed(name, key, outcome.child, state.name.lower(), outcome.error)


class LazyCalls(NamedTuple):
    """Calls that are made when they are started: there may be very many."""

    total: int
    call_at: Callable[[int], Startable]
    decode_at: Callable[[int], Decode]


def _start_all(
    name: str, key: str, calls: LazyCalls, on_end: OnEnd, window: int
) -> Generator[ChildOperation, Any, None]:
    """Start children in batches, never more at a time than the window has room for."""
    most = min(STARTED_AT_ONCE, max(window // 2, 1))
    place = 0
    while place < calls.total:
        batch: list[Startable] = []
        size = 0
        while len(batch) < min(most, calls.total - place) and size < START_BYTES:
            batch.append(calls.call_at(place + len(batch)))
            size += len(batch[-1].request.payload)
        if place + len(batch) > window:
            yield WaitFor(Wait(kind=WaitKind.WINDOW, name=name, key=key, pending=window - len(batch)))
        tasks = yield from _prepared(batch)
        started: StartedIds = yield Start(name=name, key=key, first=place, on_end=on_end, tasks=tasks)
        place = max(place + len(batch), started.count)  # what an earlier attempt has started need not be sent again


def _prepared(calls: Sequence[Startable]) -> Generator[ChildOperation, Any, tuple[TaskRequest, ...]]:
    """Return the requests of calls as the hooks of their apps leave them."""
    if any(call.app.hooks.before_submit for call in calls):
        prepared: tuple[TaskRequest, ...] = yield Prepare(calls)
        return prepared
    return tuple(call.request for call in calls)


def _read(name: str, key: str, value: Raw, decode_result: Decode) -> Generator[ChildOperation, Any, Any]:
    """Return a result as the type of its task; if it does not fit, let the parent wait for a person."""
    try:
        return decode_result(value)
    except (Invalid, msgspec.DecodeError) as error:
        reason = str(error)
    yield from person_needed(name, key, reason)
    raise AssertionError("a wait for a person is never answered")
