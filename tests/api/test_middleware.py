"""What every request passes: the key, the headers, the errors."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.api.routes import OPERATIONS
from drumline.core.errors import Overloaded, Unavailable
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, Ada, problem, submitted

OPEN = {
    "/livez", "/readyz", "/actuator/health", "/actuator/info", "/openapi.json", "/docs", "/docs/api",
    "/docs/style.css", "/api/v1/sign-in", "/errors/{code}",
}  # fmt: skip


async def test_without_a_valid_key_nothing_but_the_open_paths_is_served(stranger: httpx.AsyncClient) -> None:
    providers = {"/api/v1/sign-in/{provider}", "/api/v1/sign-in/{provider}/callback"}
    assert {operation.path for operation in OPERATIONS if operation.is_open} == OPEN | providers
    for operation in OPERATIONS:
        reply = await stranger.request(operation.method, operation.path.format_map(_Filled()))
        if (operation.method, operation.path) == ("POST", "/api/v1/sign-in"):
            assert reply.status_code == 400
        elif operation.path in OPEN - {"/errors/{code}"}:
            assert reply.status_code == 200, operation.path
        elif operation.path != "/errors/{code}":
            problem(reply, 401, "unauthorized")
            assert reply.headers["www-authenticate"].startswith("Bearer")


class _Filled(dict[str, str]):
    def __missing__(self, _name: str) -> str:
        return "x"


@pytest.mark.parametrize(
    "headers", [{"X-API-Key": KEY}, {"Authorization": f"Bearer {KEY}"}, {"authorization": f"bearer {KEY}"}]
)
async def test_a_key_is_taken_from_either_header(stranger: httpx.AsyncClient, headers: dict[str, str]) -> None:
    assert (await stranger.get("/api/v1/tasks", headers=headers)).status_code == 200


@pytest.mark.parametrize("headers", [{"X-API-Key": KEY + "x"}, {"X-API-Key": ""}, {"Authorization": f"Basic {KEY}"}])
async def test_a_wrong_key_is_refused(stranger: httpx.AsyncClient, headers: dict[str, str]) -> None:
    problem(await stranger.get("/api/v1/tasks", headers=headers), 401, "unauthorized")


async def test_a_key_in_the_start_url_is_no_key_for_the_api(stranger: httpx.AsyncClient) -> None:
    start = await stranger.get(f"/?key={KEY}")
    tasks = await stranger.get(f"/api/v1/tasks?key={KEY}")

    assert start.headers["location"] == "ui/"
    problem(tasks, 401, "unauthorized")


def test_a_server_without_keys_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="without keys"):
        ConfiguredKeys([])


async def test_every_reply_has_the_security_headers(http: httpx.AsyncClient, stranger: httpx.AsyncClient) -> None:
    for reply in (
        await http.get("/api/v1/tasks"), await stranger.get("/api/v1/tasks"), await http.get("/nowhere"),
        await http.get("/docs"), await http.get("/livez"),
    ):  # fmt: skip
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert reply.headers["x-request-id"]


async def test_an_unknown_path_and_a_wrong_method_are_problems_too(http: httpx.AsyncClient) -> None:
    problem(await http.get("/api/v1/nothing"), 404, "unknown_path")
    problem(await http.get("/api/v1/tasks/"), 404, "unknown_path")
    wrong = await http.put("/api/v1/tasks")
    problem(wrong, 405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD, POST"


async def test_head_answers_like_get_without_the_body(http: httpx.AsyncClient) -> None:
    reply = await http.head("/api/v1/tasks")

    assert (reply.status_code, reply.content) == (200, b"")
    assert int(reply.headers["content-length"]) > 0


class Broken:
    """A store that raises whatever it was given."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def queues(self, *, tenant: str | None = None) -> Any:
        del tenant
        raise self._error


async def broken(engine: Engine, error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> httpx.Response:
    monkeypatch.setattr(engine.store.queries, "queues", Broken(error).queues)
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY}) as client:
        return await client.get("/api/v1/queues?")


async def test_an_unexpected_error_tells_the_request_id_and_nothing_else(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reply = await broken(engine, RuntimeError("secret inside"), monkeypatch, tmp_path)

    body = problem(reply, 500, "internal")
    assert body["request_id"] == reply.headers["x-request-id"]
    assert "secret" not in reply.text


@pytest.mark.parametrize(("error", "code"), [(Unavailable("away"), "unavailable"), (Overloaded("full"), "overloaded")])
async def test_a_passing_trouble_says_when_to_try_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, code: str
) -> None:
    reply = await broken(engine, error, monkeypatch, tmp_path)

    problem(reply, 503, code)
    assert int(reply.headers["retry-after"]) >= 1


async def test_queues_are_listed_paused_and_resumed(http: httpx.AsyncClient) -> None:
    await submitted(http, queue="mail")
    await submitted(http, queue="mail", delay=60)

    paused = await http.post("/api/v1/queues/mail/pause", json={"reason": "provider is down"})
    listed = await http.get("/api/v1/queues")
    resumed = await http.post("/api/v1/queues/mail/resume")

    assert (paused.json()["is_paused"], paused.json()["reason"]) == (True, "provider is down")
    (queue,) = listed.json()["items"]
    assert queue == paused.json()
    assert (queue["name"], queue["pending"], queue["queued"], queue["processing"]) == ("mail", 1, 1, 0)
    assert resumed.json()["is_paused"] is False


async def test_a_queue_is_paused_before_it_has_tasks_and_without_a_reason(http: httpx.AsyncClient) -> None:
    paused = await http.post("/api/v1/queues/new/pause")
    resumed = await http.post("/api/v1/queues/new/resume")

    assert (paused.json()["name"], paused.json()["is_paused"], paused.json()["queued"]) == ("new", True, 0)
    assert (resumed.json()["name"], resumed.json()["is_paused"]) == ("new", False)
    problem(await http.post("/api/v1/queues/a b/pause"), 422, "invalid", "name")
    problem(await http.post("/api/v1/queues/a/pause", json={"reason": "x" * 501}), 422, "invalid", "reason")


async def test_workers_are_listed_and_drained(http: httpx.AsyncClient, ada: Ada) -> None:
    await submitted(http)
    await ada.claim()

    (worker,) = (await http.get("/api/v1/workers")).json()["items"]
    drained = await http.post(f"/api/v1/workers/{worker['id']}/drain")

    assert (worker["id"], worker["host"], worker["pid"]) == (f"w-{ada.session:016x}", "ada", 7)
    assert (worker["types"], worker["capacity"], worker["held"]) == (["work"], 4, 1)
    undrained = await http.delete(f"/api/v1/workers/{worker['id']}/drain")
    assert (worker["should_drain"], drained.json()["should_drain"]) == (False, True)
    assert undrained.json()["should_drain"] is False
    await ada.gateway.close_session(ada.session)
    assert (await http.get("/api/v1/workers")).json()["items"] == []
    assert len((await http.get("/api/v1/workers?closed=true")).json()["items"]) == 1
    problem(await http.delete(f"/api/v1/workers/{worker['id']}/drain"), 409, "conflict", "id")


async def test_a_worker_that_is_not_there_cannot_be_drained(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/workers/w-00c0ffee00c0ffee/drain")

    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")
    problem(await http.post("/api/v1/workers/7/drain"), 422, "invalid", "id")
    problem(await http.get("/api/v1/workers/7"), 422, "invalid", "id")
    problem(await http.get("/api/v1/workers/w-00c0ffee00c0ffee"), 404, "not_found", "id")
    problem(await http.delete("/api/v1/workers/w-00c0ffee00c0ffee/drain"), 404, "not_found", "id")


async def test_health_tells_details_only_to_those_with_a_key(
    http: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    known = await http.get("/actuator/health")
    unknown = await stranger.get("/actuator/health")

    assert known.status_code == unknown.status_code == 200
    assert known.json()["status"] == "UP"
    assert set(known.json()["components"]) == {"db", "diskSpace", "workers"}
    assert set(known.json()["components"]["diskSpace"]["details"]) == {"total", "free", "threshold"}
    assert unknown.json() == {
        "status": "UP", "components": {name: {"status": "UP"} for name in ("db", "diskSpace", "workers")},
    }  # fmt: skip


async def test_health_is_down_when_the_store_is(http: httpx.AsyncClient, engine: Engine) -> None:
    await engine.store.close()

    health = await http.get("/actuator/health")

    assert (health.status_code, health.json()["status"]) == (503, "DOWN")
    assert health.json()["components"]["db"]["status"] == "DOWN"
    assert (await http.get("/readyz")).status_code == 503
    assert (await http.get("/livez")).json() == {"status": "UP"}


async def test_a_full_disk_is_down(engine: Engine, tmp_path: Path) -> None:
    info = Info(version="1", disk=str(tmp_path), least_free=1 << 60)
    transport = httpx.ASGITransport(app=create_app(engine, keys=ConfiguredKeys([KEY]), info=info))

    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        reply = await client.get("/actuator/health")

    assert (reply.status_code, reply.json()["components"]["diskSpace"]) == (503, {"status": "DOWN"})


async def test_a_data_folder_that_is_not_there_is_no_fault(engine: Engine, tmp_path: Path) -> None:
    info = Info(version="1", disk=str(tmp_path / "not" / "made"))
    transport = httpx.ASGITransport(app=create_app(engine, keys=ConfiguredKeys([KEY]), info=info))

    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        reply = await client.get("/actuator/health")

    assert (reply.status_code, reply.json()["components"]["diskSpace"]) == (200, {"status": "UP"})


async def test_a_stopping_server_is_not_ready(http: httpx.AsyncClient, stop: asyncio.Event) -> None:
    assert (await http.get("/readyz")).status_code == 200

    stop.set()

    assert (await http.get("/readyz")).status_code == 503
    assert (await http.get("/livez")).status_code == 200
