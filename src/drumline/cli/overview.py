"""The state of an installation in one screen: `drumline status` prints it once, `drumline top` keeps it up to date."""

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli.commands import segment, server_command
from drumline.cli.output import say
from drumline.cli.parameters import Option
from drumline.cli.tables import relative, tidy
from drumline.cli.terminal import is_terminal, painted
from drumline.core.errors import DrumlineError, Forbidden, Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

Overview = dict[str, Any]

MOST_QUEUES: Final = 20
MOST_FAILURES: Final = 5
MOST_RUNNING: Final = 8
KEYS: Final = "q quit   ↑ ↓ choose a queue   p pause or resume it   r refresh"


def _overview(client: "ApiClient") -> Overview:
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
        },
        "failures": groups["items"],
        "slowest": sorted(running["items"], key=lambda task: task["started_at"] or "")[:MOST_RUNNING],
    }


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


def _lines(found: Overview, chosen: int | None = None) -> Iterator[str]:
    """Yield the screen line by line; `chosen` is the queue that is marked."""
    rates, workers = found["rates"], found["workers"]
    parts = [f"{name} {_rate(rates[name])}" for name in ("submitted", "completed", "failed", "retried")]
    yield painted(f"Drumline at {found['server']}", bold=True)
    yield f"{'   '.join(parts)}   wait p95 {_seconds(rates['wait_p95'])}"
    yield f"workers {workers['open']}   busy {workers['busy']} of {workers['capacity']}"
    yield ""
    yield painted(f"{'QUEUE':<32}{'QUEUED':>9}{'PROCESSING':>12}{'PENDING':>9}  OLDEST DUE", bold=True)
    for number, queue in enumerate(found["queues"]):
        mark = "> " if number == chosen else "  "
        state = painted("  paused", "yellow") if queue["is_paused"] else ""
        yield (
            f"{mark}{tidy(queue['name'])[:28]:<30}{queue['queued']:>9,}{queue['processing']:>12,}"
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
            yield f"{group['count']:<9,}{relative(group['last_at']) or '-':<14}{tidy(group['message'])[:80]}"
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
    return _overview(client)


@server_command()
def top(
    client: "ApiClient",
    every: Annotated[
        float, Option("--every", help="Seconds between two looks.", min=0.5, max=60.0, metavar="SECONDS")
    ] = 2.0,
) -> None:
    """Show the same as status, kept up to date; keys pause and resume queues."""
    if not (is_terminal() and sys.stdin.isatty()):
        raise Invalid("top needs a terminal: drumline status prints the same once")
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console, chosen = Console(), 0
    found = _overview(client)
    with _single_keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            chosen = min(chosen, max(len(found["queues"]) - 1, 0))
            screen = [*list(_lines(found, chosen))[: console.height - 2], "", KEYS]
            live.update(Text.from_ansi("\n".join(screen)), refresh=True)
            match _key(every):
                case "q" | "\x03":
                    return
                case "\x1b[A" | "k":
                    chosen = max(chosen - 1, 0)
                    continue
                case "\x1b[B" | "j":
                    chosen += 1
                    continue
                case "p" if found["queues"]:
                    live.stop()
                    _switch(client, found["queues"][chosen])
                    live.start(refresh=True)
            found = _overview(client)


def _switch(client: "ApiClient", queue: Overview) -> None:
    """Pause a queue, or resume it."""
    act = "resume" if queue["is_paused"] else "pause"
    try:
        client.post(
            f"/queues/{segment(queue['name'])}/{act}", None if queue["is_paused"] else {"reason": "by drumline top"}
        )
    except DrumlineError as error:
        say(error.message)
        time.sleep(1.0)  # so that it can be read


@contextmanager
def _single_keys() -> Iterator[None]:
    """Let the terminal give each key at once."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key(seconds: float) -> str | None:
    """Return the key that was pressed within some seconds, if one was."""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return None
    return os.read(sys.stdin.fileno(), 8).decode(errors="replace")
