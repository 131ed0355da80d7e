"""The state of an installation in one screen: `drumline status` prints it once, `drumline top` keeps it up to date."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from drumline.cli.commands import server_command
from drumline.cli.describing import error_line
from drumline.cli.tables import cpu_text, relative, size, tidy
from drumline.cli.terminal import painted
from drumline.core.errors import Forbidden

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

Overview = dict[str, Any]

MOST_QUEUES: Final = 20
MOST_FAILURES: Final = 5
MOST_RUNNING: Final = 8


def overview_of(client: "ApiClient") -> Overview:
    """Return what both commands show; what the key may not see is left out."""
    stats = _allowed(client, "/stats", last="15m")
    points = (stats or {}).get("points", [])
    queues = _allowed(client, "/queues") or {"items": []}
    workers = _allowed(client, "/workers") or {"items": []}
    groups = _allowed(client, "/failures/groups", limit=MOST_FAILURES) or {"items": []}
    running = _allowed(client, "/tasks", status="PROCESSING", limit=50) or {"items": []}
    held = [worker["held"] for worker in workers["items"]]
    return {
        "server": client.url,
        "rates": _rates(points, (stats or {}).get("step", 0)),
        "queues": _most_waiting(queues["items"]),
        "workers": {
            "open": len(held),
            "busy": sum(held),
            "capacity": sum(worker["capacity"] for worker in workers["items"]),
            "memory": _sum_known(workers["items"], "memory"),
            "cpu": _sum_known(workers["items"], "cpu"),
        },
        "failures": groups["items"],
        "slowest": sorted(running["items"], key=lambda task: task["started_at"] or "")[:MOST_RUNNING],
    }


def _sum_known(workers: list[dict[str, Any]], name: str) -> Any:
    """Return what the workers use together, of those that tell it; None if none does."""
    known = [worker[name] for worker in workers if worker.get(name) is not None]
    return sum(known) if known else None


def _most_waiting(queues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the queues with the most due tasks, by name: then a line stays in its place while one looks at it."""
    most = sorted(queues, key=lambda queue: -queue["queued"])[:MOST_QUEUES]
    return sorted(most, key=lambda queue: str(queue["name"]))


def _allowed(client: "ApiClient", path: str, **query: object) -> Any:
    try:
        return client.get(path, **query)
    except Forbidden:
        return None


def _rates(points: list[dict[str, Any]], step: float) -> dict[str, float | None]:
    """Return what happened per second in the last buckets that are whole, about a minute of them."""
    whole = points[:-1][-max(1, round(60 / step)) :] if step and len(points) > 1 else []
    seconds = step * len(whole)
    rates: dict[str, float | None] = {
        name: sum(point[name] for point in whole) / seconds if seconds else None
        for name in ("submitted", "completed", "failed", "retried")
    }
    waits = [point["wait_p95"] for point in whole if point["wait_p95"] is not None]
    return {**rates, "wait_p95": max(waits, default=None)}


def headline(found: Overview) -> str:
    """Return the first line: which server it is."""
    return painted(f"Drumline at {found['server']}", bold=True)


def rates_line(found: Overview) -> str:
    """Return what happened per second lately."""
    rates = found["rates"]
    parts = [f"{name} {_rate(rates[name])}" for name in ("submitted", "completed", "failed", "retried")]
    return f"{'  '.join(parts)}  wait p95 {_seconds(rates['wait_p95'])}"


def workers_line(found: Overview) -> str:
    """Return how many workers there are, and how busy they are."""
    workers = found["workers"]
    parts = [f"workers {workers['open']}", f"busy {workers['busy']} of {workers['capacity']}"]
    if workers["memory"] is not None:
        parts.append(f"memory {size(workers['memory'])}")
    if workers["cpu"] is not None:
        parts.append(f"cpu {cpu_text(workers['cpu'])}")
    return "   ".join(parts)


def _lines(found: Overview) -> Iterator[str]:
    """Yield the screen line by line."""
    yield from (headline(found), rates_line(found), workers_line(found), "")
    yield painted(f"{'QUEUE':<32}{'QUEUED':>9}{'PROCESSING':>12}{'PENDING':>9}  OLDEST DUE", bold=True)
    for queue in found["queues"]:
        state = painted("  paused", "yellow") if queue["is_paused"] else ""
        yield (
            f"  {tidy(queue['name'])[:28]:<30}{queue['queued']:>9,}{queue['processing']:>12,}"
            f"{queue['pending']:>9,}  {relative(queue['oldest_due_at']) or '-'}{state}"
        )
    if not found["queues"]:
        yield "  No queue has a task, and none is paused."
    yield from _sections(found)


def _sections(found: Overview) -> Iterator[str]:
    if found["failures"]:
        yield ""
        yield painted(f"{'FAILURES':<9}{'LAST SEEN':<14}CAUSE", bold=True)
        for group in found["failures"]:
            yield f"{group['count']:<9,}{relative(group['last_at']) or '-':<14}{tidy(error_line(group))[:80]}"
    if found["slowest"]:
        yield ""
        yield painted(f"{'RUNNING SINCE':<15}{'TASK':<38}NAME", bold=True)
        for task in found["slowest"]:
            yield f"{relative(task['started_at']) or '-':<15}{task['id']:<38}{tidy(task['name'])}"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}/s"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.1f} s"


def _print_status(found: Overview) -> None:
    for line in _lines(found):
        click.echo(line)


@server_command(show=_print_status)
def status(client: "ApiClient") -> Any:
    """Show rates, queues, workers, failures and the longest running tasks in one screen."""
    return overview_of(client)
