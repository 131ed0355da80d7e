"""Alerts over several databases: what fires while one of them is away, and that nothing is resolved by a part."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from drumline.core.accept_alert import AlertRequest
from drumline.core.accept_slo import SloRequest
from drumline.core.alert import AlertMeasure, AlertRule, AlertState
from drumline.core.clock import ManualClock
from drumline.core.ids import TaskId
from drumline.core.shard_map import DIRECTORY
from drumline.core.state import Act
from drumline.engine.alerts import AlertService, SloService
from drumline.ports.alerts import AlertFilter
from drumline.ports.store import Store
from drumline.scheduler.alerts import AlertEvaluator
from drumline.shards.store import ShardedStore
from tests.conformance.test_evaluating_alerts import counted, run
from tests.factories import new_id, submit
from tests.harness.sharded import OpenShards, open_shards

M = AlertMeasure


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def shards(tmp_path: Path, clock: ManualClock) -> AsyncIterator[OpenShards]:
    opened = await open_shards(tmp_path, clock)
    yield opened
    await opened.close()


@pytest.fixture
def store(shards: OpenShards) -> Store:
    return ShardedStore(shards)


async def shut(shards: OpenShards, name: str) -> None:
    """Let a shard answer no more."""
    await shards.named(name).store.close()


async def created(store: Store, measure: AlertMeasure, threshold: float | str, **fields: Any) -> AlertRule:
    request = AlertRequest(name=fields.pop("name", measure.value), measure=measure, threshold=threshold, **fields)
    return await AlertService(store, new_id=new_id).create(request, tenant="default")


async def states(store: Store) -> dict[str, AlertState]:
    return {rule.name: rule.state for rule in await store.alerts.alerts(AlertFilter(), limit=99)}


async def submit_to(store: Store, shards: OpenShards, name: str) -> TaskId:
    """Submit until a task is in a shard, cancelling the others."""
    while shards.map.holder(task := await submit(store)) != name:
        await store.control.cancel([task])
    return task


async def test_the_oldest_task_of_the_others_fires_while_a_shard_is_away(
    store: Store, shards: OpenShards, clock: ManualClock
) -> None:
    await created(store, M.OLDEST_WAIT, "1m")
    await created(store, M.OLDEST_WAIT, "1h", name="not yet")
    await created(store, M.BACKLOG, 0, window="1m")
    await created(store, M.LATE_SCHEDULE, "1m")
    await submit_to(store, shards, DIRECTORY)
    await shards.directory.store.stats.sample_depth(apart_ms=0)
    clock.advance(70)
    await shards.directory.store.stats.sample_depth(apart_ms=0)
    await shut(shards, "pg1")

    assert await AlertEvaluator(store).pass_once() == 4

    assert await states(store) == {
        "oldest_wait": AlertState.FIRING,
        "not yet": AlertState.OK,
        "backlog": AlertState.FIRING,
        "late_schedule": AlertState.OK,
    }


async def test_a_rule_that_has_to_be_breached_for_a_while_is_pending_and_fires_without_the_shard(
    store: Store, shards: OpenShards, clock: ManualClock
) -> None:
    await created(store, M.OLDEST_WAIT, "1m", hold="1m")
    await submit_to(store, shards, DIRECTORY)
    clock.advance(70)
    await shut(shards, "pg1")
    evaluator = AlertEvaluator(store)

    await evaluator.pass_once()
    pending = await states(store)
    clock.advance(60)
    await evaluator.pass_once()

    assert (pending, await states(store)) == ({"oldest_wait": AlertState.PENDING}, {"oldest_wait": AlertState.FIRING})


async def test_nothing_is_resolved_by_a_part(store: Store, shards: OpenShards, clock: ManualClock) -> None:
    await created(store, M.OLDEST_WAIT, "1m")
    await created(store, M.BACKLOG, 0, window="1m")
    await created(store, M.FAILURE_RATE, 0.5, window="5m")
    await run(store, *[Act.FAIL] * 6)
    await counted(store)
    await submit_to(store, shards, "pg1")
    clock.advance(70)
    for shard in shards:
        await shard.store.stats.sample_depth(apart_ms=0)
    evaluator = AlertEvaluator(store)
    await evaluator.pass_once()
    before = await states(store)
    await shut(shards, "pg1")
    clock.advance(60)
    await evaluator.pass_once()

    assert set(before.values()) == {AlertState.FIRING}
    assert await states(store) == before


async def test_objectives_and_rules_that_have_to_wait_hold_up_no_other(
    store: Store, shards: OpenShards, clock: ManualClock
) -> None:
    await SloService(store, new_id=new_id).create(SloRequest(name="s", task="work", target=0.95), tenant="default")
    await created(store, M.FAILURE_RATE, 0.5)
    await created(store, M.OLDEST_WAIT, "1m")
    await submit_to(store, shards, DIRECTORY)
    clock.advance(70)
    await shut(shards, "pg1")
    evaluator = AlertEvaluator(store)

    with capture_logs() as logs:
        await evaluator.pass_once()
        clock.advance(70)
        await evaluator.pass_once()

    assert (await states(store))["oldest_wait"] is AlertState.FIRING
    assert [line["event"] for line in logs] == ["alerts.postponed"]
