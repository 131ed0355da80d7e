"""Subscriptions and deliveries over HTTP: validated by field, secrets shown once."""

import asyncio
from typing import Any

import httpx
import pytest

from drumline.core.delivery import DeliveryId, DeliveryReport, DeliveryState, NewDelivery
from drumline.core.signing import check_secret
from drumline.core.target import Target, TargetKind
from drumline.engine.engine import Engine
from drumline.ports.notifications import WebhookClaim
from tests.api.conftest import problem
from tests.factories import new_id

HOOK = "https://hooks.example/7"
SUBSCRIPTIONS = "/api/v1/subscriptions"
DELIVERIES = "/api/v1/deliveries"


async def subscribed(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await http.post(SUBSCRIPTIONS, json={"name": "alerts", "webhook": HOOK, **fields})
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def try_once(engine: Engine, state: DeliveryState, **report: Any) -> None:
    """Be a notifier for a moment."""
    claim = WebhookClaim(holder=1, limit=10, each=10, lease_ms=1000)
    while not (claimed := await engine.store.deliveries.claim_webhooks(claim)):  # noqa: ASYNC110 - the store tells nobody
        await asyncio.sleep(0.01)
    reports = [DeliveryReport(id=each.id, state=state, **report) for each in claimed]
    await engine.store.deliveries.record_deliveries(reports, holder=1)


@pytest.fixture
async def delivery(engine: Engine) -> DeliveryId:
    id_ = DeliveryId(new_id())
    target = Target(TargetKind.WEBHOOK, HOOK)
    await engine.store.deliveries.queue_deliveries(
        [
            NewDelivery(
                id=id_, tenant="default", event_id="abcd0123-1-0", event_type="drumline.task.failed", subject="task-7",
                target=target, event=b'{"id":"abcd0123-1-0"}',
            )
        ]
    )  # fmt: skip
    return id_


async def test_a_subscription_is_made_and_its_secret_shown_once(http: httpx.AsyncClient) -> None:
    made = await subscribed(http, events=["task.failed", "drumline.job.*"], task="charge", queue="billing", tag="vip")

    check_secret(made["secret"], field="secret")
    seen = (await http.get(f"{SUBSCRIPTIONS}/{made['id']}")).json()
    listed = (await http.get(SUBSCRIPTIONS)).json()["items"]
    assert seen == {name: value for name, value in made.items() if name != "secret"}
    assert listed == [seen]
    assert made["secret"] not in (await http.get(SUBSCRIPTIONS)).text
    assert seen["events"] == ["drumline.task.failed", "drumline.job.*"]
    assert (seen["task"], seen["queue"], seen["job"], seen["tag"]) == ("charge", "billing", None, "vip")
    assert (seen["webhook"], seen["email"], seen["enabled"]) == (HOOK, None, True)


async def test_a_secret_may_be_brought_along_and_mail_has_none(http: httpx.AsyncClient) -> None:
    secret = "whsec_" + "QUJD" * 10

    assert (await subscribed(http, secret=secret))["secret"] == secret
    by_mail = await http.post(SUBSCRIPTIONS, json={"name": "mail", "email": "ada@example.org"})
    assert "secret" not in by_mail.json()
    assert by_mail.json()["events"] == ["drumline.task.failed", "drumline.job.failed"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"webhook": None}, "webhook"),
        ({"email": "ada@example.org"}, "webhook"),
        ({"webhook": "ftp://a/"}, "webhook"),
        ({"webhook": None, "email": "nobody"}, "email"),
        ({"webhook": None, "email": "a@example.org", "secret": "whsec_" + "QUJD" * 10}, "secret"),
        ({"secret": "whsec_short"}, "secret"),
        ({"secret": "hush" * 10}, "secret"),
        ({"name": ""}, "name"),
        ({"events": []}, "events"),
        ({"events": ["task.failed", "task.claimed"]}, "events[1]"),
        ({"events": ["nonsense"]}, "events[0]"),
        ({"events": ["task.failed"] * 51}, "events"),
        ({"queue": "a b"}, "queue"),
        ({"tag": "x" * 65}, "tag"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_field(
    http: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    reply = await http.post(SUBSCRIPTIONS, json={"name": "alerts", "webhook": HOOK, **fields})

    problem(reply, 422, "invalid", field)


async def test_a_name_is_taken_once(http: httpx.AsyncClient) -> None:
    await subscribed(http)

    problem(await http.post(SUBSCRIPTIONS, json={"name": "alerts", "webhook": HOOK}), 409, "conflict", "name")


async def test_a_subscription_is_changed_disabled_and_forgotten(http: httpx.AsyncClient) -> None:
    made = await subscribed(http, task="charge", queue="billing")
    path = f"{SUBSCRIPTIONS}/{made['id']}"

    changed = (await http.patch(path, json={"name": "b", "task": None, "webhook": "https://other.example/"})).json()
    disabled = (await http.patch(path, json={"enabled": False, "reason": "moving"})).json()

    assert (changed["name"], changed["task"], changed["queue"]) == ("b", None, "billing")
    assert (changed["webhook"], changed["events"]) == ("https://other.example/", made["events"])
    assert (disabled["enabled"], disabled["disabled_reason"]) == (False, "moving")
    problem(await http.patch(path, json={}), 422, "invalid", "body")
    problem(await http.patch(path, json={"email": "a@example.org"}), 422, "invalid", "email")
    problem(await http.patch(path, json={"events": ["task.claimed"]}), 422, "invalid", "events[0]")
    assert (await http.delete(path)).status_code == 204
    problem(await http.get(path), 404, "not_found", "id")
    problem(await http.delete(path), 404, "not_found", "id")
    problem(await http.patch(path, json={"name": "c"}), 404, "not_found", "id")


async def test_a_secret_is_changed_with_both_signing_for_a_while(http: httpx.AsyncClient, engine: Engine) -> None:
    made = await subscribed(http)

    reply = await http.post(f"{SUBSCRIPTIONS}/{made['id']}/rotate", json={"overlap": "1h"})

    secrets = await engine.store.subscriptions.secrets(made["id"], tenant=None)
    assert secrets is not None
    assert [secret.text for secret in secrets] == [reply.json()["secret"], made["secret"]]
    assert secrets[0].until is None
    assert secrets[1].until is not None
    again = await http.post(f"{SUBSCRIPTIONS}/{made['id']}/rotate")
    secrets = await engine.store.subscriptions.secrets(made["id"], tenant=None) or ()
    assert [secret.text for secret in secrets] == [again.json()["secret"], reply.json()["secret"]], "two, not three"


async def test_what_has_no_secret_has_none_to_change(http: httpx.AsyncClient) -> None:
    made = (await http.post(SUBSCRIPTIONS, json={"name": "mail", "email": "ada@example.org"})).json()

    problem(await http.post(f"{SUBSCRIPTIONS}/{made['id']}/rotate"), 409, "conflict", "id")
    problem(await http.post(f"{SUBSCRIPTIONS}/{new_id()}/rotate"), 404, "not_found", "id")
    problem(await http.post(f"{SUBSCRIPTIONS}/{made['id']}/rotate", json={"overlap": "91d"}), 422, "invalid", "overlap")


async def test_tasks_that_name_webhooks_have_a_secret_too(http: httpx.AsyncClient, engine: Engine) -> None:
    first = (await http.post("/api/v1/notify/rotate")).json()["secret"]
    second = (await http.post("/api/v1/notify/rotate")).json()["secret"]

    secrets = await engine.store.subscriptions.secrets(None, tenant="default") or ()
    assert [secret.text for secret in secrets] == [second, first]


async def test_a_test_is_sent_and_waited_for(http: httpx.AsyncClient, engine: Engine) -> None:
    made = await subscribed(http)

    at_once = await http.post(f"{SUBSCRIPTIONS}/{made['id']}/test")
    assert at_once.status_code == 202
    assert at_once.json()["state"] == "pending"
    await try_once(engine, DeliveryState.DELIVERED)
    sent, _ = await asyncio.gather(
        http.post(f"{SUBSCRIPTIONS}/{made['id']}/test?wait=10"),
        try_once(engine, DeliveryState.FAILED, status=404, response="what?", error="answered 404", latency_ms=7),
    )

    body = sent.json()
    assert (body["state"], body["status"], body["response"], body["attempts"]) == ("failed", 404, "what?", 1)
    assert (body["event_type"], body["subject"]) == ("drumline.subscription.tested", made["id"])
    shown = (await http.get(f"{DELIVERIES}/{body['id']}")).json()
    assert shown["event"]["data"]["name"] == "alerts"
    problem(await http.post(f"{SUBSCRIPTIONS}/{new_id()}/test"), 404, "not_found", "id")


async def test_deliveries_are_listed_and_shown(http: httpx.AsyncClient, engine: Engine, delivery: DeliveryId) -> None:
    await try_once(engine, DeliveryState.FAILED, status=500, response="oops", error="answered 500", latency_ms=12)

    async def listed(**query: Any) -> list[str]:
        reply = await http.get(DELIVERIES, params=query)
        assert reply.status_code == 200, reply.text
        return [item["id"] for item in reply.json()["items"]]

    (item,) = (await http.get(DELIVERIES)).json()["items"]
    shown = (await http.get(f"{DELIVERIES}/{delivery}")).json()
    assert shown == {**item, "event": {"id": "abcd0123-1-0"}}
    assert (item["channel"], item["target"], item["state"], item["attempts"]) == ("webhook", HOOK, "failed", 1)
    assert (item["status"], item["response"], item["error"], item["latency_ms"]) == (500, "oops", "answered 500", 12)
    assert await listed(state="failed", subject="task-7", event_type="drumline.task.failed") == [delivery]
    assert await listed(state="pending") == []
    assert await listed(subscription=new_id()) == []
    problem(await http.get(DELIVERIES, params={"state": "lost"}), 422, "invalid", "state")
    problem(await http.get(DELIVERIES, params={"limit": "9999"}), 422, "invalid", "limit")
    problem(await http.get(DELIVERIES, params={"cursor": "x"}), 422, "invalid", "cursor")


async def test_pages_go_on_where_the_last_one_ended(http: httpx.AsyncClient) -> None:
    made = await subscribed(http)
    sent = [(await http.post(f"{SUBSCRIPTIONS}/{made['id']}/test")).json()["id"] for _ in range(3)]

    first = (await http.get(DELIVERIES, params={"limit": "2"})).json()
    second = (await http.get(DELIVERIES, params={"limit": "2", "cursor": first["next_cursor"]})).json()

    assert [item["id"] for item in (*first["items"], *second["items"])] == sent[::-1]
    assert second["next_cursor"] is None


async def test_a_delivery_is_sent_again(http: httpx.AsyncClient, engine: Engine, delivery: DeliveryId) -> None:
    await try_once(engine, DeliveryState.FAILED, error="no")

    reply = await http.post(f"{DELIVERIES}/{delivery}/resend")

    assert reply.status_code == 202
    assert (reply.json()["state"], reply.json()["finished_at"]) == ("pending", None)
    await try_once(engine, DeliveryState.DELIVERED, status=200)
    assert (await http.get(f"{DELIVERIES}/{delivery}")).json()["state"] == "delivered"
    problem(await http.post(f"{DELIVERIES}/{new_id()}/resend"), 404, "not_found", "id")
