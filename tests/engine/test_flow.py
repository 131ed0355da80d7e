"""What a process remembers of shares and limits: enough to ask at the right place, and never for long."""

from collections.abc import AsyncIterator

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import NotFound, Unavailable
from drumline.core.fair_shares import STEP
from drumline.core.flow import FlowLimit, LimitRequest
from drumline.core.ids import SessionId
from drumline.core.session import SessionSpec, TaskType
from drumline.core.tenant import Quotas
from drumline.engine.engine import Engine
from drumline.engine.flow import LASTS, QUIET
from drumline.engine.options import EngineOptions
from drumline.engine.shares import LASTS as HELD_FOR
from drumline.engine.shares import WEIGHTS_LAST, Shares
from drumline.stores.no_queue import NoQueue
from drumline.stores.sqlite import SqliteStore
from tests.factories import claim_request, request

ADA, BOB = SessionId(1), SessionId(2)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine(clock: ManualClock) -> AsyncIterator[Engine]:
    made = Engine(await SqliteStore.open(":memory:", clock=clock), NoQueue(), EngineOptions(clock=clock))
    yield made
    await made.close()


async def levels(shares: Shares) -> dict[str, int]:
    return {share.tenant: share.level // share.step for share in await shares.levels()}


async def given(engine: Engine, shares: Shares, session: SessionId, tenant: str) -> None:
    """Let a session be given a task of a tenant."""
    await engine.submissions.submit(request(), tenant=tenant)
    spec_session = await engine.sessions.open(_spec())
    shares.gave(session, await engine.claims.claim(spec_session, _spec(), limit=1, wait=0))


def _spec() -> SessionSpec:
    return SessionSpec(host="h", pid=1, version="0", queues=(), types=(TaskType(name="work"),), capacity=1)


async def test_a_tenant_stands_at_what_workers_say_they_hold(engine: Engine, clock: ManualClock) -> None:
    shares = Shares(engine.store.tenants, clock=clock)
    await given(engine, shares, ADA, "acme")
    await given(engine, shares, BOB, "acme")
    await given(engine, shares, BOB, "bolt")
    assert await levels(shares) == {"acme": 2, "bolt": 1}

    shares.holds(ADA, {"acme": 5})
    shares.holds(BOB, {})

    assert await levels(shares) == {"acme": 5, "bolt": 0}


async def test_a_worker_that_says_nothing_more_is_forgotten(engine: Engine, clock: ManualClock) -> None:
    shares = Shares(engine.store.tenants, clock=clock)
    await given(engine, shares, ADA, "acme")
    clock.advance(HELD_FOR + 1)

    shares.holds(BOB, {"acme": 2})

    assert await levels(shares) == {"acme": 2}


async def test_weights_are_read_again_after_a_while(engine: Engine, clock: ManualClock) -> None:
    shares = Shares(engine.store.tenants, clock=clock)
    await engine.access.tenants.add("acme", Quotas(weight=4))
    assert [(share.tenant, share.step) for share in await shares.levels()] == [("acme", STEP // 4)]
    await engine.access.tenants.change("acme", Quotas(weight=2))

    clock.advance(WEIGHTS_LAST + 1)

    assert [(share.tenant, share.step) for share in await shares.levels()] == [("acme", STEP // 2)]


async def test_limits_set_elsewhere_are_known_after_a_moment(engine: Engine, clock: ManualClock) -> None:
    asked = claim_request(ADA)
    assert not await engine.flow.may_meet_limits(asked)
    await engine.store.limits.set_limit(FlowLimit(tenant="default", name="few", task="work", max_concurrent=1))

    clock.advance(LASTS + 0.1)

    assert await engine.flow.may_meet_limits(asked)
    assert not await engine.flow.may_meet_limits(claim_request(ADA, "other"))


async def test_a_limit_that_is_so_already_is_left_alone(engine: Engine) -> None:
    wanted = LimitRequest(task="work", max_concurrent=3)
    first, before = await engine.flow.set("few", wanted, tenant="default")

    again, same = await engine.flow.set("few", wanted, tenant="default")

    assert before is None
    assert first == again == same


async def test_a_limit_that_is_not_there_cannot_be_looked_at(engine: Engine) -> None:
    with pytest.raises(NotFound):
        await engine.flow.get("few", tenant="default")


async def test_while_the_store_is_away_limits_stay_as_they_were(
    engine: Engine, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await engine.flow.set("few", LimitRequest(task="work", max_concurrent=3), tenant="default")

    async def away(*, tenant: str | None = None) -> list[FlowLimit]:
        raise Unavailable(f"nothing is known of {tenant}")

    monkeypatch.setattr(engine.store.limits, "limits", away)
    clock.advance(LASTS + 0.1)

    assert await engine.flow.may_meet_limits(claim_request(ADA))


async def test_tasks_under_limits_are_not_asked_for_again_at_once(engine: Engine, clock: ManualClock) -> None:
    await engine.flow.set("few", LimitRequest(task="work", max_concurrent=3), tenant="default")
    session = await engine.sessions.open(_spec())
    await engine.claims.claim(session, _spec(), limit=2, wait=0)
    asked = claim_request(session)
    assert engine.flow.quiet_until(asked) is not None

    clock.advance(QUIET + 0.01)
    assert engine.flow.quiet_until(asked) is None

    await engine.claims.claim(session, _spec(), limit=2, wait=0)
    await engine.submissions.submit(request())
    await engine._offers.drained()
    assert engine.flow.quiet_until(asked) is None
