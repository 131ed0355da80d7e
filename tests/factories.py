"""Things that tests need many of, with names short enough to read."""

from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Any

from msgspec import Raw

from drumline.core.clock import ManualClock
from drumline.core.codec import encode
from drumline.core.fair_shares import Share
from drumline.core.ids import IdSource, SessionId, TaskId
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo
from drumline.core.session import Beat, SessionSpec, TaskType
from drumline.core.slots import SLOTS, slot_of_key
from drumline.core.state import Act, State
from drumline.core.task import ClaimedTask, NewTask, Submitted, TaskRequest, accept, placing_key
from drumline.engine.log_reading import LogReader
from drumline.ports.store import Claim, ClaimRequest, Settled, Settlement, Store

_random = Random(20)
IDS = IdSource(ManualClock().now, _random)
_numbers = count(1)
_slots = [count()]

OOPS = ErrorInfo("ValueError", "oops")


def new_id(slot: int | None = None) -> TaskId:
    """Return a new id in a slot, or in the next one: each in another, as if many processes had made them."""
    made = IDS.next()
    return TaskId(f"{made[:20]}{(next(_slots[0]) if slot is None else slot) % SLOTS:03x}{made[23:]}")


def restart_slots() -> None:
    """Let the next id be in the first slot: what a test does then does not depend on the tests before it."""
    _slots[0] = count()


def accepted(name: str = "work", payload: Any = None, *, tenant: str = "default", **fields: Any) -> NewTask:
    """Return a task that can be stored, in the slot of its key if it has one."""
    asked = request(name, payload, **fields)
    key = placing_key(asked)
    return accept(asked, id=new_id(None if key is None else slot_of_key(tenant, key)), tenant=tenant)


def request(name: str = "work", payload: Any = None, **fields: Any) -> TaskRequest:
    return TaskRequest(name=name, payload=Raw(encode({} if payload is None else payload)), **fields)


async def submit(store: Store, name: str = "work", *, tenant: str = "default", **fields: Any) -> TaskId:
    (answer,) = await store.submit([accepted(name, tenant=tenant, **fields)])
    assert isinstance(answer, Submitted)
    return answer.id


async def open_session(store: Store, *names: str, queues: Sequence[str] = (), tenant: str | None = None) -> SessionId:
    session = SessionId(next(_numbers) + (1 << 40))
    types = tuple(TaskType(name=name) for name in names or ("work",))
    await store.sessions.open_session(
        session,
        SessionSpec(
            host="host", pid=1, version="0", queues=tuple(queues), types=types, capacity=10, tenant=tenant, label="ada"
        ),
    )
    return session


def claim_request(
    session: SessionId,
    *names: str,
    limit: int = 10,
    queues: Sequence[str] = (),
    tenant: str | None = None,
    hints: tuple[TaskId, ...] | None = None,
    nonce: int | None = None,
    again: bool = False,
    shares: Sequence[Share] = (),
    limited: bool = False,
) -> ClaimRequest:
    return ClaimRequest(
        session=session,
        nonce=_random.getrandbits(63) if nonce is None else nonce,
        limit=limit,
        queues=tuple(queues),
        names=names or ("work",),
        tenant=tenant,
        hints=hints,
        again=again,
        shares=tuple(shares),
        limited=limited,
    )


async def claim(store: Store, session: SessionId, *names: str, **options: Any) -> list[ClaimedTask]:
    (answer,) = await store.claim([claim_request(session, *names, **options)])
    assert isinstance(answer, Claim)
    return list(answer.tasks)


async def claim_one(store: Store, session: SessionId, *names: str) -> ClaimedTask:
    (task,) = await claim(store, session, *names, limit=1)
    return task


async def settle(store: Store, lease: Lease, act: Act, **details: Any) -> Settled:
    if act in {Act.BACK_OFF, Act.FAIL}:
        details.setdefault("error", OOPS)
    (answer,) = await store.settle([Settlement(lease=lease, act=act, **details)])
    if isinstance(answer, Exception):
        raise answer
    return answer


async def log_of(store: Store, task: TaskId, *, tenant: str | None = None) -> str:
    """Return what a task has logged: little enough for one read."""
    return await LogReader(store.outputs, task, tenant=tenant).read()


async def state_of(store: Store, task: TaskId) -> State:
    (view,) = await store.queries.get([task])
    assert view is not None
    return view.state


def beat(session: SessionId, *held: Lease) -> Beat:
    return Beat(session=session, held=held)
