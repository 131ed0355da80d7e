"""Flow limits over HTTP."""

import httpx
import pytest

from tests.api.conftest import problem

BODY = {"task": "report", "max_concurrent": 3, "rate": "50/s", "key": "payload.customer_id"}


async def test_a_limit_is_set_and_set_again(http: httpx.AsyncClient) -> None:
    made = await http.put("/api/v1/limits/reports", json=BODY)
    again = await http.put("/api/v1/limits/reports", json={"queue": "slow", "max_concurrent": 1})

    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json() | {"created_at": ""} == {
        "name": "reports",
        "tenant": "default",
        "queue": None,
        "task": "report",
        "key": "payload.customer_id",
        "max_concurrent": 3,
        "rate": "50/1s",
        "running": 0,
        "created_at": "",
        "shards": [],
    }
    assert (await http.get("/api/v1/limits/reports")).json()["queue"] == "slow"
    assert [each["name"] for each in (await http.get("/api/v1/limits")).json()["items"]] == ["reports"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"max_concurrent": 3}, "queue"),
        ({"queue": "slow"}, "max_concurrent"),
        ({"queue": "slow", "max_concurrent": 0}, "max_concurrent"),
        ({"queue": "slow", "rate": "often"}, "rate"),
        ({"queue": "slow", "rate": "20000/s"}, "rate"),
        ({"queue": "slow", "rate": "unlimited"}, "rate"),
        ({"queue": "slow", "rate": "1/s", "key": "customer"}, "key"),
        ({"queue": "not a queue", "rate": "1/s"}, "queue"),
        ({"task": "", "rate": "1/s"}, "task"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_name(
    http: httpx.AsyncClient, body: dict[str, object], field: str
) -> None:
    reply = await http.put("/api/v1/limits/reports", json=body)

    problem(reply, 422, "invalid", field)


async def test_a_limit_that_is_deleted_is_gone(http: httpx.AsyncClient) -> None:
    await http.put("/api/v1/limits/reports", json=BODY)

    assert (await http.delete("/api/v1/limits/reports")).status_code == 204
    assert (await http.delete("/api/v1/limits/reports")).status_code == 404
    assert (await http.get("/api/v1/limits/reports")).status_code == 404


async def test_two_places_for_one_key_are_a_conflict(http: httpx.AsyncClient) -> None:
    await http.put("/api/v1/limits/reports", json=BODY)

    reply = await http.put("/api/v1/limits/other", json={"queue": "slow", "rate": "1/s", "key": "limit_key"})

    assert "reports" in problem(reply, 409, "conflict", "key")["detail"]
