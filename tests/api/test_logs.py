"""Searching the logs of many tasks over HTTP."""

from typing import Any

import httpx
import pytest

from drumline.core.clock import Instant, moment_of
from drumline.core.ids import TaskId, made_at
from drumline.core.outcome import ErrorInfo, Failed, Succeeded
from drumline.engine import log_search
from drumline.engine.log_search import LogEffort
from drumline.ports.store import LogChunk
from tests.api.conftest import Ada, problem, submitted

LOGS = "/api/v1/logs"


async def logged(http: httpx.AsyncClient, ada: Ada, text: str, *, fails: bool = False, **fields: Any) -> TaskId:
    """Return a task that has written a text and ended."""
    task = await submitted(http, **fields)
    claimed = await ada.claim()
    assert claimed.lease.task == task
    await ada.gateway.append_log([LogChunk(task=task, epoch=claimed.lease.epoch, seq=0, text=text)])
    await ada.settle(claimed, Failed(ErrorInfo("E", "x"), permanent=True) if fails else Succeeded())
    return task


async def test_lines_are_found_with_their_tasks(http: httpx.AsyncClient, ada: Ada) -> None:
    old = await logged(http, ada, "begin\n2026-10-01T10:00:00.250Z ERROR app: Connection refused\n", fails=True)
    new = await logged(http, ada, "connection REFUSED\n", queue="other")

    reply = await http.get(LOGS, params={"text": "connection refused"})

    assert reply.status_code == 200
    answer = reply.json()
    assert answer["items"] == [
        {
            "task_id": new, "name": "work", "queue": "other", "status": "COMPLETED", "attempt": 1, "line": 1,
            "at": None, "level": None, "text": "connection REFUSED", "is_cut": False,
        },
        {
            "task_id": old, "name": "work", "queue": "default", "status": "FAILED", "attempt": 1, "line": 2,
            "at": "2026-10-01T10:00:00.250Z", "level": "error",
            "text": "2026-10-01T10:00:00.250Z ERROR app: Connection refused", "is_cut": False,
        },
    ]  # fmt: skip
    assert {name: answer[name] for name in ("next_cursor", "is_partial", "tasks", "back_to")} == {
        "next_cursor": None, "is_partial": False, "tasks": 2, "back_to": None,
    }  # fmt: skip


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9999Z"])
async def test_a_line_with_an_impossible_time_hides_no_other_lines(
    http: httpx.AsyncClient, ada: Ada, time: str
) -> None:
    await logged(http, ada, f"{time} hello\n2026-10-01T10:00:00Z hello\n")

    reply = await http.get(LOGS, params={"text": "hello"})

    assert reply.status_code == 200
    assert [item["at"] for item in reply.json()["items"]] == [None, "2026-10-01T10:00:00.000Z"]


async def test_lines_are_narrowed_by_level_and_by_what_lists_of_tasks_are(http: httpx.AsyncClient, ada: Ada) -> None:
    failed = await logged(http, ada, "INFO needle\nERROR needle\n", fails=True, payload={"order": 17}, tags=["vip"])
    done = await logged(http, ada, "WARNING needle\n", queue="bulk")

    async def found(**query: str) -> list[tuple[str, int]]:
        reply = await http.get(LOGS, params=query)
        assert reply.status_code == 200, reply.text
        return [(item["task_id"], item["line"]) for item in reply.json()["items"]]

    assert await found(level="warning") == [(done, 1), (failed, 2)]
    assert await found(text="needle", level="error") == [(failed, 2)]
    assert await found(text="needle", status="COMPLETED") == [(done, 1)]
    assert await found(text="needle", filter="payload.order=17 -queue:bulk") == [(failed, 1), (failed, 2)]
    assert await found(text="needle", tag="vip", since="2020-01-01T00:00:00Z") == [(failed, 1), (failed, 2)]
    assert await found(text="needle", until="2020-01-01T00:00:00Z") == []


async def test_pages_go_on_at_the_next_line(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await logged(http, ada, "".join(f"needle {number}\n" for number in range(1, 6)))
    cursor: str | None = None
    found: list[tuple[str, int]] = []
    for _ in range(10):
        query = {"text": "needle", "limit": "2", **({} if cursor is None else {"cursor": cursor})}
        answer = (await http.get(LOGS, params=query)).json()
        found += [(item["task_id"], item["line"]) for item in answer["items"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break

    assert found == [(task, line) for line in range(1, 6)]


async def test_a_search_that_stopped_says_how_far_it_got(
    http: httpx.AsyncClient, ada: Ada, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "LOG_EFFORT", LogEffort(tasks=(1, 1)))
    tasks = [await logged(http, ada, "needle\n" if number == 0 else "hay\n") for number in range(3)]

    answer = (await http.get(LOGS, params={"text": "needle"})).json()
    rest = (await http.get(LOGS, params={"text": "needle", "cursor": answer["next_cursor"]})).json()

    assert (answer["items"], answer["is_partial"], answer["tasks"]) == ([], True, 2)
    assert answer["back_to"] == moment_of(Instant(made_at(tasks[1])))
    assert [item["task_id"] for item in rest["items"]] == [tasks[0]]
    assert not rest["is_partial"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "text"),
        ({"text": " "}, "text"),
        ({"text": "a\nb"}, "text"),
        ({"text": "x" * 201}, "text"),
        ({"text": "x", "level": "loud"}, "level"),
        ({"text": "x", "limit": "0"}, "limit"),
        ({"text": "x", "limit": "1001"}, "limit"),
        ({"text": "x", "cursor": "here"}, "cursor"),
        ({"text": "x", "filter": "colour:red"}, "filter"),
        ({"text": "x", "since": "once"}, "since"),
        ({"text": "x", "regex": "true"}, "regex"),
    ],
)
async def test_what_is_wrong_with_a_search_is_named(http: httpx.AsyncClient, query: dict[str, str], field: str) -> None:
    problem(await http.get(LOGS, params=query), 422, "invalid", field)


async def test_masked_secrets_are_not_found(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await logged(http, ada, "token ******\n")

    assert (await http.get(LOGS, params={"text": "hunter2"})).json()["items"] == []
    assert [item["task_id"] for item in (await http.get(LOGS, params={"text": "token"})).json()["items"]] == [task]


async def test_a_key_of_another_tenant_finds_nothing(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await logged(http, ada, "needle\n")
    await http.post("/api/v1/tenants", json={"name": "beta"})
    keys = {}
    for tenant in ("default", "beta"):
        made = await http.post("/api/v1/keys", json={"name": f"of {tenant}", "tenant": tenant, "role": "viewer"})
        keys[tenant] = made.json()["key"]

    async def found(tenant: str, **query: str) -> list[str]:
        reply = await http.get(LOGS, params={"text": "needle", **query}, headers={"X-API-Key": keys[tenant]})
        return [item["task_id"] for item in reply.json()["items"]]

    assert await found("default") == [task]
    assert await found("beta") == []
    assert await found("beta", cursor=f"{task}.1.0.0.1.-.0") == []


async def test_searching_logs_needs_the_permission_to_read_tasks(
    http: httpx.AsyncClient, stranger: httpx.AsyncClient
) -> None:
    made = await http.post("/api/v1/keys", json={"name": "x", "role": "admin", "scopes": ["queues:read"]})

    refused = await http.get(LOGS, params={"text": "x"}, headers={"X-API-Key": made.json()["key"]})

    problem(refused, 403, "forbidden")
    assert (await stranger.get(LOGS, params={"text": "x"})).status_code == 401
