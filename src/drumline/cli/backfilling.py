"""Following the runs of a backfill until they have all ended."""

import sys
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from drumline.cli.errors import ExitCode
from drumline.cli.output import print_json, say

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

PAGE: Final = 200
SHORTEST_PAUSE: Final = 1.0
SHARE: Final = 10
"""How many times longer than a look took the next one is put off: a long backfill has many runs to look at."""
ENDED: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})


def follow_backfill(client: "ApiClient", schedule: str, plan: dict[str, Any], *, as_json: bool) -> None:
    """Show how many runs of a backfill have ended until all have; exit with how they ended."""
    say(f"To stop it: drumline schedules backfill {schedule} --abort; Ctrl-C only stops the watching.")
    is_live = sys.stderr.isatty()
    while True:
        began = time.monotonic()
        counts = _counts(client, schedule, plan)
        ended = sum(count for status, count in counts.items() if status in ENDED)
        if is_live:
            click.echo(f"\r{_words(counts, ended, plan)}\033[K", err=True, nl=False)
        # A run that was given up meanwhile is not there any more.
        if ended >= sum(counts.values()):
            break
        time.sleep(max(SHORTEST_PAUSE, (time.monotonic() - began) * SHARE))
    if is_live:
        click.echo(err=True)
    _finish(counts, plan, as_json=as_json)


def _counts(client: "ApiClient", schedule: str, plan: dict[str, Any]) -> Counter[str]:
    """Return how many runs of the backfill have each status; one whose task was pruned has completed or was kept."""
    first, last = datetime.fromisoformat(plan["first"]), datetime.fromisoformat(plan["last"])
    cursor: str | None = str(round((last + timedelta(milliseconds=1)).timestamp() * 1000))
    counts: Counter[str] = Counter()
    while cursor is not None:
        page = client.get(f"/schedules/{schedule}/runs", limit=PAGE, cursor=cursor)
        for run in page["items"]:
            if datetime.fromisoformat(run["fire_time"]) < first:
                return counts
            if run["kind"] == "backfill":
                counts[run["status"] or "COMPLETED"] += 1
        cursor = page["next_cursor"]
    return counts


def _words(counts: Counter[str], ended: int, plan: dict[str, Any]) -> str:
    failed = f", {counts['FAILED']:,} failed" if counts["FAILED"] else ""
    return f"{ended:,} of {plan['missing']:,} runs have ended{failed}"


def _finish(counts: Counter[str], plan: dict[str, Any], *, as_json: bool) -> None:
    told = {status.lower(): counts[status] for status in sorted(ENDED)}
    if as_json:
        print_json({**plan, **told})
    else:
        some = ", ".join(f"{count:,} {status}" for status, count in told.items() if count)
        click.echo(f"{sum(counts.values()):,} runs have ended: {some}." if some else "No run is left.")
    if counts["FAILED"]:
        raise click.exceptions.Exit(ExitCode.TASK_FAILED)
    if counts["CANCELLED"] or counts["SKIPPED"]:
        raise click.exceptions.Exit(ExitCode.TASK_CANCELLED)
