"""Durable tasks as workers see them, near or far, on every store."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from drumline.core.durable import Answered, Record, RecordStatus, Wait, WaitKind, WaitRequest
from drumline.core.errors import Conflict, Fenced, Invalid, QuotaExceeded
from drumline.core.outcome import Released, Succeeded
from drumline.core.state import State
from drumline.engine.engine import Engine
from drumline.ports.durable import RecordLimits
from drumline.ports.gateway import Gateway
from drumline.remote import RemoteGateway
from tests.durable_factories import sleep, step, tried
from tests.factories import request
from tests.gateway.conftest import engines_of
from tests.gateway.test_gateway import WORKER, settle, take
from tests.gateway.wire import Wire


@pytest.fixture(autouse=True)
async def _task(engine: Engine) -> None:
    await engine.submissions.submit(request())


async def test_a_record_is_kept_and_comes_with_the_next_claim(gateway: Gateway) -> None:
    session = await gateway.open_session(WORKER)
    (first,) = await gateway.claim(session, limit=1, wait=10)
    answers = await gateway.record([step(first.lease, "a", {"x": [1]}), tried(first.lease, "b", 2)])
    await settle(gateway, first.lease, Released())

    (second,) = await gateway.claim(session, limit=1, wait=10)

    assert [each.seq for each in answers if isinstance(each, Record)] == [1, 2]
    assert (first.recorded, second.recorded) == (0, 2)
    assert not second.records.has_more
    kept = second.records.records
    assert [(each.name, each.status, each.tries) for each in kept] == [
        ("a", RecordStatus.DONE, 1), ("b", RecordStatus.TRIED, 2),
    ]  # fmt: skip
    assert kept[0].value == Raw(b'{"x":[1]}')
    assert kept[1].due_at is not None


async def test_a_lease_that_is_not_current_records_nothing(gateway: Gateway) -> None:
    lease = await take(gateway)
    late = replace(lease, nonce=lease.nonce ^ 1)

    (answer,) = await gateway.record([step(late, "a")])
    waited = await gateway.wait(WaitRequest(lease=late, waits=(sleep("b", 1000),)))

    assert isinstance(answer, Fenced)
    assert isinstance(waited, Fenced)
    with pytest.raises(Fenced):
        await gateway.records(late, after=0)


async def test_a_sleep_ends_the_attempt_or_is_answered(gateway: Gateway) -> None:
    lease = await take(gateway)

    answered = await gateway.wait(WaitRequest(lease=lease, waits=(sleep("past", 0), sleep("later", 60_000))))
    parked = await gateway.wait(WaitRequest(lease=lease, waits=(sleep("later", 60_000),)))
    again = await gateway.wait(WaitRequest(lease=lease, waits=(sleep("later", 60_000),)))

    assert isinstance(answered, Answered)
    ((place, record),) = answered.answers
    assert place == 0
    assert record is not None
    assert record.name == "past"
    assert parked is again is State.QUEUED


async def test_a_record_that_cannot_be_kept_has_its_reason(engine: Engine, gateway: Gateway) -> None:
    lease = await take(gateway)
    for each in {engine, *engines_of(engine)}:
        each.durable._record_limits = RecordLimits(1, 1000)

    (kept,) = await gateway.record([step(lease, "a")])
    (more,) = await gateway.record([step(lease, "b")])
    (odd,) = await gateway.record([step(lease, "c", 1, status=RecordStatus.FAILED)])

    assert isinstance(kept, Record)
    assert isinstance(more, QuotaExceeded)
    assert isinstance(odd, Invalid)
    for wait in (sleep("n", -1), sleep("n", 10**15), Wait(kind=WaitKind.SLEEP, name="n"), sleep("", 1)):
        with pytest.raises(Invalid):
            await gateway.wait(WaitRequest(lease=lease, waits=(wait,)))


async def test_records_can_be_asked_for_in_pages(gateway: Gateway) -> None:
    lease = await take(gateway)
    for number in range(4):
        await gateway.record([step(lease, f"s{number}", "x" * 100_000)])

    first = await gateway.records(lease, after=0)
    second = await gateway.records(lease, after=first.records[-1].seq)

    assert first.has_more
    assert not second.has_more
    assert [each.name for each in first.records + second.records] == ["s0", "s1", "s2", "s3"]


async def test_an_answer_that_was_lost_is_given_again(wire: Wire) -> None:
    async with RemoteGateway("http://drumline", api_key="sk_test", transport=wire) as remote:
        lease = await take(remote)
        wire.lose_answers = 1
        with pytest.raises(Exception, match="does not answer"):
            await remote.record([step(lease, "a", 1)])

        (answer,) = await remote.record([step(lease, "a", 2)])

    assert isinstance(answer, Record)
    assert answer.value == Raw(b"1")


async def test_an_older_server_is_told_apart(wire: Wire) -> None:
    async with RemoteGateway("http://drumline", api_key="sk_test", transport=wire) as remote:
        lease = await take(remote)
        remote._keeps_records = False

        with pytest.raises(Conflict, match="earlier version"):
            await remote.record([step(lease, "a")])
        await settle(remote, lease, Succeeded())
