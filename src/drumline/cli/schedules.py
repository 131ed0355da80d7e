"""Commands about schedules."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drumline.cli.describing import print_line
from drumline.cli.moments import relative
from drumline.cli.options import DryRun, Fields, Json, Jsonl, Key, Url, Wide, Yes
from drumline.cli.output import Form, confirm, picked, print_json, print_list, say
from drumline.cli.schedule_creating import create, edit
from drumline.cli.tables import Column, tidy
from drumline.cli.terminal import is_terminal, painted
from drumline.cli.times import Toward, duration, moment, optional_moment
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import Client

app = typer.Typer(
    help="Create, look at and steer schedules: rules that make tasks or jobs at times.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("create")(create)
app.command("edit")(edit)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_STATES = ("active", "paused", "finished")
_COLOURS = {"active": typer.colors.GREEN, "paused": typer.colors.YELLOW, "finished": typer.colors.BLUE}


def _last_status(schedule: dict[str, Any]) -> str | None:
    return None if schedule["last_run"] is None else schedule["last_run"]["status"]


COLUMNS = (
    Column("ID", lambda schedule: schedule["id"], rank=4),
    Column("NAME", lambda schedule: schedule["name"], rank=9, least=12),
    Column("STATE", lambda schedule: schedule["state"], rank=8),
    Column("WHEN", lambda schedule: schedule["words"], rank=7, least=20),
    Column("NEXT", lambda schedule: schedule["next_fire_at"], rank=8, is_time=True),
    Column("LAST", _last_status, rank=6),
    Column("RUNS", lambda schedule: schedule["runs"], rank=3),
    Column("SKIPPED", lambda schedule: schedule["skipped"] or None, rank=2),
    Column("MISSED", lambda schedule: schedule["missed"] or None, rank=2),
    Column("REASON", lambda schedule: schedule["reason"], rank=5, least=12),
)
RUNS = (
    Column("FIRE TIME", lambda run: run["fire_time"], rank=9),
    Column("STATUS", lambda run: run["status"] or "pruned", rank=9),
    Column("KIND", lambda run: run["kind"], rank=6),
    Column("TASK OR JOB", lambda run: run["task_id"] or run["job_id"], rank=8),
    Column("MADE", lambda run: run["created_at"], rank=4, is_time=True),
    Column("REASON", lambda run: run["reason"], rank=5, least=16),
)
FIRES = (
    Column("SCHEDULE'S CLOCK", lambda fire: fire["local"], rank=9),
    Column("UTC", lambda fire: fire["utc"], rank=8),
    Column("IN", lambda fire: relative(fire["utc"]), rank=7),
    Column("NOTE", lambda fire: fire["note"], rank=6, least=20),
)

Which = Annotated[str, typer.Argument(help="The schedule's name or id.", metavar="SCHEDULE", show_default=False)]
Count = Annotated[int, typer.Option("--count", "-n", help="How many fire times.", min=1, max=1000, metavar="N")]


@app.command("list")
def list_schedules(
    state: Annotated[
        str | None, typer.Option("--state", "-s", help="Only active, paused or finished ones.", metavar="STATE")
    ] = None,
    of_app: Annotated[str | None, typer.Option("--app", help="Only those in an app's code.", metavar="NAME")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many at most.", min=1, metavar="N")] = 50,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List schedules, newest first."""
    from drumline.cli.client import connect

    if state is not None and state.lower() not in _STATES:
        raise Invalid(f"must be one of {', '.join(_STATES)}", field="--state")
    wanted = None if state is None else state.lower()
    schedules = connect(url, api_key).pages("/schedules", limit=limit, state=wanted, app=of_app)
    nothing = "No schedule is like that." if state or of_app else "There are no schedules: drumline schedules create -h"
    count = print_list(schedules, COLUMNS, Form(as_json, as_jsonl, wide, fields), nothing=nothing)
    if count == limit and is_terminal():
        say(f"These are the newest {count}; there may be more: --limit {count * 10}")


@app.command()
def get(which: Which, as_json: Json = False, fields: Fields = None, url: Url = None, api_key: Key = None) -> None:
    """Show one schedule: when it fires, what it makes, how its last run fared."""
    from drumline.cli.client import connect

    schedule = found(connect(url, api_key), which)
    if as_json or fields:
        names = Form(fields=fields).names
        print_json(next(picked([schedule], names)) if names else schedule)
    else:
        _print_schedule(schedule)


@app.command("next")
def next_times(
    which: Which, count: Count = 5, as_json: Json = False, wide: Wide = False, url: Url = None, api_key: Key = None
) -> None:
    """Show when a schedule fires next, in both zones."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    schedule = client.get(f"/schedules/{found(client, which)['id']}", next=count)
    nothing = f"It does not fire: it is {schedule['state']}."
    print_list(schedule["next_fires"], FIRES, Form(as_json, wide=wide), nothing=nothing)


@app.command()
def preview(
    cron: Annotated[str | None, typer.Argument(help="A cron expression.", metavar="CRON", show_default=False)] = None,
    every: Annotated[str | None, typer.Option("--every", help="Every so often: 90, 1h30m.", metavar="TIME")] = None,
    timezone: Annotated[str, typer.Option("--tz", help="The time zone.", metavar="ZONE")] = "UTC",
    after: Annotated[str | None, typer.Option("--after", help="From this time on.", metavar="TIME")] = None,
    count: Count = 5,
    as_json: Json = False,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Show when a rule would fire, in both zones; nothing is stored."""
    from drumline.cli.client import connect

    rule = {
        "cron": cron, "interval": duration(every, flag="--every"), "timezone": timezone, "count": count,
        "after": optional_moment(after, flag="--after", toward=Toward.FUTURE, zone=timezone),
    }  # fmt: skip
    answer = connect(url, api_key).post("/schedules/preview", rule)
    if as_json:
        print_json(answer)
        return
    say(answer["words"])
    print_list(answer["items"], FIRES, Form(wide=wide), nothing="It never fires.")


@app.command()
def pause(
    which: Which,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for those who will wonder.")] = None,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Let a schedule not fire any more; what has started goes on."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    _print_state(client.post(f"/schedules/{_id_of(client, which)}/pause", {"reason": reason}), as_json=as_json)


@app.command()
def resume(which: Which, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Let a paused schedule fire again; what it missed meanwhile does not fire."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    _print_state(client.post(f"/schedules/{_id_of(client, which)}/resume"), as_json=as_json)


@app.command()
def run(which: Which, as_json: Json = False, url: Url = None, api_key: Key = None) -> None:
    """Start a run now, and print the id of its task or job."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    made = client.post(f"/schedules/{_id_of(client, which)}/trigger")
    if as_json:
        print_json(made)
    else:
        typer.echo(made["task_id"] or made["job_id"])


@app.command()
def backfill(
    which: Which,
    start: Annotated[str, typer.Option("--from", help="The first fire time.", metavar="TIME", show_default=False)] = "",
    end: Annotated[str, typer.Option("--to", help="The last one; not in the future.", metavar="TIME")] = "",
    rate: Annotated[float, typer.Option("--rate", help="Runs that start in a second.", metavar="N")] = 10.0,
    abort: Annotated[bool, typer.Option("--abort", help="Give up what has not started.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """Make runs for fire times of the past that have none; those that have one get no second."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    path = f"/schedules/{_id_of(client, which)}/backfill"
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
    _print_answer(client.post(path, span), f"{plan['missing']:,} runs will start.", as_json=as_json)


@app.command()
def runs(
    which: Which,
    limit: Annotated[int, typer.Option("--limit", "-l", help="How many at most.", min=1, metavar="N")] = 20,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
    fields: Fields = None,
    wide: Wide = False,
    url: Url = None,
    api_key: Key = None,
) -> None:
    """List the runs of a schedule, the latest fire time first."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    listed = client.pages(f"/schedules/{_id_of(client, which)}/runs", limit=limit)
    print_list(listed, RUNS, Form(as_json, as_jsonl, wide, fields), nothing="It has not run yet.")


@app.command()
def delete(which: Which, yes: Yes = False, url: Url = None, api_key: Key = None) -> None:
    """Delete a schedule and the notes of its runs; its tasks and jobs stay."""
    from drumline.cli.client import connect

    client = connect(url, api_key)
    schedule = found(client, which)
    confirm(f"Delete the schedule {schedule['name']}, with the notes of its {schedule['runs']:,} runs?", yes=yes)
    client.delete(f"/schedules/{schedule['id']}")
    say(f"{schedule['name']} is deleted.")


def found(client: "Client", which: str) -> dict[str, Any]:
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


def _id_of(client: "Client", which: str) -> str:
    return which if _UUID.fullmatch(which) else str(found(client, which)["id"])


def _print_state(schedule: dict[str, Any], *, as_json: bool) -> None:
    following = "" if schedule["next_fire_at"] is None else f"  next {schedule['next_fire_at']}"
    _print_answer(schedule, f"{schedule['name']}  {schedule['state']}{following}", as_json=as_json)


def _print_answer(answer: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        typer.echo(text)


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
        typer.echo()
        print_list(schedule["next_fires"], FIRES, Form(), nothing="")
