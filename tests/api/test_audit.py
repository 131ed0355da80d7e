"""Acts are written down before they are done and after, and whoever touches the log is found out."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info
from drumline.core.audit import AuditHead, AuditRow, Verifier
from drumline.core.errors import Unavailable
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, problem, submitted
from tests.api.test_keys import made


async def rows(http: httpx.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    reply = await http.get("/api/v1/audit", params=query)
    assert reply.status_code == 200, reply.text
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


async def test_an_act_is_told_with_who_from_where_what_why_before_and_after(http: httpx.AsyncClient) -> None:
    key = await made(http, name="ada", role="operator")
    task = await submitted(http, delay=60)

    await http.post(
        f"/api/v1/tasks/{task}/cancel",
        headers={"X-API-Key": key["key"], "X-Reason": "the customer left %E2%9C%93"},
    )
    (row,) = await rows(http, act="task.cancel")

    assert (row["key"], row["key_name"], row["tenant"], row["address"]) == (key["id"], "ada", "default", "127.0.0.1")
    assert (row["target"], row["phase"], row["reason"]) == (
        f"/api/v1/tasks/{task}/cancel", "done", "the customer left \N{CHECK MARK}",
    )  # fmt: skip
    assert (row["before"]["status"], row["after"]["status"], row["after"]["id"]) == ("PENDING", "CANCELLED", task)
    assert row["request_id"]
    assert row["problem"] is None


async def test_a_schedule_that_comes_with_a_job_is_written_down_like_any_other(http: httpx.AsyncClient) -> None:
    job = {"name": "nightly", "tasks": {"a": {"command": "echo"}}}
    await http.post("/api/v1/jobs", json=job)
    assert await rows(http) == []

    made_ = await http.post("/api/v1/jobs", json=job | {"schedule": {"cron": "@daily"}})
    again = await http.post("/api/v1/jobs", json=job | {"schedule": {"cron": "@daily"}})

    assert (made_.status_code, again.status_code) == (201, 409)
    refused, done = await rows(http, act="schedule.create")
    assert (done["phase"], done["target"], done["after"]["name"]) == ("done", "/api/v1/jobs", "nightly")
    assert (refused["phase"], refused["problem"]) == (
        "refused", "conflict: there is a schedule named 'nightly' already",
    )  # fmt: skip


async def test_who_only_asks_what_would_be_done_has_done_nothing(http: httpx.AsyncClient) -> None:
    asked = await http.post("/api/v1/bulk", json={"act": "retry", "all": True, "dry_run": True})
    done = await http.post("/api/v1/bulk", json={"act": "retry", "all": True})

    assert (asked.status_code, done.status_code) == (200, 202)
    assert [row["act"] for row in await rows(http)] == ["bulk.begin"]


async def test_an_act_is_asked_before_and_answered_after(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/queues/mail/pause", json={"reason": "provider is down"})

    done, asked = await rows(http, all="true")

    assert (asked["phase"], done["phase"], done["asks"]) == ("asked", "done", asked["id"])
    assert (asked["seq"], done["seq"]) == (1, 2)
    assert asked["reason"] == done["reason"] == "provider is down"
    assert await rows(http) == [done]


async def test_an_act_that_cannot_be_done_is_told_with_the_reason(http: httpx.AsyncClient) -> None:
    gone = "01890a5d-ac96-774b-bcce-b302099a8057"

    await http.post(f"/api/v1/tasks/{gone}/retry")
    (row,) = await rows(http)

    assert (row["phase"], row["act"]) == ("refused", "task.retry")
    assert row["problem"] == f"not_found: there is no task {gone}"


async def test_looking_and_submitting_leave_nothing_behind(http: httpx.AsyncClient) -> None:
    task = await submitted(http)
    await http.get(f"/api/v1/tasks/{task}")
    await http.post("/api/v1/tasks/batch", json={"tasks": [{"name": "a"}]})
    problem(await http.post("/api/v1/queues/mail/pause", content=b"{"), 400, "malformed", "body")

    assert await rows(http, all="true") == []


async def test_a_reason_that_cannot_be_kept_stops_the_act(http: httpx.AsyncClient) -> None:
    long = await http.post("/api/v1/queues/mail/pause", headers={"X-Reason": "x" * 501})
    odd = await http.post("/api/v1/queues/mail/pause", headers={"X-Reason": "a%00b"})

    problem(long, 422, "invalid", "X-Reason")
    problem(odd, 422, "invalid", "X-Reason")
    assert (await http.get("/api/v1/queues")).json()["items"] == []


async def test_what_cannot_be_written_down_is_not_done(
    http: httpx.AsyncClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_entries: object) -> list[AuditRow]:
        raise Unavailable("away")

    monkeypatch.setattr(engine.access.audit._appending, "_flush", away)
    refused = await http.post("/api/v1/queues/mail/pause")
    monkeypatch.undo()

    problem(refused, 503, "unavailable")
    assert (await http.get("/api/v1/queues")).json()["items"] == []


async def test_an_act_whose_server_dies_in_between_stays_asked(
    http: httpx.AsyncClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killing a process is like never coming back from the act."""

    begun = asyncio.Event()

    async def never(*_: object, **__: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(engine.control, "pause_queue", never)
    pausing = asyncio.create_task(http.post("/api/v1/queues/mail/pause"))
    await begun.wait()
    told = await rows(http)
    pausing.cancel()
    await asyncio.gather(pausing, return_exceptions=True)

    assert [(row["phase"], row["act"]) for row in told] == [("asked", "queue.pause")]
    assert (await http.get("/api/v1/audit/verify")).json()["is_sound"] is True


async def test_each_tenant_reads_its_own_log(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    acme = await made(http, tenant="acme", role="operator")
    own = {"X-API-Key": acme["key"]}
    await http.post("/api/v1/queues/mail/pause", headers=own)
    await http.post("/api/v1/queues/mail/pause")

    seen = (await http.get("/api/v1/audit?all=true", headers=own)).json()["items"]
    verified = (await http.get("/api/v1/audit/verify", headers=own)).json()
    exported = (await http.get("/api/v1/audit/export", headers=own)).text

    assert {(row["tenant"], row["key"]) for row in seen} == {("acme", acme["id"])}
    assert [(chain["tenant"], chain["rows"]) for chain in verified["chains"]] == [("acme", 2)]
    assert {json.loads(line)["tenant"] for line in exported.splitlines()} == {"acme"}
    assert {row["tenant"] for row in await rows(http)} == {"acme", "default"}


async def test_the_log_is_listed_in_pages_and_narrowed(http: httpx.AsyncClient) -> None:
    for number in range(5):
        await http.post(f"/api/v1/queues/q{number}/pause")

    first = (await http.get("/api/v1/audit?limit=3")).json()
    rest = (await http.get(f"/api/v1/audit?limit=3&cursor={first['next_cursor']}")).json()

    assert [row["after"]["queue"] for row in (*first["items"], *rest["items"])] == ["q4", "q3", "q2", "q1", "q0"]
    assert rest["next_cursor"] is None
    assert [row["after"]["queue"] for row in await rows(http, target="/api/v1/queues/q2/pause")] == ["q2"]
    assert await rows(http, since="2100-01-01T00:00:00Z") == []
    assert len(await rows(http, until="2100-01-01T00:00:00Z")) == 5
    problem(await http.get("/api/v1/audit?limit=0"), 422, "invalid", "limit")
    problem(await http.get("/api/v1/audit?cursor=x"), 422, "invalid", "cursor")


async def test_an_export_has_all_that_verifying_needs(http: httpx.AsyncClient) -> None:
    for number in range(3):
        await http.post(f"/api/v1/queues/q{number}/pause")

    *lines, end = (json.loads(line) for line in (await http.get("/api/v1/audit/export")).text.splitlines())

    verifier = Verifier("default")
    verifier.follow([AuditRow(**{**line, "hash": bytes.fromhex(line["hash"])}) for line in lines])
    assert len(lines) == 6
    assert (end["count"], end["head"]) == (6, str(verifier.head))
    assert verifier.close(AuditHead("default", end["count"], bytes.fromhex(end["head"].partition(":")[2]))) is None


Tamper = Callable[[str], None]


@pytest.fixture
def tamper(tmp_path: Path) -> Tamper:
    def run(statement: str) -> None:
        connection = sqlite3.connect(tmp_path / "drumline.db")
        connection.executescript(f"DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted; {statement}")
        connection.close()

    return run


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("UPDATE audit SET text = replace(text, 'q1', 'q9') WHERE seq = 4", 4),
        ("DELETE FROM audit WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq > 4", 5),
    ],
)
async def test_verifying_finds_what_was_changed_or_taken_out(
    http: httpx.AsyncClient, tamper: Tamper, statement: str, seq: int
) -> None:
    for number in range(3):
        await http.post(f"/api/v1/queues/q{number}/pause")
    sound = (await http.get("/api/v1/audit/verify")).json()

    tamper(statement)
    (chain,) = (await http.get("/api/v1/audit/verify")).json()["chains"]

    assert sound["is_sound"] is True
    assert (chain["is_sound"], chain["fault"]["seq"], chain["rows"]) == (False, seq, seq - 1)


async def test_a_head_kept_elsewhere_must_have_been_passed_through(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/queues/q/pause")
    (chain,) = (await http.get("/api/v1/audit/verify")).json()["chains"]
    await http.post("/api/v1/queues/q/resume")

    kept = (await http.get("/api/v1/audit/verify", params={"expect": chain["head"]})).json()
    other = (await http.get("/api/v1/audit/verify", params={"expect": f"2:{'0' * 64}"})).json()
    more = (await http.get("/api/v1/audit/verify", params={"expect": f"9:{'0' * 64}"})).json()

    assert [body["is_sound"] for body in (kept, other, more)] == [True, False, False]
    problem(await http.get("/api/v1/audit/verify?expect=x"), 422, "invalid", "expect")


async def test_two_servers_that_write_at_once_make_one_chain(
    http: httpx.AsyncClient, engine: Engine, tmp_path: Path
) -> None:
    second = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path)))

    async def paused(client: httpx.AsyncClient, number: int) -> None:
        assert (await client.post(f"/api/v1/queues/q{number}/pause")).status_code == 200

    async with _client(second) as other:
        acts: list[Awaitable[None]] = [paused((http, other)[number % 2], number) for number in range(30)]
        await asyncio.gather(*acts)

    verified = (await http.get("/api/v1/audit/verify")).json()
    assert [(chain["rows"], chain["is_sound"]) for chain in verified["chains"]] == [(60, True)]


def _client(app: ASGIApp) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY})
