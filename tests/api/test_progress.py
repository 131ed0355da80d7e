"""How far a task is, over HTTP."""

import httpx

from drumline.core.ids import session_text
from drumline.core.outcome import Succeeded
from tests.api.conftest import Ada


async def test_a_running_task_says_how_far_it_is(http: httpx.AsyncClient, ada: Ada) -> None:
    task = (await http.post("/api/v1/tasks", json={"name": "work"})).json()["id"]
    claimed = await ada.claim()
    lease = {"task": task, "epoch": claimed.lease.epoch, "nonce": f"{claimed.lease.nonce:016x}"}
    path = f"/api/v1/worker/sessions/{session_text(ada.session)}/progress"
    before = (await http.get(f"/api/v1/tasks/{task}")).json()

    reply = await http.post(path, json={"notes": [{"lease": lease, "done": 3, "total": 4, "message": "rows"}]})

    assert before["progress"] is None
    assert reply.status_code == 204
    assert (await http.get(f"/api/v1/tasks/{task}")).json()["progress"] == {"done": 3, "total": 4, "message": "rows"}
    assert "progress" not in (await http.get("/api/v1/tasks")).json()["items"][0]
    await ada.settle(claimed, Succeeded())
    assert (await http.get(f"/api/v1/tasks/{task}")).json()["progress"] is None


async def test_a_note_that_makes_no_sense_names_its_field(http: httpx.AsyncClient, ada: Ada) -> None:
    path = f"/api/v1/worker/sessions/{session_text(ada.session)}/progress"

    reply = await http.post(path, json={"notes": [{"lease": {"task": "x", "epoch": 1, "nonce": "0" * 16}, "done": 1}]})

    assert (reply.status_code, reply.json()["field"]) == (422, "notes[0].lease.task")
