"""`timeline` of tasks and jobs: when each part waited and ran, as rows, and as bars on one axis of time."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from drumline.cli.commands import server_command
from drumline.cli.options import JobId, TaskId
from drumline.cli.tables import cut, since_epoch, span, terminal_width, tidy, width_of
from drumline.cli.terminal import STATUS_COLOURS, painted

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

MOST_ROWS = 1000
"""Attempts, steps and children that are asked for, each."""
MOST_ATTEMPTS = 1000
WAITED, RAN = "░", "█"
_COLOURS = {
    **STATUS_COLOURS, **{status.lower(): colour for status, colour in STATUS_COLOURS.items()},
    "running": "yellow", "done": "green", "crashed": "red", "timed_out": "red", "retried": "magenta",
}  # fmt: skip


class Row(NamedTuple):
    """A part of a task or job on the axis of time."""

    kind: str
    name: str
    status: str
    ready_at: str | None
    """Since when it waited, if that is known."""
    started_at: str | None
    finished_at: str | None


def _step_name(step: dict[str, Any]) -> str:
    return f"{step['name']} {step['key']}" if step["key"] else str(step["name"])


def _of_task(client: "ApiClient", task: dict[str, Any]) -> Iterable[Row]:
    path = f"/tasks/{task['id']}"
    before = task["created_at"]
    for attempt in client.get(f"{path}/attempts")["items"]:
        if attempt["started_at"] is None:
            continue
        yield Row(
            "attempt", f"attempt {attempt['attempt']}", attempt["outcome"], before, attempt["started_at"],
            attempt["finished_at"],
        )  # fmt: skip
        before = attempt["finished_at"]
    page = client.get(f"{path}/steps", limit=200)
    for step in page["items"]:
        begin = step["started_at"] or step["finished_at"]
        yield Row(step["kind"], _step_name(step), step["status"], None, begin, step["finished_at"])
    for wait in page["waits"]:
        yield Row(wait["kind"], _step_name(wait), "waiting", wait["since"], None, None)
    for child in client.pages(f"{path}/children", limit=MOST_ROWS):
        yield Row(
            "child", child["name"], child["status"], child["created_at"], child["started_at"], child["finished_at"]
        )


def _of_job(client: "ApiClient", job: dict[str, Any]) -> Iterable[Row]:
    nodes = client.get(f"/jobs/{job['id']}/graph")["nodes"]
    ends = {node["key"]: node["finished_at"] for node in nodes}
    ran = client.get(f"/jobs/{job['id']}/attempts", limit=MOST_ATTEMPTS)["items"]
    attempts: dict[str, list[dict[str, Any]]] = {}
    for attempt in reversed(ran):
        if attempt["started_at"] is not None:
            attempts.setdefault(attempt["key"], []).append(attempt)
    for node in sorted(nodes, key=lambda node: (node["started_at"] is None, node["started_at"])):
        ready = max([job["created_at"], *(ends[need] for need in node["needs"] if ends[need])])
        for attempt in attempts.get(node["key"], ())[:-1]:
            yield Row("attempt", node["key"], attempt["outcome"], ready, attempt["started_at"], attempt["finished_at"])
            ready = attempt["finished_at"] or ready
        is_waiting = node["status"] in {"QUEUED", "PENDING"} and all(ends[need] for need in node["needs"])
        known = ready if node["started_at"] or is_waiting else None
        yield Row("task", node["key"], node["status"], known, node["started_at"], node["finished_at"])


def _print_rows(answer: dict[str, Any]) -> None:
    """Print rows as bars on one axis of time."""
    rows = [Row(**row) for row in answer["items"]]
    now = time.time()
    lasted = [_stretch(row, now) for row in rows]
    known = [each for each in lasted if each is not None]
    if not known:
        click.echo("It has not started yet.")
        return
    first, last = min(one[0] for one in known), max(one[2] for one in known)
    names = [tidy(row.name) for row in rows]
    texts = [_text(row, stretch) for row, stretch in zip(rows, lasted, strict=True)]
    left = min(max(map(width_of, names)), 32)
    room = max(20, min(terminal_width(), 160) - left - max(map(len, texts)) - 4)
    click.echo(f"{' ' * left}  {_axis(last - first, room)}")
    for row, name, text, stretch in zip(rows, names, texts, lasted, strict=True):
        bar = "" if stretch is None else _bar(stretch, first, last, room)
        shown = cut(name, left)
        padded = shown + " " * (left - width_of(shown))
        click.echo(f"{padded}  {painted(bar.ljust(room), _COLOURS.get(row.status))}  {text}".rstrip())


def _stretch(row: Row, now: float) -> tuple[float, float, float] | None:
    """Return when a row began to wait, when it started and when it ended, or nothing if it never did."""
    start, ready, finish = (
        None if at is None else since_epoch(at) for at in (row.started_at, row.ready_at, row.finished_at)
    )
    if start is None and ready is None:
        return None
    end = now if finish is None else finish
    begun = end if start is None else start
    return min(begun if ready is None else ready, begun), begun, max(end, begun)


def _bar(stretch: Sequence[float], first: float, last: float, room: int) -> str:
    scale = room / max(last - first, 0.001)
    ready, start, end = (min(room - 1, int((each - first) * scale)) for each in stretch)
    waited = WAITED * max(start - ready, 1 if stretch[1] > stretch[0] and start == end == ready else 0)
    has_run = stretch[2] > stretch[1] or not waited
    return (" " * ready + waited + (RAN * max(1, end - start) if has_run else ""))[:room]


def _axis(seconds: float, room: int) -> str:
    end = span(seconds)
    return f"0{end.rjust(room - 1)}"


def _text(row: Row, stretch: tuple[float, float, float] | None) -> str:
    if stretch is None:
        return row.status
    ready, start, end = stretch
    parts = [row.status]
    if start - ready >= 0.001:
        parts.append(f"waited {span(start - ready)}")
    if row.started_at is not None:
        parts.append(f"took {span(end - start)}" if row.finished_at else f"runs for {span(end - start)}")
    return ", ".join(parts)


@server_command(show=_print_rows)
def task_timeline(client: "ApiClient", id: TaskId) -> Any:
    """Draw when a task waited and ran: its attempts, steps, waits and children, on one axis of time."""
    rows = _of_task(client, client.get(f"/tasks/{id}"))
    return {"id": id, "items": [row._asdict() for row in rows]}


@server_command(show=_print_rows)
def job_timeline(client: "ApiClient", id: JobId) -> Any:
    """Draw when each task of a job waited and ran, attempt by attempt, on one axis of time."""
    return {"id": id, "items": [row._asdict() for row in _of_job(client, client.get(f"/jobs/{id}"))]}
