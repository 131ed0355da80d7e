"""Secrets as the store keeps them: sealed, by tenant and name."""

from drumline.core.clock import ManualClock
from drumline.core.secret import SealedSecret, SecretView
from drumline.ports.secrets import Resealed
from drumline.ports.store import Store


def sealed(name: str, value: bytes = b"sealed", *, tenant: str = "acme", key_id: str = "old") -> SealedSecret:
    return SealedSecret(tenant=tenant, name=name, key_id=key_id, sealed=value)


async def test_a_secret_is_kept_as_it_was_sealed(store: Store, clock: ManualClock) -> None:
    put = await store.secrets.put_secret(sealed("api", bytes(range(256))))

    assert put.created
    assert put.secret == SecretView(
        tenant="acme", name="api", version=1, key_id="old", created_at=clock.now(), updated_at=clock.now()
    )
    assert await store.secrets.find_secrets(["other", "api"], tenant="acme") == [None, sealed("api", bytes(range(256)))]


async def test_a_value_that_is_set_again_replaces_the_one_before(store: Store, clock: ManualClock) -> None:
    first = await store.secrets.put_secret(sealed("api", b"first"))
    clock.advance(60)

    again = await store.secrets.put_secret(sealed("api", b"second", key_id="new"))

    assert not again.created
    assert (again.secret.version, again.secret.key_id) == (2, "new")
    assert (again.secret.created_at, again.secret.updated_at) == (first.secret.created_at, clock.now())
    assert await store.secrets.find_secrets(["api"], tenant="acme") == [sealed("api", b"second", key_id="new")]


async def test_a_tenants_secrets_are_its_own(store: Store) -> None:
    await store.secrets.put_secret(sealed("api", b"acme's"))
    await store.secrets.put_secret(sealed("api", b"beta's", tenant="beta"))

    assert await store.secrets.find_secrets(["api"], tenant="beta") == [sealed("api", b"beta's", tenant="beta")]
    assert [secret.tenant for secret in await store.secrets.list_secrets(tenant="acme", limit=10)] == ["acme"]
    assert await store.secrets.count_secrets("acme") == 1
    assert await store.secrets.delete_secret("api", tenant="beta")
    assert await store.secrets.find_secrets(["api"], tenant="acme") == [sealed("api", b"acme's")]


async def test_secrets_are_listed_by_tenant_and_name_in_pages(store: Store) -> None:
    for tenant, name in (("b", "a"), ("a", "z"), ("a", "y"), ("c", "a")):
        await store.secrets.put_secret(sealed(name, tenant=tenant))

    first = await store.secrets.list_secrets(limit=3)
    rest = await store.secrets.list_secrets(limit=3, after=(first[-1].tenant, first[-1].name))

    assert [(one.tenant, one.name) for one in (*first, *rest)] == [("a", "y"), ("a", "z"), ("b", "a"), ("c", "a")]


async def test_a_deleted_secret_is_gone_and_can_be_set_anew(store: Store) -> None:
    await store.secrets.put_secret(sealed("api"))

    assert await store.secrets.delete_secret("api", tenant="acme")

    assert not await store.secrets.delete_secret("api", tenant="acme")
    assert await store.secrets.find_secrets(["api"], tenant="acme") == [None]
    assert (await store.secrets.put_secret(sealed("api"))).secret.version == 1


async def test_what_is_sealed_with_another_key_is_found_and_sealed_anew(store: Store) -> None:
    await store.secrets.put_secret(sealed("a"))
    await store.secrets.put_secret(sealed("b", key_id="new"))
    await store.secrets.put_secret(sealed("c", tenant="beta"))

    found = await store.secrets.sealed_otherwise("new", limit=10)
    changed = await store.secrets.reseal_secrets(
        [Resealed(old, sealed(old.name, b"anew", tenant=old.tenant, key_id="new")) for old in found]
    )

    assert [(old.tenant, old.name) for old in found] == [("acme", "a"), ("beta", "c")]
    assert changed == 2
    assert await store.secrets.sealed_otherwise("new", limit=10) == []
    (view, *_) = await store.secrets.list_secrets(tenant="acme", limit=10)
    assert (view.key_id, view.version) == ("new", 1)


async def test_pages_of_what_is_sealed_otherwise_go_on_behind_the_last(store: Store) -> None:
    for name in ("a", "b", "c"):
        await store.secrets.put_secret(sealed(name))

    page = await store.secrets.sealed_otherwise("new", limit=2)
    rest = await store.secrets.sealed_otherwise("new", limit=2, after=(page[-1].tenant, page[-1].name))

    assert [one.name for one in (*page, *rest)] == ["a", "b", "c"]


async def test_a_value_that_was_set_meanwhile_is_not_overwritten_by_sealing_anew(store: Store) -> None:
    await store.secrets.put_secret(sealed("api", b"before"))
    (old,) = await store.secrets.sealed_otherwise("new", limit=10)
    await store.secrets.put_secret(sealed("api", b"meanwhile"))

    assert await store.secrets.reseal_secrets([Resealed(old, sealed("api", b"before, anew", key_id="new"))]) == 0
    assert await store.secrets.find_secrets(["api"], tenant="acme") == [sealed("api", b"meanwhile")]


async def test_facts_about_secrets_name_them_and_say_nothing_more(store: Store) -> None:
    await store.secrets.put_secret(sealed("api", b"in the dark"))
    await store.secrets.delete_secret("api", tenant="acme")

    while await store.events.sequence():
        pass
    events = (await store.events.read_events(after=0, limit=100)).events

    assert [(event.type, event.subject, event.tenant, event.data) for event in events] == [
        ("drumline.secret.set", "api", "acme", {}),
        ("drumline.secret.deleted", "api", "acme", {}),
    ]
