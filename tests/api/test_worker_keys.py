"""Workers' keys: the protocol and nothing else, for their tenant, queues and names."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from drumline.aio.events import StopEvent
from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.limits import DEFAULT_LIMITS
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, problem
from tests.api.test_keys import made

SESSIONS = "/api/v1/worker/sessions"
TYPES = [{"name": "shop.send"}, {"name": "bank.pay"}]

Said = Callable[..., Coroutine[Any, Any, httpx.Response]]


def worker(http: httpx.AsyncClient, key: str) -> Said:
    async def say(method: str, path: str, **body: Any) -> httpx.Response:
        return await http.request(method, path, headers={"X-API-Key": key}, json=body)

    return say


async def opened(say: Said, **fields: Any) -> str:
    reply = await say("POST", SESSIONS, types=TYPES, capacity=4, **fields)
    assert reply.status_code == 201, reply.text
    session: str = reply.json()["session"]
    return session


@pytest.fixture
async def acme(http: httpx.AsyncClient) -> Said:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    return worker(http, (await made(http, tenant="acme", role="worker"))["key"])


@pytest.fixture
async def beta(http: httpx.AsyncClient) -> Said:
    await http.post("/api/v1/tenants", json={"name": "beta"})
    return worker(http, (await made(http, tenant="beta", role="worker"))["key"])


async def submitted(http: httpx.AsyncClient, tenant: str, **fields: Any) -> str:
    reply = await http.post("/api/v1/tasks", headers={"X-Tenant": tenant}, json={"name": "shop.send", **fields})
    assert reply.status_code == 201, reply.text
    task: str = reply.json()["id"]
    return task


async def test_a_worker_gets_its_own_tenants_tasks_only(http: httpx.AsyncClient, acme: Said, beta: Said) -> None:
    ours = await submitted(http, "acme")
    await submitted(http, "default")
    session = await opened(acme)
    theirs = await opened(beta)

    claimed = (await acme("POST", f"{SESSIONS}/{session}/claim", limit=10)).json()["tasks"]
    nothing = (await beta("POST", f"{SESSIONS}/{theirs}/claim", limit=10)).json()["tasks"]

    assert [task["lease"]["task"] for task in claimed] == [ours]
    assert nothing == []


async def test_a_key_for_every_tenant_serves_them_all(http: httpx.AsyncClient, acme: Said) -> None:
    del acme
    fleet = worker(http, (await made(http, tenant="*", role="worker"))["key"])
    tasks = {await submitted(http, tenant) for tenant in ("acme", "default")}
    session = await opened(fleet)

    claimed = (await fleet("POST", f"{SESSIONS}/{session}/claim", limit=10)).json()["tasks"]

    assert {task["lease"]["task"] for task in claimed} == tasks


async def test_another_tenants_session_is_not_there(http: httpx.AsyncClient, acme: Said, beta: Said) -> None:
    task = await submitted(http, "acme")
    session = await opened(acme)
    (claimed,) = (await acme("POST", f"{SESSIONS}/{session}/claim", limit=1)).json()["tasks"]
    path = f"{SESSIONS}/{session}"

    stolen = await beta("POST", f"{path}/claim", limit=10)
    beat = await beta("POST", f"{path}/beat", held=[claimed["lease"]])
    left = await beta("DELETE", path)
    logged = await beta("POST", f"{path}/log", chunks=[{"task": task, "epoch": 1, "seq": 0, "text": "planted"}])
    filed = await beta("PUT", f"{path}/artifacts/{task}/evil.txt")

    problem(stolen, 404, "not_found", "session")
    assert beat.json() == {"is_open": False, "lost": [task], "cancelled": [], "should_drain": False, "config": 0}
    assert (left.status_code, logged.status_code) == (204, 204)
    assert filed.status_code == 404
    still = (await acme("POST", f"{path}/beat", held=[claimed["lease"]])).json()
    assert (still["is_open"], still["lost"]) == (True, [])
    assert (await http.get(f"/api/v1/tasks/{task}/log")).text == ""
    assert (await http.get(f"/api/v1/tasks/{task}/artifacts")).json()["items"] == []


async def test_what_a_worker_logs_of_its_own_tasks_is_kept(http: httpx.AsyncClient, acme: Said) -> None:
    task = await submitted(http, "acme")
    session = await opened(acme)
    await acme("POST", f"{SESSIONS}/{session}/claim", limit=1)

    for seq, text in enumerate(("one\n", "two\n")):
        chunks = [{"task": task, "epoch": 1, "seq": seq, "text": text}]
        assert (await acme("POST", f"{SESSIONS}/{session}/log", chunks=chunks)).status_code == 204

    assert (await http.get(f"/api/v1/tasks/{task}/log")).text == "one\ntwo\n"


async def test_a_tenant_sees_its_workers_and_of_shared_ones_what_they_run(
    http: httpx.AsyncClient, acme: Said, beta: Said
) -> None:
    viewer = (await made(http, tenant="acme", role="operator"))["key"]
    fleet = worker(http, (await made(http, tenant="*", role="worker"))["key"])
    own = await opened(acme, host="acme host")
    await opened(beta, host="beta host")
    shared = await opened(fleet, host="secret host", label="secret", pid=7)
    await submitted(http, "default")
    await fleet("POST", f"{SESSIONS}/{shared}/claim", limit=1)
    await fleet("POST", f"{SESSIONS}/{shared}/beat", usage={"memory": 7, "cpu": 0.5})
    await acme("POST", f"{SESSIONS}/{own}/beat", usage={"memory": 8, "cpu": 0.25})

    reply = await http.get("/api/v1/workers", headers={"X-API-Key": viewer})
    workers = {item["id"]: item for item in reply.json()["items"]}
    everybody = (await http.get("/api/v1/workers")).json()["items"]

    assert set(workers) == {own, shared}
    assert (workers[own]["host"], workers[shared]["host"], workers[shared]["held"]) == ("acme host", "", 0)
    assert workers[shared]["types"] == ["shop.send", "bank.pay"]
    assert [workers[each]["memory"] for each in (own, shared)] == [8, None]
    assert [workers[each]["cpu"] for each in (own, shared)] == [0.25, None]
    assert len(everybody) == 3
    by_acme = {"X-API-Key": viewer}
    assert (await http.get(f"/api/v1/workers/{shared}", headers=by_acme)).json() == workers[shared]
    of_beta = next(item["id"] for item in everybody if item["host"] == "beta host")
    problem(await http.get(f"/api/v1/workers/{of_beta}", headers=by_acme), 404, "not_found", "id")
    problem(await http.post(f"/api/v1/workers/{shared}/drain", headers=by_acme), 403, "forbidden", "id")
    assert (await http.post(f"/api/v1/workers/{own}/drain", headers=by_acme)).json()["should_drain"] is True


async def test_names_and_queues_narrow_what_a_worker_is_given(http: httpx.AsyncClient) -> None:
    narrow = worker(http, (await made(http, role="worker", names=["shop.*"], queues=["mail"]))["key"])
    wide = worker(http, (await made(http, role="worker", queues=["mail*"]))["key"])
    other = worker(http, (await made(http, role="worker", names=["nothing"]))["key"])
    task = await submitted(http, "default", queue="mail")
    await submitted(http, "default", queue="other")
    await submitted(http, "default", queue="mail", name="bank.pay")

    session = await opened(narrow)
    claimed = (await narrow("POST", f"{SESSIONS}/{session}/claim", limit=10)).json()["tasks"]

    assert [each["lease"]["task"] for each in claimed] == [task]
    problem(await narrow("POST", SESSIONS, types=TYPES, capacity=1, queues=["other"]), 403, "forbidden", "queues")
    problem(await wide("POST", SESSIONS, types=TYPES, capacity=1), 403, "forbidden", "queues")
    assert (await wide("POST", SESSIONS, types=TYPES, capacity=1, queues=["mail-7"])).status_code == 201
    problem(await other("POST", SESSIONS, types=TYPES, capacity=1), 403, "forbidden", "types")


async def test_a_narrowed_key_cannot_use_a_wider_session_of_its_tenant(http: httpx.AsyncClient) -> None:
    wide = worker(http, (await made(http, role="worker"))["key"])
    narrow = worker(http, (await made(http, role="worker", names=["shop.*"]))["key"])
    session = await opened(wide)

    problem(await narrow("POST", f"{SESSIONS}/{session}/claim", limit=1), 404, "not_found", "session")


async def test_a_worker_whose_session_was_closed_is_told_so(acme: Said) -> None:
    session = await opened(acme)
    await acme("DELETE", f"{SESSIONS}/{session}")

    beat = await acme("POST", f"{SESSIONS}/{session}/beat")

    assert beat.json()["is_open"] is False
    assert (await acme("DELETE", f"{SESSIONS}/{session}")).status_code == 204


async def test_a_claim_or_change_reaches_no_queue_that_the_key_is_not_for(http: httpx.AsyncClient) -> None:
    narrow = worker(http, (await made(http, role="worker", queues=["mail"]))["key"])
    await submitted(http, "default", queue="other")
    session = await opened(narrow)
    path = f"{SESSIONS}/{session}"

    problem(await narrow("POST", f"{path}/claim", limit=1, queues=["other"]), 403, "forbidden", "queues")
    problem(await narrow("PATCH", path, queues=["other"], capacity=1), 403, "forbidden", "queues")
    everything = await narrow("POST", f"{path}/claim", limit=1, queues=[])
    assert everything.json()["tasks"] == []
    assert (await narrow("PATCH", path, queues=[], capacity=7)).status_code == 204
    (seen,) = (await http.get("/api/v1/workers")).json()["items"]
    assert (seen["queues"], seen["capacity"]) == (["mail"], 7)


NO_NONCE = "0000000000000000"


async def logged(http: httpx.AsyncClient, task: str) -> str:
    return (await http.get(f"/api/v1/tasks/{task}/log")).text


async def running(http: httpx.AsyncClient, say: Said, **fields: Any) -> tuple[str, dict[str, Any]]:
    """Let a worker run a task, and return its session's path and the lease."""
    await submitted(http, "default", **fields)
    path = f"{SESSIONS}/{await opened(say)}"
    (claimed,) = (await say("POST", f"{path}/claim", limit=1)).json()["tasks"]
    lease: dict[str, Any] = claimed["lease"]
    return path, lease


async def test_nobody_writes_the_log_of_a_task_before_it_runs(http: httpx.AsyncClient) -> None:
    narrow = worker(http, (await made(http, role="worker", names=["shop.*"]))["key"])
    wide = worker(http, (await made(http, role="worker"))["key"])
    others = await submitted(http, "default", name="bank.pay")
    own = await submitted(http, "default", name="shop.send", delay=3600)

    for say in (narrow, wide):
        path = f"{SESSIONS}/{await opened(say)}"
        for epoch in (0, 1, 2):
            for nonce in ({}, {"nonce": NO_NONCE}):
                chunks = [
                    {"task": task, "epoch": epoch, "seq": seq, "text": "planted", **nonce}
                    for seq, task in enumerate((others, own))
                ]
                assert (await say("POST", f"{path}/log", chunks=chunks)).status_code == 204

    assert [await logged(http, task) for task in (others, own)] == ["", ""]


async def test_nobody_speaks_for_what_another_key_runs(http: httpx.AsyncClient) -> None:
    ada = worker(http, (await made(http, role="worker"))["key"])
    bob = worker(http, (await made(http, role="worker"))["key"])
    path, lease = await running(http, ada)
    own = f"{SESSIONS}/{await opened(bob)}"
    guessed = {**lease, "nonce": NO_NONCE}
    task, epoch = lease["task"], lease["epoch"]

    for place in (path, own):
        for nonce in ({}, {"nonce": NO_NONCE}):
            chunk = {"task": task, "epoch": epoch, "seq": 0, "text": "planted", **nonce}
            assert (await bob("POST", f"{place}/log", chunks=[chunk])).status_code == 204
        await bob("POST", f"{place}/progress", notes=[{"lease": guessed, "done": 7}])
        settled = await bob("POST", f"{place}/settle", reports=[{"lease": guessed, "outcome": "succeeded"}])
        assert settled.json()["reports"][0]["error"]["code"] == "fenced"
        assert (await bob("PUT", f"{place}/artifacts/{task}/evil.txt")).status_code in {404, 409}
        assert (await bob("POST", f"{place}/secrets", lease=guessed)).status_code in {404, 409}
        assert (await bob("POST", f"{place}/beat", held=[guessed])).json()["lost"] == [task]
    for method, said in (("PATCH", {"capacity": 1}), ("DELETE", {})):
        assert (await bob(method, path, **said)).status_code in {204, 404}
    problem(await bob("POST", f"{path}/claim", limit=1), 404, "not_found", "session")

    still = (await ada("POST", f"{path}/beat", held=[lease])).json()
    assert (still["is_open"], still["lost"]) == (True, [])
    assert await logged(http, task) == ""
    seen = (await http.get(f"/api/v1/tasks/{task}")).json()
    assert (seen["status"], seen.get("progress")) == ("PROCESSING", None)
    assert (await http.get(f"/api/v1/tasks/{task}/artifacts")).json()["items"] == []


async def test_a_worker_of_an_earlier_version_still_logs_what_it_runs(http: httpx.AsyncClient) -> None:
    say = worker(http, (await made(http, role="worker", names=["shop.*"]))["key"])
    path, lease = await running(http, say)
    task, epoch = lease["task"], lease["epoch"]

    await say("POST", f"{path}/log", chunks=[{"task": task, "epoch": epoch, "seq": 0, "text": "a"}])
    await say("POST", f"{path}/log", chunks=[{**lease, "seq": 1, "text": "b"}])
    await say("POST", f"{path}/settle", reports=[{"lease": lease, "outcome": "succeeded"}])
    await say("POST", f"{path}/log", chunks=[{"task": task, "epoch": epoch, "seq": 2, "text": "c"}])
    await say("POST", f"{path}/log", chunks=[{**lease, "seq": 3, "text": "d"}])
    await say("POST", f"{path}/log", chunks=[{**lease, "nonce": NO_NONCE, "seq": 4, "text": "x"}])

    assert await logged(http, task) == "abcd"


async def test_a_file_is_taken_under_the_lease_that_it_names_only(http: httpx.AsyncClient) -> None:
    key = (await made(http, role="worker"))["key"]
    path, lease = await running(http, worker(http, key))

    async def put(name: str, **headers: str) -> httpx.Response:
        place = f"{path}/artifacts/{lease['task']}/{name}"
        return await http.put(place, content=b"x", headers={"X-API-Key": key, "Content-Type": "text/plain", **headers})

    assert (await put("old.txt")).status_code == 204
    assert (await put("new.txt", **{"X-Lease": f"{lease['epoch']} {lease['nonce']}"})).status_code == 204
    problem(await put("x.txt", **{"X-Lease": f"{lease['epoch']} {NO_NONCE}"}), 409, "fenced", "task")
    problem(await put("x.txt", **{"X-Lease": f"9 {lease['nonce']}"}), 409, "fenced", "task")
    problem(await put("x.txt", **{"X-Lease": "nonsense"}), 422, "invalid", "X-Lease")


async def test_a_worker_goes_on_in_its_session_with_the_key_that_replaces_its_own(http: httpx.AsyncClient) -> None:
    old = await made(http, role="worker")
    path, lease = await running(http, worker(http, old["key"]))
    new = (await http.post(f"/api/v1/keys/{old['id']}/rotate", json={"overlap": "1h"})).json()["key"]

    beat = await worker(http, new)("POST", f"{path}/beat", held=[lease])
    settled = await worker(http, new)("POST", f"{path}/settle", reports=[{"lease": lease, "outcome": "succeeded"}])

    assert beat.json()["is_open"] is True
    assert settled.json() == {"reports": [{"state": "completed"}]}
    problem(
        await worker(http, (await made(http, role="worker"))["key"])("POST", f"{path}/claim"),
        404,
        "not_found",
        "session",
    )


async def test_a_worker_whose_session_was_closed_still_says_how_its_tasks_ended(http: httpx.AsyncClient) -> None:
    say = worker(http, (await made(http, role="worker"))["key"])
    path, lease = await running(http, say)
    await say("DELETE", path)

    settled = await say("POST", f"{path}/settle", reports=[{"lease": lease, "outcome": "succeeded"}])

    assert settled.json() == {"reports": [{"state": "completed"}]}


async def test_a_worker_cannot_fill_the_store_with_a_log(http: httpx.AsyncClient, acme: Said) -> None:
    task = await submitted(http, "acme")
    session = await opened(acme)
    path = f"{SESSIONS}/{session}"
    (claimed,) = (await acme("POST", f"{path}/claim", limit=1)).json()["tasks"]

    for number in range(8):
        piece = {"task": task, "epoch": claimed["lease"]["epoch"], "nonce": claimed["lease"]["nonce"], "seq": number}
        assert (await acme("POST", f"{path}/log", chunks=[{**piece, "text": "x" * 500_000}])).status_code == 204

    kept = len(await logged(http, task))
    assert 1_000_000 <= kept <= DEFAULT_LIMITS.log_total


async def test_a_task_has_so_many_files_and_no_more(
    engine: Engine, tmp_path: Path, stop: StopEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "limits", replace(DEFAULT_LIMITS, artifacts=2, task_artifacts=1000))
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)), stop=stop)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://drumline", headers={"X-API-Key": KEY}
    ) as http:
        task = await submitted(http, "default")
        session = await opened(worker(http, KEY))
        path = f"{SESSIONS}/{session}"
        await http.post(f"{path}/claim", json={"limit": 1})

        async def put(name: str, size: int) -> httpx.Response:
            return await http.put(f"{path}/artifacts/{task}/{name}", content=b"x" * size)

        assert [(await put(name, 400)).status_code for name in ("a", "b", "a")] == [204, 204, 204]
        problem(await put("c", 1), 429, "quota_exceeded")
        problem(await put("a", 601), 429, "quota_exceeded")
        assert (await put("a", 600)).status_code == 204
