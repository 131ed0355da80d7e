"""Saved views over HTTP."""

import httpx
import pytest

from tests.api.conftest import problem

VIEWS = "/api/v1/views"


async def made_key(http: httpx.AsyncClient, name: str, role: str) -> dict[str, str]:
    reply = await http.post("/api/v1/keys", json={"name": name, "role": role})
    return {"X-API-Key": reply.json()["key"]}


async def test_a_view_is_saved_listed_changed_and_deleted(http: httpx.AsyncClient) -> None:
    body = {"filter": "status:failed error:timeout", "columns": ["Name", "Error"]}

    first = await http.put(f"{VIEWS}/tasks/Last%20night", json=body)
    second = await http.put(f"{VIEWS}/tasks/Last%20night", json={"is_shared": True})
    listed = (await http.get(VIEWS, params={"page": "tasks"})).json()["items"]
    gone = await http.delete(f"{VIEWS}/tasks/Last%20night")

    assert (first.status_code, second.status_code, gone.status_code) == (201, 200, 204)
    assert first.json()["filter"] == "status:failed error:timeout"
    assert listed == [second.json()]
    assert listed[0]["is_own"]
    assert (await http.get(VIEWS)).json()["items"] == []
    problem(await http.delete(f"{VIEWS}/tasks/Last%20night"), 404, "not_found", "name")


async def test_a_viewer_keeps_views_and_cannot_share_them(http: httpx.AsyncClient) -> None:
    viewer = await made_key(http, "vi", "viewer")
    operator = await made_key(http, "op", "operator")

    own = await http.put(f"{VIEWS}/jobs/mine", json={"filter": "owner:ada"}, headers=viewer)
    shared = await http.put(f"{VIEWS}/jobs/ours", json={"is_shared": True}, headers=viewer)
    await http.put(f"{VIEWS}/jobs/ours", json={"is_shared": True}, headers=operator)

    assert own.status_code == 201
    assert shared.status_code == 403
    seen = (await http.get(VIEWS, headers=viewer)).json()["items"]
    assert [(view["name"], view["owner"], view["is_own"]) for view in seen] == [
        ("mine", "vi", True), ("ours", "op", False),
    ]  # fmt: skip
    by_viewer = await http.delete(f"{VIEWS}/jobs/ours", params={"owner": "op"}, headers=viewer)
    of_others = await http.delete(f"{VIEWS}/jobs/mine", params={"owner": "vi"}, headers=operator)
    by_admin = await http.delete(f"{VIEWS}/jobs/ours", params={"owner": "op"})
    assert (by_viewer.status_code, of_others.status_code, by_admin.status_code) == (403, 404, 204)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("tasks/a", {"filter": "colour:red"}, "filter"),
        ("jobs/a", {"filter": "queue:x"}, "filter"),
        ("jobs/a", {"filter": ""}, "filter"),
        ("tasks/a", {"columns": ["x" * 65]}, "columns[0]"),
        ("tasks/a", {"columns": ["x"] * 31}, "columns"),
        ("tasks/" + "a" * 101, {}, "name"),
        ("tasks/%20", {}, "name"),
        ("queues/a", {}, "page"),
    ],
)
async def test_a_view_that_is_wrong_is_refused(
    http: httpx.AsyncClient, path: str, body: dict[str, object], field: str
) -> None:
    problem(await http.put(f"{VIEWS}/{path}", json=body), 422, "invalid", field)


async def test_saving_and_deleting_are_in_the_audit_log(http: httpx.AsyncClient) -> None:
    await http.put(f"{VIEWS}/tasks/a", json={"filter": "name:x"}, headers={"X-Reason": "for the team"})
    await http.delete(f"{VIEWS}/tasks/a")

    rows = (await http.get("/api/v1/audit")).json()["items"]

    assert [row["act"] for row in rows[:2]] == ["view.delete", "view.save"]
    assert rows[1]["reason"] == "for the team"
    assert rows[1]["after"]["filter"] == "name:x"
