"""Children as workers start them, near or far, on every store."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.children import ChildRequests, OnEnd
from drumline.core.durable import Answered, Wait, WaitKind, WaitRequest
from drumline.core.errors import DrumlineError, Fenced, Invalid
from drumline.core.lease import Lease
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.ports.gateway import Gateway
from tests.factories import request
from tests.gateway.test_gateway import WORKER, settle

GROUP = Wait(kind=WaitKind.GROUP, name="c")


@pytest.fixture(autouse=True)
async def _task(engine: Engine) -> None:
    await engine.submissions.submit(request())


async def take(gateway: Gateway) -> Lease:
    session = await gateway.open_session(WORKER)
    (task,) = await gateway.claim(session, limit=1, wait=10)
    return task.lease


def wanted(lease: Lease, *values: int, **fields: object) -> ChildRequests:
    tasks = tuple(request(payload={"x": value}) for value in values)
    return ChildRequests(lease=lease, name="c", tasks=tasks, **fields)  # type: ignore[arg-type]


async def test_children_are_started_once_and_their_outcomes_are_told(gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    (parent,) = await gateway.claim(session, limit=1, wait=10)
    started = await gateway.start_children(wanted(parent.lease, 1, 2))
    again = await gateway.start_children(wanted(parent.lease, 1, 2, 3))
    parked = await gateway.wait(WaitRequest(lease=parent.lease, waits=(GROUP,)))
    claimed = await gateway.claim(session, limit=3, wait=0)
    for task in sorted(claimed, key=lambda each: each.lease.task)[:2]:
        await settle(gateway, task.lease, Succeeded(Raw(b'{"done":true}')))
    (last,) = (task for task in claimed if task.lease.task == again.ids[2])
    await settle(gateway, last.lease, Failed(ErrorInfo("E", "no"), permanent=True))

    (woken,) = await gateway.claim(session, limit=1, wait=10)
    answered = await gateway.wait(WaitRequest(lease=woken.lease, waits=(GROUP,)))
    page = await gateway.outcomes(woken.lease, "c", "", first=1)

    assert again.ids[:2] == started.ids
    assert (started.count, again.count) == (2, 3)
    assert parked is State.QUEUED
    assert woken.lease.task == parent.lease.task
    assert isinstance(answered, Answered)
    assert [(each.place, each.child, each.state) for each in page.outcomes] == [
        (1, again.ids[1], State.COMPLETED), (2, again.ids[2], State.FAILED),
    ]  # fmt: skip
    assert page.outcomes[0].result == Raw(b'{"done":true}')
    assert page.outcomes[1].error == ErrorInfo("E", "no")


async def test_a_lease_that_is_not_current_starts_nothing_and_learns_nothing(gateway: Gateway) -> None:
    lease = await take(gateway)
    late = replace(lease, nonce=lease.nonce ^ 1)

    with pytest.raises(Fenced):
        await gateway.start_children(wanted(late, 1))
    with pytest.raises(Fenced):
        await gateway.outcomes(late, "c", "", first=0)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tenant": "elsewhere"}, "tenant"),
        ({"key": "k" * 256}, "key"),
        ({"first": 1_000_000}, "first"),
        ({"tasks": ()}, "tasks"),
        ({"tasks": (request("work", idempotency_key="k"),)}, "tasks[0].idempotency_key"),
        ({"tasks": (request("work", retries=10**6),)}, "tasks[0].retries"),
    ],
)
async def test_children_that_cannot_be_are_refused_by_name(
    gateway: Gateway, fields: dict[str, object], field: str
) -> None:
    lease = await take(gateway)

    with pytest.raises(DrumlineError) as refused:
        await gateway.start_children(replace(wanted(lease, 1, on_end=OnEnd.ABANDON), **fields))

    assert isinstance(refused.value, Invalid)
    assert refused.value.field == field
    if field == "tenant":
        assert "'elsewhere'" in str(refused.value)
        assert "'default'" in str(refused.value)
