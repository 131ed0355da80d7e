"""Service level objectives: counted by the hour, once for each hour however often."""

import pytest

from drumline.core.alert import AlertId, SloId
from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.core.slo import (
    DAY,
    HOUR,
    HourTally,
    NewSlo,
    Objective,
    Slo,
    SloChange,
    SloCount,
    SloDefinition,
    Tally,
    burn_rules,
)
from drumline.ports.alerts import AlertFilter, SloFilter
from drumline.ports.store import Store
from tests.factories import new_id

SUCCESS = SloDefinition(task="charge", objective=Objective.SUCCESS, target=0.99, period=7 * DAY)


async def made(store: Store, name: str = "s", *, tenant: str = "acme") -> Slo:
    id_ = SloId(new_id())
    rules = burn_rules(id_, name, SUCCESS, tenant=tenant, ids=(new_id(), new_id()))
    return await store.slos.create_slo(NewSlo(id=id_, tenant=tenant, name=name, definition=SUCCESS, rules=rules))


def counted(slo: Slo, *hours: HourTally, until: int = 0, fast: float | None = None) -> SloCount:
    return SloCount(slo=slo, hours=hours, counted_until=Instant(until), burn_fast=fast, burn_slow=None)


async def test_an_objective_is_found_with_its_rules(store: Store) -> None:
    slo = await made(store)

    assert await store.slos.slo(slo.id, tenant="acme") == slo
    assert await store.slos.slo(slo.id, tenant="beta") is None
    assert await store.slos.slos(SloFilter(tenant="acme", name="s", task="charge"), limit=9) == [slo]
    assert await store.slos.slos(SloFilter(tenant="acme", task="other"), limit=9) == []
    rules = await store.alerts.alerts(AlertFilter(slo=slo.id), limit=9)
    assert sorted(rule.name for rule in rules) == ["s: fast burn", "s: slow burn"]
    with pytest.raises(Conflict):
        await made(store)


async def test_nothing_of_an_objective_is_kept_if_the_name_of_a_rule_is_taken(store: Store) -> None:
    slo = await made(store)
    renamed = await store.slos.change_slo(slo.id, SloChange(name="t"))
    assert renamed.name == "t"

    with pytest.raises(Conflict):
        await made(store)
    assert await store.slos.slos(SloFilter(tenant="acme"), limit=9) == [renamed]


async def test_an_hour_counted_again_is_counted_once(store: Store, clock: ManualClock) -> None:
    slo = await made(store)
    this = Instant(clock.now() - clock.now() % HOUR)
    last = Instant(this - HOUR)

    await store.slos.record_slos([counted(slo, HourTally(last, Tally(9, 10)), HourTally(this, Tally(1, 1)))])
    await store.slos.record_slos([counted(slo, HourTally(this, Tally(3, 5)), until=this, fast=2.5)])

    assert await store.slos.slo_hours(slo.id, since=last) == [
        HourTally(last, Tally(9, 10)),
        HourTally(this, Tally(3, 5)),
    ]
    assert await store.slos.slo_tallies([slo], now=clock.now()) == {slo.id: Tally(12, 15)}
    found = await store.slos.slo(slo.id)
    assert found is not None
    assert (found.counted_until, found.counted_at, found.burn_fast) == (this, clock.now(), 2.5)


async def test_only_the_period_counts(store: Store, clock: ManualClock) -> None:
    slo = await made(store)
    old = Instant(clock.now() - 8 * DAY)
    await store.slos.record_slos([counted(slo, HourTally(old, Tally(0, 10)), HourTally(clock.now(), Tally(1, 1)))])

    assert await store.slos.slo_tallies([slo], now=clock.now()) == {slo.id: Tally(1, 1)}


async def test_what_was_counted_for_another_definition_is_not_kept(store: Store, clock: ManualClock) -> None:
    slo = await made(store)
    await store.slos.record_slos([counted(slo, HourTally(clock.now(), Tally(1, 1)))])
    other = SloDefinition(task="charge", objective=Objective.START, within=5_000, target=0.9, period=DAY)

    changed = await store.slos.change_slo(slo.id, SloChange(definition=other))
    await store.slos.record_slos([counted(slo, HourTally(clock.now(), Tally(1, 1)))])

    assert changed.definition == other
    assert await store.slos.slo_hours(slo.id, since=Instant(0)) == []


async def test_an_objective_is_counted_by_one_scheduler_at_a_time(store: Store, clock: ManualClock) -> None:
    slo = await made(store)

    assert [each.id for each in await store.slos.due_slos(limit=9, every_ms=60_000)] == [slo.id]
    assert await store.slos.due_slos(limit=9, every_ms=60_000) == []
    clock.advance(60)
    assert [each.id for each in await store.slos.due_slos(limit=9, every_ms=60_000)] == [slo.id]


async def test_an_objective_goes_with_its_rules_and_hours(store: Store, clock: ManualClock) -> None:
    slo = await made(store)
    await store.slos.record_slos([counted(slo, HourTally(clock.now(), Tally(1, 1)))])
    rule = (await store.alerts.alerts(AlertFilter(), limit=9))[0]

    assert not await store.slos.delete_slo(slo.id, tenant="beta")
    assert await store.slos.delete_slo(slo.id, tenant="acme")

    assert await store.slos.slo(slo.id) is None
    assert await store.alerts.alert(AlertId(rule.id)) is None
    assert await store.slos.slo_hours(slo.id, since=Instant(0)) == []
    with pytest.raises(NotFound):
        await store.slos.change_slo(slo.id, SloChange(name="x"))
