"""Keys that are meant for some names and queues: whatever they make, run or change is of those, and nothing else."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from drumline.api.app import create_app
from drumline.api.configured_keys import ConfiguredKeys
from drumline.api.operation import Info, Reach
from drumline.api.routes import OPERATIONS
from drumline.engine.engine import Engine
from drumline.ports.store import Store
from drumline.stores.no_queue import NoQueue
from drumline.stores.postgres import PostgresStore
from drumline.stores.sealing import AesBox
from drumline.stores.sqlite import SqliteStore
from tests.api.conftest import problem
from tests.api.neighbours import UNLIMITED
from tests.harness.parts import use_box

KEY = "the first administrator's own key"
IN, OUT = {"name": "shop.send", "queue": "mail"}, {"name": "bank.pay", "queue": "vault"}
NEAR = ({"name": "bank.pay", "queue": "mail"}, {"name": "shop.send", "queue": "vault"})
"""Half of what the key is meant for is not enough."""
LOOKS = ("tasks", "schedules", "queues", "limits", "subscriptions", "bulk", "failures", "jobs", "workers", "secrets")

Asked = tuple[str, dict[str, Any] | None]


class House:
    """An API with things that a narrowed key is meant for, and others of the same kinds that it is not."""

    def __init__(self, engine: Engine, http: httpx.AsyncClient) -> None:
        self.engine = engine
        self.http = http
        self.narrow = ""
        self.ids: dict[str, str] = {}

    async def ask(self, method: str, path: str, body: Any = None, *, key: str = KEY) -> httpx.Response:
        return await self.http.request(method, path, json=body, headers={"X-API-Key": key})

    async def made(self, path: str, body: Any, method: str = "POST") -> Any:
        reply = await self.ask(method, f"/api/v1{path}", body)
        assert reply.is_success, (path, reply.text)
        return reply.json() if reply.content else None

    async def furnish(self) -> None:
        use_box(self.engine, AesBox([b"k" * 32]))
        narrowed = {"names": ["shop.*"], "queues": ["mail"]}
        self.narrow = (await self.made("/keys", {"name": "n", "role": "admin", "tenant": "*", **narrowed}))["key"]
        for side, what in (("in", IN), ("out", OUT)):
            await self._tasks(side, what)
            made = {
                "job": ("/jobs", {"name": "j", "tasks": {"one": IN, "two": what}}),
                "schedule": ("/schedules", {"name": side, "cron": "0 3 * * *", "task": what}),
                "subscription": (
                    "/subscriptions",
                    {"name": side, "webhook": "https://example.com/x", "task": what["name"], "queue": what["queue"]},
                ),
            }
            for noun, (path, body) in made.items():
                self.ids[f"{noun} {side}"] = (await self.made(path, body))["id"]
            await self.made(f"/jobs/{self.ids[f'job {side}']}/cancel", {})
            test = await self.made(f"/subscriptions/{self.ids[f'subscription {side}']}/test", None)
            self.ids[f"delivery {side}"] = test["id"]
            limit = {"task": what["name"], "queue": what["queue"], "max_concurrent": 9}
            await self.made(f"/limits/limit-{side}", limit, "PUT")
            self.ids[f"limit {side}"], self.ids[f"queue {side}"] = f"limit-{side}", what["queue"]
        for side, key in (("in", self.narrow), ("out", KEY)):
            body = {"act": "cancel", "filter": {"tag": "none"}, "rate": 0.1}
            bulk = await self.ask("POST", "/api/v1/bulk", body, key=key)
            self.ids[f"bulk {side}"] = bulk.json()["id"]

    async def _tasks(self, side: str, what: dict[str, Any]) -> None:
        payload = {"command": "x", "password": "hunter2"}
        session = await self.made(
            "/worker/sessions", {"types": [{"name": what["name"]}], "queues": [what["queue"]], "capacity": 9}
        )
        self.ids[f"worker {side}"] = session["session"]
        path = f"/worker/sessions/{session['session']}"
        for noun in ("failed", "edited"):
            self.ids[f"{noun} {side}"] = (await self.made("/tasks", {**what, "payload": payload}))["id"]
            (claimed,) = (await self.made(f"{path}/claim", {"limit": 1}))["tasks"]
            error = {"kind": "K", "message": "m"}
            report = {"lease": claimed["lease"], "outcome": "failed", "error": error, "permanent": True}
            await self.made(f"{path}/settle", {"reports": [report]})
        for noun in ("task", "later", "short"):
            waiting = await self.made("/tasks", {**what, "payload": payload, "delay": 3600})
            self.ids[f"{noun} {side}"] = waiting["id"]

    async def snapshot(self) -> dict[str, str]:
        """Return how everything stands, as the administrator sees it; a sign of life of a worker is no change."""
        found = {}
        for look in LOOKS:
            text = (await self.ask("GET", f"/api/v1/{look}")).text
            found[look] = re.sub(r'"(beat|beat_at|seen_at)":("[^"]*"|\d+)', "", text)
        return found


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def store_url(request: pytest.FixtureRequest) -> str | None:
    url: str | None = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return url


@pytest.fixture
async def house(store_url: str | None, tmp_path: Path) -> AsyncIterator[House]:
    store: Store = await (PostgresStore.open(store_url) if store_url else SqliteStore.open(":memory:"))
    engine = Engine(store, NoQueue())
    engine.access.use_policy(UNLIMITED)
    app = create_app(engine, keys=ConfiguredKeys([KEY]), info=Info(version="1", disk=str(tmp_path), longest_wait=0.01))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") as http:
        made = House(engine, http)
        await made.furnish()
        yield made
    await engine.close()


def requests_of(side: str, what: dict[str, Any], ids: dict[str, str]) -> dict[str, Asked]:
    """Return for each operation that reaches tasks a request about things of one side; a new one needs a row here."""
    v1 = "/api/v1"
    failed, edited, task = (f"{v1}/failures/{ids[f'{noun} {side}']}" for noun in ("failed", "edited", "task"))
    task = f"{v1}/tasks/{ids[f'task {side}']}"
    schedule, job = f"{v1}/schedules/{ids[f'schedule {side}']}", f"{v1}/jobs/{ids[f'job {side}']}"
    subscription = f"{v1}/subscriptions/{ids[f'subscription {side}']}"
    filters = {"task": what["name"], "queue": what["queue"]}
    span = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-03T00:00:00Z"}
    register = {"app": side, "modules": ["m"], "schedules": []}
    registered = {"module": "m", "schedule": {"name": f"r{side}", "cron": "0 3 * * *", "task": what}}
    ends = {
        "POST /tasks": ("/tasks", {"type": what["name"], "queue": what["queue"]}),
        "POST /scheduleTask": ("/scheduleTask", {"task_name": what["name"], "execution_time": "2099-01-01T00:00:00Z"}),
        "DELETE /cancelTask/{task_id}": (f"/cancelTask/{ids[f'short {side}']}", None),
    }
    return ends | {
        f"{method} {v1}{template}": (path, body)
        for method, template, path, body in (
            ("POST", "/tasks", f"{v1}/tasks", {**what, "delay": 60}),
            ("PATCH", "/tasks/{id}", task, {"priority": 3}),
            ("POST", "/tasks/{id}/signals/{name}", f"{task}/signals/go", {"payload": 1}),
            ("POST", "/tasks/{id}/fork", f"{task}/fork", {"from": "charge"}),
            ("POST", "/tasks/{id}/cancel", f"{task}/cancel", None),
            ("POST", "/tasks/{id}/retry", f"{task}/retry", None),
            ("POST", "/failures/{id}/retry", f"{edited}/retry", {"payload": {"command": "y"}}),
            ("POST", "/failures/{id}/discard", f"{failed}/discard", None),
            ("POST", "/failures/retry", f"{v1}/failures/retry", {"ids": [ids[f"failed {side}"]]}),
            ("POST", "/failures/discard", f"{v1}/failures/discard", {"ids": [ids[f"failed {side}"]]}),
            ("POST", "/bulk", f"{v1}/bulk", {"act": "cancel", "ids": [ids[f"later {side}"]]}),
            ("POST", "/bulk/{id}/abort", f"{v1}/bulk/{ids[f'bulk {side}']}/abort", None),
            (
                "POST",
                "/jobs",
                f"{v1}/jobs",
                {"name": "j", "tasks": {"a": {**IN, "delay": 60}, "b": {**what, "delay": 60}}},
            ),
            ("POST", "/jobs/{id}/cancel", f"{job}/cancel", None),
            ("POST", "/jobs/{id}/resume", f"{job}/resume", None),
            ("POST", "/schedules", f"{v1}/schedules", {"name": f"s{side}", "cron": "0 3 * * *", "task": what}),
            ("POST", "/schedules/register", f"{v1}/schedules/register", {**register, "schedules": [registered]}),
            ("PATCH", "/schedules/{id}", schedule, {"cron": "0 4 * * *"}),
            ("POST", "/schedules/{id}/pause", f"{schedule}/pause", None),
            ("POST", "/schedules/{id}/resume", f"{schedule}/resume", None),
            ("POST", "/schedules/{id}/trigger", f"{schedule}/trigger", None),
            ("POST", "/schedules/{id}/backfill", f"{schedule}/backfill", span),
            ("DELETE", "/schedules/{id}/backfill", f"{schedule}/backfill", None),
            ("DELETE", "/schedules/{id}", schedule, None),
            ("PUT", "/limits/{name}", f"{v1}/limits/limit-{side}", {**filters, "max_concurrent": 3}),
            ("DELETE", "/limits/{name}", f"{v1}/limits/limit-{side}", None),
            ("POST", "/workers/{id}/drain", f"{v1}/workers/{ids[f'worker {side}']}/drain", None),
            ("DELETE", "/workers/{id}/drain", f"{v1}/workers/{ids[f'worker {side}']}/drain", None),
            ("POST", "/subscriptions", f"{v1}/subscriptions", {"name": f"n{side}", "email": "a@b.example", **filters}),
            ("PATCH", "/subscriptions/{id}", subscription, {"enabled": True}),
            ("POST", "/subscriptions/{id}/rotate", f"{subscription}/rotate", None),
            ("POST", "/subscriptions/{id}/test", f"{subscription}/test", None),
            ("POST", "/deliveries/{id}/resend", f"{v1}/deliveries/{ids[f'delivery {side}']}/resend", None),
            ("DELETE", "/subscriptions/{id}", subscription, None),
        )
    }


APART = {
    "POST /api/v1/tasks/batch": "each task has its own answer",
    "POST /api/v1/failures/purge": "it is about the failures that the key is meant for",
    "POST /api/v1/queues/{name}/pause": "a key with names cannot pause a queue at all",
    "POST /api/v1/queues/{name}/resume": "nor resume one",
}
"""Operations that reach tasks and have a test of their own below."""


def test_every_operation_that_reaches_tasks_is_asked_below() -> None:
    reaching = {f"{each.method} {each.path}" for each in OPERATIONS if each.reach is Reach.TASKS}
    any_id = {f"{noun} {side}": "x" for noun in NOUNS for side in ("in",)}
    assert sorted(reaching ^ (set(requests_of("in", IN, any_id)) | set(APART))) == [], "name a request for each"


NOUNS = (
    "failed", "edited", "task", "later", "short", "schedule", "job", "subscription", "bulk", "worker", "delivery",
)  # fmt: skip


async def test_a_narrowed_key_changes_nothing_that_it_is_not_meant_for(house: House) -> None:
    before = await house.snapshot()

    passed = {}
    for name, (path, body) in requests_of("out", OUT, house.ids).items():
        reply = await house.ask(name.partition(" ")[0], path, body, key=house.narrow)
        if reply.status_code != 403:
            passed[name] = (reply.status_code, reply.text[:200])
    for near in NEAR:
        for name in ("POST /api/v1/tasks", "POST /api/v1/jobs", "POST /api/v1/schedules", "POST /api/v1/subscriptions"):
            path, body = requests_of("out", near, house.ids)[name]
            assert (await house.ask("POST", path, body, key=house.narrow)).status_code == 403, (name, near)

    assert passed == {}
    assert await house.snapshot() == before


async def test_a_narrowed_key_does_all_of_it_to_what_it_is_meant_for(house: House) -> None:
    refused = {}
    for name, (path, body) in requests_of("in", IN, house.ids).items():
        reply = await house.ask(name.partition(" ")[0], path, body, key=house.narrow)
        if name != "POST /scheduleTask" and (reply.status_code in {401, 403, 404} or reply.status_code >= 500):
            refused[name] = (reply.status_code, reply.text[:200])

    assert refused == {}


async def test_what_is_about_a_whole_tenant_is_not_for_a_narrowed_key(house: House) -> None:
    before = await house.snapshot()

    for each in OPERATIONS:
        if each.reach is Reach.WHOLE:
            path = each.path.replace("{name}", "x").replace("{id}", "x")
            problem(await house.ask(each.method, path, {}, key=house.narrow), 403, "forbidden")

    assert await house.snapshot() == before


async def test_a_queue_is_paused_by_keys_for_all_its_names_only(house: House) -> None:
    by_queue = (await house.made("/keys", {"name": "q", "role": "operator", "queues": ["mail"]}))["key"]
    by_name = (await house.made("/keys", {"name": "q", "role": "operator", "names": ["*"]}))["key"]

    for act in ("pause", "resume"):
        for key, queue in ((house.narrow, "mail"), (house.narrow, "vault"), (by_queue, "vault"), (by_name, "mail")):
            assert (await house.ask("POST", f"/api/v1/queues/{queue}/{act}", key=key)).status_code == 403
        assert (await house.ask("POST", f"/api/v1/queues/mail/{act}", key=by_queue)).status_code == 200


async def test_a_batch_is_narrowed_task_by_task(house: House) -> None:
    body = {"tasks": [{**IN, "delay": 60}, {**OUT, "delay": 60}, *NEAR]}

    reply = await house.ask("POST", "/api/v1/tasks/batch", body, key=house.narrow)

    codes = [item.get("error", {}).get("code") for item in reply.json()["tasks"]]
    assert codes == [None, "forbidden", "forbidden", "forbidden"]


MAPS: tuple[tuple[dict[str, Any], int], ...] = (
    ({"items": [1], "each": IN}, 201),
    ({"items": [1], "each": {"name": "shop.send"}}, 201),
    ({"items": [1], "each": OUT}, 403),
    *(({"items": [1], "each": near}, 403) for near in NEAR),
    ({"items": [1], "each": {"name": "map", "payload": {"items": [OUT]}}, "into": "each"}, 403),
    ({"items": [1], "each": {"name": ["bank.pay"]}}, 403),
    ({"items": [1], "each": 1}, 403),
    ({"each": OUT}, 403),
)
"""Payloads of maps, and what becomes of them under a key that may submit maps and what it is meant for."""


async def test_a_map_is_no_way_around_what_a_key_is_meant_for(house: House) -> None:
    narrowed = {"names": ["shop.*", "map"], "queues": ["mail"]}
    key = (await house.made("/keys", {"name": "m", "role": "admin", **narrowed}))["key"]
    for payload, status in MAPS:
        task = {"name": "map", "queue": "mail", "delay": 60, "payload": payload}
        of_result = {**task, "needs": ["a"], "delay": None}
        asked: tuple[Asked, ...] = (
            ("/api/v1/tasks", task),
            ("/api/v1/jobs", {"name": "j", "tasks": {"a": IN, "b": of_result}}),
            (
                "/api/v1/schedules",
                {"name": f"of {payload}"[:100], "cron": "0 3 * * *", "task": {**task, "delay": None}},
            ),
        )
        for path, body in asked:
            reply = await house.ask("POST", path, body, key=key)
            assert reply.status_code == status, (path, payload, reply.text)
        batch = (await house.ask("POST", "/api/v1/tasks/batch", {"tasks": [task]}, key=key)).json()["tasks"]
        assert ("error" in batch[0]) is (status == 403), payload
    refs = {"items": [1], "each": {"$result": "a"}}
    job = {"name": "j", "tasks": {"a": IN, "b": {"name": "map", "queue": "mail", "needs": ["a"], "payload": refs}}}
    problem(await house.ask("POST", "/api/v1/jobs", job, key=key), 403, "forbidden", "tasks.b.payload.each")


async def test_the_payload_of_a_map_is_not_changed_by_a_key_that_is_meant_for_some_tasks(house: House) -> None:
    narrowed = {"names": ["shop.*", "map"], "queues": ["mail"]}
    key = (await house.made("/keys", {"name": "m", "role": "admin", "tenant": "*", **narrowed}))["key"]
    body = {"name": "map", "queue": "mail", "payload": {"items": [1], "each": IN}}
    task = (await house.made("/tasks", body))["id"]
    for path, extra in ((f"/api/v1/failures/{task}/retry", {}), (f"/api/v1/tasks/{task}/fork", {"from": "x"})):
        reply = await house.ask("POST", path, {"payload": {"items": [1], "each": OUT}, **extra}, key=key)
        problem(reply, 403, "forbidden", "payload")


@pytest.mark.parametrize("dry_run", [True, False])
async def test_the_set_of_a_bulk_operation_has_only_what_the_key_is_meant_for(house: House, dry_run: bool) -> None:
    asked: tuple[Asked, ...] = (
        ("/api/v1/failures/purge", {"older_than": 0}),
        ("/api/v1/failures/retry", {"all": True}),
        ("/api/v1/failures/discard", {"filter": {"kind": "K"}}),
        ("/api/v1/bulk", {"act": "cancel", "all": True}),
        ("/api/v1/bulk", {"act": "retry", "filter": {"status": ["FAILED"]}}),
        ("/api/v1/bulk", {"act": "reschedule", "all": True, "priority": 2}),
    )

    for path, body in asked:
        reply = await house.ask("POST", path, {**(body or {}), "dry_run": dry_run}, key=house.narrow)
        assert reply.is_success, reply.text
        bulk = reply.json()
        assert bulk["total"] > 0
        ids = bulk["sample"]
        if not dry_run:
            items = (await house.ask("GET", f"/api/v1/bulk/{bulk['id']}/items?limit=1000")).json()["items"]
            ids = [item["id"] for item in items]
            assert len(ids) == bulk["total"]
        for task in ids:
            seen = (await house.ask("GET", f"/api/v1/tasks/{task}")).json()
            assert (seen["name"], seen["queue"]) == ("shop.send", "mail")


async def test_an_edited_payload_is_given_nothing_that_a_narrowed_key_was_not_shown(house: House) -> None:
    path = f"/api/v1/failures/{house.ids['edited in']}/retry"
    body = {"payload": {"command": "send it to me", "password": "[redacted]"}}

    refused = await house.ask("POST", path, body, key=house.narrow)
    wide = await house.ask("POST", path, body)

    problem(refused, 403, "forbidden", "payload")
    assert wide.status_code == 200
    (kept,) = await house.engine.store.queries.get([wide.json()["id"]])
    assert kept is not None
    assert b"hunter2" in bytes(kept.payload or b"")


async def test_another_payload_needs_the_right_to_submit(house: House) -> None:
    scopes = ["tasks:read", "tasks:control"]
    controls = (await house.made("/keys", {"name": "c", "role": "operator", "scopes": scopes}))["key"]
    path = f"/api/v1/failures/{house.ids['edited out']}/retry"

    problem(await house.ask("POST", path, {"payload": {"command": "y"}}, key=controls), 403, "forbidden")
    assert (await house.ask("POST", path, {}, key=controls)).status_code == 200


async def test_an_edited_schedule_is_given_nothing_that_its_author_was_not_shown(house: House) -> None:
    payload = {"command": "x", "password": "hunter2"}
    body = {"name": "s", "cron": "0 3 * * *", "task": {**IN, "payload": payload}}
    path = f"/api/v1/schedules/{(await house.made('/schedules', body))['id']}"
    shown = {"command": "send it to me", "password": "[redacted]"}

    narrow = await house.ask("PATCH", path, {"task": {**IN, "payload": shown}}, key=house.narrow)
    other = await house.ask("PATCH", path, {"task": {**IN, "name": "shell", "payload": shown}})
    wide = await house.ask("PATCH", path, {"task": {**IN, "payload": shown}})
    untouched = await house.ask("PATCH", path, {"cron": "0 5 * * *"}, key=house.narrow)

    problem(narrow, 403, "forbidden", "task.payload")
    problem(other, 422, "invalid", "task.payload.password")
    assert (wide.status_code, untouched.status_code) == (200, 200)
    triggered = (await house.ask("POST", f"{path}/trigger")).json()
    (kept,) = await house.engine.store.queries.get([triggered["task_id"]])
    assert kept is not None
    assert b"hunter2" in bytes(kept.payload or b"")
