"""API keys: what the stores keep of them."""

import asyncio

import pytest
from msgspec.structs import replace

from drumline.core.access import Permission, Role
from drumline.core.api_key import ApiKey, KeyId, KeySpec, KeyUse, NewKey, digest_of
from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.ports.access import KeyChange
from drumline.ports.store import Store
from tests.conformance.test_outbox import events_after, start
from tests.factories import new_id

SPEC = KeySpec(
    name="ada's laptop",
    role=Role.SUBMITTER,
    prefix="sk_live_abc123",
    scopes=(Permission.TASKS_READ,),
    names=("shop.*",),
    queues=("mail",),
    rate="10/1s",
    created_by="first",
)


def new_key(tenant: str | None = "acme", *, spec: KeySpec = SPEC, expires_at: Instant | None = None) -> NewKey:
    id_ = KeyId(new_id())
    return NewKey(id=id_, tenant=tenant, digest=digest_of(id_.encode()), spec=spec, expires_at=expires_at)


async def test_a_key_is_found_by_its_digest_with_everything_it_was_made_for(store: Store, clock: ManualClock) -> None:
    new = new_key(expires_at=Instant(clock.now() + 1000))

    added = await store.keys.add_key(new)
    found, unknown = await store.keys.find_keys([new.digest, digest_of(b"another")])

    assert found == added
    assert unknown is None
    assert (added.spec, added.tenant, added.digest) == (SPEC, "acme", new.digest)
    assert (added.created_at, added.expires_at) == (clock.now(), clock.now() + 1000)
    assert (added.is_enabled, added.revoked_at, added.uses, added.last_used_at) == (True, None, 0, None)


async def test_a_key_whose_answer_was_lost_is_kept_once(store: Store) -> None:
    new = new_key()

    first, again = await store.keys.add_key(new), await store.keys.add_key(new)

    assert first == again
    assert len(await store.keys.list_keys(limit=10)) == 1


async def test_a_key_can_be_disabled_and_enabled_again(store: Store) -> None:
    new = new_key()
    await store.keys.add_key(new)

    disabled = await store.keys.change_key(new.id, KeyChange(is_enabled=False))
    enabled = await store.keys.change_key(new.id, KeyChange(is_enabled=True))

    assert (disabled.is_enabled, enabled.is_enabled) == (False, True)
    assert (await store.keys.find_keys([new.digest])) == [enabled]


async def test_a_revocation_is_final_and_can_be_repeated(store: Store, clock: ManualClock) -> None:
    new = new_key()
    await store.keys.add_key(new)

    revoked = await store.keys.change_key(new.id, KeyChange(is_revoked=True))
    clock.advance(5)
    again = await store.keys.change_key(new.id, KeyChange(is_revoked=True))

    assert revoked == again
    assert revoked.revoked_at == clock.now() - 5000
    with pytest.raises(Conflict):
        await store.keys.change_key(new.id, KeyChange(is_enabled=True))
    with pytest.raises(Conflict):
        await store.keys.rotate_key(new.id, new_key(), overlap_ms=1000)


async def test_of_two_who_revoke_and_enable_at_once_the_revocation_holds(store: Store) -> None:
    new = new_key()
    await store.keys.add_key(new)

    await asyncio.gather(
        *(store.keys.change_key(new.id, KeyChange(is_enabled=True)) for _ in range(3)),
        store.keys.change_key(new.id, KeyChange(is_revoked=True)),
        *(store.keys.change_key(new.id, KeyChange(is_enabled=True)) for _ in range(3)),
        return_exceptions=True,
    )

    (key,) = await store.keys.find_keys([new.digest])
    assert key is not None
    assert key.revoked_at is not None


async def test_a_rotated_key_opens_beside_the_new_one_until_the_overlap_is_over(
    store: Store, clock: ManualClock
) -> None:
    old, new = new_key(), new_key()
    await store.keys.add_key(old)

    fresh = await store.keys.rotate_key(old.id, new, overlap_ms=60_000)

    (before,) = await store.keys.find_keys([old.digest])
    assert before is not None
    assert [key.refusal(clock.now()) for key in (before, fresh)] == [None, None]
    clock.advance(61)
    assert [key.refusal(clock.now()) for key in (before, fresh)] == ["the API key has expired", None]
    with pytest.raises(Conflict):
        await store.keys.rotate_key(old.id, new_key(), overlap_ms=1000)


async def test_a_rotation_never_makes_the_old_key_live_longer(store: Store, clock: ManualClock) -> None:
    old = new_key(expires_at=Instant(clock.now() + 1000))
    await store.keys.add_key(old)

    await store.keys.rotate_key(old.id, new_key(), overlap_ms=60_000)

    (key,) = await store.keys.find_keys([old.digest])
    assert key is not None
    assert key.expires_at == clock.now() + 1000


async def test_keys_are_listed_newest_first_and_each_tenant_sees_its_own(store: Store, clock: ManualClock) -> None:
    ours: list[ApiKey] = []
    for tenant in ("acme", "other", None, "acme"):
        clock.advance(1)
        ours.append(await store.keys.add_key(new_key(tenant)))

    assert await store.keys.list_keys(limit=10) == ours[::-1]
    assert await store.keys.list_keys(tenant="acme", limit=10) == [ours[3], ours[0]]
    assert await store.keys.list_keys(limit=2, before=ours[3].id) == [ours[2], ours[1]]


async def test_another_tenants_key_is_not_there(store: Store) -> None:
    new = new_key("acme")
    await store.keys.add_key(new)

    assert await store.keys.get_key(new.id, tenant="other") is None
    assert await store.keys.get_key(new.id, tenant="acme") is not None
    with pytest.raises(NotFound):
        await store.keys.change_key(new.id, KeyChange(is_revoked=True), tenant="other")
    with pytest.raises(NotFound):
        await store.keys.rotate_key(new.id, new_key(), overlap_ms=0, tenant="other")
    assert (await store.keys.find_keys([new.digest])) == [await store.keys.get_key(new.id)]


async def test_uses_add_up_from_every_server(store: Store) -> None:
    keys = [await store.keys.add_key(new_key()) for _ in range(20)]
    forth = [KeyUse(key.id, 2, Instant(1000)) for key in keys]
    back = [KeyUse(key.id, 3, Instant(900)) for key in reversed(keys)]

    await asyncio.gather(*(store.keys.note_uses(uses) for uses in (forth, back) * 5))

    for key in await store.keys.find_keys([key.digest for key in keys]):
        assert key is not None
        assert (key.uses, key.last_used_at) == (25, 1000)


async def test_the_use_of_a_key_that_is_gone_is_forgotten(store: Store) -> None:
    await store.keys.note_uses([KeyUse(KeyId(new_id()), 1, Instant(1))])

    assert await store.keys.list_keys(limit=10) == []


async def test_what_becomes_of_a_key_is_told_without_what_would_open_anything(store: Store) -> None:
    began = await start(store)
    old, new = new_key(), new_key(None, spec=replace(SPEC, replaces=KeyId(new_id())))
    await store.keys.add_key(old)
    await store.keys.add_key(old)
    await store.keys.change_key(old.id, KeyChange(is_enabled=False))
    await store.keys.change_key(old.id, KeyChange(is_enabled=False))
    await store.keys.change_key(old.id, KeyChange(is_enabled=True))
    await store.keys.rotate_key(old.id, new, overlap_ms=1000)
    await store.keys.change_key(old.id, KeyChange(is_revoked=True))
    await store.keys.change_key(old.id, KeyChange(is_revoked=True))

    events = await events_after(store, began)

    assert [(event.type, event.subject, event.tenant) for event in events] == [
        ("drumline.key.created", old.id, "acme"),
        ("drumline.key.disabled", old.id, "acme"),
        ("drumline.key.enabled", old.id, "acme"),
        ("drumline.key.rotated", new.id, ""),
        ("drumline.key.revoked", old.id, "acme"),
    ]
    for event in events:
        assert isinstance(event.data, dict)
        assert set(event.data) == {"id", "name", "prefix", "role", "tenant", "expires_at", "replaces"}
        assert old.digest.hex() not in str(event)
