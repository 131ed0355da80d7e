"""Exporting tasks as CSV and JSON lines."""

import csv
import io
import json

import httpx
import pytest

from drumline.api import task_export
from drumline.core.outcome import ErrorInfo, Failed
from tests.api.conftest import Ada, problem, submitted

EXPORT = "/api/v1/tasks/export"


async def rows(http: httpx.AsyncClient, **params: str | int) -> list[dict[str, str]]:
    reply = await http.get(EXPORT, params={"format": "csv", **params})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(reply.text)))


async def test_what_a_filter_means_is_exported_as_a_table(http: httpx.AsyncClient, ada: Ada) -> None:
    task = await submitted(http, payload={"n": 1}, tags=["a", "b"], idempotency_key="k")
    await ada.settle(await ada.claim(), Failed(ErrorInfo("E", 'no "way", he\nsaid'), permanent=True))
    await submitted(http, payload={"n": 2})

    (row,) = await rows(http, filter="payload.n=1")

    assert (row["id"], row["status"], row["tags"], row["idempotency_key"]) == (task, "FAILED", "a, b", "k")
    assert row["error_message"] == 'no "way", he\nsaid'


async def test_lines_of_json_are_those_of_the_list(http: httpx.AsyncClient) -> None:
    for n in range(3):
        await submitted(http, payload={"n": n, "password": "x"})

    reply = await http.get(EXPORT, params={"format": "jsonl", "payload": "true"})
    listed = (await http.get("/api/v1/tasks", params={"payload": "true"})).json()["items"]

    assert [json.loads(line) for line in reply.text.splitlines()] == listed
    assert listed[0]["payload"]["password"] == "[redacted]"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
async def test_no_cell_is_a_formula(http: httpx.AsyncClient, ada: Ada, text: str) -> None:
    await submitted(http, tags=["x"])
    await ada.settle(await ada.claim(), Failed(ErrorInfo(text.strip(), text), permanent=True))

    (row,) = await rows(http)

    assert row["error_message"] == f"'{text}"
    assert row["error_kind"] == f"'{text.strip()}"
    assert row["priority"] == "0"


async def test_an_export_goes_over_pages_and_says_that_it_stopped(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_export, "AT_ONCE", 2)
    ids = [await submitted(http) for _ in range(5)][::-1]

    whole = await rows(http)
    cut = await rows(http, limit=3)
    lines = (await http.get(EXPORT, params={"format": "jsonl", "limit": 3})).text.splitlines()

    assert [row["id"] for row in whole] == ids
    assert [row["id"] for row in cut] == [*ids[:3], f"# incomplete, continue with cursor {ids[2]}"]
    assert json.loads(lines[-1]) == {"is_complete": False, "next_cursor": ids[2]}


async def test_a_bad_filter_is_refused_before_anything_is_written(http: httpx.AsyncClient) -> None:
    problem(await http.get(EXPORT, params={"filter": "foo:1"}), 422, "invalid", "filter")
    problem(await http.get(EXPORT, params={"limit": 100_001}), 422, "invalid", "limit")
