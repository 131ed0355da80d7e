"""The paths of the original documents, in exactly their shapes."""

import httpx
import pytest

from drumline.core.outcome import Succeeded
from tests.api.conftest import Ada, problem, submitted

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


async def test_the_flow_document_submits_by_type(http: httpx.AsyncClient) -> None:
    flow = {"type": "send-email", "payload": {"to": "ada"}, "delay": 10, "retries": 3, "priority": 5}

    reply = await http.post("/tasks", json=flow)

    assert reply.status_code == 201
    task = (await http.get(f"/api/v1/tasks/{reply.json()['id']}")).json()
    assert reply.headers["location"] == f"/api/v1/tasks/{task['id']}"
    assert (task["name"], task["payload"], task["retries"], task["priority"]) == ("send-email", {"to": "ada"}, 3, 5)
    assert task["status"] == "PENDING"


async def test_type_and_name_are_one_and_both_paths_share_their_keys(http: httpx.AsyncClient) -> None:
    first = await http.post("/tasks", json={"type": "work", "idempotencyKey": "k"})
    second = await http.post("/tasks", json={"name": "work", "type": "work"}, headers={"Idempotency-Key": "k"})
    third = await http.post("/api/v1/tasks", json={"name": "work", "idempotency_key": "k"})

    assert [first.status_code, second.status_code, third.status_code] == [201, 200, 200]
    assert first.json()["id"] == second.json()["id"] == third.json()["id"]
    problem(await http.post("/tasks", json={"type": "work", "name": "other"}), 422, "invalid", "type")


@pytest.mark.parametrize("priority", [7, "7"])
async def test_a_task_is_scheduled_in_the_low_level_shape(http: httpx.AsyncClient, priority: int | str) -> None:
    wanted = {"task_name": "Send report", "execution_time": "2031-01-20T10:00:00Z", "priority": priority}

    reply = await http.post("/scheduleTask", json=wanted)

    assert reply.status_code == 201
    task_id = reply.json()["task_id"]
    assert reply.json() == {"task_id": task_id, "status": "Scheduled"}
    assert (await http.get(f"/api/v1/tasks/{task_id}")).json()["priority"] == 7
    assert (await http.get(f"/taskStatus/{task_id}")).json() == {
        "task_id": task_id,
        "status": "Scheduled",
        "execution_time": "2031-01-20T10:00:00.000Z",
    }


async def test_a_status_is_one_word_all_through_a_tasks_life(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    claimed = await ada.claim()

    running = await http.get(f"/taskStatus/{task}")
    await ada.settle(claimed, Succeeded())
    completed = await http.get(f"/taskStatus/{task}")

    assert set(running.json()) == set(completed.json()) == {"task_id", "status", "execution_time"}
    assert (running.json()["status"], completed.json()["status"]) == ("Running", "Completed")
    assert running.json()["execution_time"].endswith("Z")


async def test_a_cancelled_task_is_cancelled_even_if_it_was_running(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http)
    await ada.claim()

    reply = await http.delete(f"/cancelTask/{task}")
    again = await http.delete(f"/cancelTask/{task}")

    assert reply.status_code == again.status_code == 200
    assert reply.json() == again.json() == {"task_id": task, "status": "Cancelled"}
    assert (await http.get(f"/taskStatus/{task}")).json()["status"] == "Cancelled"


async def test_what_is_wrong_is_named_in_the_low_level_words(http: httpx.AsyncClient, ada: Ada) -> None:
    good = {"task_name": "a", "execution_time": "2031-01-20T10:00:00Z"}

    problem(await http.post("/scheduleTask", json={**good, "task_name": ""}), 422, "invalid", "task_name")
    problem(await http.post("/scheduleTask", json={"task_name": "a"}), 422, "invalid", "execution_time")
    problem(await http.post("/scheduleTask", json={**good, "execution_time": "soon"}), 422, "invalid", "execution_time")
    wrong_year = {**good, "execution_time": "1960-01-01T00:00:00Z"}
    problem(await http.post("/scheduleTask", json=wrong_year), 422, "invalid", "execution_time")
    problem(await http.post("/scheduleTask", json={**good, "priority": "urgent"}), 422, "invalid", "priority")
    problem(await http.get("/taskStatus/7"), 422, "invalid", "task_id")
    problem(await http.get(f"/taskStatus/{NOWHERE}"), 404, "not_found", "id")
    problem(await http.delete(f"/cancelTask/{NOWHERE}"), 404, "not_found", "id")
    task = await submitted(http)
    await ada.settle(await ada.claim(), Succeeded())
    problem(await http.delete(f"/cancelTask/{task}"), 409, "conflict")
