"""New rounds of durable tasks as workers begin them, near or far, on every store."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.durable import RestartRequest
from drumline.core.errors import Conflict, Fenced, Invalid
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.outcome import Succeeded
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.ports.gateway import Gateway
from drumline.remote import RemoteGateway
from tests.durable_factories import step
from tests.factories import request
from tests.gateway.test_gateway import WORKER, settle, take
from tests.gateway.wire import Wire

NEXT = Raw(b'{"n":2}')


async def test_a_restart_gives_the_next_claim_another_payload(engine: Engine, gateway: Gateway) -> None:
    await engine.submissions.submit(request())
    session = await gateway.open_session(WORKER)
    (first,) = await gateway.claim(session, limit=1, wait=10)
    await gateway.record([step(first.lease, "a")])

    answer = await gateway.restart(RestartRequest(lease=first.lease, payload=NEXT))
    again = await gateway.restart(RestartRequest(lease=first.lease, payload=Raw(b'{"n":3}')))

    (second,) = await gateway.claim(session, limit=1, wait=10)
    assert answer is again is State.QUEUED
    assert second.lease.task == first.lease.task
    assert (bytes(second.payload), second.recorded, second.attempt) == (bytes(NEXT), 0, 1)
    await settle(gateway, second.lease, Succeeded())


async def test_a_lease_that_is_not_current_begins_no_round(engine: Engine, gateway: Gateway) -> None:
    await engine.submissions.submit(request())
    lease = await take(gateway)

    answer = await gateway.restart(RestartRequest(lease=replace(lease, nonce=lease.nonce ^ 1), payload=NEXT))

    assert isinstance(answer, Fenced)
    (record,) = await gateway.record([step(lease, "a")])
    assert not isinstance(record, Exception)


async def test_a_task_of_a_job_begins_no_round(engine: Engine, gateway: Gateway) -> None:
    name = request().name
    await engine.jobs.submit(JobRequest(name="job", tasks={"one": JobTaskRequest(name=name)}))
    lease = await take(gateway)

    answer = await gateway.restart(RestartRequest(lease=lease, payload=NEXT))

    assert isinstance(answer, Conflict)
    assert "job" in answer.message
    await settle(gateway, lease, Succeeded())


@pytest.mark.parametrize(
    "payload", [b'{"a":' * 300 + b"1" + b"}" * 300, b'"' + b"x" * 2_000_000 + b'"'], ids=["deep", "large"]
)
async def test_a_payload_that_no_task_can_have_is_refused_by_its_name(
    engine: Engine, gateway: Gateway, payload: bytes
) -> None:
    await engine.submissions.submit(request())
    lease = await take(gateway)

    with pytest.raises(Invalid) as refused:
        await gateway.restart(RestartRequest(lease=lease, payload=Raw(payload)))

    assert (refused.value.field or "").startswith("payload")
    await settle(gateway, lease, Succeeded())


async def test_a_cancel_that_was_asked_for_is_the_answer(engine: Engine, gateway: Gateway) -> None:
    task = await engine.submissions.submit(request())
    lease = await take(gateway)
    await engine.control.cancel(task.id)

    assert await gateway.restart(RestartRequest(lease=lease, payload=NEXT)) is State.CANCELLED


async def test_a_server_that_has_no_rounds_is_told_apart(engine: Engine, wire: Wire) -> None:
    await engine.submissions.submit(request())
    async with RemoteGateway("http://drumline", api_key="sk_test", transport=wire) as remote:
        lease = await take(remote)
        remote._has_rounds = False

        answer = await remote.restart(RestartRequest(lease=lease, payload=NEXT))

        assert isinstance(answer, Conflict)
        assert "earlier version" in answer.message
        await settle(remote, lease, Succeeded())
