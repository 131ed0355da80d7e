"""What people decide about failure groups."""

import asyncio

from drumline.core.clock import Instant, ManualClock
from drumline.core.outcome import ErrorInfo
from drumline.core.triage import Decision, Triage, TriageChange
from drumline.ports.dead_letters import DeadLetterFilter, Trend
from drumline.ports.store import Store
from tests.conformance.test_dead_letters import fail

ONE = "0123456789ab"
OTHER = "ba9876543210"


async def test_what_is_not_named_stays(store: Store, clock: ManualClock) -> None:
    noted = await store.triages.change_triage(ONE, TriageChange(sets_note=True, note="a\nb"), tenant="acme")
    clock.advance(60)
    resolved = await store.triages.change_triage(ONE, TriageChange(decision=Decision.RESOLVED, by="ada"), tenant="acme")
    decided = clock.now()
    clock.advance(60)
    owned = await store.triages.change_triage(ONE, TriageChange(sets_owner=True, owner="bo"), tenant="acme")

    assert (noted.decision, noted.decided_at, noted.note) == (Decision.OPEN, None, "a\nb")
    assert (resolved.decision, resolved.note) == (Decision.RESOLVED, "a\nb")
    assert owned == Triage(
        fingerprint=ONE, decision=Decision.RESOLVED, decided_at=decided, decided_by="ada", until=None, note="a\nb",
        owner="bo",
    )  # fmt: skip
    assert await store.triages.find_triages([ONE, OTHER], tenant="acme") == {ONE: owned}


async def test_a_new_decision_replaces_the_one_before_with_its_time(store: Store, clock: ManualClock) -> None:
    until = Instant(clock.now() + 5_000)
    await store.triages.change_triage(ONE, TriageChange(decision=Decision.IGNORED, until=until), tenant="acme")
    opened = await store.triages.change_triage(ONE, TriageChange(decision=Decision.OPEN), tenant="acme")

    assert (opened.decision, opened.until) == (Decision.OPEN, None)


async def test_a_note_is_taken_away_by_none(store: Store) -> None:
    await store.triages.change_triage(
        ONE, TriageChange(sets_note=True, note="x", sets_owner=True, owner="bo"), tenant="acme"
    )

    changed = await store.triages.change_triage(ONE, TriageChange(sets_note=True), tenant="acme")

    assert (changed.note, changed.owner) == (None, "bo")


async def test_a_tenants_decisions_are_its_own(store: Store) -> None:
    await store.triages.change_triage(ONE, TriageChange(decision=Decision.RESOLVED), tenant="acme")

    assert await store.triages.find_triages([ONE], tenant="beta") == {}


async def test_many_changes_at_once_are_all_kept(store: Store) -> None:
    await asyncio.gather(
        store.triages.change_triage(ONE, TriageChange(sets_note=True, note="n"), tenant="acme"),
        store.triages.change_triage(ONE, TriageChange(sets_owner=True, owner="o"), tenant="acme"),
        store.triages.change_triage(ONE, TriageChange(decision=Decision.ACKNOWLEDGED), tenant="acme"),
    )

    found = (await store.triages.find_triages([ONE], tenant="acme"))[ONE]
    assert (found.note, found.owner, found.decision) == ("n", "o", Decision.ACKNOWLEDGED)


async def test_a_trend_counts_the_failures_of_each_stretch(store: Store, clock: ManualClock) -> None:
    begin = clock.now()
    for wait in (0, 0, 10, 0, 10):
        clock.advance(wait)
        await fail(store)
    await fail(store, error=ErrorInfo("KeyError", "'x'"))
    groups = await store.dead_letters.dead_letter_groups(DeadLetterFilter(kind="ValueError"), limit=9)
    fingerprint = groups[0].fingerprint

    async def trend(most: int = 100, since: Instant = begin, tenant: str | None = None) -> list[int] | None:
        wanted = Trend(since=since, step=10_000, count=3, most=most)
        return (await store.dead_letters.group_trends([fingerprint], wanted, tenant=tenant)).get(fingerprint)

    assert groups[0].count == 5
    assert await trend() == [2, 2, 1]
    assert await trend(most=1) == [1, 1, 1]
    assert await trend(since=Instant(begin + 10_000)) == [2, 1, 0]
    assert await trend(since=Instant(begin + 60_000)) is None
    assert await trend(tenant="acme") is None
