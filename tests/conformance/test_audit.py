"""The audit log: a chain for each tenant that shows whether anybody has touched it."""

import asyncio

from drumline.core.audit import AuditEntry, AuditHead, AuditRow, Fault, Phase, Verifier
from drumline.core.clock import ManualClock
from drumline.ports.access import AuditFilter
from drumline.ports.store import Store
from tests.conformance.conftest import MakeStore
from tests.factories import new_id

ALL = AuditFilter()


def entry(tenant: str = "acme", act: str = "queue.pause", *, asks: str | None = None, key: str = "first") -> AuditEntry:
    return AuditEntry(
        id=new_id(),
        tenant=tenant,
        act=act,
        phase=Phase.DONE if asks else Phase.ASKED,
        target="/api/v1/queues/mail/pause",
        key=key,
        key_name="ada",
        address="192.0.2.7",
        reason='provider is down "again" \u2713',
        asks=asks,
        after={"is_paused": True, "n": [1, 2.5, None]},
    )


async def verified(store: Store, tenant: str = "acme") -> tuple[AuditHead, Fault | None]:
    verifier = Verifier(tenant)
    after = 0
    while rows := await store.audit.audit_chain(tenant, after=after, limit=3):
        verifier.follow(rows)
        after = rows[-1].seq
    heads = await store.audit.audit_heads(tenant=tenant)
    return verifier.head, verifier.close(heads[0] if heads else None)


async def test_rows_are_chained_in_order_at_the_stores_time(store: Store, clock: ManualClock) -> None:
    rows = await store.audit.append_audit([entry(), entry()])
    clock.advance(1)
    rows += await store.audit.append_audit([entry(act="queue.resume")])

    assert [row.seq for row in rows] == [1, 2, 3]
    assert await store.audit.audit_chain("acme", after=0, limit=10) == rows
    assert rows[2].content.act == "queue.resume"
    assert rows[2].content.at == clock.now()
    assert rows[0].content.after == {"is_paused": True, "n": [1, 2.5, None]}
    assert await verified(store) == (AuditHead("acme", 3, rows[2].hash), None)


async def test_each_tenant_has_a_chain_of_its_own(store: Store) -> None:
    await store.audit.append_audit([entry("acme"), entry("other"), entry("acme")])

    assert [row.seq for row in await store.audit.audit_chain("acme", after=0, limit=10)] == [1, 2]
    assert [row.seq for row in await store.audit.audit_chain("other", after=0, limit=10)] == [1]
    assert [(head.tenant, head.count) for head in await store.audit.audit_heads()] == [("acme", 2), ("other", 1)]
    assert [head.tenant for head in await store.audit.audit_heads(tenant="other")] == ["other"]


async def test_an_entry_whose_answer_was_lost_is_written_once(store: Store) -> None:
    lost = entry()

    (first,) = await store.audit.append_audit([lost])
    again, new = await store.audit.append_audit([lost, entry()])

    assert (first, new.seq) == (again, 2)
    assert await verified(store) == (AuditHead("acme", 2, new.hash), None)


async def test_many_writers_at_once_make_one_chain(make_store: MakeStore, store: Store, clock: ManualClock) -> None:
    other = await make_store(clock)
    stores = [store, other] if await _share(store, other) else [store]

    await asyncio.gather(
        *(stores[n % len(stores)].audit.append_audit([entry("acme"), entry(f"t{n % 3}")]) for n in range(40))
    )

    head, fault = await verified(store)
    assert (head.count, fault) == (40, None)
    assert [(await verified(store, f"t{n}"))[1] for n in range(3)] == [None, None, None]
    await other.close()


async def _share(one: Store, other: Store) -> bool:
    """Tell whether two stores are on the same data: not if each has a memory of its own."""
    await one.audit.append_audit([entry("shared")])
    return bool(await other.audit.audit_heads(tenant="shared"))


async def test_the_log_is_listed_newest_first_and_what_was_asked_only_while_nobody_answered(store: Store) -> None:
    asked, lost, alien = entry(act="task.cancel"), entry(key="k7"), entry("other")
    done = entry(act="task.cancel", asks=asked.id)
    await store.audit.append_audit([asked, lost, alien, done])

    def ids(rows: list[AuditRow]) -> list[str]:
        return [row.id for row in rows]

    assert ids(await store.audit.list_audit(ALL, limit=10)) == [done.id, alien.id, lost.id]
    assert ids(await store.audit.list_audit(AuditFilter(every=True), limit=10)) == [
        done.id,
        alien.id,
        lost.id,
        asked.id,
    ]
    assert ids(await store.audit.list_audit(AuditFilter(tenant="acme"), limit=10)) == [done.id, lost.id]
    assert ids(await store.audit.list_audit(AuditFilter(act="task.cancel"), limit=10)) == [done.id]
    assert ids(await store.audit.list_audit(AuditFilter(key="k7"), limit=10)) == [lost.id]
    assert ids(await store.audit.list_audit(AuditFilter(target="/nowhere"), limit=10)) == []
    assert ids(await store.audit.list_audit(ALL, limit=1, before=done.id)) == [alien.id]


async def test_the_log_is_narrowed_by_time(store: Store, clock: ManualClock) -> None:
    (early,) = await store.audit.append_audit([entry()])
    clock.advance(10)
    (late,) = await store.audit.append_audit([entry()])

    assert await store.audit.list_audit(AuditFilter(since=clock.now()), limit=10) == [late]
    assert await store.audit.list_audit(AuditFilter(until=clock.now()), limit=10) == [early]
