"""Figures and health over HTTP: what is told, and to whom."""

import asyncio
from pathlib import Path

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.clock import ManualClock
from drumline.core.liveness import Liveness
from drumline.core.metrics import Metrics
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.engine.engine import Engine
from drumline.engine.installation import InstallationMetrics
from drumline.observe.exposition import Exposition
from drumline.scheduler.stats import StatsCounter
from tests.api.conftest import KEY, Ada, submitted


async def key_of(http: httpx.AsyncClient, **asked: str) -> dict[str, str]:
    reply = await http.post("/api/v1/keys", json={"name": "somebody", **asked})
    assert reply.status_code == 201, reply.text
    return {"X-API-Key": reply.json()["key"]}


@pytest.fixture
async def exposed(engine: Engine, tmp_path: Path) -> httpx.AsyncClient:
    """A client of an API that can write figures down, and is about to stop if `leaving` says so."""
    write = Exposition(engine.metrics, role="api").write
    info = Info(version="1.2.3", disk=str(tmp_path))
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=info, write_metrics=write)
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://drumline", headers={"X-API-Key": KEY}
    )


async def test_prometheus_is_told_what_this_server_counts(exposed: httpx.AsyncClient) -> None:
    await exposed.post("/api/v1/tasks", json={"name": "work"})
    await exposed.get("/api/v1/tasks/nonsense")

    text = (await exposed.get("/metrics")).text

    assert 'drumline_batch_items_count{batch="submissions",shard="main"} 1.0' in text
    assert 'drumline_http_request_seconds_count{method="POST",route="/api/v1/tasks",status="2xx"} 1.0' in text
    assert 'drumline_http_request_seconds_count{method="GET",route="/api/v1/tasks/{id}",status="4xx"} 1.0' in text


async def test_paths_that_do_not_exist_make_no_labels(exposed: httpx.AsyncClient) -> None:
    for number in range(5):
        await exposed.get(f"/nowhere/{number}")

    text = (await exposed.get("/metrics")).text

    assert "nowhere" not in text
    assert 'drumline_http_request_seconds_count{method="other",route="other",status="4xx"} 5.0' in text


@pytest.mark.parametrize("path", ["/metrics", "/actuator/metrics", "/actuator/metrics/drumline_sessions"])
async def test_figures_are_for_those_who_may_see_everybodys(
    exposed: httpx.AsyncClient, stranger: httpx.AsyncClient, path: str
) -> None:
    await exposed.post("/api/v1/tenants", json={"name": "acme"})
    one = await key_of(exposed, tenant="acme", role="admin")
    viewer = await key_of(exposed, tenant="*", role="viewer")
    submitter = await key_of(exposed, tenant="*", role="submitter")

    assert (await stranger.get(path)).status_code == 401
    assert (await exposed.get(path, headers=one)).status_code == 403
    assert (await exposed.get(path, headers=submitter)).status_code == 403
    assert (await exposed.get(path, headers=viewer)).status_code == 200


async def test_a_figure_is_told_with_its_labels_and_narrowed_by_them(http: httpx.AsyncClient, ada: Ada) -> None:
    for permanent in (True, False):
        await submitted(http, retries=0)
        await ada.settle(await ada.claim(), Failed(ErrorInfo("E", "no"), permanent=permanent))

    names = (await http.get("/actuator/metrics")).json()["names"]
    path = "/actuator/metrics/drumline_tasks_dead_lettered_total"
    whole = (await http.get(path)).json()
    part = (await http.get(path, params={"tag": "reason:permanent"})).json()

    assert "drumline_tasks_dead_lettered_total" in names
    assert whole["measurements"] == [{"statistic": "COUNT", "value": 2}]
    assert whole["availableTags"][0]["tag"] == "reason"
    assert "retries_exhausted" in whole["availableTags"][0]["values"]
    assert part["measurements"] == [{"statistic": "COUNT", "value": 1}]
    assert part["availableTags"] == [{"tag": "shard", "values": ["main"]}]


async def test_what_happened_is_told_alike_by_a_server_that_counts_nothing_itself(
    http: httpx.AsyncClient, engine: Engine, ada: Ada
) -> None:
    for outcome in (Succeeded(), Failed(ErrorInfo("E", "no"), permanent=True)):
        await submitted(http, queue="mail")
        await ada.settle(await ada.claim(), outcome)
    await submitted(http)
    await StatsCounter(engine.store, metrics=Metrics()).pass_once()  # as a scheduler, in a process of its own

    async def value(name: str, **tag: str) -> list[float]:
        reply = await http.get(f"/actuator/metrics/{name}", params=tag)
        assert reply.json()["name"] == name
        return [each["value"] for each in reply.json()["measurements"]]

    for name, count in {"submitted": 3, "completed": 1, "failed": 1, "retried": 0}.items():
        assert await value(f"tasks.{name}") == await value(f"drumline_tasks_{name}_total") == [count]
    assert await value("tasks.submitted", tag="queue:mail") == [2]
    runs, seconds = await value("drumline_task_run_seconds")
    assert (runs, seconds >= 0) == (2, True)
    assert await value("drumline_sessions") == [1]
    assert await value("drumline_queue_tasks", tag="state:queued") == [1]
    names = (await http.get("/actuator/metrics")).json()["names"]
    assert {"tasks.submitted", "tasks.completed", "tasks.failed"} <= set(names)


async def test_a_worker_with_a_session_in_two_shards_is_counted_once(
    http: httpx.AsyncClient, engine: Engine, ada: Ada
) -> None:
    await submitted(http)
    await ada.claim()
    engine.installation = InstallationMetrics(lambda: {"main": engine.store, "pg2": engine.store}, engine.clock)

    async def value(name: str, **tag: str) -> float:
        (measured,) = (await http.get(f"/actuator/metrics/{name}", params=tag)).json()["measurements"]
        return float(measured["value"])

    assert await value("drumline_sessions") == 1
    assert await value("drumline_sessions", tag="shard:pg2") == 1
    assert await value("drumline_session_slots") == 4
    assert await value("drumline_queue_tasks", tag="state:processing") == 2, "tasks add up"


async def test_a_figure_that_does_not_exist_is_not_found(http: httpx.AsyncClient) -> None:
    assert (await http.get("/actuator/metrics/no_such")).status_code == 404
    wrong = await http.get("/actuator/metrics/drumline_store_seconds", params={"tag": "queue:a"})
    missing = await http.get("/actuator/metrics/drumline_store_seconds", params={"tag": "line:nowhere"})

    assert (wrong.status_code, wrong.json()["field"]) == (422, "tag")
    assert missing.status_code == 404


async def test_histograms_tell_how_many_and_how_long(http: httpx.AsyncClient) -> None:
    await http.get("/livez")

    body = (await http.get("/actuator/metrics/drumline_http_request_seconds", params={"tag": "route:/livez"})).json()

    assert body["baseUnit"] == "seconds"
    (count, total) = body["measurements"]
    assert (count, total["statistic"]) == ({"statistic": "COUNT", "value": 1}, "TOTAL_TIME")


async def test_the_version_is_for_those_who_may_see_it(http: httpx.AsyncClient, stranger: httpx.AsyncClient) -> None:
    assert (await http.get("/actuator/info")).json()["app"]["version"] == "1.2.3"
    assert (await stranger.get("/actuator/info")).json() == {"app": {"name": "drumline"}}


async def test_health_tells_no_details_to_a_tenant(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    one = await key_of(http, tenant="acme", role="admin")

    components = (await http.get("/actuator/health", headers=one)).json()["components"]

    assert all(component.keys() == {"status"} for component in components.values())


async def test_due_tasks_that_nobody_can_run_are_a_worry(http: httpx.AsyncClient, engine: Engine) -> None:
    idle = (await http.get("/actuator/health")).json()
    await submitted(http)

    lonely = await http.get("/actuator/health")

    assert idle["status"] == "UP"
    assert (lonely.status_code, lonely.json()["status"]) == (200, "DEGRADED")
    assert lonely.json()["components"]["workers"] == {
        "status": "DEGRADED", "details": {"open": 0, "slots": 0, "busy": 0},
    }  # fmt: skip
    assert engine.metrics.sessions.values == {}


async def test_workers_that_are_there_are_told(http: httpx.AsyncClient, ada: Ada) -> None:
    await submitted(http)
    await ada.claim()

    workers = (await http.get("/actuator/health")).json()["components"]["workers"]

    assert workers == {"status": "UP", "details": {"open": 1, "slots": 4, "busy": 1}}


async def test_a_server_whose_duty_hangs_does_not_live(http: httpx.AsyncClient, engine: Engine) -> None:
    clock = ManualClock()
    engine.metrics.liveness = Liveness(clock)
    engine.metrics.liveness.expect("reap", within=60)
    assert (await http.get("/livez")).status_code == 200

    clock.advance(61)

    assert (await http.get("/livez")).status_code == 503


async def test_a_server_that_will_stop_is_not_ready_and_still_serves(engine: Engine, tmp_path: Path) -> None:
    leaving = asyncio.Event()
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)), leaving=leaving)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY}) as client:
        assert (await client.get("/readyz")).status_code == 200

        leaving.set()

        assert (await client.get("/readyz")).status_code == 503
        assert (await client.post("/api/v1/tasks", json={"name": "work"})).status_code == 201
