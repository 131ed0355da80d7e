"""Every shard gets the paused queues, subscriptions and secrets of the directory, also one that was away before."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.delivery import DeliveryReport, DeliveryState
from drumline.core.signing import SigningSecret
from drumline.core.subscription import EventFilter, Subscription, SubscriptionChange
from drumline.core.task import DEFAULT_TENANT
from drumline.ports.store import Store
from drumline.scheduler.copies import DirectoryCopies
from drumline.shards.store import ShardedStore
from drumline.shards.view import shard_view
from tests.conformance.test_deliveries import new_delivery, webhooks
from tests.conformance.test_subscriptions import new_subscription
from tests.harness.sharded import OpenShards, open_shards

SECRETS = (SigningSecret("whsec_b2xk", Instant(9_000_000_000_000)),)


@pytest.fixture
async def shards(tmp_path: Path) -> AsyncIterator[OpenShards]:
    opened = await open_shards(tmp_path, ManualClock())
    yield opened
    await opened.close()


@pytest.fixture
def directory(shards: OpenShards) -> Store:
    return shards.directory.store


@pytest.fixture
def others(shards: OpenShards) -> list[Store]:
    return [shard.store for shard in shards if shard is not shards.directory]


@pytest.fixture
def copies(shards: OpenShards) -> DirectoryCopies:
    return DirectoryCopies(shards)


def told(subscriptions: list[Subscription]) -> list[tuple[object, ...]]:
    return [
        (each.id, each.name, each.filter, each.target, each.is_enabled, each.disabled_reason) for each in subscriptions
    ]


async def test_pauses_that_a_shard_has_missed_are_made_and_ended_there(
    directory: Store, others: list[Store], copies: DirectoryCopies
) -> None:
    await directory.control.pause_queue("mail", tenant="default", reason="full")
    await others[0].control.pause_queue("reports", tenant="default")

    assert await copies.pass_once() == 3

    for other in others:
        assert await other.paused_queues() == [("default", "mail")]
        (view,) = await other.queries.queues()
        assert view.reason == "full"
    assert await copies.pass_once() == 0


async def test_a_copied_pause_is_no_event(others: list[Store], directory: Store, copies: DirectoryCopies) -> None:
    await directory.control.pause_queue("mail", tenant="default")

    await copies.pass_once()

    for other in others:
        await other.events.sequence()
        assert (await other.events.read_events(after=0, limit=10)).events == ()


async def test_subscriptions_are_copied_changed_and_deleted(
    directory: Store, others: list[Store], copies: DirectoryCopies
) -> None:
    kept = await directory.subscriptions.create_subscription(new_subscription("kept", secrets=SECRETS))
    gone = await directory.subscriptions.create_subscription(new_subscription("gone"))
    await copies.pass_once()
    change = SubscriptionChange(name="renamed", filter=EventFilter(queue="mail"), is_enabled=False, reason="asked")
    await directory.subscriptions.change_subscription(kept.id, change)
    await directory.subscriptions.delete_subscription(gone.id)

    await copies.pass_once()

    wanted = told(await directory.subscriptions.subscriptions())
    for other in others:
        assert told(await other.subscriptions.subscriptions()) == wanted
        assert await other.subscriptions.secrets(kept.id, tenant=None) == SECRETS


async def test_secrets_of_tenants_are_copied(directory: Store, others: list[Store], copies: DirectoryCopies) -> None:
    await directory.subscriptions.put_secrets(None, SECRETS, old=None, tenant=DEFAULT_TENANT)

    await copies.pass_once()

    for other in others:
        assert await other.subscriptions.secrets(None, tenant=DEFAULT_TENANT) == SECRETS


async def test_a_change_reaches_every_shard_at_once(shards: OpenShards, others: list[Store]) -> None:
    store = ShardedStore(shards)
    made = await store.subscriptions.create_subscription(new_subscription())
    await store.subscriptions.change_subscription(made.id, SubscriptionChange(name="renamed"))
    await store.subscriptions.put_secrets(made.id, SECRETS, old=(), tenant=None)

    for other in others:
        (copy,) = await other.subscriptions.subscriptions()
        assert copy.name == "renamed"
        assert await other.subscriptions.secrets(made.id, tenant=None) == SECRETS


async def test_a_receiver_that_is_gone_ends_the_subscription_everywhere(
    shards: OpenShards, directory: Store, others: list[Store], copies: DirectoryCopies
) -> None:
    made = await ShardedStore(shards).subscriptions.create_subscription(new_subscription())
    shard = shard_view(others[0], directory)
    await shard.deliveries.queue_deliveries([new_delivery(subscription=made.id)])
    (claimed,) = await shard.deliveries.claim_webhooks(webhooks())

    gone = DeliveryReport(id=claimed.id, state=DeliveryState.FAILED, status=410, disables="410 Gone")
    assert await shard.deliveries.record_deliveries([gone], holder=1) == 1
    await copies.pass_once()

    for store in (directory, *others):
        (subscription,) = await store.subscriptions.subscriptions()
        assert (subscription.is_enabled, subscription.disabled_reason) == (False, "410 Gone")


async def test_a_shard_that_is_away_does_not_keep_the_others_from_theirs(
    shards: OpenShards, directory: Store, copies: DirectoryCopies
) -> None:
    near, far = (shard for shard in shards if shard is not shards.directory)
    await near.store.close()
    await directory.control.pause_queue("mail", tenant="default")

    await copies.pass_once()

    assert await far.store.paused_queues() == [("default", "mail")]
    assert near.name in shards.away
