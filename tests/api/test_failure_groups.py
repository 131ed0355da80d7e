"""The failure inbox through HTTP."""

from typing import Any

import httpx
import pytest

from drumline.core.outcome import ErrorInfo
from tests.api.conftest import Ada, problem
from tests.api.test_failures import fail, get

GROUPS = "/api/v1/failures/groups"


@pytest.fixture
async def group(http: httpx.AsyncClient, ada: Ada) -> str:
    """One failure, by its fingerprint."""
    await fail(http, ada)
    return str((await get(http, "/failures/groups"))["items"][0]["fingerprint"])


async def patch(http: httpx.AsyncClient, fingerprint: str, **body: Any) -> Any:
    reply = await http.patch(f"{GROUPS}/{fingerprint}", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def states(http: httpx.AsyncClient, query: str = "") -> list[str]:
    return [group["state"] for group in (await get(http, f"/failures/groups{query}"))["items"]]


async def test_a_group_is_open_until_something_is_decided(http: httpx.AsyncClient, group: str) -> None:
    found = await get(http, f"/failures/groups/{group}")

    assert found["state"] == "open"
    assert [found[name] for name in ("decided_at", "decided_by", "ignored_until", "note", "owner")] == [None] * 5


async def test_a_resolved_group_regresses_by_itself(http: httpx.AsyncClient, ada: Ada, group: str) -> None:
    resolved = await patch(http, group, state="resolved", note="fixed in 1.4", owner="ada")
    await fail(http, ada)
    regressed = await get(http, f"/failures/groups/{group}")

    assert (resolved["state"], resolved["note"], resolved["owner"]) == ("resolved", "fixed in 1.4", "ada")
    assert resolved["decided_by"]
    assert (regressed["state"], regressed["note"]) == ("regressed", "fixed in 1.4")
    assert await states(http, "?state=regressed") == ["regressed"]
    assert await states(http, "?state=active") == ["regressed"]
    assert await states(http, "?state=resolved") == []


async def test_an_ignored_group_has_a_time_and_leaves_the_active_ones(http: httpx.AsyncClient, group: str) -> None:
    ignored = await patch(http, group, state="ignored", until="24h")

    assert ignored["state"] == "ignored"
    assert ignored["ignored_until"].endswith("Z")
    assert await states(http, "?state=active") == []
    assert (await patch(http, group, state="open"))["ignored_until"] is None


async def test_a_note_can_be_taken_away_and_the_rest_stays(http: httpx.AsyncClient, group: str) -> None:
    await patch(http, group, state="acknowledged", note="looking\ninto it", owner="ada")

    left = await patch(http, group, note=None)

    assert (left["state"], left["note"], left["owner"]) == ("acknowledged", None, "ada")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "state"),
        ({"state": "ignored"}, "until"),
        ({"state": "resolved", "until": "1h"}, "until"),
        ({"state": "ignored", "until": "2020-01-01T00:00:00Z"}, "until"),
        ({"state": "ignored", "until": "soon"}, "until"),
        ({"note": "x" * 2001}, "note"),
        ({"note": "a\u0000b"}, "note"),
        ({"owner": "  "}, "owner"),
    ],
)
async def test_a_refusal_names_the_field(http: httpx.AsyncClient, group: str, body: Any, field: str) -> None:
    problem(await http.patch(f"{GROUPS}/{group}", json=body), 422, "invalid", field)


async def test_a_group_without_failures_is_not_found(http: httpx.AsyncClient) -> None:
    problem(await http.patch(f"{GROUPS}/0123456789ab", json={"state": "resolved"}), 404, "not_found", "fingerprint")


async def test_pages_of_a_state_pass_over_the_others(http: httpx.AsyncClient, ada: Ada) -> None:
    for kind in ("A", "B", "C", "D", "E"):
        await fail(http, ada, ErrorInfo(kind, "no"))
    groups = (await get(http, "/failures/groups?sort=count"))["items"]
    for group in groups[1:4]:
        await patch(http, group["fingerprint"], state="resolved")

    seen: list[str] = []
    cursor = ""
    for _ in range(5):
        page = await get(http, f"/failures/groups?sort=count&state=open&limit=1{cursor}")
        seen += [group["fingerprint"] for group in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert seen == [groups[0]["fingerprint"], groups[4]["fingerprint"]]


@pytest.mark.usefixtures("group")
async def test_a_trend_has_the_last_24_hours(http: httpx.AsyncClient) -> None:
    (listed,) = (await get(http, "/failures/groups?trend=true"))["items"]

    assert (len(listed["trend"]), sum(listed["trend"])) == (24, 1)
    assert (await get(http, "/failures/groups"))["items"][0]["trend"] is None
    problem(await http.get(f"{GROUPS}?trend=true&limit=101"), 422, "invalid", "limit")
