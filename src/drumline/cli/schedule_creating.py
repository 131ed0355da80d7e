"""Creating and editing schedules from the command line."""

from typing import Annotated, Any

import typer

from drumline.cli.doubts import warn_of_unknown
from drumline.cli.options import DryRun, Json, Key, Url
from drumline.cli.output import print_json, say
from drumline.cli.times import Toward, duration, optional_moment
from drumline.core.errors import Invalid

Cron = Annotated[
    str | None, typer.Option("--cron", help="Five fields, six with seconds first, or @daily.", metavar="CRON")
]
Every = Annotated[str | None, typer.Option("--every", help="Every so often: 90, 1h30m.", metavar="TIME")]
At = Annotated[str | None, typer.Option("--at", help="Once: tomorrow 09:00, 2026-01-02T03:04Z.", metavar="TIME")]
Zone = Annotated[str | None, typer.Option("--tz", help="The time zone. [default: UTC]", metavar="ZONE")]
TaskName = Annotated[str | None, typer.Option("--task", help="The name of the task to make.", metavar="NAME")]
Payload = Annotated[
    str | None,
    typer.Option("--payload", "-p", help="The task's: JSON, @FILE, or - for standard input.", metavar="JSON"),
]
Arguments = Annotated[
    list[str] | None,
    typer.Option(
        "--arg", "-a", help="One argument of the task; its value is JSON, or else text.", metavar="NAME=VALUE"
    ),
]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="The task's queue.", metavar="NAME")]
Job = Annotated[str | None, typer.Option("--job", help="The job to make, from a JSON or YAML file.", metavar="FILE")]
Misfire = Annotated[str | None, typer.Option("--misfire", help="What was missed: skip, once or all.", metavar="POLICY")]
Overlap = Annotated[
    str | None,
    typer.Option("--overlap", help="allow, skip, queue or cancel_previous.", metavar="POLICY"),
]
Start = Annotated[str | None, typer.Option("--start", help="Not before this time: 2026-01-02.", metavar="TIME")]
End = Annotated[str | None, typer.Option("--end", help="Not after this time: 30d.", metavar="TIME")]
Jitter = Annotated[str | None, typer.Option("--jitter", help="Spread firings over so much time.", metavar="TIME")]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", help="Finish after so many runs.", min=1, metavar="N")]


def create(
    name: Annotated[str, typer.Argument(help="What to call it.", metavar="NAME", show_default=False)],
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Zone = None,
    task: TaskName = None,
    payload: Payload = None,
    arguments: Arguments = None,
    queue: Queue = None,
    job: Job = None,
    misfire: Misfire = None,
    overlap: Overlap = None,
    start: Start = None,
    end: End = None,
    jitter: Jitter = None,
    max_runs: MaxRuns = None,
    paused: Annotated[bool, typer.Option("--paused", help="Without letting it fire.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Create a schedule that makes a task or a job at times, and print its id."""
    from drumline.cli.client import connect

    fields = {
        "cron": cron, "timezone": timezone, "misfire": misfire, "overlap": overlap, "max_runs": max_runs,
        "paused": paused or None, **_times(every, at, start, end, jitter, zone=timezone),
        **_target(task, payload, arguments or [], queue, job),
    }  # fmt: skip
    request = {"name": name, **{field: value for field, value in fields.items() if value is not None}}
    if dry_run:
        print_json(request)
        say("This would be sent to POST /api/v1/schedules; nothing was created.")
        return
    client = connect(url, api_key)
    made = client.post("/schedules", request)
    if as_json:
        print_json(made)
    else:
        typer.echo(made["id"])
        following = "" if made["next_fire_at"] is None else f"; next at {made['next_fire_at']}"
        say(f"{made['name']}: {made['words']}{following}")
    if task is not None:
        warn_of_unknown(client, task)


def edit(
    which: Annotated[str, typer.Argument(help="The schedule's name or id.", metavar="SCHEDULE", show_default=False)],
    name: Annotated[str | None, typer.Option("--name", help="Another name.", metavar="NAME")] = None,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Zone = None,
    task: TaskName = None,
    payload: Payload = None,
    arguments: Arguments = None,
    queue: Queue = None,
    job: Job = None,
    misfire: Misfire = None,
    overlap: Overlap = None,
    start: Start = None,
    end: End = None,
    jitter: Jitter = None,
    max_runs: MaxRuns = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Change a schedule; its next fire time is found anew if its rule changes."""
    from drumline.cli.client import connect
    from drumline.cli.schedules import found

    fields = {
        "name": name, "cron": cron, "timezone": timezone, "misfire": misfire, "overlap": overlap,
        "max_runs": max_runs, **_times(every, at, start, end, jitter, zone=timezone),
        **_target(task, payload, arguments or [], queue, job),
    }  # fmt: skip
    changes = {field: value for field, value in fields.items() if value is not None}
    if not changes:
        raise Invalid("say what to change: drumline schedules edit -h")
    client = connect(url, api_key)
    edited = client.patch(f"/schedules/{found(client, which)['id']}", changes)
    if as_json:
        print_json(edited)
    else:
        typer.echo(f"{edited['name']}  {edited['words']}  next {edited['next_fire_at'] or '-'}")


def _times(
    every: str | None, at: str | None, start: str | None, end: str | None, jitter: str | None, *, zone: str | None
) -> dict[str, str | None]:
    """Return the times of a schedule as the API takes them; those without a zone are in the schedule's own."""
    return {
        "interval": duration(every, flag="--every"),
        "run_at": optional_moment(at, flag="--at", toward=Toward.FUTURE, zone=zone),
        "start": optional_moment(start, flag="--start", toward=Toward.FUTURE, zone=zone),
        "end": optional_moment(end, flag="--end", toward=Toward.FUTURE, zone=zone),
        "jitter": duration(jitter, flag="--jitter"),
    }


def _target(
    task: str | None, payload: str | None, arguments: list[str], queue: str | None, job: str | None
) -> dict[str, Any]:
    from drumline.cli.job_files import read_job
    from drumline.cli.submitting import payload_of

    if task is None:
        if payload is not None or arguments or queue is not None:
            raise Invalid("--payload, --arg and --queue are about a task: give --task too")
        return {} if job is None else {"job": read_job(job)}
    if job is not None:
        raise Invalid("give --task or --job, not both")
    made: dict[str, Any] = {"name": task, "payload": payload_of(payload, arguments)}
    return {"task": made if queue is None else {**made, "queue": queue}}
