"""Children that tests of stores need, with names short enough to read."""

from typing import NamedTuple

from msgspec.structs import replace

from drumline.core.children import NewChildren, OnEnd
from drumline.core.durable import Wait, WaitKind
from drumline.core.ids import SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.slots import slot_of
from drumline.core.task import ClaimedTask
from drumline.ports.children import StartedChildren
from drumline.ports.store import Store
from tests.durable_factories import park
from tests.factories import accepted, claim_one, new_id, open_session, submit

PARENT, CHILD = "parent", "child"
CALL = Wait(kind=WaitKind.CALL, name="c")
GROUP = Wait(kind=WaitKind.GROUP, name="c")
FIRST = Wait(kind=WaitKind.FIRST, name="c")


class Family(NamedTuple):
    """A task that runs, the children that it has started, and a session that claims both."""

    parent: TaskId
    lease: Lease
    children: tuple[TaskId, ...]
    session: SessionId


def children_of(
    lease: Lease, count: int = 1, *, name: str = "c", key: str = "", first: int = 0, on_end: OnEnd = OnEnd.CANCEL
) -> NewChildren:
    """Return children to start."""
    slot = slot_of(lease.task)
    tasks = tuple(replace(accepted(CHILD), id=new_id(slot)) for _ in range(count))
    return NewChildren(lease=lease, name=name, key=key, first=first, on_end=on_end, tasks=tasks)


async def start(store: Store, children: NewChildren) -> StartedChildren:
    answer = await store.children.start(children)
    assert isinstance(answer, StartedChildren)
    return answer


async def family(store: Store, count: int = 1, *, on_end: OnEnd = OnEnd.CANCEL) -> Family:
    """Return a task that runs and has started children."""
    parent = await submit(store, PARENT)
    session = await open_session(store, PARENT, CHILD)
    lease = (await claim_one(store, session, PARENT)).lease
    started = await start(store, children_of(lease, count, on_end=on_end))
    return Family(parent, lease, started.ids, session)


async def parked(store: Store, count: int = 1, *, wait: Wait = GROUP, on_end: OnEnd = OnEnd.CANCEL) -> Family:
    """Return a task that waits for children which it has started."""
    found = await family(store, count, on_end=on_end)
    await park(store, found.lease, wait)
    return found


async def claim_child(store: Store, found: Family) -> ClaimedTask:
    return await claim_one(store, found.session, CHILD)


async def claim_parent(store: Store, found: Family) -> ClaimedTask:
    return await claim_one(store, found.session, PARENT)
