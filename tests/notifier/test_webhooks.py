"""From the end of a task to a receiver: signed, retried, refused, recorded."""

import asyncio
from collections.abc import Sequence

import pytest

from drumline.core.clock import Instant, ManualClock
from drumline.core.delivery import DeliveryState
from drumline.core.signing import SigningSecret
from drumline.core.state import Act
from drumline.core.task import NotifyTarget
from drumline.ports.store import Store
from tests.factories import claim, open_session, settle
from tests.job_factories import job_of, submit_job
from tests.notifier.office import SECRET, Office
from tests.notifier.receiver import HANG, Receiver, receiving

OTHER_SECRET = "whsec_" + "b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldC1vdGhlcjE="


async def test_a_receiver_gets_what_happened_signed_so_that_the_public_library_agrees(
    office: Office, receiver: Receiver
) -> None:
    await office.subscribe(webhook=receiver.url)
    task = await office.run(Act.FAIL, "charge", queue="billing", tags=("vip",))

    await office.deliver()

    (received,) = receiver.received
    event = received.verified(SECRET)
    assert (event["specversion"], event["type"], event["subject"]) == ("1.0", "drumline.task.failed", task)
    assert (event["source"], event["tenant"]) == ("/tests", "default")
    data = event["data"]
    assert (data["name"], data["queue"], data["tags"], data["attempt"]) == ("charge", "billing", ["vip"], 1)
    assert (data["duration"], data["error"]["message"]) == (2.5, "oops")
    assert data["log"] == "starting\ncharging 7 \u20ac"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["webhook-id"] == (await office.only()).id
    assert event["link"] == f"https://drumline.example/drums/ui/tasks/{task}"


async def test_a_success_is_told_with_the_last_lines_of_its_log(office: Office, receiver: Receiver) -> None:
    await office.subscribe(webhook=receiver.url, events=("drumline.task.completed",))
    await office.run(Act.COMPLETE)

    await office.deliver()

    assert receiver.received[0].verified(SECRET)["data"]["log"] == "starting\ncharging 7 \u20ac"


async def test_a_failed_job_names_its_failed_tasks_to_a_receiver(office: Office, receiver: Receiver) -> None:
    await office.subscribe(webhook=receiver.url, events=("drumline.job.failed",))
    job = await submit_job(office.store, job_of({"a": (), "b": ()}))
    session = await open_session(office.store)
    for task in await claim(office.store, session):
        await settle(office.store, task.lease, Act.FAIL if task.options.key == "b" else Act.COMPLETE)

    await office.deliver()

    (received,) = receiver.received
    event = received.verified(SECRET)
    assert event["link"] == f"https://drumline.example/drums/ui/jobs/{job.id}"
    failed = {"id": job.tasks["b"], "key": "b", "name": "work", "error": {"kind": "ValueError", "message": "oops"}}
    assert event["data"]["failed_tasks"] == [failed]


async def test_four_refusals_and_a_hang_later_the_delivery_is_accepted_once(store: Store, clock: ManualClock) -> None:
    office = Office(store, clock, timeout=3)
    async with receiving([500, 500, 500, 500, HANG, 200]) as receiver:
        order = await office.subscribe(webhook=receiver.url)
        await office.run(Act.FAIL)

        waits = []
        for _ in range(6):
            await office.deliver()
            next_at = (await office.only()).next_at
            waits.append(None if next_at is None else next_at - clock.now())
            clock.advance((waits[-1] or 0) / 1000)
        await office.deliver()
        await office.close()

    delivery = await office.only()
    assert waits == [10_000, 20_000, 40_000, 80_000, 160_000, None]
    (accepted,) = receiver.accepted
    assert len(receiver.received) == 6
    assert {each.headers["webhook-id"] for each in receiver.received} == {delivery.id}
    assert {each.body for each in receiver.received} == {accepted.body}
    assert accepted.verified(SECRET)["id"] == delivery.event_id
    assert (delivery.state, delivery.attempts, delivery.status) == (DeliveryState.DELIVERED, 6, 200)
    assert (delivery.response, delivery.error, delivery.subscription) == ("you got 200", None, order.id)
    assert delivery.latency_ms is not None


async def test_a_refusal_is_shown_with_what_the_receiver_said(office: Office) -> None:
    async with receiving([500]) as receiver:
        await office.subscribe(webhook=receiver.url)
        await office.run(Act.FAIL)
        await office.deliver()

    waiting = await office.only()
    assert (waiting.state, waiting.status) == (DeliveryState.PENDING, 500)
    assert (waiting.error, waiting.response) == ("answered 500 Word", "you got 500")


async def test_a_receiver_that_is_not_there_is_tried_for_hours_and_then_given_up(
    office: Office, clock: ManualClock
) -> None:
    async with receiving() as receiver:
        await office.subscribe(webhook=receiver.url)
    await office.run(Act.FAIL)
    began = clock.now()

    while (delivery := await office.only() if await office.deliveries() else None) is None or (
        delivery.next_at is not None
    ):
        await office.deliver()
        clock.advance(600)

    assert delivery.state is DeliveryState.FAILED
    assert delivery.error is not None
    assert "ConnectError" in delivery.error
    assert delivery.attempts == 10
    assert 3_600_000 < clock.now() - began < 10 * 3_600_000


async def test_a_receiver_that_is_gone_ends_its_subscription(office: Office) -> None:
    async with receiving([410]) as receiver:
        order = await office.subscribe(webhook=receiver.url)
        await office.run(Act.FAIL)
        await office.deliver()
        await office.run(Act.FAIL)
        await office.deliver()

    assert len(receiver.received) == 1
    assert (await office.only()).state is DeliveryState.FAILED
    changed = await office.store.subscriptions.subscription(order.id)
    assert changed is not None
    assert (changed.is_enabled, changed.disabled_reason) == (False, "its receiver answered 410 Word")


async def test_a_fault_that_nobody_thought_of_counts_as_a_try(store: Store, clock: ManualClock) -> None:
    async def broken(_host: str, _port: int) -> Sequence[str]:
        raise RuntimeError("the resolver has lost its mind")

    office = Office(store, clock, resolver=broken)
    await office.subscribe(webhook="https://hooks.example/")
    await office.run(Act.FAIL)

    await office.deliver()

    delivery = await office.only()
    assert (delivery.state, delivery.attempts) == (DeliveryState.PENDING, 1)
    assert delivery.error == "RuntimeError: the resolver has lost its mind"
    await office.close()


async def test_a_receiver_may_ask_for_more_time(office: Office, clock: ManualClock) -> None:
    async with receiving([429], headers="retry-after: 120\r\n") as receiver:
        await office.subscribe(webhook=receiver.url)
        await office.run(Act.FAIL)
        await office.deliver()

    assert (await office.only()).next_at == clock.now() + 120_000


async def test_while_a_secret_is_changed_both_sign(office: Office, receiver: Receiver, clock: ManualClock) -> None:
    order = await office.subscribe(webhook=receiver.url)
    both = (SigningSecret(OTHER_SECRET), SigningSecret(SECRET, Instant(clock.now() + 60_000)))
    await office.store.subscriptions.put_secrets(order.id, both, old=(SigningSecret(SECRET),), tenant=None)

    await office.run(Act.FAIL)
    await office.deliver()
    clock.advance(60)
    await office.run(Act.FAIL)
    await office.deliver()

    first, second = receiver.received
    assert first.verified(SECRET) == first.verified(OTHER_SECRET)
    assert second.verified(OTHER_SECRET)
    with pytest.raises(Exception, match="No matching signature"):
        second.verified(SECRET)


async def test_a_task_may_name_its_own_receiver(office: Office, receiver: Receiver) -> None:
    on_failure = NotifyTarget(on=("failed",), webhook=receiver.url)
    await office.run(Act.COMPLETE, notify=(on_failure,))
    failed = await office.run(Act.FAIL, notify=(on_failure,))
    completed = await office.run(Act.COMPLETE, notify=(NotifyTarget(webhook=receiver.url),))

    await office.deliver()

    secrets = await office.store.subscriptions.secrets(None, tenant="default")
    assert secrets is not None
    assert sorted(each.verified(secrets[0].text)["subject"] for each in receiver.received) == sorted(
        [failed, completed]
    )


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("127.0.0.1", "127.0.0.1 is a loopback address"),
        ("[::1]", "::1 is a loopback address"),
        ("metadata.example", "metadata.example resolves to 169.254.169.254, which is a cloud's metadata address"),
    ],
)
async def test_a_receiver_inside_is_refused_with_the_reason_unless_allowed(
    store: Store, clock: ManualClock, host: str, reason: str
) -> None:
    async def resolver(_host: str, _port: int) -> Sequence[str]:
        return ["169.254.169.254"]

    office = Office(store, clock, allow=(), resolver=resolver)
    await office.subscribe(webhook=f"http://{host}:8080/")
    await office.run(Act.FAIL)
    await office.deliver()
    await office.close()

    refused = await office.only()
    assert (refused.state, refused.attempts) == (DeliveryState.FAILED, 1), "no use in trying again"
    assert refused.error == f"refused: {reason}; an operator can allow it with notify.allow"


@pytest.mark.parametrize("follow", [False, True])
async def test_a_redirect_inside_is_not_followed(store: Store, clock: ManualClock, follow: bool) -> None:
    async with receiving([307], headers="location: http://10.0.0.1/\r\n") as receiver:
        office = Office(store, clock, follow_redirects=follow)
        await office.subscribe(webhook=receiver.url)
        await office.run(Act.FAIL)
        await office.deliver()
        await office.close()

    delivery = await office.only()
    assert delivery.error is not None
    if follow:
        assert delivery.state is DeliveryState.FAILED
        assert delivery.error.startswith("refused: 10.0.0.1 is a private address")
    else:
        assert delivery.state is DeliveryState.PENDING
        assert delivery.error == "answered 307 Word and sends on to http://10.0.0.1/, which is not followed"


async def test_a_redirect_is_followed_where_an_operator_wants_it(
    store: Store, clock: ManualClock, receiver: Receiver
) -> None:
    async with receiving([308], headers=f"location: {receiver.url}\r\n") as moved:
        office = Office(store, clock, follow_redirects=True)
        await office.subscribe(webhook=moved.url)
        await office.run(Act.FAIL)
        await office.deliver()
        await office.close()

    assert receiver.accepted[0].verified(SECRET)
    assert (await office.only()).state is DeliveryState.DELIVERED


async def test_a_receiver_that_hangs_holds_up_nobody_else(store: Store, clock: ManualClock, receiver: Receiver) -> None:
    office = Office(store, clock)
    async with receiving([HANG]) as stuck:
        await office.subscribe(webhook=stuck.url)
        for _ in range(50):
            await office.run(Act.FAIL)
        await office.subscribe(webhook=receiver.url)
        await office.run(Act.FAIL)

        await office.reader.pass_once()
        async with asyncio.timeout(20):  # less than those that hang take
            while not receiver.accepted or stuck.busiest < 4:
                await office.webhooks.pass_once()
                await asyncio.sleep(0.01)

        assert stuck.busiest == 4
        running = asyncio.create_task(office.webhooks.drained())
        for task in list(office.webhooks._tries):
            task.cancel()
        await running
    await office.sender.close()


async def test_a_long_answer_is_cut(office: Office) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n" + b"x" * 100_000)
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        await office.subscribe(webhook=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        await office.run(Act.FAIL)
        await office.deliver()

    delivery = await office.only()
    assert (delivery.state, len(delivery.response or "")) == (DeliveryState.DELIVERED, 1000)
