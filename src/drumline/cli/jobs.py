"""Commands about jobs."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli.commands import checked_status, do_each, group, list_command, server_command
from drumline.cli.describing import EXECUTION, print_line, sentence_of, shown_moment
from drumline.cli.filtering import ErrorText, FilterText, Since, Sort, Until, sorted_by, terms
from drumline.cli.job_graph import graph
from drumline.cli.job_submitting import submit
from drumline.cli.job_watching import progress_of, watch
from drumline.cli.log_lines import job_logs
from drumline.cli.options import DryRun, JobId, JobIds, Json, Limit, Statuses, Tag, Why, Yes
from drumline.cli.output import Form, confirm, print_list, say
from drumline.cli.parameters import Option
from drumline.cli.tables import Column, between, print_fitted, since_epoch, span, tidy
from drumline.cli.terminal import STATUS_COLOURS, painted
from drumline.cli.timelines import job_timeline
from drumline.cli.times import Toward, optional_moment

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Submit, list and control jobs: graphs of tasks.")
app.add("submit")(submit)
app.add("graph")(graph)
app.add("watch")(watch)
app.add("logs")(job_logs)
app.add("timeline")(job_timeline)

MOST_ATTEMPTS = 1000
STATUSES = ("PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED")

COLUMNS = (
    Column("ID", "id", rank=9),
    Column("STATUS", "status", rank=9),
    Column("NAME", "name", rank=8, least=12),
    Column("PROGRESS", progress_of, rank=7, least=24),
    Column("OWNER", "owner", rank=2, least=8),
    Column("CREATED_AT", "created_at", rank=6, is_time=True),
    Column("TOOK", lambda job: between(job["started_at"], job["finished_at"]), rank=4),
    Column("REASON", "reason", rank=5, least=16),
)
MOST_TASKS = 20
"""Tasks that are listed: first those that failed, then those that run."""
ORDER = ("FAILED", "PROCESSING", "QUEUED", "CANCELLED", "SKIPPED", "PENDING", "COMPLETED")

TASKS = (
    Column("KEY", "key", rank=9, least=12),
    Column("STATUS", "status", rank=8),
    Column("TASK_ID", "task_id", rank=7),
    Column("NAME", "name", rank=3, least=10),
    Column("ATTEMPT", lambda node: node["attempt"] or None, rank=2),
    Column("TOOK", lambda node: between(node["started_at"], node["finished_at"]), rank=4),
    Column("REASON", "reason", rank=6, least=16),
)

ATTEMPTS = (
    Column("KEY", "key", rank=9, least=12),
    *EXECUTION,
    Column("REASON", "reason", rank=7, least=16),
)


@list_command(
    app,
    "list",
    COLUMNS,
    empty="There are no jobs yet. Try: drumline jobs submit -h",
    unmatched="No jobs match.",
    more="These are the newest {count}; there may be more: --limit {ten_times}",
)
def list_jobs(
    client: "ApiClient",
    status: Statuses = None,
    name: Annotated[str | None, Option("--name", "-n", help="Only this name.", metavar="NAME")] = None,
    owner: Annotated[str | None, Option("--owner", help="Only of this owner.", metavar="NAME")] = None,
    tag: Tag = None,
    key: Annotated[str | None, Option("--key", help="Only with this idempotency key.", metavar="KEY")] = None,
    since: Since = None,
    until: Until = None,
    error: ErrorText = None,
    filter: FilterText = None,
    sort: Sort = None,
    limit: Limit = 50,
) -> Any:
    """List jobs, newest first."""
    found = client.pages(
        "/jobs", limit=limit, status=[checked_status(one, STATUSES) for one in status or ()] or None,
        name=name, owner=owner, tag=tag, idempotency_key=key,
        since=optional_moment(since, flag="--since", toward=Toward.PAST),
        until=optional_moment(until, flag="--until", toward=Toward.PAST), filter=terms(filter, error=error),
    )  # fmt: skip
    return sorted_by(found, sort)


def _describe(client: "ApiClient", job: dict[str, Any]) -> None:
    _print_job(job, client.get(f"/jobs/{job['id']}/graph")["nodes"])
    if "attempts" in job:
        click.echo()
        print_fitted(job["attempts"], ATTEMPTS)


@server_command(app, describe=_describe, fields=True, page=lambda job: f"/jobs/{job['id']}")
def get(
    client: "ApiClient",
    id: JobId,
    attempts: Annotated[bool, Option("--attempts", help="The latest executions of its tasks too.")] = False,
) -> Any:
    """Show a job: its status, what failed, and what is running."""
    job = client.get(f"/jobs/{id}")
    if attempts:
        ran = client.get(f"/jobs/{id}/attempts", limit=MOST_ATTEMPTS)
        job["attempts"] = ran["items"]
        if ran["is_more"]:
            say(f"These are the latest {MOST_ATTEMPTS:,} executions; there were more before them.")
    return job


def _print_why(answer: dict[str, Any]) -> None:
    for reason in answer["reasons"]:
        click.echo(sentence_of(reason))
    if not answer["tasks"]:
        return
    counts = ", ".join(f"{answer[state]:,} {state}" for state in ("running", "queued", "blocked") if answer[state])
    click.echo(f"It waits for {'some of its' if answer['is_more'] else 'these'} tasks ({counts}):")
    for task in answer["tasks"]:
        blocks = f", {task['blocks']:,} behind it" if task["blocks"] else ""
        status = painted(task["status"], STATUS_COLOURS.get(task["status"]))
        click.echo(f"  {tidy(task['key'])}  {status}{blocks}")
        for reason in task["reasons"]:
            click.echo(f"    {sentence_of(reason)}")


@server_command(app, show=_print_why)
def why(client: "ApiClient", id: JobId) -> Any:
    """Show why a job has not ended: the tasks that it waits for, and why those are not done."""
    return client.get(f"/jobs/{id}/why")


@server_command(app)
def cancel(
    client: "ApiClient",
    ids: JobIds,
    force: Annotated[bool, Option("--force", help="End running tasks now, whatever their workers do.")] = False,
    reason: Why = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Cancel jobs: what waits now, what runs soon.

    Running tasks stop as soon as their workers hear of it; --force ends them now.
    """
    if dry_run:
        _print_dry_run(client, ids, "would be cancelled", as_json=as_json)
        return
    if not yes and (question := _question(client, ids)):
        confirm(question, yes=False)
    body = {"force": force, "reason": reason}
    do_each(ids, lambda one: client.post(f"/jobs/{one}/cancel", body), _print_done, as_json=as_json)


@server_command(app)
def resume(client: "ApiClient", ids: JobIds, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Run failed tasks again, and those that depend on them.

    Cancelled tasks run again, too; completed tasks keep their results.
    """
    if dry_run:
        _print_dry_run(client, ids, "would run again from where they stopped", as_json=as_json)
        return
    do_each(ids, lambda one: client.post(f"/jobs/{one}/resume"), _print_done, as_json=as_json)


def _question(client: "ApiClient", ids: list[str]) -> str | None:
    """Return what to ask before jobs are cancelled; nothing if all have ended, which the server says better."""
    jobs = [client.get(f"/jobs/{one}") for one in ids]
    left = sum(
        job["counts"]["total"] - sum(job["counts"][end] for end in ("completed", "failed", "cancelled", "skipped"))
        for job in jobs
    )
    if not left:
        return None
    what = f"job {jobs[0]['name']}" if len(jobs) == 1 else f"{len(jobs)} jobs"
    return f"Cancel {what}, of which {left:,} task{'s have' if left != 1 else ' has'} not ended?"


def _print_dry_run(client: "ApiClient", ids: list[str], outcome: str, *, as_json: bool) -> None:
    print_list([client.get(f"/jobs/{one}") for one in ids], COLUMNS, Form.of(as_json=as_json), nothing="")
    count = "1 job" if len(ids) == 1 else f"{len(ids)} jobs"
    say(f"{count} {outcome}, as far as the state allows; nothing was changed.")


def _print_done(jobs: list[dict[str, Any]]) -> None:
    for job in jobs:
        click.echo(f"{job['id']}  {job['status']}  {progress_of(job)}")
    if any(job["cancel_requested"] and job["status"] == "PROCESSING" for job in jobs):
        say("Workers are told within a few seconds; --force ends running tasks now.")


def _print_job(job: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
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


def _remark(job: dict[str, Any]) -> str:
    return "  (asked to stop)" if job["cancel_requested"] and job["status"] == "PROCESSING" else ""


def _print_tasks(nodes: list[dict[str, Any]]) -> None:
    shown = sorted(nodes, key=lambda node: ORDER.index(node["status"]))[:MOST_TASKS]
    click.echo()
    print_fitted(shown, TASKS)
    if len(nodes) > len(shown):
        click.echo(f"… and {len(nodes) - len(shown):,} more: drumline tasks list --job ID, drumline jobs graph ID")
