"""One job on a page: how it stands, what failed, what runs."""

import time
from typing import Any

import typer

from drumline.cli.describing import EXECUTION, print_line, shown_moment
from drumline.cli.job_watching import progress_of
from drumline.cli.moments import between, since_epoch, span
from drumline.cli.tables import Column, print_fitted, tidy
from drumline.cli.terminal import STATUS_COLOURS, painted

MOST_TASKS = 20
"""Tasks that are listed: first those that failed, then those that run."""
ORDER = ("FAILED", "PROCESSING", "QUEUED", "CANCELLED", "SKIPPED", "PENDING", "COMPLETED")

COLUMNS = (
    Column("KEY", lambda node: node["key"], rank=9, least=12),
    Column("STATUS", lambda node: node["status"], rank=8),
    Column("TASK", lambda node: node["task_id"], rank=7),
    Column("NAME", lambda node: node["name"], rank=3, least=10),
    Column("ATTEMPT", lambda node: node["attempt"] or None, rank=2),
    Column("TOOK", lambda node: between(node["started_at"], node["finished_at"]), rank=4),
    Column("REASON", lambda node: node["reason"], rank=6, least=16),
)

ATTEMPTS = (
    Column("KEY", lambda attempt: attempt["key"], rank=9, least=12),
    *EXECUTION,
    Column("REASON", lambda attempt: attempt["reason"], rank=7, least=16),
)


def print_job(job: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    """Print everything about a job that is worth reading; what is as usual is left out."""
    print_line("id", job["id"])
    print_line("status", painted(job["status"], STATUS_COLOURS.get(job["status"]), bold=True) + _remark(job))
    print_line("name", tidy(job["name"]))
    print_line("owner", tidy(job["owner"] or ""))
    print_line("progress", progress_of(job))
    print_line("reason", tidy(job["reason"] or ""))
    print_line("created", shown_moment(job["created_at"]))
    print_line("started", shown_moment(job["started_at"]))
    took = between(job["started_at"], job["finished_at"])
    if job["finished_at"]:
        print_line("finished", shown_moment(job["finished_at"]) + (f", took {took}" if took else ""))
    elif job["started_at"]:
        print_line("running", f"for {span(max(time.time() - since_epoch(job['started_at']), 0.0))}")
    print_line("after", ", ".join(job["depends_on"]))
    print_line("tags", ", ".join(tidy(tag) for tag in job["tags"]))
    print_line("key", tidy(job["idempotency_key"] or ""))
    _print_tasks(nodes)


def print_attempts(attempts: list[dict[str, Any]]) -> None:
    """Print executions of a job's tasks, the latest first."""
    typer.echo()
    print_fitted(attempts, ATTEMPTS)


def _remark(job: dict[str, Any]) -> str:
    return "  (asked to stop)" if job["cancel_requested"] and job["status"] == "PROCESSING" else ""


def _print_tasks(nodes: list[dict[str, Any]]) -> None:
    shown = sorted(nodes, key=lambda node: ORDER.index(node["status"]))[:MOST_TASKS]
    typer.echo()
    print_fitted(shown, COLUMNS)
    if len(nodes) > len(shown):
        typer.echo(f"… and {len(nodes) - len(shown):,} more: drumline tasks list --job ID, drumline jobs graph ID")
