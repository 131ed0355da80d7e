"""Signals over HTTP."""

from typing import Any

import httpx
import pytest

from drumline.core.outcome import Succeeded
from tests.api.conftest import Ada
from tests.api.test_steps import start


async def test_a_signal_is_kept_once_and_wakes_the_task(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    waits = [{"kind": "signal", "name": "approved", "delay": 60}]
    await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})
    path = f"/api/v1/tasks/{task}/signals/approved"

    first = await http.post(path, json={"payload": {"by": "ada"}, "id": "one", "reason": "looks good"})
    again = await http.post(path, json={"payload": {"by": "ada"}, "id": "one"})
    other = await http.post(path, json={"payload": 3, "id": "one"})
    plain = await http.post(path)

    assert (first.status_code, first.json()) == (201, {"id": "one", "created": True, "woken": 1})
    assert (again.status_code, again.json()["created"]) == (200, False)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert plain.status_code == 201
    claimed = await ada.claim()
    assert claimed.lease.task == task
    answer = await http.post(
        f"{worker}/waits",
        json={"lease": {**lease, "epoch": claimed.lease.epoch, "nonce": f"{claimed.lease.nonce:016x}"}, "waits": waits},
    )
    assert answer.json()["answers"][0]["record"]["value"] == {"by": "ada"}
    rows = (await http.get("/api/v1/audit")).json()["items"]
    assert ("task.signal", "looks good") in {(row["act"], row.get("reason")) for row in rows}


async def test_a_task_that_has_ended_takes_no_signals(http: httpx.AsyncClient, ada: Ada) -> None:
    task = (await http.post("/api/v1/tasks", json={"name": "work"})).json()["id"]
    await ada.settle(await ada.claim(), Succeeded())

    reply = await http.post(f"/api/v1/tasks/{task}/signals/go")

    assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
    missing = await http.post("/api/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8057/signals/go")
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [({"id": ""}, "id"), ({"id": "x" * 300}, "id"), ({"payload": "x" * (1024 * 1024)}, "payload"), ({"odd": 1}, "odd")],
)
async def test_a_signal_that_makes_no_sense_names_its_field(
    http: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    task = (await http.post("/api/v1/tasks", json={"name": "work"})).json()["id"]

    reply = await http.post(f"/api/v1/tasks/{task}/signals/go", json=body)

    assert reply.status_code in {413, 422}
    assert reply.json()["field"] == field


async def test_a_signal_by_its_key_needs_one(http: httpx.AsyncClient) -> None:
    kept = await http.post("/api/v1/signals/paid", json={"key": "order-17", "payload": 5})
    without = await http.post("/api/v1/signals/paid", json={"payload": 5})

    assert (kept.status_code, kept.json()["woken"]) == (201, 0)
    assert (without.status_code, without.json()["field"]) == (422, "key")


async def test_a_task_that_waits_is_shown_so_with_the_form_of_its_answer(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    before = (await http.get(f"/api/v1/tasks/{task}")).json()
    schema = {"type": "object", "properties": {"by": {"type": "string"}}}
    waits = [{"kind": "signal", "name": "approved", "schema": schema}]
    await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})

    shown = (await http.get(f"/api/v1/tasks/{task}")).json()
    (wait,) = (await http.get(f"/api/v1/tasks/{task}/steps")).json()["waits"]
    (listed,) = (await http.get("/api/v1/tasks")).json()["items"]

    assert (before["is_waiting"], shown["is_waiting"], listed["is_waiting"]) == (False, True, True)
    assert (shown["status"], shown["due_at"]) == ("PENDING", None)
    assert wait["schema"] == schema
    await http.post(f"/api/v1/tasks/{task}/signals/approved")
    assert (await http.get(f"/api/v1/tasks/{task}")).json()["is_waiting"] is False


@pytest.mark.parametrize("schema", [[], "x", {"description": "x" * 17_000}])
async def test_a_form_that_makes_no_sense_names_its_field(http: httpx.AsyncClient, ada: Ada, schema: Any) -> None:
    _, lease, worker = await start(http, ada)
    waits = [{"kind": "signal", "name": "approved", "schema": schema}]

    reply = await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})

    assert (reply.status_code, reply.json()["field"]) == (422, "waits[0].schema")
