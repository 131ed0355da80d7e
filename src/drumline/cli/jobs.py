"""Commands about jobs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.exits import ExitCode, exit_code_of
from drumline.cli.job_graph import graph
from drumline.cli.job_submitting import submit
from drumline.cli.job_watching import progress_of, watch
from drumline.cli.moments import between
from drumline.cli.options import DryRun, Fields, JobId, JobIds, Json, Jsonl, Key, Url, Wide, Yes
from drumline.cli.output import Form, confirm, picked, print_json, print_list, say
from drumline.cli.tables import Column
from drumline.cli.terminal import is_terminal
from drumline.core.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import Client

app = typer.Typer(help="Submit, look at and steer jobs: graphs of tasks.", no_args_is_help=True, rich_markup_mode=None)
app.command("submit")(submit)
app.command("graph")(graph)
app.command("watch")(watch)

MOST_ATTEMPTS = 1000
STATUSES = ("PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED")

COLUMNS = (
    Column("ID", lambda job: job["id"], rank=9),
    Column("STATUS", lambda job: job["status"], rank=9),
    Column("NAME", lambda job: job["name"], rank=8, least=12),
    Column("PROGRESS", progress_of, rank=7, least=24),
    Column("OWNER", lambda job: job["owner"], rank=2, least=8),
    Column("CREATED", lambda job: job["created_at"], rank=6, is_time=True),
    Column("TOOK", lambda job: between(job["started_at"], job["finished_at"]), rank=4),
    Column("REASON", lambda job: job["reason"], rank=5, least=16),
)


@app.command("list")
def list_jobs(
    status: Annotated[
        list[str] | None,
        typer.Option("--status", "-s", help="Only this status; may be repeated.", metavar="STATUS"),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", "-n", help="Only this name.", metavar="NAME")] = None,
    owner: Annotated[str | None, typer.Option("--owner", help="Only of this owner.", metavar="NAME")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only with this tag.", metavar="TAG")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Only with this idempotency key.", metavar="KEY")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many at most.", min=1, metavar="N")] = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List jobs, newest first."""
    from drumline.cli.client import connect

    filters: dict[str, Any] = {
        "status": [_checked_status(one) for one in status or ()] or None,
        "name": name, "owner": owner, "tag": tag, "idempotency_key": key,
    }  # fmt: skip
    jobs = connect(url, api_key).pages("/jobs", limit=limit, **filters)
    nothing = "No job is like that." if any(filters.values()) else "There are no jobs yet. Try: drumline jobs submit -h"
    count = print_list(jobs, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing=nothing)
    if count == limit and is_terminal():
        say(f"These are the newest {count}; there may be more: --limit {count * 10}")


@app.command()
def get(
    id: JobId,
    attempts: Annotated[bool, typer.Option("--attempts", help="The latest executions of its tasks too.")] = False,
    as_json: Json = False,
    fields: Fields = None,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Show one job: how it stands, what failed and what runs."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    job = client.get(f"/jobs/{id}")
    ran = client.get(f"/jobs/{id}/attempts", limit=MOST_ATTEMPTS) if attempts else None
    if as_json or fields:
        if ran is not None:
            job["attempts"] = ran["items"]
        print_json(next(picked([job], names)) if (names := Form(fields=fields).names) else job)
        return
    from drumline.cli.job_describing import print_attempts, print_job

    print_job(job, client.get(f"/jobs/{id}/graph")["nodes"])
    if ran is not None:
        print_attempts(ran["items"])
        if ran["is_more"]:
            say(f"These are the latest {MOST_ATTEMPTS:,} executions; there were more before them.")


@app.command()
def cancel(
    ids: JobIds,
    force: Annotated[bool, typer.Option("--force", help="End running tasks now, whatever their workers do.")] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for those who will wonder.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Cancel jobs: what waits now, what runs soon.

    Running tasks stop as soon as their workers hear of it; --force ends them now.
    """
    from drumline.cli.client import connect

    client = connect(url, api_key)
    if dry_run:
        _print_as_they_stand(client, ids, "would be cancelled", as_json=as_json)
        return
    if not yes and (question := _question(client, ids)):
        confirm(question, yes=False)
    body = {"force": force, "reason": reason}
    _do_each(ids, lambda one: client.post(f"/jobs/{one}/cancel", body), as_json=as_json)


@app.command()
def resume(ids: JobIds, dry_run: DryRun = False, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Run what failed, and what hung on it, again.

    Cancelled tasks run again as well; what completed keeps its results.
    """
    from drumline.cli.client import connect

    client = connect(url, api_key)
    if dry_run:
        _print_as_they_stand(client, ids, "would run again from where they stopped", as_json=as_json)
        return
    _do_each(ids, lambda one: client.post(f"/jobs/{one}/resume"), as_json=as_json)


def _checked_status(text: str) -> str:
    from drumline.core.wording import suggestion

    status = text.upper()
    if status not in STATUSES:
        hint = suggestion(status, STATUSES) or f"; it is one of {', '.join(STATUSES)}"
        raise Invalid(f"there is no status {text}{hint}")
    return status


def _question(client: "Client", ids: list[str]) -> str | None:
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


def _print_as_they_stand(client: "Client", ids: list[str], fate: str, *, as_json: bool) -> None:
    print_list([client.get(f"/jobs/{one}") for one in ids], COLUMNS, Form(as_json=as_json), nothing="")
    count = "1 job" if len(ids) == 1 else f"{len(ids)} jobs"
    say(f"{count} {fate}, as far as the state allows; nothing was changed.")


def _do_each(ids: list[str], act: Callable[[str], dict[str, Any]], *, as_json: bool) -> None:
    """Do something to each job; one that refuses is named and does not hold up the others."""
    done, code = [], ExitCode.OK
    for one in ids:
        try:
            done.append(act(one))
        except (Conflict, Invalid, NotFound) as error:
            if len(ids) == 1:
                raise
            say(f"{one}: {error}")
            code = code or exit_code_of(error)
    if as_json:
        print_json(done)
    else:
        _print_done(done)
    if code:
        raise typer.Exit(code)


def _print_done(jobs: list[dict[str, Any]]) -> None:
    for job in jobs:
        typer.echo(f"{job['id']}  {job['status']}  {progress_of(job)}")
    if any(job["cancel_requested"] and job["status"] == "PROCESSING" for job in jobs):
        say("Workers are told within a few seconds; --force ends running tasks now.")
