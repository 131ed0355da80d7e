"""Who is told of what: standing orders and their secrets."""

from typing import Any

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.errors import Conflict, NotFound
from drumline.core.signing import SigningSecret
from drumline.core.subscription import EventFilter, NewSubscription, Subscription, SubscriptionChange, SubscriptionId
from drumline.core.target import Target, TargetKind
from drumline.ports.store import Store
from tests.factories import new_id

HOOK = Target(TargetKind.WEBHOOK, "https://hooks.example/7")
ADA = Target(TargetKind.EMAIL, "ada@example.org")
SECRETS = (SigningSecret("whsec_bmV3"), SigningSecret("whsec_b2xk", Instant(9)))


async def subscribe(store: Store, name: str = "alerts", **fields: Any) -> Subscription:
    return await store.subscriptions.create_subscription(new_subscription(name, **fields))


def new_subscription(name: str = "alerts", **fields: Any) -> NewSubscription:
    usual = {"tenant": "default", "filter": EventFilter(), "target": HOOK}
    return NewSubscription(id=SubscriptionId(new_id()), name=name, **{**usual, **fields})


async def test_a_subscription_is_kept_as_it_was_made(store: Store, clock: ManualClock) -> None:
    wanted = EventFilter(events=("drumline.task.failed",), task="charge", queue="billing", job="j", tag="vip")

    made = await subscribe(store, filter=wanted, target=ADA)

    assert made == Subscription(
        id=made.id, tenant="default", name="alerts", filter=wanted, target=ADA, created_at=clock.now()
    )
    assert await store.subscriptions.subscription(made.id) == made
    assert await store.subscriptions.subscriptions() == [made]


async def test_a_name_belongs_to_one_subscription_of_a_tenant(store: Store) -> None:
    first = await subscribe(store, "alerts")
    await subscribe(store, "alerts", tenant="other")
    second = await subscribe(store, "reports")

    with pytest.raises(Conflict):
        await store.subscriptions.create_subscription(new_subscription("alerts"))
    with pytest.raises(Conflict):
        await store.subscriptions.change_subscription(second.id, SubscriptionChange(name="alerts"))
    assert (await store.subscriptions.change_subscription(first.id, SubscriptionChange(name="alerts"))).name == "alerts"


async def test_the_same_subscription_twice_is_one(store: Store) -> None:
    order = new_subscription()

    assert await store.subscriptions.create_subscription(order) == await store.subscriptions.create_subscription(order)
    assert len(await store.subscriptions.subscriptions()) == 1


async def test_a_tenant_sees_and_touches_only_its_own(store: Store) -> None:
    theirs = await subscribe(store, tenant="other")

    assert await store.subscriptions.subscriptions(tenant="default") == []
    assert await store.subscriptions.subscription(theirs.id, tenant="default") is None
    with pytest.raises(NotFound):
        await store.subscriptions.change_subscription(theirs.id, SubscriptionChange(name="x"), tenant="default")
    assert not await store.subscriptions.delete_subscription(theirs.id, tenant="default")
    assert await store.subscriptions.secrets(theirs.id, tenant="default") is None
    assert not await store.subscriptions.put_secrets(theirs.id, SECRETS, old=(), tenant="default")
    assert await store.subscriptions.subscriptions(tenant="other") == [theirs]


async def test_what_is_not_changed_stays(store: Store) -> None:
    made = await subscribe(store, secrets=SECRETS)

    renamed = await store.subscriptions.change_subscription(made.id, SubscriptionChange(name="b"))
    moved = await store.subscriptions.change_subscription(made.id, SubscriptionChange(address="https://other.example/"))
    narrowed = await store.subscriptions.change_subscription(made.id, SubscriptionChange(filter=EventFilter(queue="q")))

    assert (renamed.name, renamed.filter, renamed.target) == ("b", made.filter, made.target)
    assert (moved.name, moved.target.address) == ("b", "https://other.example/")
    assert narrowed.filter.queue == "q"
    assert await store.subscriptions.secrets(made.id, tenant=None) == SECRETS


async def test_a_disabled_subscription_listens_no_more_and_says_why(store: Store) -> None:
    made = await subscribe(store)
    assert [each.id for each in (await store.deliveries.listening()).subscriptions] == [made.id]

    disabled = await store.subscriptions.change_subscription(
        made.id, SubscriptionChange(is_enabled=False, reason="moving")
    )
    listening = await store.deliveries.listening()
    renamed = await store.subscriptions.change_subscription(made.id, SubscriptionChange(name="b"))
    enabled = await store.subscriptions.change_subscription(made.id, SubscriptionChange(is_enabled=True))

    assert (disabled.is_enabled, disabled.disabled_reason) == (False, "moving")
    assert listening.subscriptions == ()
    assert renamed.disabled_reason == "moving", "a new name does not change it"
    assert (enabled.is_enabled, enabled.disabled_reason) == (True, None)


async def test_a_deleted_subscription_is_gone(store: Store) -> None:
    made = await subscribe(store)

    assert await store.subscriptions.delete_subscription(made.id)

    assert not await store.subscriptions.delete_subscription(made.id)
    assert await store.subscriptions.subscriptions() == []
    with pytest.raises(NotFound):
        await store.subscriptions.change_subscription(made.id, SubscriptionChange(name="x"))


async def test_secrets_are_replaced_only_by_those_who_knew_them(store: Store) -> None:
    made = await subscribe(store, secrets=SECRETS[:1])

    assert await store.subscriptions.put_secrets(made.id, SECRETS, old=SECRETS[:1], tenant=None)
    assert not await store.subscriptions.put_secrets(made.id, (), old=SECRETS[:1], tenant=None), "somebody was faster"
    assert await store.subscriptions.secrets(made.id, tenant="default") == SECRETS


async def test_a_tenant_has_secrets_for_the_targets_of_its_tasks(store: Store) -> None:
    assert await store.subscriptions.secrets(None, tenant="default") is None

    assert await store.subscriptions.put_secrets(None, SECRETS[:1], old=None, tenant="default")

    assert not await store.subscriptions.put_secrets(None, SECRETS[1:], old=None, tenant="default"), (
        "two began at the same time"
    )
    assert await store.subscriptions.put_secrets(None, SECRETS, old=SECRETS[:1], tenant="default")
    assert await store.subscriptions.secrets(None, tenant="default") == SECRETS
    assert await store.subscriptions.secrets(None, tenant="other") is None
