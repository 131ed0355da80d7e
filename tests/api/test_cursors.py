"""Whatever stands in a cursor, a limit or a filter gets an answer that is no fault of ours."""

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LISTS = (
    "tasks", "failures", "failures/groups", "jobs", "schedules", "bulk", "keys", "tenants", "secrets", "audit",
    "deliveries", "logs",
)  # fmt: skip
NEEDED = {"logs": {"text": "x"}}
"""What a list has to be given."""
cursors = (
    st.text(max_size=40)
    | st.uuids().map(str)
    | st.from_regex(r"-?\d{1,30}\.[0-9a-f-]{12,36}", fullmatch=True)
    | st.from_regex(r"[a-z]{1,5}/[a-z]{0,5}", fullmatch=True)
    | st.from_regex(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.[0-9]{1,10}){4}\.(-|info)\.[01]", fullmatch=True)
)


@pytest.mark.parametrize("noun", LISTS)
async def test_no_cursor_breaks_a_list(http: httpx.AsyncClient, noun: str) -> None:
    seen: list[str] = []

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cursors)
    def gather(cursor: str) -> None:
        seen.append(cursor)

    gather()
    for cursor in dict.fromkeys(seen):
        reply = await http.get(f"/api/v1/{noun}", params={"cursor": cursor, "limit": 2, **NEEDED.get(noun, {})})
        assert reply.status_code in {200, 400, 422}, (cursor, reply.text)
