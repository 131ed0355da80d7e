"""Alerts and objectives through HTTP."""

from typing import Any

import httpx
import pytest

from drumline.core.codec import decode
from drumline.engine.engine import Engine
from drumline.notifier.mail_template import MailTemplate, compose_mail
from drumline.notifier.reader import Reader
from drumline.ports.notifications import MailClaim, WebhookClaim
from drumline.scheduler.alerts import AlertEvaluator
from drumline.scheduler.stats import StatsCounter
from tests.api.conftest import Ada, problem
from tests.api.test_failures import fail
from tests.factories import new_id

ALERTS = "/api/v1/alerts"
INCIDENTS = "/api/v1/alert-incidents"
SLOS = "/api/v1/slos"
RULE = {"name": "failures", "measure": "failure_rate", "threshold": "5%", "task": "work"}
OBJECTIVE = {"name": "work succeeds", "task": "work", "target": 0.99}


async def created(http: httpx.AsyncClient, path: str = ALERTS, **fields: Any) -> dict[str, Any]:
    reply = await http.post(path, json={**(RULE if path == ALERTS else OBJECTIVE), **fields})
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    assert reply.headers["location"] == f"{path}/{body['id']}"
    return body


async def evaluate(engine: Engine) -> None:
    await StatsCounter(engine.store).pass_once()
    await AlertEvaluator(engine.store).pass_once()


async def get(http: httpx.AsyncClient, path: str) -> Any:
    reply = await http.get(path)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_a_rule_is_made_with_its_defaults_and_found(http: httpx.AsyncClient) -> None:
    made = await created(http)

    assert {name: made[name] for name in ("threshold", "window", "for", "least", "severity", "state", "value")} == {
        "threshold": 0.05, "window": 300.0, "for": 0.0, "least": 1, "severity": "warning", "state": "ok", "value": None,
    }  # fmt: skip
    assert made["summary"] == "failure rate of task work above 5 % over 5m"
    assert await get(http, f"{ALERTS}/{made['id']}") == made
    assert (await get(http, ALERTS))["items"] == [made]
    assert (await get(http, f"{ALERTS}?name=failures&state=ok"))["items"] == [made]
    assert (await get(http, f"{ALERTS}?state=firing"))["items"] == []


async def test_a_failure_fires_it_and_it_has_a_history(http: httpx.AsyncClient, engine: Engine, ada: Ada) -> None:
    made = await created(http, severity="critical")
    await fail(http, ada)
    await evaluate(engine)

    (firing,) = (await get(http, f"{ALERTS}?state=firing"))["items"]
    (incident,) = (await get(http, f"{INCIDENTS}?alert={made['id']}"))["items"]

    assert (firing["id"], firing["value"]) == (made["id"], 1.0)
    assert (incident["name"], incident["severity"], incident["peak"]) == ("failures", "critical", 1.0)
    assert incident["resolved_at"] is None
    paused = (await http.patch(f"{ALERTS}/{made['id']}", json={"enabled": False})).json()
    assert (paused["state"], paused["enabled"]) == ("resolved", False)
    (closed,) = (await get(http, INCIDENTS))["items"]
    assert closed["reason"] == "paused"


async def test_a_subscription_is_told_with_a_link(http: httpx.AsyncClient, engine: Engine, ada: Ada) -> None:
    hooks = {"webhook": "https://hooks.example/7", "events": ["alert.*"]}
    for name, task in (("one", "work"), ("two", "other"), ("three", None)):
        reply = await http.post("/api/v1/subscriptions", json={"name": name, "task": task, **hooks})
        assert reply.status_code == 201, reply.text
    made = await created(http, note="call ada")
    await fail(http, ada)
    await evaluate(engine)
    reader = Reader(engine.store, holder=1, new_id=new_id, source="/drumline", public_url="https://drumline.example")

    assert await reader.pass_once() == 2

    claim = MailClaim(holder=1, mailboxes=1, each=1, lease_ms=1, burst=1, pace_ms=1)
    assert await engine.store.deliveries.claim_mail(claim) == []
    told = await engine.store.deliveries.claim_webhooks(WebhookClaim(holder=1, limit=9, each=9, lease_ms=1000))
    event = decode(told[0].event, dict[str, Any])
    mail = compose_mail(told[:1], MailTemplate(public_url="https://drumline.example"))
    assert event["type"] == "drumline.alert.fired"
    assert event["data"]["message"] == "failure rate of task work above 5 % over 5m: now 100 %"
    assert f"https://drumline.example/ui/alerts/{made['id']}" in (mail.text or "")
    assert mail.subject == "Fired: failures"
    assert "call ada" in (mail.text or "")


async def test_lists_go_on_where_a_page_ended(http: httpx.AsyncClient, engine: Engine, ada: Ada) -> None:
    for number in range(3):
        await created(http, name=f"rule {number}")
    await fail(http, ada)
    await evaluate(engine)

    for path in (ALERTS, INCIDENTS):
        whole = (await get(http, path))["items"]
        first = await get(http, f"{path}?limit=2")
        rest = await get(http, f"{path}?limit=2&cursor={first['next_cursor']}")
        assert first["items"] + rest["items"] == whole
        assert len(whole) == 3
        assert rest["next_cursor"] is None


async def test_what_is_not_named_in_a_change_stays(http: httpx.AsyncClient) -> None:
    made = await created(http, note="call ada", window="10m", least=5, **{"for": "2m"})

    changed = (await http.patch(f"{ALERTS}/{made['id']}", json={"threshold": 0.2, "task": None})).json()

    assert (changed["threshold"], changed["task"]) == (0.2, None)
    assert {name for name in made if made[name] != changed[name]} <= {
        "threshold", "task", "summary", "since", "evaluated_at",
    }  # fmt: skip


async def test_a_rule_is_muted_for_a_while(http: httpx.AsyncClient) -> None:
    made = await created(http)

    muted = (await http.patch(f"{ALERTS}/{made['id']}", json={"muted_until": "2h"})).json()
    unmuted = (await http.patch(f"{ALERTS}/{made['id']}", json={"muted_until": None})).json()

    assert muted["muted_until"].endswith("Z")
    assert unmuted["muted_until"] is None
    problem(await http.patch(f"{ALERTS}/{made['id']}", json={"muted_until": 0}), 422, "invalid", "muted_until")


async def test_a_deleted_rule_is_gone(http: httpx.AsyncClient) -> None:
    made = await created(http)

    assert (await http.delete(f"{ALERTS}/{made['id']}")).status_code == 204

    problem(await http.get(f"{ALERTS}/{made['id']}"), 404, "not_found", "id")
    problem(await http.delete(f"{ALERTS}/{made['id']}"), 404, "not_found", "id")
    problem(await http.patch(f"{ALERTS}/{made['id']}", json={"name": "x"}), 404, "not_found", "id")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"threshold": "much"}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": "150%"}, "threshold"),
        ({"threshold": "nan"}, "threshold"),
        ({"measure": "run_p95", "threshold": "soon"}, "threshold"),
        ({"measure": "backlog", "threshold": -1}, "threshold"),
        ({"measure": "backlog", "threshold": "1" * 400}, "threshold"),
        ({"window": "10s"}, "window"),
        ({"window": "25h"}, "window"),
        ({"measure": "oldest_wait", "threshold": 5, "window": "5m"}, "window"),
        ({"for": "25h"}, "for"),
        ({"for": "some time"}, "for"),
        ({"least": 0}, "least"),
        ({"measure": "backlog", "threshold": 5, "least": 2}, "least"),
        ({"schedule": "nightly"}, "schedule"),
        ({"measure": "late_schedule", "threshold": 5}, "task"),
        ({"measure": "late_schedule", "threshold": "2h", "task": None}, "threshold"),
        ({"measure": "burn_rate", "threshold": 5, "task": None}, "slo"),
        ({"slo": "0190f2a4-0000-7000-8000-000000000001"}, "slo"),
        (
            {"measure": "burn_rate", "threshold": 5, "task": None, "slo": "0190f2a4-0000-7000-8000-000000000001"},
            "slo",
        ),
        ({"queue": "no such!"}, "queue"),
        ({"name": " "}, "name"),
        ({"note": "a\x00b"}, "note"),
        ({"severity": "loud"}, "severity"),
        ({"measure": "moon"}, "measure"),
    ],
)
async def test_what_is_wrong_with_a_rule_is_named(http: httpx.AsyncClient, fields: dict[str, Any], field: str) -> None:
    reply = await http.post(ALERTS, json={**RULE, **fields})

    assert (reply.status_code, reply.json()["field"]) == (422, field), reply.text
    assert (await get(http, ALERTS))["items"] == []


async def test_a_name_is_given_once(http: httpx.AsyncClient) -> None:
    await created(http)
    problem(await http.post(ALERTS, json=RULE), 409, "conflict", "name")


async def test_an_objective_has_its_budget_and_two_alerts(http: httpx.AsyncClient, engine: Engine, ada: Ada) -> None:
    made = await created(http, SLOS)
    await fail(http, ada)
    await evaluate(engine)

    slo = await get(http, f"{SLOS}/{made['id']}")
    rules = (await get(http, f"{ALERTS}?slo={made['id']}"))["items"]

    assert (slo["good"], slo["total"], slo["share"]) == (0, 1, 0.0)
    assert slo["budget_left"] == pytest.approx(-99.0)
    assert slo["burn_1h"] == pytest.approx(100.0)
    assert sum(point["total"] for point in slo["points"]) == 1
    assert sorted((rule["name"], rule["state"]) for rule in rules) == [
        ("work succeeds: fast burn", "firing"), ("work succeeds: slow burn", "firing"),
    ]  # fmt: skip
    (listed,) = (await get(http, f"{SLOS}?task=work"))["items"]
    assert listed == {**slo, "points": None, "step": None}
    assert (await get(http, f"{SLOS}?task=other"))["items"] == []


async def test_an_objective_is_changed_and_deleted(http: httpx.AsyncClient) -> None:
    made = await created(http, SLOS, objective="start", within="5s", alerts=False, period="7d")

    changed = (await http.patch(f"{SLOS}/{made['id']}", json={"target": 0.9, "within": "10s"})).json()

    assert (changed["target"], changed["within"], changed["period"]) == (0.9, 10.0, 7 * 86_400)
    assert (await get(http, ALERTS))["items"] == []
    assert (await http.delete(f"{SLOS}/{made['id']}")).status_code == 204
    problem(await http.get(f"{SLOS}/{made['id']}"), 404, "not_found", "id")


async def test_a_burn_of_ones_own_windows_is_watched(http: httpx.AsyncClient, engine: Engine, ada: Ada) -> None:
    made = await created(http, SLOS, alerts=False)
    rule = await created(http, measure="burn_rate", threshold=2, window="3h", slo=made["id"], task=None)
    await fail(http, ada)
    await evaluate(engine)

    found = await get(http, f"{ALERTS}/{rule['id']}")
    renamed = await http.patch(f"{ALERTS}/{rule['id']}", json={"name": "mine"})

    assert (found["state"], found["task"]) == ("firing", "work")
    assert (renamed.status_code, renamed.json()["state"]) == (200, "firing")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"target": 1.0}, "target"),
        ({"target": 0.1}, "target"),
        ({"period": "31d"}, "period"),
        ({"period": "36h"}, "period"),
        ({"within": "5s"}, "within"),
        ({"objective": "start"}, "within"),
        ({"objective": "start", "within": "7s"}, "within"),
        ({"task": ""}, "task"),
        ({"name": "n" * 250}, "name"),
    ],
)
async def test_what_is_wrong_with_an_objective_is_named(
    http: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    reply = await http.post(SLOS, json={**OBJECTIVE, **fields})

    assert (reply.status_code, reply.json()["field"]) == (422, field), reply.text
