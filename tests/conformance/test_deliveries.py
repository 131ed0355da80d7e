"""What has to be told to whom: picked from the log once, delivered at least once, recorded."""

import asyncio
from typing import Any

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.codec import encode
from drumline.core.delivery import Delivery, DeliveryId, DeliveryReport, DeliveryState, NewDelivery
from drumline.core.event import Event, TaskChange
from drumline.core.ids import TaskId
from drumline.core.signing import SigningSecret
from drumline.core.state import Act, State
from drumline.core.subscription import SubscriptionChange, SubscriptionId
from drumline.core.target import Target, TargetKind
from drumline.core.task import NotifyTarget
from drumline.ports.notifications import (
    CursorMove,
    DeliveryFilter,
    Interest,
    MailClaim,
    Picked,
    PickRange,
    WebhookClaim,
)
from drumline.ports.store import Store
from tests.conformance.test_subscriptions import ADA, HOOK, SECRETS, subscribe
from tests.factories import claim_one, new_id, open_session, settle, submit

ALL_ENDS = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED})
NOBODY: frozenset[State] = frozenset()
BOB = Target(TargetKind.EMAIL, "bob@example.org")
OTHER = Target(TargetKind.WEBHOOK, "https://other.example/")


def new_delivery(event: str = "e-1-0", target: Target = HOOK, **fields: Any) -> NewDelivery:
    usual = {"tenant": "default", "event_type": "drumline.task.failed", "subject": "s", "event": encode({"id": event})}
    return NewDelivery(id=DeliveryId(new_id()), event_id=event, target=target, **{**usual, **fields})


def webhooks(holder: int = 1, **fields: Any) -> WebhookClaim:
    return WebhookClaim(holder=holder, **{"limit": 100, "each": 100, "lease_ms": 60_000, **fields})


def mail(holder: int = 1, **fields: Any) -> MailClaim:
    usual = {"mailboxes": 100, "each": 100, "lease_ms": 60_000, "burst": 2, "pace_ms": 300_000}
    return MailClaim(holder=holder, **{**usual, **fields})


async def end(store: Store, act: Act, **fields: Any) -> TaskId:
    task = await submit(store, **fields)
    await settle(store, (await claim_one(store, await open_session(store))).lease, act)
    return task


async def pick(store: Store, *, states: frozenset[State] = NOBODY, **span: int) -> Picked:
    return await pick_for(store, Interest(tenant="default", states=states), **span)


async def pick_for(store: Store, *interests: Interest, **span: int) -> Picked:
    await store.events.sequence()
    has_targets = (await store.deliveries.listening()).has_targets
    whole = {"after": 0, "until": (await store.events.log_span()).last, "limit": 100}
    return await store.events.pick_events(PickRange(**{**whole, **span}), interests, has_targets=has_targets)


def ends(picked: Picked) -> list[Event]:
    """Return the ends of tasks that were picked; facts always are."""
    return [event for event in picked.events if isinstance(event.data, TaskChange)]


async def only(store: Store) -> Delivery:
    (delivery,) = await store.deliveries.deliveries(DeliveryFilter(), limit=10)
    return delivery


async def test_the_ends_that_somebody_wants_are_picked(store: Store) -> None:
    completed, failed = await end(store, Act.COMPLETE), await end(store, Act.FAIL)
    waiting = await submit(store)
    await store.control.cancel([waiting])

    assert [event.subject for event in ends(await pick(store, states=ALL_ENDS))] == [completed, failed, waiting]
    (event,) = ends(await pick(store, states=frozenset({State.FAILED})))

    assert (event.type, event.subject, event.tenant) == ("drumline.task.failed", failed, "default")
    assert isinstance(event.data, TaskChange)
    assert (event.data.name, event.data.attempt) == ("work", 1)
    assert event.data.error is not None


async def test_nothing_is_picked_when_nobody_listens(store: Store) -> None:
    await end(store, Act.COMPLETE)

    picked = await pick(store)

    assert ends(picked) == []
    assert picked.position == (await store.events.log_span()).last, "but the log was looked through"
    assert not (await store.deliveries.listening()).has_targets


async def test_tasks_that_name_targets_are_picked_however_they_end(store: Store) -> None:
    target = NotifyTarget(webhook="https://hooks.example/")
    await end(store, Act.COMPLETE)
    failed = await end(store, Act.FAIL, notify=(target,))
    completed = await end(store, Act.COMPLETE, notify=(target,), tags=("vip",))

    picked = await pick(store)

    assert [(event.subject, event.notify) for event in ends(picked)] == [(failed, (target,)), (completed, (target,))]


async def test_only_the_names_and_queues_of_interest_are_picked(store: Store) -> None:
    plain = await end(store, Act.COMPLETE)
    billing = await end(store, Act.COMPLETE, queue="billing")
    named = await end(store, Act.COMPLETE, queue="mail", notify=(NotifyTarget(email="ada@example.org"),))

    async def picked(*narrow: dict[str, str]) -> list[str]:
        interests = [Interest(states=ALL_ENDS, **({"tenant": "default"} | each)) for each in narrow]
        return [event.subject for event in ends(await pick_for(store, *interests))]

    assert await picked({"queue": "billing"}) == [billing, named]
    assert await picked({"task": "work", "queue": "default"}) == [plain, named]
    assert await picked({"task": "work", "queue": "default"}, {"queue": "billing"}) == [plain, billing, named]
    assert await picked({"task": "other"}) == [named]
    assert await picked({"tenant": "other", "task": "work"}) == [named]
    assert await picked({"task": "other"}, {}) == [plain, billing, named]


async def test_facts_are_always_picked(store: Store) -> None:
    await open_session(store)

    (event,) = (await pick(store)).events

    assert event.type == "drumline.worker.opened"


async def test_an_event_has_the_same_id_however_it_is_read(store: Store) -> None:
    await end(store, Act.FAIL)

    (picked,) = ends(await pick(store, states=ALL_ENDS))
    read = (await store.events.read_events(after=0, limit=100)).events

    assert picked in read


async def test_picking_goes_on_where_it_stopped(store: Store) -> None:
    tasks = [await end(store, Act.COMPLETE) for _ in range(3)]
    seen, after, is_full = [], 0, True

    while is_full:
        picked = await pick(store, after=after, states=ALL_ENDS, limit=2)
        seen += [event.subject for event in ends(picked)]
        after, is_full = picked.position, picked.is_full

    assert seen == tasks


async def test_picking_does_not_go_further_than_asked(store: Store) -> None:
    first = await end(store, Act.COMPLETE)
    until = (await pick(store)).position
    await end(store, Act.COMPLETE)

    assert [event.subject for event in ends(await pick(store, states=ALL_ENDS, until=until))] == [first]


async def test_deliveries_and_cursor_move_together_or_not_at_all(store: Store) -> None:
    old = await store.events.take_cursor("notifier", holder=7, seconds=60)
    assert old is not None
    move = CursorMove(consumer="notifier", holder=7, old=old, new=old + 5)

    assert await store.deliveries.queue_deliveries([new_delivery()], move=move)
    assert not await store.deliveries.queue_deliveries([new_delivery("e-2-0")], move=move), "it stands elsewhere by now"
    stranger = CursorMove(consumer="notifier", holder=8, old=old + 5, new=old + 6)
    assert not await store.deliveries.queue_deliveries([new_delivery("e-3-0")], move=stranger)

    assert (await only(store)).event_id == "e-1-0"
    assert await store.events.take_cursor("notifier", holder=7, seconds=60) == old + 5


async def test_an_event_is_kept_once_for_each_target(store: Store) -> None:
    order = await subscribe(store)
    again = [new_delivery(), new_delivery(subscription=order.id), new_delivery(target=OTHER), new_delivery("e-2-0")]

    for _ in range(2):
        await store.deliveries.queue_deliveries([*again, new_delivery()])

    assert len(await store.deliveries.deliveries(DeliveryFilter(), limit=10)) == 4


async def test_a_delivery_is_tried_by_one_at_a_time(store: Store) -> None:
    await store.deliveries.queue_deliveries([new_delivery(f"e-{n}-0") for n in range(20)])

    claims = await asyncio.gather(
        *(store.deliveries.claim_webhooks(webhooks(holder, limit=8)) for holder in range(1, 5))
    )

    # Who meets a row that another is just taking goes on without it: what is left is for the next.
    rest = await store.deliveries.claim_webhooks(webhooks(5, limit=20))
    taken = [each.id for claim in (*claims, rest) for each in claim]
    assert len(taken) == len(set(taken)) == 20


async def test_a_claim_brings_what_is_needed_to_sign_and_send(store: Store, clock: ManualClock) -> None:
    order = await subscribe(store, secrets=SECRETS)
    await store.subscriptions.put_secrets(None, SECRETS[1:], old=None, tenant="default")
    await store.deliveries.queue_deliveries([new_delivery(subscription=order.id), new_delivery("e-2-0")])

    by_event = {each.event_id: each for each in await store.deliveries.claim_webhooks(webhooks())}

    standing, named = by_event["e-1-0"], by_event["e-2-0"]
    assert (standing.subscription, standing.secrets, standing.attempt) == (order.id, SECRETS, 1)
    assert (named.subscription, named.secrets) == (None, SECRETS[1:])
    assert (standing.event, standing.target, standing.now) == (encode({"id": "e-1-0"}), HOOK, clock.now())


async def test_a_try_whose_notifier_died_is_repeated_by_another(store: Store, clock: ManualClock) -> None:
    await store.deliveries.queue_deliveries([new_delivery()])
    (first,) = await store.deliveries.claim_webhooks(webhooks(1))

    assert await store.deliveries.claim_webhooks(webhooks(2)) == []
    clock.advance(61)
    (second,) = await store.deliveries.claim_webhooks(webhooks(2))
    late = await store.deliveries.record_deliveries([DeliveryReport(id=first.id, state=DeliveryState.FAILED)], holder=1)

    assert (second.id, second.attempt) == (first.id, 2)
    assert late == 0, "the one who was given up must not decide any more"
    assert (await only(store)).state is DeliveryState.PENDING


async def test_what_became_of_a_try_is_written_down(store: Store, clock: ManualClock) -> None:
    await store.deliveries.queue_deliveries([new_delivery(subject="task-7")])
    (claimed,) = await store.deliveries.claim_webhooks(webhooks())
    made_at = clock.now()
    clock.advance(2)

    await store.deliveries.record_deliveries(
        [
            DeliveryReport(
                id=claimed.id, state=DeliveryState.PENDING, delay_ms=5000, status=500, response="o\x00ops", error="no",
                latency_ms=42,
            )
        ],
        holder=1,
    )  # fmt: skip
    waiting = await only(store)
    assert (waiting.state, waiting.attempts, waiting.next_at) == (DeliveryState.PENDING, 1, clock.now() + 5000)
    assert (waiting.status, waiting.error, waiting.latency_ms, waiting.finished_at) == (500, "no", 42, None)
    assert await store.deliveries.claim_webhooks(webhooks()) == []

    clock.advance(5)
    (again,) = await store.deliveries.claim_webhooks(webhooks())
    done = DeliveryReport(id=again.id, state=DeliveryState.DELIVERED, status=200, response="ok", latency_ms=7)
    assert await store.deliveries.record_deliveries([done], holder=1) == 1

    ended = await only(store)
    assert (ended.state, ended.attempts, ended.status, ended.response) == (DeliveryState.DELIVERED, 2, 200, "ok")
    assert (ended.error, ended.next_at, ended.created_at, ended.finished_at) == (None, None, made_at, clock.now())
    assert (ended.subject, ended.event_type) == ("task-7", "drumline.task.failed")


async def test_one_target_does_not_hold_up_the_others(store: Store, clock: ManualClock) -> None:
    await store.deliveries.queue_deliveries([new_delivery(f"e-{n}-0") for n in range(50)])
    clock.advance(1)
    await store.deliveries.queue_deliveries([new_delivery("e-1-1", OTHER)])

    taken = await store.deliveries.claim_webhooks(webhooks(limit=10, each=2))
    rest = await store.deliveries.claim_webhooks(webhooks(limit=10, each=2, busy=(HOOK.address,)))

    assert sorted(each.target.address for each in taken) == sorted([HOOK.address, HOOK.address, OTHER.address])
    assert rest == []


async def test_a_receiver_that_is_gone_ends_its_subscription(store: Store) -> None:
    order = await subscribe(store)
    await store.deliveries.queue_deliveries([new_delivery(f"e-{n}-0", subscription=order.id) for n in range(3)])
    (claimed,) = await store.deliveries.claim_webhooks(webhooks(limit=1))

    gone = DeliveryReport(id=claimed.id, state=DeliveryState.FAILED, status=410, disables="410 Gone")
    await store.deliveries.record_deliveries([gone], holder=1)

    changed = await store.subscriptions.subscription(order.id)
    assert changed is not None
    assert (changed.is_enabled, changed.disabled_reason) == (False, "410 Gone")
    deliveries = await store.deliveries.deliveries(DeliveryFilter(), limit=10)
    assert {each.state for each in deliveries} == {DeliveryState.FAILED}
    assert await store.deliveries.claim_webhooks(webhooks()) == []


@pytest.mark.parametrize("how", ["disabled", "deleted"])
async def test_nothing_is_sent_for_a_subscription_that_is_no_more(store: Store, how: str) -> None:
    order = await subscribe(store)
    await store.deliveries.queue_deliveries([new_delivery(subscription=order.id)])

    if how == "disabled":
        await store.subscriptions.change_subscription(order.id, SubscriptionChange(is_enabled=False))
    else:
        await store.subscriptions.delete_subscription(order.id)

    assert await store.deliveries.claim_webhooks(webhooks()) == []
    ended = await only(store)
    assert (ended.state, ended.error) == (DeliveryState.FAILED, f"its subscription was {how}")


async def test_mail_comes_together_and_at_a_pace(store: Store, clock: ManualClock) -> None:
    async def fails(*numbers: int) -> None:
        await store.deliveries.queue_deliveries([new_delivery(f"e-{n}-0", ADA) for n in numbers])

    await fails(1, 2, 3)
    first = await store.deliveries.claim_mail(mail())
    await fails(4)
    second = await store.deliveries.claim_mail(mail())
    await fails(*range(5, 30))
    third = await store.deliveries.claim_mail(mail())
    clock.advance(299)
    too_early = await store.deliveries.claim_mail(mail())
    clock.advance(1)
    await store.deliveries.record_deliveries(
        [DeliveryReport(id=each.id, state=DeliveryState.DELIVERED) for each in (*first, *second)], holder=1
    )
    fourth = await store.deliveries.claim_mail(mail())

    assert [len(part) for part in (first, second, third, too_early, fourth)] == [3, 1, 0, 0, 25]


async def test_everybody_has_a_pace_of_their_own(store: Store) -> None:
    targets = (ADA, BOB)
    await store.deliveries.queue_deliveries(
        [new_delivery(f"e-{n}-0", target, tenant=tenant) for n, tenant in enumerate("ab") for target in targets]
    )

    taken = await store.deliveries.claim_mail(mail(burst=1))

    assert len(taken) == 4
    assert {(each.tenant, each.target.address) for each in taken} == {
        (tenant, target.address) for tenant in "ab" for target in targets
    }


async def test_mail_for_one_person_is_taken_by_one_notifier(store: Store) -> None:
    await store.deliveries.queue_deliveries([new_delivery(f"e-{n}-0", ADA) for n in range(30)])

    claims = await asyncio.gather(*(store.deliveries.claim_mail(mail(holder, burst=1)) for holder in range(1, 6)))

    assert sorted(len(claim) for claim in claims) == [0, 0, 0, 0, 30]


async def test_a_delivery_can_be_sent_again_with_the_same_words(store: Store, clock: ManualClock) -> None:
    await store.deliveries.queue_deliveries([new_delivery()])
    (claimed,) = await store.deliveries.claim_webhooks(webhooks())
    await store.deliveries.record_deliveries(
        [DeliveryReport(id=claimed.id, state=DeliveryState.FAILED, error="no")], holder=1
    )
    clock.advance(60)

    resent = await store.deliveries.resend(claimed.id)
    (again,) = await store.deliveries.claim_webhooks(webhooks())

    assert resent is not None
    assert (resent.state, resent.next_at, resent.finished_at) == (DeliveryState.PENDING, clock.now(), None)
    assert (again.id, again.event, again.attempt) == (claimed.id, claimed.event, 1)


async def test_deliveries_are_listed_newest_first_by_what_one_looks_for(store: Store) -> None:
    order = await subscribe(store)
    first, second = new_delivery(subject="task-1", subscription=order.id), new_delivery("e-2-0", ADA, tenant="other")
    await store.deliveries.queue_deliveries([first, second])
    (claimed,) = await store.deliveries.claim_webhooks(webhooks())
    await store.deliveries.record_deliveries([DeliveryReport(id=claimed.id, state=DeliveryState.FAILED)], holder=1)

    async def listed(limit: int = 10, before: DeliveryId | None = None, **which: Any) -> list[DeliveryId]:
        return [
            each.id for each in await store.deliveries.deliveries(DeliveryFilter(**which), limit=limit, before=before)
        ]

    assert await listed() == [second.id, first.id]
    assert await listed(1) == [second.id]
    assert await listed(before=second.id) == [first.id]
    assert await listed(tenant="other") == [second.id]
    assert await listed(subscription=order.id) == [first.id]
    assert await listed(state=DeliveryState.FAILED) == [first.id]
    assert await listed(subject="task-1") == [first.id]
    assert await listed(event_type="drumline.task.completed") == []
    assert await listed(subscription=SubscriptionId(new_id())) == []


async def test_one_delivery_is_shown_with_what_it_sends(store: Store) -> None:
    order = new_delivery()
    await store.deliveries.queue_deliveries([order])

    found = await store.deliveries.delivery(order.id, tenant="default")

    assert found is not None
    assert found.event == order.event
    assert (await only(store)).event is None, "lists are read without it"
    assert await store.deliveries.delivery(order.id, tenant="other") is None
    assert await store.deliveries.resend(order.id, tenant="other") is None


async def test_deliveries_that_ended_long_ago_leave(store: Store, clock: ManualClock) -> None:
    ended, waiting = new_delivery(), new_delivery(target=OTHER)
    await store.deliveries.queue_deliveries([ended, waiting])
    claims = {each.id: each for each in await store.deliveries.claim_webhooks(webhooks())}
    await store.deliveries.record_deliveries([DeliveryReport(id=ended.id, state=DeliveryState.DELIVERED)], holder=1)
    assert len(claims) == 2
    clock.advance(60)

    assert await store.deliveries.prune_deliveries(finished_before=Instant(clock.now() - 61_000), limit=10) == 0
    assert await store.deliveries.prune_deliveries(finished_before=clock.now(), limit=10) == 1

    assert (await only(store)).id == waiting.id


def test_secrets_are_not_printed() -> None:
    assert "hush" not in repr(SigningSecret("whsec_hush"))
