"""Secrets over HTTP: values go in and never come out."""

from typing import Any

import httpx
import pytest

from drumline.core.codec import decode
from drumline.core.outcome import ErrorInfo, Failed
from drumline.core.signing import SigningSecret, secret_text
from drumline.engine.engine import Engine
from drumline.stores.sealing import AesBox
from tests.api.conftest import Ada, problem, submitted
from tests.harness.parts import use_box

VALUE = "hunter2-hunter2"
OLD, NEW = b"o" * 32, b"n" * 32
SECRETS = "/api/v1/secrets"


@pytest.fixture
async def sealed(engine: Engine) -> Engine:
    use_box(engine, AesBox([OLD]))
    return engine


async def put(http: httpx.AsyncClient, name: str = "api", value: str = VALUE) -> httpx.Response:
    return await http.put(f"{SECRETS}/{name}", json={"value": value})


@pytest.mark.usefixtures("sealed")
async def test_a_secret_is_set_listed_without_its_value_and_deleted(http: httpx.AsyncClient) -> None:
    made = await put(http)
    again = await put(http, value="another-one")
    listed = await http.get(SECRETS)
    deleted = await http.delete(f"{SECRETS}/api")

    assert (made.status_code, again.status_code, deleted.status_code) == (201, 200, 204)
    assert made.headers["location"] == f"{SECRETS}/api"
    (item,) = listed.json()["items"]
    assert (item["name"], item["tenant"], item["version"]) == ("api", "default", 2)
    assert set(item) == {"name", "tenant", "version", "key_id", "created_at", "updated_at"}
    assert (await http.get(SECRETS)).json() == {"items": [], "next_cursor": None}
    problem(await http.delete(f"{SECRETS}/api"), 404, "not_found", "name")
    assert not [reply for reply in (made, again, listed) if "hunter2" in reply.text]


@pytest.mark.usefixtures("sealed")
async def test_secrets_are_listed_in_pages(http: httpx.AsyncClient) -> None:
    for name in ("c", "a", "b"):
        await put(http, name)

    first = (await http.get(SECRETS, params={"limit": 2})).json()
    rest = (await http.get(SECRETS, params={"limit": 2, "cursor": first["next_cursor"]})).json()

    assert [item["name"] for item in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["next_cursor"] is None
    problem(await http.get(SECRETS, params={"cursor": "x"}), 422, "invalid", "cursor")
    problem(await http.get(SECRETS, params={"limit": 5000}), 422, "invalid", "limit")


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(
    ("body", "field"),
    [({"value": "abc"}, "value"), ({}, "value"), ({"value": 7}, "value"), ({"value": "hunter2", "x": 1}, "x")],
)
async def test_a_bad_secret_is_refused_by_its_field_and_not_repeated(
    http: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    reply = await http.put(f"{SECRETS}/api", json=body)

    assert "hunter2" not in problem(reply, 422, "invalid", field)["detail"]


@pytest.mark.usefixtures("sealed")
async def test_a_bad_name_is_refused(http: httpx.AsyncClient) -> None:
    problem(await put(http, "a b"), 422, "invalid", "name")


async def test_without_a_key_the_answer_says_what_to_do(http: httpx.AsyncClient) -> None:
    detail = problem(await put(http), 409, "conflict", "secret_key")["detail"]

    assert "DRUMLINE_SECRET_KEY" in detail
    problem(await http.post("/api/v1/secret-key/rotate"), 409, "conflict", "secret_key")


@pytest.mark.usefixtures("sealed")
async def test_acts_on_secrets_are_in_the_audit_log_without_values(http: httpx.AsyncClient) -> None:
    await http.put(f"{SECRETS}/api", json={"value": VALUE, "reason": "new contract"})
    await http.delete(f"{SECRETS}/api")

    audit = await http.get("/api/v1/audit")

    acts = [(row["act"], row["target"], row["reason"]) for row in audit.json()["items"]]
    assert acts == [("secret.delete", f"{SECRETS}/api", None), ("secret.set", f"{SECRETS}/api", "new contract")]
    assert "hunter2" not in audit.text


@pytest.mark.usefixtures("sealed")
async def test_what_refers_to_an_unknown_secret_is_refused_by_its_field(http: httpx.AsyncClient) -> None:
    await put(http)
    good, bad = {"token": {"$secret": "api"}}, {"a": [{"$secret": "nope"}]}

    task = await http.post("/api/v1/tasks", json={"name": "work", "payload": bad})
    batch = await http.post(
        "/api/v1/tasks/batch", json={"tasks": [{"name": "work", "payload": good}, {"name": "work", "payload": bad}]}
    )
    job = await http.post("/api/v1/jobs", json={"name": "j", "tasks": {"one": {"name": "work", "payload": bad}}})
    schedule = await http.post(
        "/api/v1/schedules", json={"name": "s", "interval": 60, "task": {"name": "work", "payload": bad}}
    )
    malformed = await http.post("/api/v1/tasks", json={"name": "work", "payload": {"a": {"$secret": "api", "b": 1}}})

    problem(task, 422, "invalid", "payload.a[0]")
    problem(job, 422, "invalid", "tasks.one.payload.a[0]")
    problem(schedule, 422, "invalid", "task.payload.a[0]")
    problem(malformed, 422, "invalid", "payload.a")
    answers = batch.json()["items"] if "items" in batch.json() else batch.json()["tasks"]
    assert answers[0].get("error") is None
    assert answers[1]["error"]["field"] == "tasks[1].payload.a[0]"


@pytest.mark.usefixtures("sealed")
async def test_schedules_are_edited_only_towards_secrets_that_are_there(http: httpx.AsyncClient) -> None:
    made = await http.post("/api/v1/schedules", json={"name": "s", "interval": 60, "task": {"name": "work"}})
    path = f"/api/v1/schedules/{made.json()['id']}"

    bad = await http.patch(path, json={"task": {"name": "work", "payload": {"a": {"$secret": "nope"}}}})
    await put(http)
    good = await http.patch(path, json={"task": {"name": "work", "payload": {"a": {"$secret": "api"}}}})

    problem(bad, 422, "invalid", "task.payload.a")
    assert good.json()["task"]["payload"] == {"a": {"$secret": "api"}}


@pytest.mark.usefixtures("sealed")
async def test_another_tenants_secret_is_no_secret_of_ours(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    await http.put(f"{SECRETS}/api", json={"value": VALUE}, headers={"X-Tenant": "acme"})

    ours = await http.post("/api/v1/tasks", json={"name": "work", "payload": {"t": {"$secret": "api"}}})
    theirs = await http.post(
        "/api/v1/tasks", json={"name": "work", "payload": {"t": {"$secret": "api"}}}, headers={"X-Tenant": "acme"}
    )

    problem(ours, 422, "invalid", "payload.t")
    assert theirs.status_code == 201


async def test_only_the_holder_of_the_lease_is_told(http: httpx.AsyncClient, ada: Ada, sealed: Engine) -> None:
    await put(http)
    await submitted(http, payload={"t": {"$secret": "api"}})
    task = await ada.claim()
    lease = {"task": task.lease.task, "epoch": task.lease.epoch, "nonce": f"{task.lease.nonce:016x}"}
    session = f"w-{ada.session:016x}"
    path = f"/api/v1/worker/sessions/{session}/secrets"
    other = await http.post(
        "/api/v1/worker/sessions", json={"types": [{"name": "work"}], "capacity": 1, "host": "bob", "pid": 1}
    )

    told = await http.post(path, json={"lease": lease})
    guessed = await http.post(path, json={"lease": {**lease, "nonce": "0" * 16}})
    stale = await http.post(path, json={"lease": {**lease, "epoch": 0}})
    stranger = await http.post(f"/api/v1/worker/sessions/{other.json()['session']}/secrets", json={"lease": lease})
    await ada.settle(task, Failed(ErrorInfo("Oops", "over"), permanent=True))
    late = await http.post(path, json={"lease": lease})

    assert told.json() == {"secrets": {"api": VALUE}}
    assert told.headers["cache-control"] == "no-store"
    for refused in (guessed, stale, stranger, late):
        assert (refused.status_code, refused.json()["code"]) == (409, "fenced")
        assert VALUE not in refused.text
    assert sealed.secrets.box.is_ready


@pytest.mark.usefixtures("sealed")
async def test_a_task_without_secrets_has_none_to_tell(http: httpx.AsyncClient, ada: Ada) -> None:
    await put(http)
    await submitted(http, payload={"t": 1})
    task = await ada.claim()

    assert await ada.gateway.reveal(task.lease) is None


async def test_payloads_are_shown_redacted_and_edited_around(http: httpx.AsyncClient, ada: Ada) -> None:
    payload = {"to": "a@example.com", "password": VALUE, "headers": {"Authorization": f"Bearer {VALUE}"}}
    task = await submitted(http, payload=payload)
    await ada.settle(await ada.claim(), Failed(ErrorInfo("Oops", "no"), permanent=True))

    shown = await http.get(f"/api/v1/tasks/{task}")
    listed = await http.get("/api/v1/tasks", params={"payload": True})
    failure = await http.get(f"/api/v1/failures/{task}")
    edited = {**shown.json()["payload"], "to": "b@example.com"}
    retried = await http.post(f"/api/v1/failures/{task}/retry", json={"payload": edited})
    again = await ada.claim()

    assert shown.json()["payload"] == {
        "to": "a@example.com", "password": "[redacted]", "headers": {"Authorization": "[redacted]"},
    }  # fmt: skip
    assert retried.status_code == 200
    for reply in (shown, listed, failure, retried):
        assert "hunter2" not in reply.text
    assert decode(bytes(again.payload), dict) == {**payload, "to": "b@example.com"}


async def test_schedules_are_shown_redacted_and_edited_around(http: httpx.AsyncClient, engine: Engine) -> None:
    task = {"name": "work", "payload": {"token": VALUE, "n": 1}}
    made = await http.post("/api/v1/schedules", json={"name": "s", "interval": 60, "task": task})
    path = f"/api/v1/schedules/{made.json()['id']}"

    shown = (await http.get(path)).json()["task"]
    listed = await http.get("/api/v1/schedules")
    await http.patch(path, json={"task": {"name": shown["name"], "payload": {**shown["payload"], "n": 2}}})

    assert shown["payload"] == {"token": "[redacted]", "n": 1}
    assert "hunter2" not in made.text + listed.text
    (view,) = await engine.store.schedules.get_schedules([made.json()["id"]])
    assert view is not None
    assert view.target.task is not None
    assert b'"token":"hunter2-hunter2"' in bytes(view.target.task.payload)
    assert b'"n":2' in bytes(view.target.task.payload)


async def test_keys_are_changed_without_losing_anything(http: httpx.AsyncClient, sealed: Engine) -> None:
    await put(http)
    hook = await http.post("/api/v1/subscriptions", json={"name": "hook", "webhook": "https://example.com/"})
    await http.post("/api/v1/notify/rotate")
    use_box(sealed, AesBox([NEW, OLD]))

    rotated = (await http.post("/api/v1/secret-key/rotate")).json()
    again = (await http.post("/api/v1/secret-key/rotate")).json()
    use_box(sealed, AesBox([NEW]))

    assert (rotated["secrets"], rotated["signing_secrets"], rotated["unreadable"]) == (1, 2, [])
    assert (again["secrets"], again["signing_secrets"]) == (0, 0)
    assert rotated["key_id"] == AesBox([NEW]).key_id
    (found,) = await sealed.store.secrets.find_secrets(["api"], tenant="default")
    assert found is not None
    assert sealed.secrets.box.open(found.sealed, ("secret", "default", "api")) == VALUE
    (kept,) = await sealed.store.subscriptions.secrets(hook.json()["id"], tenant="default") or ()
    assert hook.json()["secret"] not in kept.text


async def test_what_no_key_opens_is_named_and_the_rest_is_done(http: httpx.AsyncClient, sealed: Engine) -> None:
    await put(http, "lost")
    use_box(sealed, AesBox([b"x" * 32]))
    await put(http, "kept")
    use_box(sealed, AesBox([NEW, b"x" * 32]))

    rotated = (await http.post("/api/v1/secret-key/rotate")).json()

    assert (rotated["secrets"], rotated["unreadable"]) == (1, ["default/lost"])


async def test_signing_secrets_from_before_there_was_a_key_are_sealed_by_the_first_rotation(
    http: httpx.AsyncClient, engine: Engine
) -> None:
    hook = (await http.post("/api/v1/subscriptions", json={"name": "h", "webhook": "https://example.com/"})).json()
    (plain,) = await engine.store.subscriptions.secrets(hook["id"], tenant="default") or ()
    use_box(engine, AesBox([OLD]))

    rotated = (await http.post("/api/v1/secret-key/rotate")).json()

    (kept,) = await engine.store.subscriptions.secrets(hook["id"], tenant="default") or ()
    assert plain == SigningSecret(hook["secret"])
    assert rotated["signing_secrets"] == 1
    assert kept.text.startswith("sealed:")
    assert secret_text(b"") not in kept.text
