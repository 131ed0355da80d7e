"""Who gets in where: every operation, with every kind of key, and with another tenant's."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info, Operation
from drumline.api.routes import OPERATIONS
from drumline.core.access import INSTALLATION, ROLES, Role
from drumline.core.api_key import make_key
from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.engine.options import EngineOptions
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sqlite import SqliteStore
from tests.api.neighbours import CANARY, ELSEWHERE, UNLIMITED, Tenancy

KEY = "an operator's own words"
GUARDED = [operation for operation in OPERATIONS if not operation.is_open]

NOUNS = {
    "tasks": "done",
    "keys": "key of acme viewer",
    "workers": "session",
    "failures": "done",
    "subscriptions": "subscription",
    "deliveries": "delivery",
    "alerts": "alert",
    "slos": "slo",
    "bulk": "bulk",
    "jobs": "job",
    "schedules": "schedule",
}
"""What stands behind a noun in a path: which of acme's things."""
BY_NAME = ("/queues/", "/limits/", "/secrets/", "/views/", "v1/signals/")
WORDS = {
    "name": f"{CANARY}-queue",
    "session": "session",
    "task": "done",
    "task_id": "done",
    "fingerprint": "fingerprint",
    "page": "tasks",
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def store_url(request: pytest.FixtureRequest) -> str | None:
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return url


@pytest.fixture
async def tenancy(store_url: str | None, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Tenancy]:
    store: Store = await (
        PostgresStore.open(store_url, clock=clock) if store_url else SqliteStore.open(":memory:", clock=clock)
    )
    engine = Engine(store, NoQueue(), EngineOptions(clock=clock))
    engine.access.use_policy(UNLIMITED)
    info = Info(version="1", disk=str(tmp_path), longest_wait=0.01, longest_stream=0.01)
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=info)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"X-API-Key": KEY}) as http:
        made = Tenancy(engine, http)
        await made.furnish()
        yield made
    await engine.close()


def path_of(operation: Operation, tenancy: Tenancy) -> str:
    """Return an operation's path to something of acme's."""

    def filled(found: re.Match[str]) -> str:
        noun, word = found[1], found[2]
        if noun == "tenants":
            return f"/{noun}/acme"
        known = NOUNS.get(noun, noun) if word == "id" else WORDS.get(word, word)
        return f"/{noun}/{tenancy.ids.get(known, known)}"

    path = operation.path.replace("/artifacts/{name}", "/artifacts/file.txt")
    path = path.replace("{task}/{name}", "{task}/file.txt").replace("{page}/{name}", f"{{page}}/{CANARY}-queue")
    return re.sub(r"/([\w.]+)/{(\w+)}", filled, path)


def test_the_matrix_knows_what_stands_in_every_path() -> None:
    places = {
        (noun, word)
        for operation in GUARDED
        for noun, word in re.findall(r"/([\w.]+)/{(\w+)}", operation.path)
        if noun not in {"tenants", "artifacts"}
    }

    unknown = [(noun, word) for noun, word in places if noun not in NOUNS and word not in WORDS]

    assert unknown == [], "let tests/api/neighbours.py make one of acme's, and name it in NOUNS"


def wrong_keys(tenancy: Tenancy) -> dict[str, dict[str, str]]:
    good = tenancy.keys["acme admin"]
    return {
        "no key": {"X-API-Key": ""},
        "a wrong key": {"X-API-Key": make_key("live", b"w" * 32)},
        "a mistyped key": {"X-API-Key": good[:-1] + ("a" if good[-1] != "a" else "b")},
        "words": {"Authorization": "Bearer let me in", "X-API-Key": ""},
        "a disabled key": {"X-API-Key": tenancy.keys["disabled"]},
        "an expired key": {"X-API-Key": tenancy.keys["expired"]},
        "a revoked key": {"X-API-Key": tenancy.keys["revoked"]},
    }


async def spoil(tenancy: Tenancy, clock: ManualClock) -> None:
    """Make keys that open nothing any more."""
    for name in ("disabled", "revoked", "expired"):
        ends = 5 if name == "expired" else None
        made = await tenancy.made("/keys", name=name, tenant="acme", role="admin", expires_in=ends)
        tenancy.keys[name] = made["key"]
        assert (await tenancy.ask("GET", "/api/v1/me", by=name)).status_code == 200
        if name != "expired":
            await tenancy.made(f"/keys/{made['id']}/{name.removesuffix('d')}")
    clock.advance(10)


async def test_without_a_key_that_opens_nothing_is_served(tenancy: Tenancy, clock: ManualClock) -> None:
    await spoil(tenancy, clock)
    told: dict[str, set[str]] = {}

    for operation in GUARDED:
        for kind, headers in wrong_keys(tenancy).items():
            reply = await tenancy.ask(operation.method, path_of(operation, tenancy), headers=headers)
            assert reply.status_code == 401, (kind, operation.method, operation.path, reply.text)
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert CANARY not in reply.text
            told.setdefault(kind, set()).add(reply.json()["detail"])

    assert told["a mistyped key"] == {"the API key is mistyped: its checksum does not fit"}
    assert told["a wrong key"] == told["words"] == {"the API key is not valid"}
    assert told["a disabled key"] == {"the API key is disabled"}
    assert told["an expired key"] == {"the API key has expired"}
    assert told["a revoked key"] == {"the API key was revoked"}


@pytest.mark.parametrize("role", list(Role))
async def test_a_role_may_do_what_the_table_says_and_nothing_else(tenancy: Tenancy, role: Role) -> None:
    for operation in GUARDED:
        may = operation.permission is None or operation.permission in ROLES[role] - INSTALLATION

        reply = await tenancy.ask(operation.method, path_of(operation, tenancy), by=f"acme {role}")

        place = (role, operation.method, operation.path, reply.status_code, reply.text[:200])
        assert reply.status_code != 401, place
        assert reply.status_code < 500, place
        assert (reply.status_code != 403) is may, place
        if not may:
            assert str(operation.permission) in reply.json()["detail"], place


async def test_scopes_narrow_a_role_and_the_reason_names_what_is_missing(tenancy: Tenancy) -> None:
    made = await tenancy.made("/keys", name="narrow", tenant="acme", role="admin", scopes=["tasks:read"])
    tenancy.keys["narrow"] = made["key"]

    for operation in GUARDED:
        reply = await tenancy.ask(operation.method, path_of(operation, tenancy), by="narrow")
        may = operation.permission in {None, "tasks:read"}
        assert (reply.status_code != 403) is may, (operation.method, operation.path, reply.text[:200])

    refused = await tenancy.ask("POST", "/api/v1/tasks", by="narrow", json={"name": "x"})
    assert refused.json()["detail"] == "this key lacks the permission tasks:submit: its scopes leave that out"


def body_of(operation: Operation, tenancy: Tenancy) -> dict[str, Any]:
    """Return a body with which the operation would do something, were it allowed to."""
    bodies: dict[str, Any] = {
        "RescheduleRequest": {"priority": 5},
        "TenantChange": {"queued": 1},
        "ChangeSessionRequest": {"queues": ["taken"], "capacity": 1},
        "RawSettleRequest": {"reports": []},
        "RawRecordRequest": {"records": []},
        "RecordPageRequest": {"lease": {"task": tenancy.ids["done"], "epoch": 1, "nonce": "0" * 16}},
        "RawStartRequest": {
            "lease": {"task": tenancy.ids["done"], "epoch": 1, "nonce": "0" * 16},
            "name": "beta's own",
            "tasks": [{"name": "beta's own"}],
        },
        "OutcomesRequest": {
            "lease": {"task": tenancy.ids["done"], "epoch": 1, "nonce": "0" * 16},
            "name": "beta's own",
        },
        "WaitRequestBody": {
            "lease": {"task": tenancy.ids["done"], "epoch": 1, "nonce": "0" * 16},
            "waits": [{"kind": "sleep", "name": "nap", "delay": 1}],
        },
        "RestartBody": {
            "lease": {"task": tenancy.ids["done"], "epoch": 1, "nonce": "0" * 16},
            "payload": {"from": "beta"},
        },
        "SignalRequest": {"payload": 1},
        "ForkRequest": {"from": "charge"},
        "KeyedSignalRequest": {"key": "beta's own"},
        "ProgressRequest": {"notes": []},
        "LimitRequest": {"task": "beta's own", "max_concurrent": 1},
        "SecretRequest": {"value": "beta's own"},
        "RevealRequest": {"lease": {"task": tenancy.ids["done"], "epoch": 1, "nonce": "0" * 16}},
        "SubscriptionPatch": {"name": "beta's"},
        "AlertPatch": {"name": "beta's"},
        "SloPatch": {"name": "beta's"},
        "TriageRequest": {"note": "beta's"},
        "ViewRequest": {"filter": "status:failed", "is_shared": True},
        "ScheduleEdit": {"name": "beta's"},
        "BackfillRequest": {"start": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"},
        "RawLogRequest": {"chunks": [{"task": tenancy.ids["done"], "epoch": 1, "seq": 7, "text": "from beta"}]},
    }
    name = getattr(operation.body, "__name__", "")
    return {"json": bodies[name]} if name in bodies else {}


async def test_another_tenants_key_finds_nothing_of_ours(tenancy: Tenancy) -> None:
    """Not by lists, not by ids that it guessed right, not in bodies, not in headers."""
    looks_first = sorted(GUARDED, key=lambda operation: operation.method != "GET")  # else it reads of its own guesses
    for operation in looks_first:
        path = path_of(operation, tenancy)
        more = body_of(operation, tenancy)

        reply = await tenancy.ask(operation.method, path, by="beta admin", **more)

        place = (operation.method, path, reply.status_code, reply.text[:300])
        given = {part for part in path.split("/") if CANARY in part}
        said = reply.text + str(reply.headers)
        for part in given:
            said = said.replace(part, "")
        assert CANARY not in said, place
        assert "acme" not in said.replace("tenant acme", ""), place
        strange = [id_ for name, id_ in tenancy.ids.items() if "beta" not in name and id_ not in path]
        assert not [id_ for id_ in strange if id_ in said], place
        # Some things are each tenant's own by name: there beta finds its own, and nothing of ours.
        is_by_name = any(noun in operation.path for noun in BY_NAME)
        if "{" in operation.path and not is_by_name:
            is_for_all = operation.permission in INSTALLATION
            hidden = {403} if is_for_all else {404}
            hidden |= {200, 204} if "worker/sessions" in operation.path else set()
            is_unread = reply.status_code in {400, 422} and not more
            assert not is_unread, f"give body_of a body for {operation.body.__name__}, one that would do something"
            assert reply.status_code in hidden, place


async def test_another_tenants_acts_change_nothing_of_ours(tenancy: Tenancy) -> None:
    paths = [f"/api/v1/tasks/{tenancy.ids[name]}" for name in ("done", "task")]
    before = [(await tenancy.ask("GET", path)).json() for path in paths]
    log = (await tenancy.ask("GET", f"{paths[0]}/log")).text

    for operation in GUARDED:
        for role in ("admin", "worker", "operator"):
            await tenancy.ask(
                operation.method, path_of(operation, tenancy), by=f"beta {role}", **body_of(operation, tenancy)
            )

    assert [(await tenancy.ask("GET", path)).json() for path in paths] == before
    assert (await tenancy.ask("GET", f"{paths[0]}/log")).text == log
    assert (await tenancy.ask("GET", "/api/v1/me", by="acme viewer")).status_code == 200
    (worker,) = (await tenancy.ask("GET", "/api/v1/workers", by="acme viewer")).json()["items"]
    assert (worker["id"], worker["should_drain"], worker["closed_at"]) == (tenancy.ids["session"], False, None)
    queues = (await tenancy.ask("GET", "/api/v1/queues", by="acme viewer")).json()["items"]
    assert [queue["name"] for queue in queues if queue["is_paused"]] == [f"{CANARY}-queue"]
    secrets = (await tenancy.ask("GET", "/api/v1/secrets", by="acme operator")).json()["items"]
    assert [(secret["name"], secret["version"]) for secret in secrets] == [(f"{CANARY}-queue", 1)]
    views = (await tenancy.ask("GET", "/api/v1/views", by="acme viewer")).json()["items"]
    assert [(view["name"], view["filter"]) for view in views] == [(f"{CANARY}-queue", f"name:{CANARY}")]
    acts = (await tenancy.ask("GET", "/api/v1/audit", by="acme admin")).json()["items"]
    assert {act["key_name"] for act in acts} == {f"{CANARY} operator"}


async def test_a_strange_id_and_no_id_at_all_are_answered_alike(tenancy: Tenancy) -> None:
    for operation in GUARDED:
        path = path_of(operation, tenancy)
        ours = [id_ for id_ in tenancy.ids.values() if id_ in path]
        if not ours or "worker/sessions" in operation.path:
            continue
        nobody = path
        for id_ in ours:
            nobody = nobody.replace(id_, "w-0123456789abcdef" if id_.startswith("w-") else ELSEWHERE)

        strange = await tenancy.ask(operation.method, path, by="beta admin", **body_of(operation, tenancy))
        absent = await tenancy.ask(operation.method, nobody, by="beta admin", **body_of(operation, tenancy))

        def plain(reply: httpx.Response, used: str) -> tuple[int, str]:
            text = reply.text
            for part in used.split("/"):
                text = text.replace(part, "") if len(part) >= 12 else text
            return reply.status_code, text

        assert plain(strange, path) == plain(absent, nobody), operation.path


async def test_the_installations_key_acts_for_a_tenant_that_it_names(tenancy: Tenancy) -> None:
    as_acme = {"X-Tenant": "acme"}

    task = await tenancy.ask("POST", "/api/v1/tasks", headers=as_acme, json={"name": "for acme"})
    seen = await tenancy.ask("GET", f"/api/v1/tasks/{task.json()['id']}", by="acme viewer")
    unseen = await tenancy.ask("GET", f"/api/v1/tasks/{task.json()['id']}", by="beta viewer")
    await tenancy.ask("POST", "/api/v1/queues/mail/pause", headers=as_acme)
    (act, *_) = (await tenancy.ask("GET", "/api/v1/audit", by="acme admin")).json()["items"]

    assert (task.status_code, seen.status_code, unseen.status_code) == (201, 200, 404)
    assert (act["act"], act["key"], act["tenant"]) == ("queue.pause", "first", "acme")
    assert (await tenancy.ask("GET", "/api/v1/me", headers={"X-Tenant": "nobody"})).status_code == 404
    assert (await tenancy.ask("GET", "/api/v1/me", headers={"X-Tenant": "No Name"})).status_code == 422
    other = await tenancy.ask("GET", "/api/v1/me", by="beta admin", headers=as_acme)
    assert (other.status_code, other.json()["detail"]) == (403, "this key is for another tenant")
    own = await tenancy.ask("GET", "/api/v1/me", by="acme admin", headers=as_acme)
    assert own.json()["tenant"] == "acme"
