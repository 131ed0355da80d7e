"""Records and waits that tests need, with names short enough to read."""

from typing import Any

from msgspec import Raw

from drumline.core.codec import encode
from drumline.core.durable import (
    Answered,
    NewRecord,
    NewSignal,
    Record,
    RecordStatus,
    StepsView,
    Wait,
    WaitKind,
    WaitRequest,
)
from drumline.core.errors import NotFound
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.state import State
from drumline.ports.durable import Recorded, SignalAnswer, Waited
from drumline.ports.store import Settled, Store


def step(lease: Lease, name: str, value: Any = None, **fields: Any) -> NewRecord:
    """Return a record of a step that has ended."""
    return NewRecord(lease=lease, name=name, value=Raw(encode(value)), **fields)


def tried(lease: Lease, name: str, tries: int, *, delay_ms: int = 1000) -> NewRecord:
    """Return what is noted of a step that failed and is tried again."""
    return step(lease, name, {"kind": "E", "message": "m"}, status=RecordStatus.TRIED, tries=tries, delay_ms=delay_ms)


async def record(store: Store, new: NewRecord) -> Recorded:
    (answer,) = await store.durable.record([new])
    return answer


def sleep(name: str, delay_ms: int, **fields: Any) -> Wait:
    return Wait(kind=WaitKind.SLEEP, name=name, delay_ms=delay_ms, **fields)


async def wait(store: Store, lease: Lease, *waits: Wait) -> Waited:
    return await store.durable.wait(WaitRequest(lease=lease, waits=waits))


async def park(store: Store, lease: Lease, *waits: Wait) -> Settled:
    answer = await wait(store, lease, *waits)
    assert isinstance(answer, Settled)
    assert answer.state is State.QUEUED
    return answer


async def answered(store: Store, lease: Lease, *waits: Wait) -> list[Record | None]:
    answer = await wait(store, lease, *waits)
    assert isinstance(answer, Answered)
    return [record for _, record in answer.answers]


async def signal(
    store: Store, task: TaskId, name: str, payload: Any = None, *, id: str = "s1", tenant: str | None = None
) -> SignalAnswer:
    """Send a signal to a task."""
    return await store.durable.signal(
        NewSignal(id=id, name=name, task=task, payload=Raw(encode(payload)), tenant=tenant)
    )


async def steps_of(store: Store, task: TaskId) -> StepsView:
    view = await store.durable.steps(task, after=0, limit=1000)
    assert not isinstance(view, NotFound)
    return view


async def names_of(store: Store, task: TaskId) -> list[str]:
    return [each.name for each in (await steps_of(store, task)).page.records]
