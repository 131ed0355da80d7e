"""What the end of a task releases is given to a claim that waits here, without a second look at the store."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from msgspec import Raw

from drumline.core.codec import decode, encode
from drumline.core.errors import Fenced
from drumline.core.ids import SessionId
from drumline.core.job import JobStatus
from drumline.core.outcome import Succeeded
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import State
from drumline.core.task import ClaimedTask
from drumline.core.tuning import DEFAULT_TUNING
from drumline.engine.engine import Engine
from drumline.engine.gateway import LocalGateway
from drumline.engine.waiting import Waiters
from drumline.ports.gateway import Report
from drumline.ports.store import Claim, ClaimRequest, Settled, Settlement
from tests.engine.test_jobs import A_WHILE, WORKER, request
from tests.factories import claim_request

ADA, BOB = SessionId(1), SessionId(2)


async def claim(gateway: LocalGateway, session: SessionId, *, limit: int = 100) -> list[ClaimedTask]:
    return list(await gateway.claim(session, limit=limit, wait=A_WHILE))


async def complete(gateway: LocalGateway, task: ClaimedTask, result: object = None) -> None:
    await gateway.settle([Report(task.lease, Succeeded(Raw(encode(result))))])


class Claims:
    """Counts the claims that reach the store."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        asked = engine.store.claim

        async def counted(requests: Sequence[ClaimRequest]) -> list[Claim]:
            self.count += 1
            return await asked(requests)

        monkeypatch.setattr(engine.store, "claim", counted)


async def test_a_chain_costs_one_transaction_for_each_task(
    engine: Engine, gateway: LocalGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await gateway.open_session(WORKER)
    keys = [f"k{number}" for number in range(5)]
    needs = {key: {"needs": (before,)} for before, key in pairwise(keys)}
    job = await engine.jobs.submit(request({keys[0]: {}, **needs}))
    (task,) = await claim(gateway, session)
    claims = Claims(engine, monkeypatch)

    for key in keys[1:]:
        waiting = asyncio.create_task(claim(gateway, session))
        await asyncio.sleep(0)
        await complete(gateway, task)
        (task,) = await waiting
        assert task.options.key == key
    await complete(gateway, task)

    assert (await engine.jobs.get(job.id)).status is JobStatus.COMPLETED
    assert claims.count == len(keys) - 1  # each claim's first look, which found nothing; none was made to take a task


async def test_it_is_given_the_result_that_it_refers_to(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",), "payload": {"rows": {"$result": "a"}}}}))
    (first,) = await claim(gateway, session)
    waiting = asyncio.create_task(claim(gateway, session))
    await asyncio.sleep(0)

    await complete(gateway, first, [3, 4])

    (second,) = await waiting
    assert decode(bytes(second.payload), object) == {"rows": [3, 4]}


async def test_a_claim_that_has_given_up_meanwhile_loses_it_to_another(
    engine: Engine, gateway: LocalGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, other = await gateway.open_session(WORKER), await gateway.open_session(WORKER)
    job = await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",)}}))
    (first,) = await claim(gateway, session)
    waiting = asyncio.create_task(claim(gateway, session))
    await asyncio.sleep(0)
    settle = engine.store.settle

    async def gives_up_after(
        settlements: Sequence[Settlement], *, takers: Sequence[ClaimRequest] = ()
    ) -> list[Settled | Fenced]:
        answers = await settle(settlements, takers=takers)
        if takers:
            waiting.cancel()
            await asyncio.wait({waiting})
        return answers

    monkeypatch.setattr(engine.store, "settle", gives_up_after)
    await complete(gateway, first)

    (second,) = await claim(gateway, other)
    assert (second.lease.task, second.attempt) == (job.tasks["b"], 1)


async def test_a_name_that_is_paused_is_not_given(engine: Engine, gateway: LocalGateway) -> None:
    session = await gateway.open_session(WORKER)
    job = await engine.jobs.submit(request({"a": {}, "b": {"needs": ("a",)}}))
    (first,) = await claim(gateway, session)
    waiting = asyncio.create_task(claim(gateway, session))
    await asyncio.sleep(0)
    engine.tune(DEFAULT_TUNING.__class__(paused_names=frozenset({"work"})))

    await complete(gateway, first)
    await engine.claims.drained()

    assert (await engine.queries.get(job.tasks["b"])).state is State.QUEUED
    waiting.cancel()


def test_two_settlements_at_once_do_not_fill_the_same_claim() -> None:
    waiters = Waiters()
    spec = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=1)
    with waiters.waiting(spec, ADA, 5) as ada, waiters.waiting(spec, BOB, 6) as bob:
        ada.request, bob.request = claim_request(ADA, nonce=5), claim_request(BOB, nonce=6)
        with waiters.takers() as first, waiters.takers() as second, waiters.takers() as third:
            assert (first, second, third) == ([ada.request], [bob.request], [])
        with waiters.takers() as again:
            assert again == [ada.request]


def test_of_each_kind_one_claim_is_named() -> None:
    waiters = Waiters()
    specs = [
        SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name=name),), capacity=1)
        for name in ("work", "work", "mail")
    ]
    with (
        waiters.waiting(specs[0], ADA, 5) as first,
        waiters.waiting(specs[1], BOB, 6) as second,
        waiters.waiting(specs[2], SessionId(3), 7) as third,
    ):
        first.request, second.request, third.request = (claim_request(ADA, nonce=n) for n in (5, 6, 7))
        with waiters.takers() as takers:
            assert takers == [first.request, third.request]


def test_a_session_that_found_enough_the_last_time_is_not_named_before_it_waits() -> None:
    waiters = Waiters()
    spec = SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=1)
    with waiters.waiting(spec, ADA, 5) as waiter:
        waiters.found_all(waiter)
    with waiters.waiting(spec, ADA, 6) as waiter, waiters.takers() as takers:
        waiter.request = claim_request(ADA, nonce=6)
        assert takers == []
    with waiters.waiting(spec, ADA, 7) as waiter:
        waiter.request = claim_request(ADA, nonce=7)
        with waiters.takers() as takers:
            assert takers == [waiter.request]
