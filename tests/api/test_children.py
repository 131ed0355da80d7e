"""The children of a task, over HTTP."""

import httpx
import pytest
from msgspec import Raw

from drumline.core.outcome import Succeeded
from tests.api.conftest import Ada
from tests.api.test_steps import start


async def test_children_are_started_by_a_worker_and_listed_in_pages(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    tasks = [{"name": "work", "payload": {"x": number}} for number in range(3)]
    body = {"lease": lease, "name": "labels", "key": "k", "on_end": "abandon", "tasks": tasks}
    started = (await http.post(f"{worker}/children", json=body)).json()
    waits = [{"kind": "group", "name": "labels", "key": "k"}]
    parked = (await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})).json()

    first = (await http.get(f"/api/v1/tasks/{task}/children", params={"limit": 2})).json()
    cursor = first["next_cursor"]
    rest = (await http.get(f"/api/v1/tasks/{task}/children", params={"limit": 2, "cursor": cursor})).json()

    assert parked == {"state": "queued"}
    assert started["count"] == 3
    assert [each["id"] for each in first["items"] + rest["items"]] == started["ids"]
    assert rest["next_cursor"] is None
    second = first["items"][1]
    assert second.pop("created_at").endswith("Z")
    assert second == {
        "id": started["ids"][1], "name": "work", "queue": "default", "status": "QUEUED", "call": "labels", "key": "k",
        "place": 1, "on_end": "abandon", "started_at": None, "finished_at": None,
    }  # fmt: skip
    assert (await http.get(f"/api/v1/tasks/{started['ids'][0]}")).json()["parent_id"] == task
    (reason,) = (await http.get(f"/api/v1/tasks/{task}/why")).json()["reasons"]
    assert "3 children of 'labels'" in reason["text"]
    assert reason["names"] == started["ids"]


async def test_children_say_when_they_started_and_ended(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    await http.post(f"{worker}/children", json={"lease": lease, "name": "part", "tasks": [{"name": "work"}]})
    await ada.settle(await ada.claim(), Succeeded(Raw(b"1")))

    (child,) = (await http.get(f"/api/v1/tasks/{task}/children")).json()["items"]

    assert child["status"] == "COMPLETED"
    assert child["created_at"] <= child["started_at"] <= child["finished_at"]


async def test_failures_of_children_are_shown_as_errors_of_steps(http: httpx.AsyncClient, ada: Ada) -> None:
    task, lease, worker = await start(http, ada)
    for name, count in (("one", 1), ("some", 2)):
        tasks = [{"name": "work"}] * count
        await http.post(f"{worker}/children", json={"lease": lease, "name": name, "tasks": tasks})
    children = (await http.get(f"/api/v1/tasks/{task}/children")).json()["items"]
    for child in children:
        await http.post(f"/api/v1/tasks/{child['id']}/cancel")

    waits = [{"kind": "call", "name": "one"}, {"kind": "group", "name": "some"}]
    answered = (await http.post(f"{worker}/waits", json={"lease": lease, "waits": waits})).json()
    outcomes = (await http.post(f"{worker}/children/outcomes", json={"lease": lease, "name": "some"})).json()
    steps = (await http.get(f"/api/v1/tasks/{task}/steps")).json()["items"]

    assert [each["record"]["status"] for each in answered["answers"]] == ["failed", "failed"]
    assert [each["state"] for each in outcomes["outcomes"]] == ["cancelled", "cancelled"]
    assert [(each["kind"], each["error"]["kind"]) for each in steps] == [
        ("call", "ChildFailed"), ("group", "ChildFailed"),
    ]  # fmt: skip
    assert children[0]["id"] in steps[0]["error"]["message"]
    assert "2 of 2" in steps[1]["error"]["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tenant": "elsewhere"}, "tenant"),
        ({"tasks": []}, "tasks"),
        ({"tasks": [{"name": "work"}] * 1001}, "tasks"),
        ({"tasks": [{"name": "work", "nonsense": 1}]}, "tasks[0].nonsense"),
        ({"tasks": [{"name": "work", "collapse": {"kind": "singleton"}}]}, "tasks[0].collapse"),
        ({"name": ""}, "name"),
        ({"on_end": "keep"}, "on_end"),
        ({"first": -1}, "first"),
    ],
)
async def test_children_that_cannot_be_are_refused_by_name(
    http: httpx.AsyncClient, ada: Ada, change: dict[str, object], field: str
) -> None:
    _, lease, worker = await start(http, ada)

    answer = await http.post(
        f"{worker}/children", json={"lease": lease, "name": "c", "tasks": [{"name": "work"}], **change}
    )

    assert answer.status_code == 422
    assert answer.json()["field"].startswith(field)


async def test_a_wait_for_no_children_names_them(http: httpx.AsyncClient, ada: Ada) -> None:
    _, lease, worker = await start(http, ada)

    answer = await http.post(f"{worker}/waits", json={"lease": lease, "waits": [{"kind": "call", "name": "ghost"}]})

    assert answer.status_code == 422
    assert "'ghost'" in answer.json()["detail"]


async def test_a_task_that_does_not_exist_has_no_children(http: httpx.AsyncClient) -> None:
    answer = await http.get("/api/v1/tasks/01890a5d-ac96-774b-bcce-b302099a8057/children")

    assert answer.status_code == 404
