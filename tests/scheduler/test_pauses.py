"""Queues that the configuration pauses."""

import pytest

from drumline.core.tenant import NO_QUOTAS
from drumline.engine.engine import Engine
from drumline.scheduler.pauses import REASON, PauseKeeper


class Wanted:
    """What the configuration names."""

    def __init__(self) -> None:
        self.queues: frozenset[str] = frozenset()

    def name(self, *queues: str) -> None:
        self.queues = frozenset(queues)


@pytest.fixture
def wanted() -> Wanted:
    return Wanted()


@pytest.fixture
def keeper(engine: Engine, wanted: Wanted) -> PauseKeeper:
    return PauseKeeper(engine.store, engine.control, queues=lambda: wanted.queues)


async def test_what_is_named_is_paused_for_every_tenant_and_resumed_after(
    engine: Engine, keeper: PauseKeeper, wanted: Wanted
) -> None:
    await engine.store.tenants.add_tenant("acme", NO_QUOTAS)
    wanted.name("mail")

    assert await keeper.pass_once() == 2
    assert await keeper.pass_once() == 0
    assert set(await engine.store.paused_queues()) == {("default", "mail"), ("acme", "mail")}
    assert {view.reason for view in await engine.store.queries.queues()} == {REASON}

    wanted.name()
    assert await keeper.pass_once() == 2
    assert await engine.store.paused_queues() == []


async def test_what_somebody_resumed_is_paused_again_while_it_is_named(
    engine: Engine, keeper: PauseKeeper, wanted: Wanted
) -> None:
    wanted.name("mail")
    await keeper.pass_once()
    await engine.control.resume_queue("mail", tenant="default")

    await keeper.pass_once()

    assert await engine.store.paused_queues() == [("default", "mail")]


async def test_an_operators_pause_stays_the_operators(engine: Engine, keeper: PauseKeeper, wanted: Wanted) -> None:
    await engine.control.pause_queue("mail", tenant="default", reason="mine")
    wanted.name("mail")
    await keeper.pass_once()
    wanted.name()

    await keeper.pass_once()

    assert [view.reason for view in await engine.store.queries.queues()] == ["mine"]


async def test_a_scheduler_that_starts_resumes_what_another_left_behind(
    engine: Engine, keeper: PauseKeeper, wanted: Wanted
) -> None:
    wanted.name("mail")
    await keeper.pass_once()

    await PauseKeeper(engine.store, engine.control, queues=frozenset).pass_once()

    assert await engine.store.paused_queues() == []
