"""Collapse at submission, over HTTP."""

import httpx

UNIQUE = {"name": "report", "collapse": {"unique": "1d", "key": "today"}}


async def test_the_answer_says_what_became_of_a_submission(http: httpx.AsyncClient) -> None:
    first = await http.post("/api/v1/tasks", json=UNIQUE)
    second = await http.post("/api/v1/tasks", json=UNIQUE)

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["created"]
    assert "collapsed" not in first.json()
    assert (second.json()["id"], second.json()["created"]) == (first.json()["id"], False)
    assert second.json()["collapsed"] == "dropped"
    shown = (await http.get(f"/api/v1/tasks/{first.json()['id']}")).json()
    assert shown["collapse"]["unique"] == "1d"


async def test_a_batch_answers_for_each(http: httpx.AsyncClient) -> None:
    debounced = {"name": "report", "collapse": {"debounce": 5, "key": "k"}}
    wrong = {"name": "report", "collapse": {"debounce": 5, "unique": 5}}
    reply = await http.post(
        "/api/v1/tasks/batch", json={"tasks": [debounced, {"name": "plain"}, debounced, wrong, {"name": "plain"}]}
    )

    first, plain, second, refused, last = reply.json()["tasks"]
    assert (first["created"], plain["created"], last["created"]) == (True, True, True)
    assert (second["id"], second["collapsed"]) == (first["id"], "replaced")
    assert refused["error"]["field"] == "tasks[3].collapse"


async def test_an_unknown_word_is_refused_with_its_field(http: httpx.AsyncClient) -> None:
    reply = await http.post("/api/v1/tasks", json={"name": "x", "collapse": {"singleton": "sometimes"}})

    assert reply.status_code == 422
    assert reply.json()["field"] == "collapse.singleton"
