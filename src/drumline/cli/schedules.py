"""Commands about schedules."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import Flags, flags, group, list_command, server_command
from drumline.cli.describing import print_line
from drumline.cli.options import DryRun, Json, Limit, Why, Wide, Yes
from drumline.cli.output import Form, confirm, print_json, print_list, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.submitting import payload_of, warn_of_unknown
from drumline.cli.tables import Column, relative, tidy
from drumline.cli.terminal import painted
from drumline.cli.times import Toward, duration, moment, optional_moment
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("Create, list and control schedules, which create tasks or jobs at set times.")

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_STATES = ("active", "paused", "finished")
_COLOURS = {"active": "green", "paused": "yellow", "finished": "blue"}


def _last_status(schedule: dict[str, Any]) -> str | None:
    return None if schedule["last_run"] is None else schedule["last_run"]["status"]


COLUMNS = (
    Column("ID", "id", rank=4),
    Column("NAME", "name", rank=9, least=12),
    Column("STATE", "state", rank=8),
    Column("WORDS", "words", rank=7, least=20),
    Column("NEXT_FIRE_AT", "next_fire_at", rank=8, is_time=True),
    Column("LAST", _last_status, rank=6),
    Column("RUNS", "runs", rank=3),
    Column("SKIPPED", lambda schedule: schedule["skipped"] or None, rank=2),
    Column("MISSED", lambda schedule: schedule["missed"] or None, rank=2),
    Column("REASON", "reason", rank=5, least=12),
)
RUNS = (
    Column("FIRE_TIME", "fire_time", rank=9),
    Column("STATUS", lambda run: run["status"] or "pruned", rank=9),
    Column("KIND", "kind", rank=6),
    Column("TASK_OR_JOB", lambda run: run["task_id"] or run["job_id"], rank=8),
    Column("CREATED_AT", "created_at", rank=4, is_time=True),
    Column("REASON", "reason", rank=5, least=16),
)
FIRES = (
    Column("LOCAL", "local", rank=9),
    Column("UTC", "utc", rank=8),
    Column("IN", lambda fire: relative(fire["utc"]), rank=7),
    Column("NOTE", "note", rank=6, least=20),
)

Which = Annotated[
    str,
    Argument(help="The schedule's name or id.", metavar="SCHEDULE", show_default=False, complete=completing.schedules),
]
Count = Annotated[int, Option("--count", "-n", help="How many fire times.", min=1, max=1000, metavar="N")]
Every = Annotated[str | None, Option("--every", help="Every so often: 90, 1h30m.", metavar="TIME")]


@flags
class RuleOptions(Flags):
    """When a schedule fires, and what it makes."""

    cron: Annotated[
        str | None, Option("--cron", help="Five fields, six with seconds first, or @daily.", metavar="CRON")
    ] = None
    every: Every = None
    at: Annotated[str | None, Option("--at", help="Once: tomorrow 09:00, 2026-01-02T03:04Z.", metavar="TIME")] = None
    timezone: Annotated[
        str | None, Option("--tz", help="The time zone. [default: UTC]", metavar="ZONE", complete=completing.time_zones)
    ] = None
    task: Annotated[
        str | None,
        Option("--task", help="The name of the task to make.", metavar="NAME", complete=completing.task_names),
    ] = None
    payload: Annotated[
        str | None,
        Option("--payload", "-p", help="The task's: JSON, @FILE, or - for standard input.", metavar="JSON"),
    ] = None
    arguments: Annotated[
        list[str] | None,
        Option("--arg", "-a", help="One argument of the task; its value is JSON, or else text.", metavar="NAME=VALUE"),
    ] = None
    queue: Annotated[
        str | None, Option("--queue", "-q", help="The task's queue.", metavar="NAME", complete=completing.queues)
    ] = None
    job: Annotated[str | None, Option("--job", help="The job to make, from a JSON or YAML file.", metavar="FILE")] = (
        None
    )
    misfire: Annotated[
        str | None,
        Option(
            "--misfire",
            help="What to do about missed runs: skip, once or all.",
            metavar="POLICY",
            complete=completing.of("skip", "once", "all"),
        ),
    ] = None
    overlap: Annotated[
        str | None,
        Option(
            "--overlap",
            help="allow, skip, queue or cancel_previous.",
            metavar="POLICY",
            complete=completing.of("allow", "skip", "queue", "cancel_previous"),
        ),
    ] = None
    start: Annotated[str | None, Option("--start", help="Not before this time: 2026-01-02.", metavar="TIME")] = None
    end: Annotated[str | None, Option("--end", help="Not after this time: 30d.", metavar="TIME")] = None
    jitter: Annotated[str | None, Option("--jitter", help="Spread firings over so much time.", metavar="TIME")] = None
    max_runs: Annotated[int | None, Option("--max-runs", help="Finish after so many runs.", min=1, metavar="N")] = None

    def body(self, *, paused: bool = False) -> dict[str, Any]:
        """Return what was given, as the API takes it; times without a zone are in the schedule's own."""
        fields = {
            "cron": self.cron, "timezone": self.timezone, "misfire": self.misfire, "overlap": self.overlap,
            "max_runs": self.max_runs, "paused": paused or None, "interval": duration(self.every, flag="--every"),
            "run_at": self._moment(self.at, "--at"), "start": self._moment(self.start, "--start"),
            "end": self._moment(self.end, "--end"), "jitter": duration(self.jitter, flag="--jitter"), **self._target(),
        }  # fmt: skip
        return {field: value for field, value in fields.items() if value is not None}

    def _moment(self, text: str | None, flag: str) -> str | None:
        return optional_moment(text, flag=flag, toward=Toward.FUTURE, zone=self.timezone)

    def _target(self) -> dict[str, Any]:
        from drumline.cli.job_submitting import read_job

        if self.task is None:
            if self.payload is not None or self.arguments or self.queue is not None:
                raise Invalid("--payload, --arg and --queue are about a task: give --task too")
            return {} if self.job is None else {"job": read_job(self.job)}
        if self.job is not None:
            raise Invalid("give --task or --job, not both")
        made: dict[str, Any] = {"name": self.task, "payload": payload_of(self.payload, self.arguments or [])}
        return {"task": made if self.queue is None else {**made, "queue": self.queue}}


def _print_created(schedule: dict[str, Any]) -> None:
    click.echo(schedule["id"])
    following = "" if schedule["next_fire_at"] is None else f"; next at {schedule['next_fire_at']}"
    say(f"{schedule['name']}: {schedule['words']}{following}")


def _print_edited(schedule: dict[str, Any]) -> None:
    click.echo(f"{schedule['name']}  {schedule['words']}  next {schedule['next_fire_at'] or '-'}")


@server_command(app)
def create(
    client: "ApiClient",
    name: Annotated[str, Argument(help="Its name.", metavar="NAME", show_default=False)],
    rule: RuleOptions,
    paused: Annotated[bool, Option("--paused", help="Create it paused.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Create a schedule for a task or a job, and print its id."""
    request = {"name": name, **rule.body(paused=paused)}
    if rule.cron is None and rule.every is None and rule.at is None:
        raise Invalid("say when: --cron '30 2 * * *', --every 15m, or --at 'tomorrow 09:00'")
    if rule.task is None and rule.job is None:
        raise Invalid("say what to create: --task NAME or --job FILE")
    if dry_run:
        print_json(request)
        say("This would be sent to POST /api/v1/schedules; nothing was created.")
        return
    made = client.post("/schedules", request)
    print_json(made) if as_json else _print_created(made)
    if rule.task is not None:
        warn_of_unknown(client, rule.task)


@server_command(app, show=_print_edited)
def edit(
    client: "ApiClient",
    which: Which,
    name: Annotated[str | None, Option("--name", help="Another name.", metavar="NAME")] = None,
    *,
    rule: RuleOptions,
) -> Any:
    """Change a schedule; its next fire time is computed again if its rule changes."""
    changes = rule.body() if name is None else {"name": name, **rule.body()}
    if not changes:
        raise Invalid("say what to change: drumline schedules edit -h")
    return client.patch(f"/schedules/{found(client, which)['id']}", changes)


def _print_state(schedule: dict[str, Any]) -> None:
    following = "" if schedule["next_fire_at"] is None else f"  next {schedule['next_fire_at']}"
    click.echo(f"{schedule['name']}  {schedule['state']}{following}")


def _print_schedule(schedule: dict[str, Any]) -> None:
    print_line("id", schedule["id"])
    print_line("name", tidy(schedule["name"]))
    reason = f" ({tidy(schedule['reason'])})" if schedule["reason"] else ""
    print_line("state", painted(schedule["state"], _COLOURS.get(schedule["state"]), bold=True) + reason)
    print_line("when", schedule["words"])
    print_line("rule", schedule["cron"])
    for name in ("start", "end", "max_runs"):
        print_line(name.replace("_", " "), schedule[name])
    made = schedule["task"] or schedule["job"]
    print_line("makes", f"{'task' if schedule['task'] else 'job'} {tidy(made['name'])}")
    print_line("overlap", schedule["overlap"])
    print_line("misfire", schedule["misfire"])
    counts = {name: schedule[name] for name in ("runs", "skipped", "missed", "waiting")}
    print_line("counts", ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no runs yet")
    last = schedule["last_run"]
    if last is not None:
        print_line(
            "last run", f"{last['fire_time']}  {last['status'] or 'pruned'}  {last['task_id'] or last['job_id']}"
        )
    if schedule["app"]:
        print_line("code", f"{tidy(schedule['app'])}, in {tidy(schedule['module'])}")
    if schedule["next_fires"]:
        click.echo()
        print_list(schedule["next_fires"], FIRES, Form(), nothing="")


@list_command(
    app,
    "list",
    COLUMNS,
    empty="There are no schedules: drumline schedules create -h",
    unmatched="No schedules match.",
    more="These are the newest {count}; there may be more: --limit {ten_times}",
)
def list_schedules(
    client: "ApiClient",
    state: Annotated[
        str | None,
        Option(
            "--state",
            "-s",
            help="Only active, paused or finished ones.",
            metavar="STATE",
            complete=completing.of("active", "paused", "finished"),
        ),
    ] = None,
    of_app: Annotated[str | None, Option("--app", help="Only those in an app's code.", metavar="NAME")] = None,
    limit: Limit = 50,
) -> Any:
    """List schedules, newest first."""
    if state is not None and state.lower() not in _STATES:
        raise Invalid(f"must be one of {', '.join(_STATES)}", field="--state")
    return client.pages("/schedules", limit=limit, state=None if state is None else state.lower(), app=of_app)


@server_command(app, show=_print_schedule, fields=True, page=lambda schedule: f"/schedules/{schedule['id']}")
def get(client: "ApiClient", which: Which) -> Any:
    """Show a schedule: when it fires, what it creates, and its last run."""
    return found(client, which)


@server_command(app, "next")
def next_times(client: "ApiClient", which: Which, count: Count = 5, as_json: Json = False, wide: Wide = False) -> None:
    """Show when a schedule fires next, in both zones."""
    schedule = client.get(f"/schedules/{found(client, which)['id']}", next=count)
    nothing = f"It does not fire: it is {schedule['state']}."
    print_list(schedule["next_fires"], FIRES, Form.of(as_json=as_json, wide=wide), nothing=nothing)


@server_command(app)
def preview(
    client: "ApiClient",
    cron: Annotated[str | None, Argument(help="A cron expression.", metavar="CRON", show_default=False)] = None,
    every: Every = None,
    timezone: Annotated[
        str, Option("--tz", help="The time zone.", metavar="ZONE", complete=completing.time_zones)
    ] = "UTC",
    after: Annotated[str | None, Option("--after", help="From this time on.", metavar="TIME")] = None,
    count: Count = 5,
    as_json: Json = False,
    wide: Wide = False,
) -> None:
    """Show when a rule would fire, in both zones; nothing is stored."""
    rule = {
        "cron": cron, "interval": duration(every, flag="--every"), "timezone": timezone, "count": count,
        "after": optional_moment(after, flag="--after", toward=Toward.FUTURE, zone=timezone),
    }  # fmt: skip
    answer = client.post("/schedules/preview", rule)
    if as_json:
        print_json(answer)
        return
    say(answer["words"])
    print_list(answer["items"], FIRES, Form(wide=wide), nothing="It never fires.")


@server_command(app, show=_print_state)
def pause(
    client: "ApiClient",
    which: Which,
    reason: Why = None,
) -> Any:
    """Pause a schedule; runs that have started go on."""
    return client.post(f"/schedules/{_id_of(client, which)}/pause", {"reason": reason})


@server_command(app, show=_print_state)
def resume(client: "ApiClient", which: Which) -> Any:
    """Resume a paused schedule; fire times that it missed do not fire."""
    return client.post(f"/schedules/{_id_of(client, which)}/resume")


@server_command(app, show=lambda run: click.echo(run["task_id"] or run["job_id"]))
def run(client: "ApiClient", which: Which) -> Any:
    """Start a run now, and print the id of its task or job."""
    return client.post(f"/schedules/{_id_of(client, which)}/trigger")


@server_command(app)
def backfill(
    client: "ApiClient",
    which: Which,
    start: Annotated[str, Option("--from", help="The first fire time.", metavar="TIME", show_default=False)] = "",
    end: Annotated[str, Option("--to", help="The last one; not in the future.", metavar="TIME")] = "",
    rate: Annotated[float, Option("--rate", help="Runs that start in a second.", metavar="N")] = 10.0,
    abort: Annotated[bool, Option("--abort", help="Drop the runs that have not started.")] = False,
    wait: Annotated[bool, Option("--wait", help="Show the progress, and wait until the runs have ended.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Create runs for past fire times that have none."""
    schedule = _id_of(client, which)
    path = f"/schedules/{schedule}/backfill"
    if abort:
        answer = client.delete(path)
        _print_answer(answer, f"{answer['dropped']} runs that had not started were given up.", as_json=as_json)
        return
    if not start or not end:
        raise Invalid("a backfill needs --from and --to, or --abort")
    span = {
        "start": moment(start, flag="--from", toward=Toward.PAST),
        "end": moment(end, flag="--to", toward=Toward.PAST),
        "rate": rate,
    }
    plan = client.post(path, {**span, "dry_run": True})
    told = f"{plan['missing']:,} of {plan['count']:,} fire times have no run"
    if dry_run or not plan["missing"]:
        _print_answer(plan, f"{told}.", as_json=as_json)
        return
    confirm(f"{told}: make them, from {plan['first']} to {plan['last']}, {rate:g} a second?", yes=yes)
    started = client.post(path, span)
    if wait:
        from drumline.cli.backfilling import follow_backfill

        follow_backfill(client, schedule, started, as_json=as_json)
    else:
        _print_answer(started, f"{plan['missing']:,} runs will start.", as_json=as_json)


@list_command(app, "runs", RUNS, empty="It has not run yet.")
def runs(
    client: "ApiClient",
    which: Which,
    limit: Limit = 20,
) -> Any:
    """List the runs of a schedule, the latest fire time first."""
    return client.pages(f"/schedules/{_id_of(client, which)}/runs", limit=limit)


@server_command(app)
def delete(client: "ApiClient", which: Which, yes: Yes = False) -> None:
    """Delete a schedule and its run history; its tasks and jobs stay."""
    schedule = found(client, which)
    confirm(f"Delete the schedule {schedule['name']} and its run history ({schedule['runs']:,} runs)?", yes=yes)
    client.delete(f"/schedules/{schedule['id']}")
    say(f"{schedule['name']} is deleted.")


def found(client: "ApiClient", which: str) -> dict[str, Any]:
    """Return a schedule by its id or name, or raise `NotFound`."""
    if _UUID.fullmatch(which):
        by_id: dict[str, Any] = client.get(f"/schedules/{which}")
        return by_id
    items = client.get("/schedules", name=which)["items"]
    if not items:
        raise NotFound(
            f"there is no schedule named {which}\nSee which there are: drumline schedules list", field="name"
        )
    by_name: dict[str, Any] = client.get(f"/schedules/{items[0]['id']}")
    return by_name


def _id_of(client: "ApiClient", which: str) -> str:
    return which if _UUID.fullmatch(which) else str(found(client, which)["id"])


def _print_answer(answer: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        click.echo(text)
