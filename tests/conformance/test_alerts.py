"""Alert rules: each change of state is written once, with its event and its incident."""

import asyncio

import pytest

from drumline.core.alert import (
    MOST_INCIDENTS,
    MOST_RULES,
    AlertChange,
    AlertCondition,
    AlertId,
    AlertMeasure,
    AlertRule,
    AlertState,
    NewAlertRule,
    Severity,
    decide,
)
from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.ports.alerts import AlertFilter, IncidentFilter
from drumline.ports.store import Store
from tests.conformance.test_outbox import events_after
from tests.factories import new_id

RATE = AlertCondition(measure=AlertMeasure.FAILURE_RATE, threshold=0.1, window=300_000, severity=Severity.CRITICAL)


async def made(store: Store, name: str = "a", *, tenant: str = "acme") -> AlertRule:
    return await store.alerts.create_alert(NewAlertRule(id=AlertId(new_id()), tenant=tenant, name=name, condition=RATE))


async def told(store: Store) -> list[tuple[str, str]]:
    events = await events_after(store, 0)
    return [
        (event.type, event.data["name"])
        for event in events
        if event.type.startswith("drumline.alert.") and isinstance(event.data, dict)
    ]


async def fire(store: Store, clock: ManualClock, value: float | None = 0.5) -> list[bool]:
    """Evaluate what is due, as a scheduler does."""
    due = await store.alerts.due_alerts(limit=10)
    return await store.alerts.record_alerts([decide(rule, value, now=clock.now()) for rule in due])


async def test_a_rule_is_found_as_it_was_made(store: Store, clock: ManualClock) -> None:
    rule = await made(store)

    assert rule == AlertRule(
        id=rule.id, tenant="acme", name="a", condition=RATE, created_at=clock.now(), since=clock.now()
    )
    assert await store.alerts.alert(rule.id, tenant="acme") == rule
    assert await store.alerts.alert(rule.id, tenant="beta") is None
    assert await store.alerts.alerts(AlertFilter(tenant="acme"), limit=9) == [rule]
    assert await store.alerts.alerts(AlertFilter(tenant="beta"), limit=9) == []
    assert await store.alerts.alerts(AlertFilter(), limit=9, before=rule.id) == []


async def test_a_name_is_given_once_in_a_tenant(store: Store) -> None:
    rule = await made(store)
    other = await made(store, "b")
    await made(store, tenant="beta")

    with pytest.raises(Conflict):
        await made(store)
    with pytest.raises(Conflict):
        await store.alerts.change_alert(other.id, AlertChange(name="a"), tenant="acme")
    assert (await store.alerts.change_alert(rule.id, AlertChange(name="c"), tenant="acme")).name == "c"


async def test_a_tenant_has_so_many_rules_at_most(store: Store) -> None:
    for number in range(MOST_RULES):
        await made(store, str(number))

    with pytest.raises(Conflict, match="as many as there may be"):
        await made(store, "one more")


async def test_a_rule_is_handed_to_one_scheduler_at_a_time(store: Store, clock: ManualClock) -> None:
    rule = await made(store)

    first, second = await asyncio.gather(store.alerts.due_alerts(limit=5), store.alerts.due_alerts(limit=5))
    assert [each.id for each in (*first, *second)] == [rule.id]
    clock.advance(RATE.every / 1000 - 1)
    assert await store.alerts.due_alerts(limit=5) == []
    clock.advance(1)
    assert [each.id for each in await store.alerts.due_alerts(limit=5)] == [rule.id]


async def test_of_two_that_evaluated_the_same_turn_one_changes_the_state(store: Store, clock: ManualClock) -> None:
    rule = await made(store)
    step = decide(rule, 0.5, now=clock.now())

    answers = await asyncio.gather(*(store.alerts.record_alerts([step]) for _ in range(4)))

    assert sorted(answers) == [[False], [False], [False], [True]]
    assert await told(store) == [("drumline.alert.fired", "a")]
    assert len(await store.alerts.incidents(IncidentFilter(), limit=9)) == 1


async def test_an_incident_has_a_beginning_a_peak_and_an_end(store: Store, clock: ManualClock) -> None:
    rule = await made(store)
    begin = clock.now()
    await fire(store, clock, 0.2)
    for value in (0.7, 0.3):
        clock.advance(60)
        assert await fire(store, clock, value) == [True]
    assert await store.alerts.count_firing() == {Severity.CRITICAL: 1}
    assert [each.id for each in await store.alerts.alerts(AlertFilter(state=AlertState.FIRING), limit=9)] == [rule.id]

    clock.advance(60)
    await fire(store, clock, 0.05)

    (incident,) = await store.alerts.incidents(IncidentFilter(tenant="acme", rule=rule.id), limit=9)
    assert (incident.fired_at, incident.resolved_at) == (begin, clock.now())
    assert (incident.value, incident.peak, incident.reason) == (0.2, 0.7, None)
    assert await store.alerts.incidents(IncidentFilter(tenant="beta"), limit=9) == []
    assert await store.alerts.count_firing() == {}
    after = await store.alerts.alert(rule.id)
    assert after is not None
    assert (after.state, after.since, after.value) == (AlertState.RESOLVED, clock.now(), 0.05)
    assert await told(store) == [("drumline.alert.fired", "a"), ("drumline.alert.resolved", "a")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (AlertChange(is_enabled=False), "paused"),
        (AlertChange(condition=AlertCondition(measure=AlertMeasure.BACKLOG, threshold=5, window=60_000)), "changed"),
    ],
)
async def test_a_change_resolves_what_fires(store: Store, clock: ManualClock, change: AlertChange, reason: str) -> None:
    rule = await made(store)
    await fire(store, clock)
    clock.advance(60)
    (stale,) = await store.alerts.due_alerts(limit=5)

    changed = await store.alerts.change_alert(rule.id, change, tenant="acme")

    assert changed.state is AlertState.RESOLVED
    assert [each.reason for each in await store.alerts.incidents(IncidentFilter(), limit=9)] == [reason]
    assert await store.alerts.record_alerts([decide(stale, 0.9, now=clock.now())]) == [False]
    assert await told(store) == [("drumline.alert.fired", "a"), ("drumline.alert.resolved", "a")]


async def test_a_paused_rule_is_not_evaluated_until_it_is_resumed(store: Store) -> None:
    rule = await made(store)
    await store.alerts.change_alert(rule.id, AlertChange(is_enabled=False))
    assert await store.alerts.due_alerts(limit=5) == []

    resumed = await store.alerts.change_alert(rule.id, AlertChange(is_enabled=True))

    assert resumed.is_enabled
    assert [each.id for each in await store.alerts.due_alerts(limit=5)] == [rule.id]


async def test_a_mute_leaves_the_state_and_is_kept(store: Store, clock: ManualClock) -> None:
    rule = await made(store)
    await fire(store, clock)
    until = clock.now() + 5_000

    muted = await store.alerts.change_alert(rule.id, AlertChange(sets_mute=True, muted_until=until))  # type: ignore[arg-type]
    renamed = await store.alerts.change_alert(rule.id, AlertChange(name="b"))

    assert (muted.state, muted.muted_until) == (AlertState.FIRING, until)
    assert (renamed.state, renamed.muted_until, renamed.is_told) == (AlertState.FIRING, until, True)
    assert (await store.alerts.change_alert(rule.id, AlertChange(sets_mute=True))).muted_until is None


async def test_a_deleted_rule_is_resolved_and_leaves_nothing(store: Store, clock: ManualClock) -> None:
    rule = await made(store)
    await fire(store, clock)

    assert not await store.alerts.delete_alert(rule.id, tenant="beta")
    assert await store.alerts.delete_alert(rule.id, tenant="acme")
    assert not await store.alerts.delete_alert(rule.id, tenant="acme")

    assert await store.alerts.incidents(IncidentFilter(), limit=9) == []
    assert await told(store) == [("drumline.alert.fired", "a"), ("drumline.alert.resolved", "a")]
    with pytest.raises(NotFound):
        await store.alerts.change_alert(rule.id, AlertChange(name="b"))


async def test_the_latest_incidents_of_a_rule_are_kept(store: Store, clock: ManualClock) -> None:
    rule = await made(store)
    for _ in range(MOST_INCIDENTS + 3):
        await fire(store, clock, 0.5)
        clock.advance(60)
        await fire(store, clock, None)
        clock.advance(60)

    kept = await store.alerts.incidents(IncidentFilter(rule=rule.id), limit=1000)
    assert len(kept) == MOST_INCIDENTS
    assert kept[0].fired_at == clock.now() - 120_000
    page = await store.alerts.incidents(IncidentFilter(), limit=2, before=(kept[0].fired_at, rule.id))
    assert page == kept[1:3]
