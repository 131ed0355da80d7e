"""The duty that evaluates alerts and objectives, in virtual time, on every store."""

import asyncio
from typing import Any

import pytest

from drumline.core.accept_alert import AlertRequest
from drumline.core.accept_slo import SloRequest
from drumline.core.alert import AlertMeasure, AlertRule, AlertState
from drumline.core.clock import ManualClock
from drumline.core.metrics import Metrics
from drumline.core.slo import Objective, Tally
from drumline.core.state import Act
from drumline.engine.alerts import AlertService, SloService
from drumline.ports.alerts import AlertFilter, IncidentFilter
from drumline.ports.store import Store
from drumline.scheduler.alerts import AlertEvaluator
from tests.conformance.test_alerts import told
from tests.factories import claim_one, new_id, open_session, settle, submit
from tests.schedule_factories import add, fire

M = AlertMeasure


async def created(store: Store, measure: AlertMeasure, threshold: float | str, **fields: Any) -> AlertRule:
    request = AlertRequest(name=measure.value, measure=measure, threshold=threshold, **fields)
    return await AlertService(store, new_id=new_id).create(request, tenant="default")


async def evaluated(store: Store, rule: AlertRule) -> AlertRule:
    """Count what happened, let the duty pass, and return the rule."""
    await counted(store)
    await AlertEvaluator(store).pass_once()
    found = await store.alerts.alert(rule.id)
    assert found is not None
    return found


async def counted(store: Store) -> None:
    await store.events.sequence()
    while (await store.stats.gather_stats(limit=1000)).rows:
        await store.events.sequence()


async def run(store: Store, *acts: Act, name: str = "work", clock: ManualClock | None = None, took: float = 0) -> None:
    session = await open_session(store, name)
    for act in acts:
        await submit(store, name)
        task = await claim_one(store, session, name)
        if clock is not None:
            clock.advance(took)
        await settle(store, task.lease, act)


async def test_a_failure_rate_is_that_of_the_window_and_of_the_scope(store: Store, clock: ManualClock) -> None:
    rule = await created(store, M.FAILURE_RATE, "20%", window="5m", task="work")
    await run(store, Act.FAIL, Act.COMPLETE, Act.COMPLETE, Act.COMPLETE)
    await run(store, *[Act.COMPLETE] * 4, name="other")

    firing = await evaluated(store, rule)
    clock.advance(10 * 60)
    later = await evaluated(store, rule)

    assert (firing.state, firing.value) == (AlertState.FIRING, 0.25)
    assert (later.state, later.value) == (AlertState.RESOLVED, None)


async def test_fewer_tasks_than_needed_breach_nothing(store: Store) -> None:
    rule = await created(store, M.FAILURE_RATE, 0.5, least=3)
    await run(store, Act.FAIL, Act.FAIL)
    assert (await evaluated(store, rule)).value is None


async def test_the_tasks_of_other_tenants_do_not_count(store: Store) -> None:
    rule = await created(store, M.FAILURE_RATE, 0.5)
    session = await open_session(store, "work")
    await submit(store, tenant="acme")
    await settle(store, (await claim_one(store, session, "work")).lease, Act.FAIL)

    assert (await evaluated(store, rule)).value is None


async def test_a_latency_is_the_95th_percentile(store: Store, clock: ManualClock) -> None:
    rule = await created(store, M.RUN_P95, "10s", window="15m")
    await run(store, *[Act.COMPLETE] * 10, clock=clock, took=20)

    firing = await evaluated(store, rule)

    assert firing.state is AlertState.FIRING
    assert firing.value == pytest.approx(29.0)  # of the class from 10 s to 30 s


async def test_a_backlog_is_the_mean_of_its_samples(store: Store) -> None:
    rule = await created(store, M.BACKLOG, 2, window="1m", queue="default")
    for _ in range(4):
        await submit(store)
    await submit(store, queue="elsewhere")
    await store.stats.sample_depth(apart_ms=0)

    assert (await evaluated(store, rule)).value == 4
    assert (await evaluated(store, rule)).state is AlertState.FIRING


async def test_the_oldest_task_is_the_one_that_is_due_for_longest(store: Store, clock: ManualClock) -> None:
    rule = await created(store, M.OLDEST_WAIT, "1m", queue="default")
    session = await open_session(store, "work")
    await submit(store)
    clock.advance(30)
    await submit(store, "other")
    await submit(store, delay="1h")

    clock.advance(40)
    firing = await evaluated(store, rule)
    await claim_one(store, session, "work")
    clock.advance(15)
    resolved = await evaluated(store, rule)

    assert (firing.state, firing.value) == (AlertState.FIRING, 70.0)
    assert (resolved.state, resolved.value) == (AlertState.RESOLVED, 55.0)


async def test_a_rule_without_anything_that_waits_is_ok(store: Store) -> None:
    assert (await evaluated(store, await created(store, M.OLDEST_WAIT, 0))).value == 0
    assert (await evaluated(store, await created(store, M.LATE_SCHEDULE, 0))).value == 0


async def test_a_schedule_is_late_until_its_fire_has_begun(store: Store, clock: ManualClock) -> None:
    await add(store, clock, "nightly")
    rule = await created(store, M.LATE_SCHEDULE, "5s", schedule="nightly")
    other = await created_other(store)
    session = await open_session(store, "work")
    clock.advance(50)  # it fires at the full minute, after 40 seconds

    unfired = await evaluated(store, rule)
    await fire(store)
    clock.advance(15)
    waits = await evaluated(store, rule)
    await claim_one(store, session, "work")
    clock.advance(15)
    begun = await evaluated(store, rule)

    assert (unfired.state, unfired.value) == (AlertState.FIRING, 10.0)
    assert (waits.state, waits.value) == (AlertState.FIRING, 15.0)  # since its task is due
    assert (begun.state, begun.value) == (AlertState.RESOLVED, 0)
    assert (await evaluated(store, other)).state is AlertState.OK


async def created_other(store: Store) -> AlertRule:
    request = AlertRequest(name="other", measure=M.LATE_SCHEDULE, threshold="5s", schedule="weekly")
    return await AlertService(store, new_id=new_id).create(request, tenant="default")


async def test_many_schedulers_tell_of_each_change_once(store: Store, clock: ManualClock) -> None:
    rule = await created(store, M.FAILURE_RATE, 0.5)
    await run(store, Act.FAIL)
    await counted(store)
    for _ in range(4):
        await asyncio.gather(*(AlertEvaluator(store).pass_once() for _ in range(3)))
        clock.advance(15)
    clock.advance(600)
    await asyncio.gather(*(AlertEvaluator(store).pass_once() for _ in range(3)))

    assert await told(store) == [
        ("drumline.alert.fired", "failure_rate"),
        ("drumline.alert.resolved", "failure_rate"),
    ]
    assert len(await store.alerts.incidents(IncidentFilter(rule=rule.id), limit=9)) == 1


async def test_the_metric_counts_what_fires_by_severity(store: Store) -> None:
    metrics = Metrics()
    await created(store, M.FAILURE_RATE, 0.5)
    await run(store, Act.FAIL)
    await counted(store)

    await AlertEvaluator(store, metrics=metrics).pass_once()

    assert metrics.alerts_firing.values == {("critical",): 0, ("warning",): 1, ("info",): 0}


async def test_an_objective_is_counted_from_before_it_was_made(store: Store, clock: ManualClock) -> None:
    await run(store, Act.FAIL, *[Act.COMPLETE] * 9)
    await counted(store)
    clock.advance(2 * 3600)
    service = SloService(store, new_id=new_id)
    made = await service.create(SloRequest(name="s", task="work", target=0.95), tenant="default")
    await run(store, *[Act.COMPLETE] * 10)
    await counted(store)

    await AlertEvaluator(store).pass_once()
    found = await service.get(made.slo.id)

    assert found.tally == Tally(19, 20)
    assert found.tally.budget_left(0.05) == pytest.approx(0.0)
    assert found.slo.burn_fast == 0.0
    assert found.slo.burn_slow == pytest.approx(1.0)
    assert found.points is not None
    assert sum(point.tally.total for point in found.points) == 20


async def test_an_objective_of_starts_counts_those_in_time(store: Store, clock: ManualClock) -> None:
    session = await open_session(store, "work")
    for wait in (1, 1, 9):
        await submit(store)
        clock.advance(wait)
        await settle(store, (await claim_one(store, session, "work")).lease, Act.COMPLETE)
    service = SloService(store, new_id=new_id)
    request = SloRequest(name="s", task="work", target=0.9, objective=Objective.START, within="5s", period="7d")
    made = await service.create(request, tenant="default")
    await counted(store)
    await AlertEvaluator(store).pass_once()

    assert (await service.get(made.slo.id)).tally == Tally(2, 3)


async def test_a_burn_fires_only_while_both_windows_burn(store: Store, clock: ManualClock) -> None:
    service = SloService(store, new_id=new_id)
    made = await service.create(SloRequest(name="s", task="work", target=0.99), tenant="default")
    await run(store, *[Act.FAIL] * 5, *[Act.COMPLETE] * 5)
    await counted(store)
    await AlertEvaluator(store).pass_once()
    states = await burning(store, made.slo.id)
    clock.advance(15 * 60)  # the short window of an hour has passed, the long one has not
    await run(store, *[Act.COMPLETE] * 2)
    await counted(store)
    await AlertEvaluator(store).pass_once()

    assert states == {"s: fast burn": AlertState.FIRING, "s: slow burn": AlertState.FIRING}
    assert (await burning(store, made.slo.id))["s: fast burn"] is AlertState.RESOLVED


async def burning(store: Store, slo: Any) -> dict[str, AlertState]:
    return {rule.name: rule.state for rule in await store.alerts.alerts(AlertFilter(slo=slo), limit=9)}
