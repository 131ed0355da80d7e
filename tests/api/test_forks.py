"""Forks of durable tasks over HTTP."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import Ada
from tests.api.test_steps import start


async def charged(http: httpx.AsyncClient, ada: Ada) -> str:
    """Return a task that has charged and shipped."""
    task, lease, worker = await start(http, ada)
    records = [{"lease": lease, "name": name, "value": name} for name in ("charge", "ship")]
    await http.post(f"{worker}/records", json={"records": records})
    return task


async def test_a_fork_begins_with_records_of_the_task_and_names_it(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await charged(http, ada)
    path = f"/api/v1/tasks/{task}/fork"

    made = await http.post(path, json={"from": "ship", "payload": {"order": 8}, "id": "one", "reason": "try again"})
    again = await http.post(path, json={"from": "ship", "payload": {"order": 8}, "id": "one"})
    other = await http.post(path, json={"from": "ship", "payload": {"order": 9}, "id": "one"})

    assert made.status_code == 201
    fork = made.json()["id"]
    assert made.json() == {"id": fork, "forked_from": task, "records": 1, "created": True}
    assert made.headers["location"] == f"/api/v1/tasks/{fork}"
    assert (again.status_code, again.json()["id"], again.json()["created"]) == (200, fork, False)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    shown = (await http.get(f"/api/v1/tasks/{fork}")).json()
    assert (shown["forked_from"], shown["payload"], shown["name"]) == (task, {"order": 8}, "work")
    claimed = await ada.claim()
    assert (claimed.lease.task, [each.name for each in claimed.records.records]) == (fork, ["charge"])
    rows = (await http.get("/api/v1/audit")).json()["items"]
    assert ("task.fork", "try again") in {(row["act"], row.get("reason")) for row in rows}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "from"),
        ({"from": "pack"}, 422, "from"),
        ({"from": "ship", "key": "7"}, 422, "from"),
        ({"from": "ship", "id": ""}, 422, "id"),
        ({"from": "ship", "payload": "x" * (1024 * 1024)}, 413, "payload"),
    ],
)
async def test_a_fork_that_makes_no_sense_names_its_field(
    http: httpx.AsyncClient, ada: Ada, body: dict[str, Any], status: int, field: str
) -> None:
    task = await charged(http, ada)

    reply = await http.post(f"/api/v1/tasks/{task}/fork", json=body)

    assert 400 <= reply.status_code < 500, status
    assert reply.json()["field"] == field


async def test_a_wait_that_timed_out_is_listed_without_an_error(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    waits = [{"kind": "signal", "name": "approved", "delay": 0}]
    await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})

    reply = await http.get(f"/api/v1/tasks/{task}/steps")

    (step,) = reply.json()["items"]
    assert (reply.status_code, step["status"], step["result"], step["error"]) == (200, "timed_out", None, None)
