"""The remote worker protocol."""

import asyncio
from typing import Any

import httpx
import pytest

from drumline.core.session import BEAT_EVERY, MOST_CORES, MOST_MEMORY, SESSION_TTL
from drumline.engine.engine import Engine
from tests.api.conftest import problem, submitted

SESSIONS = "/api/v1/worker/sessions"
NOBODY = "w-00c0ffee00c0ffee"
SPEC = {"types": [{"name": "work"}], "capacity": 4, "host": "ada", "pid": 7, "version": "1"}


class Remote:
    """A worker somewhere else."""

    def __init__(self, http: httpx.AsyncClient, session: str) -> None:
        self.http = http
        self.session = session
        self.path = f"{SESSIONS}/{session}"

    async def do(self, act: str, **body: Any) -> Any:
        reply = await self.http.post(f"{self.path}/{act}", json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def claim(self, **body: Any) -> list[dict[str, Any]]:
        tasks: list[dict[str, Any]] = (await self.do("claim", **body))["tasks"]
        return tasks

    async def settle(self, lease: Any, outcome: str, **details: Any) -> dict[str, Any]:
        answer: dict[str, Any]
        (answer,) = (await self.do("settle", reports=[{"lease": lease, "outcome": outcome, **details}]))["reports"]
        return answer


@pytest.fixture
async def bob(http: httpx.AsyncClient) -> Remote:
    reply = await http.post(SESSIONS, json=SPEC)
    assert reply.status_code == 201, reply.text
    return Remote(http, reply.json()["session"])


async def test_a_worker_registers_and_is_listed(http: httpx.AsyncClient) -> None:
    reply = await http.post(
        SESSIONS, json={**SPEC, "queues": ["mail"], "label": "in the cellar", "app_version": "shop 3"}
    )

    body = reply.json()
    assert (body["beat_every"], body["ttl"]) == (BEAT_EVERY, SESSION_TTL)
    (worker,) = (await http.get("/api/v1/workers")).json()["items"]
    assert (worker["id"], worker["label"], worker["queues"]) == (body["session"], "in the cellar", ["mail"])
    assert (worker["version"], worker["app_version"]) == ("1", "shop 3")


async def test_a_worker_that_does_not_tell_its_application_is_listed_without(
    http: httpx.AsyncClient, bob: Remote
) -> None:
    assert (await http.get(f"/api/v1/workers/{bob.session}")).json()["app_version"] == ""


async def test_a_task_is_claimed_and_completed(http: httpx.AsyncClient, bob: Remote) -> None:
    task = await submitted(http, payload={"n": 1}, timeout=30, tags=["vip"])

    (claimed,) = await bob.claim(limit=5)
    answer = await bob.settle(claimed["lease"], "succeeded", result={"ok": True})

    assert claimed["lease"]["task"] == task
    assert len(claimed["lease"]["nonce"]) == 16
    assert (claimed["name"], claimed["queue"], claimed["attempt"]) == ("work", "default", 1)
    assert (claimed["payload"], claimed["timeout"], claimed["tags"]) == ({"n": 1}, 30.0, ["vip"])
    assert "backoff" not in claimed
    assert answer == {"state": "completed"}
    body = (await http.get(f"/api/v1/tasks/{task}")).json()
    assert (body["status"], body["result"], body["worker"]) == ("COMPLETED", {"ok": True}, bob.session)


async def test_a_default_task_carries_only_what_matters(http: httpx.AsyncClient, bob: Remote) -> None:
    await submitted(http)

    (claimed,) = await bob.claim()

    assert set(claimed) == {"lease", "name", "queue", "payload", "attempt"}


async def test_a_claim_repeated_by_its_id_returns_the_same_tasks(http: httpx.AsyncClient, bob: Remote) -> None:
    await submitted(http)
    await submitted(http)

    first = await bob.claim(limit=1, claim_id="fedcba9876543210")
    again = await bob.claim(limit=1, claim_id="fedcba9876543210", again=True)
    other = await bob.claim(limit=1, claim_id="0000000000000001", again=True)

    assert again == first
    assert other[0]["lease"]["task"] != first[0]["lease"]["task"]


async def test_a_claim_waits_for_a_task(http: httpx.AsyncClient, bob: Remote) -> None:
    waiting = asyncio.create_task(bob.claim(wait=30))
    await asyncio.sleep(0)

    task = await submitted(http)

    async with asyncio.timeout(5):
        assert (await waiting)[0]["lease"]["task"] == task


async def test_a_waiting_claim_is_told_to_repeat_when_the_server_stops(
    http: httpx.AsyncClient, bob: Remote, stop: asyncio.Event
) -> None:
    waiting = asyncio.create_task(http.post(f"{bob.path}/claim", json={"wait": 60}))
    await asyncio.sleep(0)

    stop.set()

    async with asyncio.timeout(5):
        reply = await waiting
    problem(reply, 503, "unavailable")
    assert reply.headers["retry-after"]


async def test_a_session_that_is_not_open_claims_nothing(http: httpx.AsyncClient) -> None:
    reply = await http.post(f"{SESSIONS}/{NOBODY}/claim", json={})

    problem(reply, 404, "not_found", "session")


async def test_a_beat_tells_what_was_lost_and_what_should_stop(http: httpx.AsyncClient, bob: Remote) -> None:
    stopped = await submitted(http)
    lost = await submitted(http)
    held = [task["lease"] for task in await bob.claim(limit=2)]
    await http.post(f"/api/v1/tasks/{stopped}/cancel")
    await http.post(f"/api/v1/tasks/{lost}/cancel?force=true")
    await http.post(f"/api/v1/workers/{bob.session}/drain")

    reply = await bob.do("beat", held=held)

    assert reply == {"is_open": True, "lost": [lost], "cancelled": [stopped], "should_drain": True, "config": 0}


async def test_a_worker_is_shown_with_the_usage_of_its_last_beat_also_when_it_has_left(
    http: httpx.AsyncClient, bob: Remote
) -> None:
    async def shown() -> tuple[int | None, float | None]:
        one = (await http.get(f"/api/v1/workers/{bob.session}")).json()
        (listed,) = (await http.get("/api/v1/workers?closed=true")).json()["items"]
        assert one == listed
        return one["memory"], one["cpu"]

    assert await shown() == (None, None)
    await bob.do("beat", held=[], usage={"memory": 84_000_000})
    assert await shown() == (84_000_000, None)
    await bob.do("beat", held=[], usage={"memory": 84_000_000, "cpu": 1.5})
    await http.delete(bob.path)
    assert await shown() == (84_000_000, 1.5)


@pytest.mark.parametrize("number", ["NaN", "1e999", "-1e999", "Infinity"])
async def test_a_usage_that_is_no_finite_number_is_refused(http: httpx.AsyncClient, bob: Remote, number: str) -> None:
    reply = await http.post(f"{bob.path}/beat", content=f'{{"usage": {{"cpu": {number}}}}}')

    assert reply.status_code in {400, 422}
    assert (await http.get(f"/api/v1/workers/{bob.session}")).json()["cpu"] is None


async def test_a_beat_of_a_session_that_is_gone_says_so(http: httpx.AsyncClient) -> None:
    reply = await http.post(f"{SESSIONS}/{NOBODY}/beat")

    assert (reply.status_code, reply.json()["is_open"]) == (200, False)


async def test_every_outcome_leads_to_its_state(http: httpx.AsyncClient, bob: Remote) -> None:
    error = {"kind": "ValueError", "message": "oo\0ps", "traceback": "line 1"}
    outcomes: list[tuple[str, dict[str, Any], str]] = [
        ("failed", {"error": error, "permanent": True}, "failed"),
        ("failed", {"error": error, "retry_after": 60}, "queued"),
        ("snoozed", {"seconds": 60}, "queued"),
        ("stopped", {}, "cancelled"),
        ("released", {}, "queued"),
    ]
    tasks = [await submitted(http) for _ in outcomes]
    held = {task["lease"]["task"]: task["lease"] for task in await bob.claim(limit=5)}

    for task, (outcome, details, state) in zip(tasks, outcomes, strict=True):
        assert await bob.settle(held[task], outcome, **details) == {"state": state}
    failed = (await http.get(f"/api/v1/tasks/{tasks[0]}")).json()
    assert failed["error"] == {"kind": "ValueError", "message": "oo\ufffdps", "traceback": "line 1"}


async def test_a_report_sent_twice_gets_the_same_answer_and_a_late_one_is_fenced(
    http: httpx.AsyncClient, bob: Remote
) -> None:
    await submitted(http)
    ((lease),) = [task["lease"] for task in await bob.claim()]

    first = await bob.settle(lease, "succeeded")
    again = await bob.settle(lease, "succeeded")
    late = await bob.settle({**lease, "epoch": lease["epoch"] + 1}, "succeeded")

    assert first == again == {"state": "completed"}
    assert (late["error"]["code"], late["error"]["status"]) == ("fenced", 409)


async def test_a_bad_report_does_not_hold_up_the_others(http: httpx.AsyncClient, bob: Remote) -> None:
    await submitted(http)
    (claimed,) = await bob.claim()
    body = b'{"reports": [{"outcome": "succeeded", "lease": %s, "result": %s}, {"outcome": "succeeded", "lease": %s}]}'
    lease = httpx.Request("POST", "http://x", json=claimed["lease"]).content

    reply = await http.post(f"{bob.path}/settle", content=body % (lease, b"[" * 200 + b"]" * 200, lease))

    bad, good = reply.json()["reports"]
    assert (bad["error"]["code"], bad["error"]["field"]) == ("too_deep", "reports[0].result")
    assert good == {"state": "completed"}


@pytest.mark.parametrize(
    ("act", "body", "field"),
    [
        ("claim", {"limit": 0}, "limit"),
        ("claim", {"wait": 61}, "wait"),
        ("claim", {"claim_id": "xyz"}, "claim_id"),
        ("claim", {"again": True}, "again"),
        ("claim", {"lmit": 1}, "lmit"),
        ("beat", {"held": [{"task": "7", "epoch": 1, "nonce": "0" * 16}]}, "held[0].task"),
        ("beat", {"held": [{"task": "7", "epoch": -1, "nonce": "0" * 16}]}, "held[0].epoch"),
        ("beat", {"held": [{"task": "7", "epoch": 1 << 31, "nonce": "0" * 16}]}, "held[0].epoch"),
        ("beat", {"usage": {"memory": -1}}, "usage.memory"),
        ("beat", {"usage": {"memory": 1.5}}, "usage.memory"),
        ("beat", {"usage": {"memory": MOST_MEMORY + 1}}, "usage.memory"),
        ("beat", {"usage": {"cpu": -0.1}}, "usage.cpu"),
        ("beat", {"usage": {"cpu": MOST_CORES + 1}}, "usage.cpu"),
        ("beat", {"usage": {"cpu": "half"}}, "usage.cpu"),
        ("beat", {"usage": {"disk": 1}}, "usage.disk"),
        ("log", {"chunks": [{"task": "7", "epoch": 1, "seq": 1 << 31, "text": ""}]}, "chunks[0].seq"),
        ("settle", {"reports": [{"outcome": "vanished"}]}, "reports[0].outcome"),
        ("log", {"chunks": [{"task": "7", "epoch": 1, "seq": 0, "text": ""}]}, "chunks[0].task"),
    ],
)
async def test_what_is_wrong_in_a_workers_words_is_named(
    bob: Remote, http: httpx.AsyncClient, act: str, body: dict[str, Any], field: str
) -> None:
    problem(await http.post(f"{bob.path}/{act}", json=body), 422, "invalid", field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"capacity": 0}, "capacity"),
        ({"types": [{"name": ""}]}, "types[0].name"),
        ({"queues": ["a", "b c"]}, "queues[1]"),
        ({"host": "a\nb"}, "host"),
        ({"app_version": "a\nb"}, "app_version"),
        ({"app_version": "a" * 256}, "app_version"),
        ({"hsot": "a"}, "hsot"),
    ],
)
async def test_what_is_wrong_in_a_registration_is_named(
    http: httpx.AsyncClient, change: dict[str, Any], field: str
) -> None:
    problem(await http.post(SESSIONS, json={**SPEC, **change}), 422, "invalid", field)


async def test_a_log_is_kept_once_however_often_it_is_sent(http: httpx.AsyncClient, bob: Remote) -> None:
    task = await submitted(http)
    (claimed,) = await bob.claim()
    chunk = {"task": task, "epoch": claimed["lease"]["epoch"], "seq": 0, "text": "half\0way\n"}

    for _ in range(2):
        assert (await http.post(f"{bob.path}/log", json={"chunks": [chunk]})).status_code == 204

    assert (await http.get(f"/api/v1/tasks/{task}/log")).text == "half\ufffdway\n"


async def test_a_file_is_kept_only_from_the_session_that_runs_the_task(http: httpx.AsyncClient, bob: Remote) -> None:
    task = await submitted(http)
    path = f"{bob.path}/artifacts/{task}/report.pdf"
    pdf = {"Content-Type": "application/pdf"}

    problem(await http.put(path, content=b"%PDF", headers=pdf), 409, "fenced", "task")
    (claimed,) = await bob.claim()
    kept = await http.put(path, content=b"%PDF", headers=pdf)
    await bob.settle(claimed["lease"], "succeeded")

    assert kept.status_code == 204
    file = await http.get(f"/api/v1/tasks/{task}/artifacts/report.pdf")
    assert (file.content, file.headers["content-type"]) == (b"%PDF", "application/pdf")
    problem(await http.put(path, content=b"late", headers=pdf), 409, "fenced", "task")


async def test_a_file_that_is_too_large_is_refused(http: httpx.AsyncClient, bob: Remote, engine: Engine) -> None:
    task = await submitted(http)
    await bob.claim()

    reply = await http.put(f"{bob.path}/artifacts/{task}/a", content=b"x" * (engine.limits.artifact + 1))

    problem(reply, 413, "too_large", "artifact")


async def test_a_worker_that_leaves_is_gone(http: httpx.AsyncClient, bob: Remote) -> None:
    assert (await http.delete(bob.path)).status_code == 204

    assert (await http.get("/api/v1/workers")).json()["items"] == []
    problem(await http.post(f"{bob.path}/claim", json={}), 404, "not_found", "session")
