"""Tenants and what they may have."""

import pytest

from drumline.core.clock import ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.core.tenant import NO_QUOTAS, Quotas, Tenant
from drumline.ports.store import Store
from tests.factories import submit

QUOTAS = Quotas(queued=10, payload_bytes=1000, schedules=3)


async def test_a_tenant_is_kept_with_its_quotas(store: Store, clock: ManualClock) -> None:
    added = await store.tenants.add_tenant("acme", QUOTAS)

    assert added == Tenant(name="acme", created_at=clock.now(), quotas=QUOTAS)
    assert await store.tenants.find_tenants(["other", "acme"]) == [None, added]
    assert await store.tenants.list_tenants(limit=10) == [added]


async def test_there_is_one_tenant_of_a_name(store: Store) -> None:
    await store.tenants.add_tenant("acme", QUOTAS)

    with pytest.raises(Conflict):
        await store.tenants.add_tenant("acme", NO_QUOTAS)
    with pytest.raises(Conflict):
        await store.tenants.add_tenant("default", NO_QUOTAS)

    assert [tenant.quotas for tenant in await store.tenants.list_tenants(limit=10)] == [QUOTAS]


async def test_quotas_are_changed_and_taken_away(store: Store) -> None:
    await store.tenants.add_tenant("acme", QUOTAS)

    changed = await store.tenants.change_tenant("acme", Quotas(queued=5))

    assert changed.quotas == Quotas(queued=5)
    assert await store.tenants.find_tenants(["acme"]) == [changed]
    with pytest.raises(NotFound):
        await store.tenants.change_tenant("other", QUOTAS)


async def test_the_default_tenant_can_have_quotas_though_nobody_made_it(store: Store) -> None:
    changed = await store.tenants.change_tenant("default", QUOTAS)

    assert await store.tenants.find_tenants(["default"]) == [changed]
    assert (await store.tenants.change_tenant("default", NO_QUOTAS)).quotas == NO_QUOTAS


async def test_tenants_are_listed_by_name_in_pages(store: Store) -> None:
    for name in ("c", "a", "b"):
        await store.tenants.add_tenant(name, NO_QUOTAS)

    first = await store.tenants.list_tenants(limit=2)
    rest = await store.tenants.list_tenants(limit=2, after="b")

    assert [tenant.name for tenant in (*first, *rest)] == ["a", "b", "c"]


async def test_what_waits_is_counted_for_each_tenant_and_no_further_than_asked(store: Store) -> None:
    for number in range(10):
        await submit(store, f"work{number % 3}", tenant="acme", delay=number % 2)
    await submit(store, tenant="other")

    assert await store.tenants.count_queued("acme", most=100) == 10
    assert await store.tenants.count_queued("acme", most=4) == 4
    assert await store.tenants.count_queued("other", most=100) == 1
    assert await store.tenants.count_queued("nobody", most=100) == 0


async def test_a_tenant_without_schedules_has_none(store: Store) -> None:
    assert await store.tenants.count_schedules("acme") == 0
