"""What a durable task has done and waits for, over HTTP."""

from typing import Any

import httpx
import pytest

from drumline.core.ids import session_text
from drumline.core.task import ClaimedTask
from tests.api.conftest import Ada


def lease_of(claimed: ClaimedTask) -> dict[str, Any]:
    lease = claimed.lease
    return {"task": lease.task, "epoch": lease.epoch, "nonce": f"{lease.nonce:016x}"}


async def start(http: httpx.AsyncClient, ada: Ada) -> tuple[str, dict[str, Any], str]:
    """Return a task that runs, its lease, and the path of its worker."""
    task = (await http.post("/api/v1/tasks", json={"name": "work"})).json()["id"]
    return task, lease_of(await ada.claim()), f"/api/v1/worker/sessions/{session_text(ada.session)}"


async def test_steps_are_listed_in_pages_with_what_is_waited_for(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    error = {"kind": "ValueError", "message": "no"}
    records = [
        {"lease": lease, "name": "charge", "value": {"paid": 3}, "took": 0.5},
        {"lease": lease, "name": "ship", "key": "7", "status": "failed", "value": error, "tries": 3},
    ]
    answers = (await http.post(f"{worker}/records", json={"records": records})).json()
    waits = [{"kind": "sleep", "name": "nap", "delay": 3600}]
    parked = (await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})).json()

    first = (await http.get(f"/api/v1/tasks/{task}/steps", params={"limit": 1})).json()
    second = (await http.get(f"/api/v1/tasks/{task}/steps", params={"limit": 1, "cursor": first["next_cursor"]})).json()

    assert [each["record"]["seq"] for each in answers["records"]] == [1, 2]
    assert parked == {"state": "queued"}
    (charge,) = first["items"]
    assert (charge["name"], charge["key"], charge["status"], charge["result"]) == ("charge", None, "done", {"paid": 3})
    assert charge["duration"] == 0.5
    (ship,) = second["items"]
    assert (ship["key"], ship["status"], ship["tries"], ship["result"]) == ("7", "failed", 3, None)
    assert ship["error"]["message"] == "no"
    assert second["next_cursor"] is None
    assert [(each["kind"], each["name"], each["until"] is None) for each in second["waits"]] == [
        ("sleep", "nap", False)
    ]
    shown = (await http.get(f"/api/v1/tasks/{task}")).json()
    assert shown["status"] == "PENDING"
    why = (await http.get(f"/api/v1/tasks/{task}/why")).json()
    assert [each["cause"] for each in why["reasons"]] == ["waiting"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": "failed", "value": 3}, "value"),
        ({"value": "x" * (1024 * 1024 + 1)}, "records[0].value"),
    ],
)
async def test_a_record_that_makes_no_sense_names_its_field(
    http: httpx.AsyncClient, ada: Ada, change: dict[str, Any], field: str
) -> None:
    _, lease, worker = await start(http, ada)

    reply = await http.post(f"{worker}/records", json={"records": [{"lease": lease, "name": "a", **change}]})

    assert reply.status_code == 200
    assert reply.json()["records"][0]["error"]["field"] == field


@pytest.mark.parametrize("change", [{"name": ""}, {"name": "x" * 300}, {"key": "a\nb"}, {"status": "odd"}])
async def test_a_record_that_no_worker_would_send_is_refused(
    http: httpx.AsyncClient, ada: Ada, change: dict[str, Any]
) -> None:
    _, lease, worker = await start(http, ada)

    reply = await http.post(f"{worker}/records", json={"records": [{"lease": lease, "name": "a", **change}]})

    assert (reply.status_code, reply.json()["field"]) == (422, f"records[0].{next(iter(change))}")


@pytest.mark.parametrize(
    "wait",
    [
        {"kind": "odd", "name": "a", "delay": 1},
        {"kind": "sleep", "name": "", "delay": 1},
        {"kind": "sleep", "name": "a"},
        {"kind": "sleep", "name": "a", "delay": -1},
        {"kind": "sleep", "name": "a", "delay": 1e15},
        {"kind": "sleep", "name": "a", "until": "2030-01-01T00:00:00"},
        {"kind": "sleep", "name": "a", "delay": 1, "until": "2030-01-01T00:00:00Z"},
    ],
)
async def test_a_wait_that_makes_no_sense_is_refused(http: httpx.AsyncClient, ada: Ada, wait: dict[str, Any]) -> None:
    task, lease, worker = await start(http, ada)

    reply = await http.post(f"{worker}/waits", json={"lease": lease, "waits": [wait]})

    assert reply.status_code == 422
    assert reply.json()["field"].startswith("waits[0]")
    assert (await http.get(f"/api/v1/tasks/{task}")).json()["status"] == "PROCESSING"


async def test_a_lease_that_is_not_current_is_fenced(http: httpx.AsyncClient, ada: Ada) -> None:
    _, lease, worker = await start(http, ada)
    late = {**lease, "nonce": "0" * 16}

    record = (await http.post(f"{worker}/records", json={"records": [{"lease": late, "name": "a"}]})).json()
    wait = await http.post(
        f"{worker}/waits", json={"lease": late, "waits": [{"kind": "sleep", "name": "a", "delay": 1}]}
    )
    page = await http.post(f"{worker}/records/list", json={"lease": late})

    assert record["records"][0]["error"]["code"] == "fenced"
    assert [(each.status_code, each.json()["code"]) for each in (wait, page)] == [(409, "fenced")] * 2


async def test_a_cursor_that_makes_no_sense_is_refused(http: httpx.AsyncClient, ada: Ada) -> None:
    task, _, _ = await start(http, ada)

    for cursor in ("x", "-1", "99999999999", "²"):
        reply = await http.get(f"/api/v1/tasks/{task}/steps", params={"cursor": cursor})
        assert (reply.status_code, reply.json()["field"]) == (422, "cursor")
    assert (await http.get("/api/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8057/steps")).status_code == 404


async def test_rounds_that_are_over_are_listed_with_what_they_were_given(http: httpx.AsyncClient, ada: Ada) -> None:
    given = {"name": "work", "payload": {"n": 1, "password": "hunter2"}}
    task = (await http.post("/api/v1/tasks", json=given)).json()["id"]
    lease, worker = lease_of(await ada.claim()), f"/api/v1/worker/sessions/{session_text(ada.session)}"
    await http.post(f"{worker}/records", json={"records": [{"lease": lease, "name": "charge", "value": 1}]})

    restarted = await http.post(f"{worker}/restarts", json={"lease": lease, "payload": {"n": 2}})

    assert (restarted.status_code, restarted.json()) == (200, {"state": "queued"})
    now = (await http.get(f"/api/v1/tasks/{task}/steps")).json()
    assert (now["items"], now["round"], now["payload"]) == ([], 2, None)
    assert [(each["round"], each["records"]) for each in now["rounds"]] == [(1, 1)]
    first = (await http.get(f"/api/v1/tasks/{task}/steps", params={"round": 1})).json()
    assert [each["name"] for each in first["items"]] == ["charge"]
    assert (first["round"], first["payload"]["n"]) == (1, 1)
    assert first["payload"]["password"] != "hunter2"
    assert (await http.get(f"/api/v1/tasks/{task}")).json()["payload"] == {"n": 2}
    history = (await http.get(f"/api/v1/tasks/{task}/attempts")).json()
    assert [each["outcome"] for each in history["items"]] == ["restarted"]
    missing = await http.get(f"/api/v1/tasks/{task}/steps", params={"round": 9})
    assert (missing.status_code, missing.json()["field"]) == (404, "round")
    wrong = await http.get(f"/api/v1/tasks/{task}/children", params={"round": 0})
    assert wrong.status_code == 422


@pytest.mark.parametrize("body", [{}, {"payload": {}}, {"lease": 7, "payload": {}}, {"payload": {}, "more": 1}])
async def test_a_restart_that_cannot_be_read_is_refused(
    http: httpx.AsyncClient, ada: Ada, body: dict[str, Any]
) -> None:
    _, lease, worker = await start(http, ada)

    answer = await http.post(f"{worker}/restarts", json={"lease": lease} | body if "more" in body else body)

    assert answer.status_code == 422
