"""What a durable task has done and waits for, as the rows of a table."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from drumline.cli.describing import first_line
from drumline.cli.tables import Column, span

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient


def _result(step: dict[str, Any]) -> str | None:
    if step["status"] in {"waiting", "restarted"}:
        reason: str | None = step["reason"]
        return reason if step["pending"] is None else f"{step['pending']:,} children to end"
    if step["error"] is not None:
        return first_line(step["error"])
    return None if step["kind"] == "sleep" else json.dumps(step["result"], ensure_ascii=False)


COLUMNS = (
    Column("NAME", "name", rank=9, least=12),
    Column("KEY", "key", rank=5, least=6),
    Column("KIND", "kind", rank=6),
    Column("STATUS", "status", rank=8),
    Column("TRIES", "tries", rank=2),
    Column("STARTED_AT", "started_at", rank=4, is_time=True),
    Column("TOOK", lambda step: None if step["duration"] is None else span(step["duration"]), rank=7),
    Column("UNTIL", "until", rank=5, is_time=True),
    Column("RESULT", _result, rank=3, least=12),
)


_NO_FIELDS = dict.fromkeys(
    ("key", "tries", "started_at", "finished_at", "duration", "due_at", "result", "error", "until", "reason", "pending")
)


def timeline(
    client: "ApiClient", id: str, limit: int, round: int | None = None, *, with_rounds: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield what a task has done in a round, in order, and then what it waits for; before it the rounds that are over.

    Those are rows of their own if they are wanted and no round was chosen.
    """
    cursor, waits, is_first = None, [], with_rounds and round is None
    while limit > 0:
        page = client.get(f"/tasks/{id}/steps", limit=min(limit, 200), cursor=cursor, round=round)
        if is_first:
            yield from map(_round_row, page.get("rounds", ()))  # a server of an earlier version has none
        is_first = False
        waits = page["waits"]
        for step in page["items"]:
            yield {**step, "until": step["due_at"], "reason": None, "pending": None}
        limit -= len(page["items"])
        cursor = page["next_cursor"]
        if not cursor:
            break
    for wait in waits:
        yield {
            **dict.fromkeys(("tries", "finished_at", "duration", "due_at", "result", "error")),
            "name": wait["name"], "key": wait["key"], "kind": wait["kind"], "status": "waiting",
            "started_at": wait["since"], "until": wait["until"], "reason": wait["reason"],
            "pending": wait["pending"],
        }  # fmt: skip


def _round_row(round_: dict[str, Any]) -> dict[str, Any]:
    return {
        **_NO_FIELDS, "name": f"round {round_['round']}", "kind": "round", "status": "restarted",
        "finished_at": round_["ended_at"], "reason": f"{round_['records']:,} records",
    }  # fmt: skip
